"""Weighs a value before anybody writes it as JSON: parts that are shared count as often as they show.

Knows no schema.
"""

from __future__ import annotations

from gc import get_referents, is_tracked
from typing import Any, Final, cast

MOST_PARTS: Final = 5_000_000
"""A value with more is not written or checked: it would take seconds and gigabytes."""
_LONGEST: Final = 1_000_000_000
_FEW: Final = 500
_ROOM: Final = 2_000_000
_ATOMS: Final = frozenset((int, float, bool, type(None)))


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
                room -= len(member)
                waiting.append(member)
            elif kind not in _ATOMS:
                return False
        if room < 0:
            return False
    return True


def is_writable(value: object) -> bool:
    """False for a value that would be too much to write, found out without writing it."""
    parts, length = 0, 0
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str | bytes | bytearray):
            length += len(part)
            parts += 1
        else:
            members = _members(part)
            parts += 1 + len(members)
            if parts <= MOST_PARTS:
                waiting.extend(member for member in members if member.__class__ not in _ATOMS)
        if parts > MOST_PARTS or length > _LONGEST:
            return False
    return True


def _members(part: object) -> list[object]:
    if isinstance(part, dict):
        members = cast("dict[object, object]", part)
        return [*members.values(), *(key for key in members if key.__class__ is str)]
    if isinstance(part, list | tuple | set | frozenset):
        return cast("list[object]", part) if isinstance(part, list) else list(cast("tuple[object]", part))
    own = getattr(part, "__dict__", None)
    if isinstance(own, dict):
        return list(cast("dict[object, object]", own).values())
    names = getattr(part, "__dataclass_fields__", ())  # one with slots
    return [getattr(part, name, None) for name in names]
