"""Copies items in and out of a session, except those whose type cannot change, which are shared."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from copy import Error, deepcopy
from dataclasses import fields
from enum import Enum
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, Union, cast, get_args, get_origin
from weakref import WeakKeyDictionary

from toolhaft.errors import SessionError

CopyRule: TypeAlias = tuple[str, ...] | Literal[False]
"""False: copy. Otherwise share, provided that the named fields do not hold a list, dictionary or set."""

_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), type})
# by name, so that a session does not import modules that are not used
_NAMED_ATOMS: Final[Mapping[str, str]] = {
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "ipaddress": "IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
    "pathlib._local": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
    "re": "Pattern",
    "uuid": "UUID",
    "zoneinfo": "ZoneInfo",
}
_MUTABLE: Final = frozenset({list, dict, set, bytearray})
_IS_PYTHON_CLASS: Final = 1 << 9

_copy_rules: Final[WeakKeyDictionary[type, CopyRule]] = WeakKeyDictionary()


class ItemCopier:
    """Copies items in and out, except those that cannot change.

    The type decides, once: frozen dataclasses and Pydantic models, named tuples and enums are shared if their
    fields are, recursively. A class can declare itself safe to share with `__toolhaft_frozen__ = True`.
    """

    __slots__ = ("_rules",)

    def __init__(self) -> None:
        self._rules: dict[type, CopyRule] = {}

    def copy_in(self, item: object) -> object:
        """The item, or a copy of it, to store.

        Raises:
            SessionError: if it has to be copied and cannot be.
        """
        rule = self._rules.get(type(item))
        if rule is None:
            rule = self._rules[type(item)] = copy_rule_of(type(item))
        if rule is False:
            return _copied(item)
        for name in rule:
            if type(getattr(item, name)) in _MUTABLE:
                # a list in a field declared as a tuple: from now on, copy every item of this type
                self._rules[type(item)] = False
                return _copied(item)
        return item

    def copy_out(self, item: object) -> object:
        """The stored item, or a copy of it, to return."""
        return _copied(item) if self._rules.get(type(item)) is False else item

    def copy_all_out(self, items: Iterable[object]) -> tuple[object, ...]:
        """All of some items, each as `copy_out` returns it."""
        found = tuple(items)
        if False in map(self._rules.get, set(map(type, found))):
            return tuple(map(self.copy_out, found))
        return found

    def known_types(self) -> frozenset[type]:
        """The types of all items that were ever stored."""
        return frozenset(self._rules)


def copy_rule_of(kind: type) -> CopyRule:
    """Whether the items of a type are copied, and if not, which fields to check first."""
    rule = _copy_rules.get(kind)
    if rule is None:
        rule = _copy_rules[kind] = _container_fields(kind) if _is_frozen(kind) else False
    return rule


def _is_frozen(kind: type) -> bool:
    """True if nothing that is reachable through the annotations of a type can change."""
    seen: dict[int, object] = {}  # by identity: an annotation need not be hashable
    waiting: list[object] = [kind]
    while waiting:
        hint = waiting.pop()
        if id(hint) in seen:
            continue
        seen[id(hint)] = hint
        parts = _parts(hint)
        if parts is None:
            return False
        waiting.extend(parts)
    return True


def _parts(hint: object) -> Iterable[object] | None:
    """The types that must be frozen for this one to be; None if this one is mutable."""
    origin = get_origin(hint)
    if origin is None:
        return _parts_of_plain_hint(hint)
    if origin in (Literal, type, ClassVar):
        return ()
    if origin is Annotated:
        return get_args(hint)[:1]
    if origin in (Union, types.UnionType, tuple, frozenset):
        return [part for part in get_args(hint) if part is not Ellipsis]
    return None


def _parts_of_plain_hint(hint: object) -> Iterable[object] | None:
    if isinstance(hint, type):
        return _parts_of_type(cast("type[object]", hint))
    if isinstance(hint, typing.NewType):
        return (cast("object", hint.__supertype__),)
    if type(hint).__name__ == "TypeAliasType":
        return (cast("object", getattr(hint, "__value__", None)),)
    return None


def _parts_of_type(kind: type) -> Iterable[object] | None:
    if _is_atom(kind):
        return ()
    names = _field_names(kind)
    if names is None:
        return None
    hints = _hints(kind)
    return [hints[name] for name in names] if all(name in hints for name in names) else None


def _is_atom(kind: type) -> bool:
    """True for an immutable type without fields to check."""
    if kind in _ATOMS or kind.__qualname__ in _NAMED_ATOMS.get(kind.__module__, "").split():
        return True
    return bool(getattr(kind, "__toolhaft_frozen__", False)) or issubclass(kind, Enum)


def _field_names(kind: type) -> Iterable[str] | None:
    """The fields of a class whose instances refuse assignment; None for any other type."""
    if kind.__bases__ == (tuple,):
        return cast("Iterable[str] | None", getattr(kind, "_fields", None))
    if any(not base.__flags__ & _IS_PYTHON_CLASS for base in kind.__mro__[:-1]):
        return None  # derived from a list, an exception or the like
    own = vars(kind)
    if "__dataclass_params__" in own:
        is_frozen = own["__dataclass_params__"].frozen
        return [field.name for field in fields(cast("Any", kind))] if is_frozen else None
    if "__pydantic_fields__" in own:
        config = cast("Mapping[str, object]", getattr(kind, "model_config", {}))
        is_closed = config.get("extra") != "allow" and not getattr(kind, "__private_attributes__", None)
        return list(own["__pydantic_fields__"]) if config.get("frozen") and is_closed else None
    return None


def _hints(kind: type) -> Mapping[str, object]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):  # an annotation that cannot be resolved
        return {}


def _container_fields(kind: type) -> tuple[str, ...]:
    """The fields of a frozen type that may hold a list despite their annotation."""
    if _is_atom(kind):
        return ()
    hints = _hints(kind)
    return tuple(name for name in _field_names(kind) or () if _is_container(hints[name]))


def _is_container(hint: object) -> bool:
    if get_origin(hint) in (tuple, frozenset):
        return True
    return get_origin(hint) in (Union, types.UnionType, Annotated) and any(map(_is_container, get_args(hint)))


def _copied(item: object) -> object:
    try:
        return deepcopy(item)
    except (TypeError, ValueError, AttributeError, NotImplementedError, RecursionError, Error) as error:
        raise SessionError(
            f"an item of type {type(item).__qualname__} can change, so the session keeps a copy of it, and "
            f"it cannot be copied: {error}. Fix: make it a frozen dataclass whose fields cannot change, or "
            "declare it safe to share with the class attribute `__toolhaft_frozen__ = True`"
        ) from error
