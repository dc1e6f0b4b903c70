"""Finds lines in bytes, a long one folded into several, so that every part of a file has a number.

Knows bytes of which a line end is one; does not know files or what the bytes say.
"""

from __future__ import annotations

from typing import Final, NamedTuple

LONGEST: Final = 50_000
"""Bytes of a line; what is longer counts as several lines of this length."""
_HALF: Final = LONGEST // 2
_WIDEST: Final = 4
"""Bytes of a character, at most."""


class Passed(NamedTuple):
    """So many lines, and where the next one begins."""

    lines: int
    at: int


def line_end(data: bytes, at: int, *, is_last: bool) -> int | None:
    """Where the line that begins at a place ends; None where there is none, or not all of it.

    Args:
        data: part of a file.
        at: where the line begins.
        is_last: True where the file ends with this part.
    """
    found = data.find(b"\n", at, at + LONGEST)
    if found >= 0:
        return found + 1
    if len(data) - at > LONGEST:
        return _character_start(data, at + LONGEST)
    return len(data) if is_last and at < len(data) else None


def skip(data: bytes, most: int, *, is_last: bool) -> Passed:
    """Pass over whole lines, from the beginning of some bytes on, `most` at most."""
    lines, at = 0, 0
    while lines < most:
        # so many bytes at once as no line that must be folded has room in
        count = data.count(b"\n", at, at + _HALF)
        if 0 < count <= most - lines:
            at = data.rfind(b"\n", at, at + _HALF) + 1
            lines += count
            continue
        end = line_end(data, at, is_last=is_last)
        if end is None:
            break
        at = end
        lines += 1
    return Passed(lines, at)


def take(data: bytes, most: int, most_bytes: int, *, is_last: bool) -> Passed:
    """Whole lines from the beginning of some bytes on: `most` at most, and no more bytes than that."""
    lines, at = 0, 0
    while lines < most:
        end = line_end(data, at, is_last=is_last)
        if end is None or end > most_bytes:
            break
        at = end
        lines += 1
    return Passed(lines, at)


def _character_start(data: bytes, at: int) -> int:
    """The place itself, or the beginning of the UTF-8 character that it is inside of."""
    for place in range(at, at - _WIDEST, -1):
        if data[place] & 0xC0 != 0x80:  # noqa: PLR2004 -- UTF-8 itself: the mark of all bytes but a first
            return place
    return at
