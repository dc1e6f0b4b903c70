"""Run-time replacements for names of `typing` that only type checkers need.

Importing `typing` takes more than half of the time of `from toolhaft import tool`.
"""

from types import GenericAlias

__all__ = ["Generic", "GenericAlias", "ParamSpec", "TypeVar", "cast", "is_type_variable", "overload"]


class TypeVar:
    """Replaces `typing.TypeVar`."""

    def __init__(self, name: str, **_: object) -> None:
        self.__name__ = name


ParamSpec = TypeVar


class Generic:
    """Replaces `typing.Generic`."""

    __slots__ = ()

    def __class_getitem__(cls, _: object) -> type:
        return cls


def is_type_variable(part: object) -> bool:
    """True for a type variable of this module or of `typing`."""
    return type(part).__name__ in ("ParamSpec", "TypeVar", "TypeVarTuple")


def cast(_: object, value: object) -> object:
    """Replaces `typing.cast`."""
    return value


def overload(function: object) -> object:
    """Replaces `typing.overload`."""
    return function
