"""Arguments that Vertex streams as values at paths, put together to one object.

Knows the paths that such a stream uses: names and indices, in dots or brackets.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, cast

from toolhaft.schema.json_value import JSONObject, JSONValue

_STEP: Final = re.compile(
    r"""\.([^.\[\]'"]+) | \[(\d{1,6})\] | \['((?:[^'\\]|\\.)*)'\] | \["((?:[^"\\]|\\.)*)"\]""", re.VERBOSE
)
_ESCAPED: Final = re.compile(r"\\(.)")
_VALUES: Final = ("stringValue", "numberValue", "boolValue")
_DEEPEST: Final = 100
_EXACT: Final = 2**53
"""Up to here a double holds every whole number."""


class Arguments:
    """The object so far."""

    __slots__ = ("_going_on", "is_misfit", "value")

    def __init__(self, value: JSONObject) -> None:
        self.value: JSONObject = value
        self.is_misfit = False
        """True once a piece had no place."""
        self._going_on: str | None = None

    def add(self, piece: JSONValue) -> None:
        """Put one piece in its place: text goes on where the piece before it said so."""
        path = _path(piece) if isinstance(piece, dict) else None
        steps = _steps(path) if path is not None else None
        if not isinstance(piece, dict) or not steps:
            self.is_misfit = True
            return
        goes_on = piece.get("willContinue") is True
        is_found, value = _value(piece)
        if is_found:
            self.is_misfit |= not self._put(steps, value, is_more=path == self._going_on)
        self._going_on = path if goes_on else None

    def _put(self, steps: list[str | int], value: JSONValue, *, is_more: bool) -> bool:
        place: JSONValue = self.value
        for step, following in pairwise(steps):
            if not _has_room(place, step):
                return False
            inner: JSONValue = [] if isinstance(following, int) else {}
            place = _member(place, step, inner)
        if not _has_room(place, steps[-1]):
            return False
        if is_more:
            known = _member(place, steps[-1], "")
            if isinstance(known, str) and isinstance(value, str):
                value = known + value
        _set(place, steps[-1], value)
        return True


def _path(piece: JSONObject) -> str | None:
    path = piece.get("jsonPath")
    return path if isinstance(path, str) else None


def _steps(path: str) -> list[str | int] | None:
    """The names and indices of a path; None where it is not one."""
    steps: list[str | int] = []
    at = 1
    while at < len(path) and len(steps) < _DEEPEST:
        found = _STEP.match(path, at)
        if found is None:
            return None
        dotted, index, *quoted = found.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(dotted or _ESCAPED.sub(r"\1", quoted[0] if quoted[0] is not None else quoted[1]))
        at = found.end()
    return steps if path.startswith("$") and at >= len(path) else None


def _value(piece: JSONObject) -> tuple[bool, JSONValue]:
    for key in _VALUES:
        value = piece.get(key)
        if value is not None:
            if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
                return True, int(value)
            return True, value
    return piece.get("nullValue") is not None, None


def _has_room(place: JSONValue, step: str | int) -> bool:
    """True if the step leads to a member that is there, or that can be the next."""
    if isinstance(step, int):
        return isinstance(place, list) and step <= len(place)
    return isinstance(place, dict)


def _member(place: JSONValue, step: str | int, start: JSONValue) -> JSONValue:
    if isinstance(step, int):
        members = cast("list[JSONValue]", place)
        if step == len(members):
            members.append(start)
        return members[step]
    return cast("JSONObject", place).setdefault(step, start)


def _set(place: JSONValue, step: str | int, value: JSONValue) -> None:
    if isinstance(step, int):
        members = cast("list[JSONValue]", place)
        if step == len(members):
            members.append(value)
        else:
            members[step] = value
    else:
        cast("JSONObject", place)[step] = value
