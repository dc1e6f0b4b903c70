"""Estimates the size of a value before it is written as JSON; shared parts count each time they occur."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from gc import get_referents
from types import FunctionType, ModuleType
from typing import Any, Final, cast

from toolhaft.schema.json_text import LONGEST_TEXT

_MAX_WEIGHT: Final = 400_000_000
"""Characters and parts; a larger value is not written or checked: it would take seconds and gigabytes."""
_PART_WEIGHT: Final = 8
_MAX_COUNTED: Final = 500
_MAX_LIGHT: Final = 2_000_000
_CONTAINER_WEIGHT: Final = 2
"""The brackets of a list or an object."""
_ATOMS: Final = frozenset((int, float, bool, type(None)))
_LEAVES: Final = frozenset((*_ATOMS, str, bytes, bytearray))
_Leaf = str | bytes | bytearray | int | float | type | FunctionType | ModuleType


def is_light(value: Any) -> bool:  # noqa: ANN401 -- any value at all
    """True for a small value: up to 500 keys and members, or 2,000,000 characters of plain JSON types.

    The garbage collector lists the first 500, level by level, faster than a Python loop.
    """
    members = get_referents(value)
    count = len(members)
    while members:
        if count > _MAX_COUNTED:
            return _is_plain(value, _MAX_LIGHT)
        members = get_referents(*members)
        count += len(members)
    return True


def _is_plain(value: Any, left: int) -> bool:  # noqa: ANN401 -- any value at all
    waiting: list[Any] = [value]
    for part in waiting:
        is_dict, is_list = part.__class__ is dict, part.__class__ is list
        for member in part.values() if is_dict else part if is_list else (part,):
            kind = member.__class__
            if kind is str:
                left -= len(member)
            elif kind is dict or kind is list:
                left -= len(member) + _CONTAINER_WEIGHT
                waiting.append(member)
            elif kind not in _ATOMS:
                return False
        if left < 0:
            return False
    return True


def is_over_limit(value: object, most: int = LONGEST_TEXT) -> bool:
    """True if the JSON text of a value would be longer than `most` characters, found without writing it."""
    weight = 0
    waiting = [value]
    while waiting and weight <= most:
        part = waiting.pop()
        if isinstance(part, str | bytes):
            weight += len(part)
        elif isinstance(part, dict):
            members = cast("dict[object, object]", part)
            weight += len(members)
            waiting.extend(members)
            waiting.extend(members.values())
        elif isinstance(part, list | tuple):
            weight += len(cast("list[object]", part))
            waiting.extend(cast("list[object]", part))
        else:
            weight += 1
    return weight > most


def is_writable(value: object) -> bool:
    """False for a value that is too large to write as JSON, or contains itself.

    Each part is weighed once, however often it occurs.
    """
    weights: dict[int, int] = {}
    inside: set[int] = set()
    waiting: list[tuple[object, list[object] | None]] = [(value, None)]
    while waiting:
        part, children = waiting.pop()
        if children is not None:
            inside.discard(id(part))
            weight = _own_weight(part) + sum(weights[id(child)] for child in children)
            if weight > _MAX_WEIGHT:
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
    return texts + _PART_WEIGHT * (1 + len(members))


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
    except TypeError:  # it has no attributes
        return ()
