"""Weighs a value before anybody writes it as JSON: parts that are shared count as often as they show.

Knows no schema.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from gc import get_referents, is_tracked
from types import FunctionType, ModuleType
from typing import Any, Final, cast

HEAVIEST: Final = 400_000_000
"""Characters and parts; a heavier value is not written or checked: it would take seconds and gigabytes."""
_PART: Final = 8
_FEW: Final = 500
_ROOM: Final = 2_000_000
_OF_ITS_OWN: Final = 2
"""What a list or an object takes beside its members."""
_ATOMS: Final = frozenset((int, float, bool, type(None)))
_LEAVES: Final = frozenset((*_ATOMS, str, bytes, bytearray))
_Leaf = str | bytes | bytearray | int | float | type | FunctionType | ModuleType


def is_light(value: Any) -> bool:  # noqa: ANN401 -- any value at all
    """True for a value of plain JSON types that is quickly written.

    Few parts are counted at the collector's own speed: it knows what holds what, shared or not.
    """
    count = 0
    level = tuple(filter(is_tracked, value.values() if value.__class__ is dict else (value,)))
    while level:
        members = get_referents(*level)
        count += len(members)
        if count > _FEW:
            return _is_plain(value, _ROOM)
        level = tuple(filter(is_tracked, members))
    return True


def _is_plain(value: Any, room: int) -> bool:  # noqa: ANN401 -- any value at all
    waiting: list[Any] = [value]
    for part in waiting:
        is_dict, is_list = part.__class__ is dict, part.__class__ is list
        for member in part.values() if is_dict else part if is_list else (part,):
            kind = member.__class__
            if kind is str:
                room -= len(member)
            elif kind is dict or kind is list:
                room -= len(member) + _OF_ITS_OWN
                waiting.append(member)
            elif kind not in _ATOMS:
                return False
        if room < 0:
            return False
    return True


def is_writable(value: object) -> bool:
    """False for a value that would be too much to write, or holds itself, found out without writing it.

    Every part is weighed once, however often it shows.
    """
    weights: dict[int, int] = {}
    inside: set[int] = set()
    waiting: list[tuple[object, list[object] | None]] = [(value, None)]
    while waiting:
        part, children = waiting.pop()
        if children is not None:
            inside.discard(id(part))
            weight = _own_weight(part) + sum(weights[id(child)] for child in children)
            if weight > HEAVIEST:
                return False
            weights[id(part)] = weight
        elif id(part) in inside:
            return False
        elif id(part) not in weights:
            inside.add(id(part))
            children = [member for member in _members(part) if _is_container(member)]
            waiting.append((part, children))
            waiting.extend((child, None) for child in children)
    return True


def _is_container(part: object) -> bool:
    return part.__class__ not in _LEAVES and not isinstance(part, _Leaf)


def _own_weight(part: object) -> int:
    members = _members(part) if _is_container(part) else [part]
    texts = sum(len(member) for member in members if isinstance(member, str | bytes | bytearray))
    return texts + _PART * (1 + len(members))


def _members(part: object) -> Collection[object]:
    if isinstance(part, dict):
        members = cast("dict[object, object]", part)
        return [*members.values(), *(key for key in members if key.__class__ is str)]
    if isinstance(part, list | tuple | set | frozenset | deque):
        return cast("Collection[object]", part)
    own = getattr(type(part), "__dataclass_fields__", None)
    if own is not None:
        return [getattr(part, name, None) for name in own]
    try:
        return list(vars(part).values())
    except TypeError:  # it has no members of its own
        return ()
