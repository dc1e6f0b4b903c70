"""Stand-ins at run time for what `typing` gives to type checkers.

`typing` and what it loads cost more than half of `from toolhaft import tool`; the two files on that path take
these in its place. They know no tools.
"""

from types import GenericAlias

__all__ = ["Generic", "GenericAlias", "ParamSpec", "TypeVar", "cast", "is_type_variable", "overload"]


class TypeVar:
    """A name for a type that a checker fills in."""

    def __init__(self, name: str) -> None:
        self.__name__ = name


ParamSpec = TypeVar


class Generic:
    """A base that a checker reads the type parameters off."""

    __slots__ = ()

    def __class_getitem__(cls, _: object) -> type:
        return cls


def is_type_variable(part: object) -> bool:
    """True for a type variable, ours or one of `typing`."""
    return type(part).__name__ in ("ParamSpec", "TypeVar", "TypeVarTuple")


def cast(_: object, value: object) -> object:
    """The value, which a checker takes for the type."""
    return value


def overload(function: object) -> object:
    """A signature that only a checker reads."""
    return function
