"""Estimates the size of a value before it is written as JSON; shared parts count each time they occur."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from gc import get_referents
from math import isfinite
from types import FunctionType, ModuleType
from typing import Any, Final, cast
from uuid import UUID

from toolhaft.schema.json_text import LONGEST_TEXT

_MAX_WEIGHT: Final = 400_000_000
"""Characters and parts; a larger value is not written or checked: it would take seconds and gigabytes."""
_PART_WEIGHT: Final = 8
_MAX_COUNTED: Final = 500
_MAX_CLASSES: Final = 1000
_MAX_LIGHT: Final = 2_000_000
_CONTAINER_WEIGHT: Final = 2
"""The brackets of a list or an object."""
_ATOMS: Final = frozenset((bool, int, type(None), date, datetime, time, timedelta, Decimal, UUID))
_CONTAINERS: Final = frozenset((dict, list, tuple))
_LEAVES: Final = frozenset((*_ATOMS, float, str, bytes, bytearray))
_Leaf = str | bytes | bytearray | int | float | type | FunctionType | ModuleType


def is_light(value: Any, has_objects: object = False) -> bool:  # noqa: ANN401, FBT002 -- any value at all; by position for speed
    """True for a small value: up to 500 keys and members, or 2,000,000 characters of plain types.

    The garbage collector lists the first 500, level by level, faster than a Python loop; but not those of
    objects, since it also lists their classes.
    """
    if has_objects:
        return _is_plain(value, _MAX_LIGHT)
    members = get_referents(value)
    count = len(members)
    while members:
        if count > _MAX_COUNTED:
            return _is_plain(value, _MAX_LIGHT)
        members = get_referents(*members)
        count += len(members)
    return True


def _is_plain(value: Any, left: int) -> bool:  # noqa: ANN401 -- any value at all
    waiting: list[Any] = [(value,)]
    for part in waiting:
        for member in part.values() if part.__class__ is dict else part:
            kind = member.__class__
            if kind in _ATOMS or (kind is float and isfinite(member)):
                continue
            if kind is str:
                left -= len(member)
            elif kind in _CONTAINERS or fields_of(kind) is not None:
                inside = member if kind in _CONTAINERS else _members(member)
                left -= len(inside) + _CONTAINER_WEIGHT
                waiting.append(inside)
            elif not issubclass(kind, Enum):
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
    names = fields_of(type(part))
    if names is None:
        try:
            return list(vars(part).values())
        except TypeError:  # it has no attributes
            return ()
    extra = cast("dict[str, object] | None", getattr(part, "__pydantic_extra__", None))
    return [*(getattr(part, name, None) for name in names), *(extra.values() if extra else ())]


@lru_cache(maxsize=_MAX_CLASSES)
def fields_of(cls: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a dataclass or a model; None for any other class."""
    for attribute in ("__pydantic_fields__", "__dataclass_fields__"):
        fields = getattr(cls, attribute, None)
        if fields is not None:
            return tuple(fields)
    return None
