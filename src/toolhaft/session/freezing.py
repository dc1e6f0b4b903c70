"""Tells what can be shared as it is from what must be copied, so that nobody changes a session by accident.

Knows types and values; knows no slices.
"""

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

Hint: TypeAlias = object
"""A type, or anything else that an annotation may say."""
Verdict: TypeAlias = tuple[str, ...] | Literal[False]
"""False: to be copied. Else to be shared, where the fields of these names hold what their type says."""

_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), type})
# by name, so that a session does not load modules that nobody uses
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
_CHANGEABLE: Final = frozenset({list, dict, set, bytearray})
_IS_PYTHON_CLASS: Final = 1 << 9

_verdicts: Final[WeakKeyDictionary[type, Verdict]] = WeakKeyDictionary()


class Custody:
    """Takes items in and hands them out: as they are where they cannot change, else as copies.

    Whether they can is read off the type, once: frozen dataclasses and Pydantic models, named tuples and
    enums, all the way down. A type can vouch for itself by a class attribute `__toolhaft_frozen__ = True`.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[type, Verdict] = {}

    def take(self, item: object) -> object:
        """What to keep of an item that somebody else holds.

        Raises:
            SessionError: where it has to be copied and cannot be.
        """
        verdict = self._known.get(type(item))
        if verdict is None:
            verdict = self._known[type(item)] = verdict_on(type(item))
        if verdict is False:
            return _copied(item)
        for name in verdict:
            if type(getattr(item, name)) in _CHANGEABLE:
                # a list where its type says tuple: from now on its type is not believed
                self._known[type(item)] = False
                return _copied(item)
        return item

    def give(self, item: object) -> object:
        """What to hand out of an item that was taken in."""
        return _copied(item) if self._known.get(type(item)) is False else item

    def give_all(self, items: Iterable[object]) -> tuple[object, ...]:
        """All of some items, as `give` hands out each."""
        found = tuple(items)
        if False in map(self._known.get, set(map(type, found))):
            return tuple(map(self.give, found))
        return found

    def known_types(self) -> frozenset[type]:
        """The types of everything that was ever taken in."""
        return frozenset(self._known)


def verdict_on(kind: type) -> Verdict:
    """Whether the items of a type are to be copied, and if not, which fields to look at first."""
    verdict = _verdicts.get(kind)
    if verdict is None:
        verdict = _verdicts[kind] = _looked_at(kind) if _is_frozen(kind) else False
    return verdict


def _is_frozen(kind: type) -> bool:
    """True if nothing that can be reached through the annotations of a type can change."""
    seen: dict[int, Hint] = {}  # by identity: what stands in an annotation need not be hashable
    waiting: list[Hint] = [kind]
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


def _parts(hint: Hint) -> Iterable[Hint] | None:
    """What else must be frozen for this to be; None where this is not."""
    origin = get_origin(hint)
    if origin is None:
        return _parts_of_name(hint)
    if origin in (Literal, type, ClassVar):
        return ()
    if origin is Annotated:
        return get_args(hint)[:1]
    if origin in (Union, types.UnionType, tuple, frozenset):
        return [part for part in get_args(hint) if part is not Ellipsis]
    return None


def _parts_of_name(hint: Hint) -> Iterable[Hint] | None:
    if isinstance(hint, type):
        return _parts_of_type(cast("type[object]", hint))
    if isinstance(hint, typing.NewType):
        return (cast("Hint", hint.__supertype__),)
    if type(hint).__name__ == "TypeAliasType":
        return (cast("Hint", getattr(hint, "__value__", None)),)
    return None


def _parts_of_type(kind: type) -> Iterable[Hint] | None:
    if _is_atom(kind):
        return ()
    names = _field_names(kind)
    if names is None:
        return None
    hints = _hints(kind)
    return [hints[name] for name in names] if all(name in hints for name in names) else None


def _is_atom(kind: type) -> bool:
    """True where there is nothing to look into."""
    if kind in _ATOMS or kind.__qualname__ in _NAMED_ATOMS.get(kind.__module__, "").split():
        return True
    return bool(getattr(kind, "__toolhaft_frozen__", False)) or issubclass(kind, Enum)


def _field_names(kind: type) -> Iterable[str] | None:
    """The fields of a record that refuses assignment; None for any other type."""
    if kind.__bases__ == (tuple,):
        return cast("Iterable[str] | None", getattr(kind, "_fields", None))
    if any(not base.__flags__ & _IS_PYTHON_CLASS for base in kind.__mro__[:-1]):
        return None  # a list or an exception in disguise
    own = vars(kind)
    if "__dataclass_params__" in own:
        is_frozen = own["__dataclass_params__"].frozen
        return [field.name for field in fields(cast("Any", kind))] if is_frozen else None
    if "__pydantic_fields__" in own:
        config = cast("Mapping[str, object]", getattr(kind, "model_config", {}))
        is_closed = config.get("extra") != "allow" and not getattr(kind, "__private_attributes__", None)
        return list(own["__pydantic_fields__"]) if config.get("frozen") and is_closed else None
    return None


def _hints(kind: type) -> Mapping[str, Hint]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):  # what is not there to be looked up
        return {}


def _looked_at(kind: type) -> tuple[str, ...]:
    """The fields of a frozen type that a careless author may have filled with a list."""
    if _is_atom(kind):
        return ()
    hints = _hints(kind)
    return tuple(name for name in _field_names(kind) or () if _holds_several(hints[name]))


def _holds_several(hint: Hint) -> bool:
    if get_origin(hint) in (tuple, frozenset):
        return True
    return get_origin(hint) in (Union, types.UnionType, Annotated) and any(
        map(_holds_several, get_args(hint))
    )


def _copied(item: object) -> object:
    try:
        return deepcopy(item)
    except (TypeError, ValueError, AttributeError, NotImplementedError, RecursionError, Error) as error:
        raise SessionError(
            f"an item of type {type(item).__qualname__} can change, so the session keeps a copy of it, and "
            f"it cannot be copied: {error}. Fix: make it a frozen dataclass whose fields cannot change, or "
            "vouch for it with a class attribute `__toolhaft_frozen__ = True`"
        ) from error
