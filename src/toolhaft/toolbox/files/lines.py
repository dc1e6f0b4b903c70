"""Finds lines in bytes; a very long line counts as several, so that pages of a file stay small."""

from __future__ import annotations

from typing import Final, NamedTuple

LONGEST_LINE: Final = 50_000
"""Bytes; a longer line counts as several lines of this length."""
_BLOCK: Final = LONGEST_LINE // 2
_MAX_CHARACTER_BYTES: Final = 4


class LineCount(NamedTuple):
    """A number of lines, and the offset of the next one."""

    lines: int
    at: int


def line_end(data: bytes, at: int, *, is_last: bool) -> int | None:
    """The end of the line that begins at an offset; None if there is none, or only part of it.

    Args:
        data: part of a file.
        at: the offset of the line.
        is_last: True if the file ends with this part.
    """
    found = data.find(b"\n", at, at + LONGEST_LINE)
    if found >= 0:
        return found + 1
    if len(data) - at > LONGEST_LINE:
        return _character_start(data, at + LONGEST_LINE)
    return len(data) if is_last and at < len(data) else None


def skip_lines(data: bytes, most: int, *, is_last: bool) -> LineCount:
    """Count whole lines from the beginning of some bytes, at most `most`."""
    lines, at = 0, 0
    while lines < most:
        # lines that end inside a block of this size are short, so they can be counted at once
        count = data.count(b"\n", at, at + _BLOCK)
        if 0 < count <= most - lines:
            at = data.rfind(b"\n", at, at + _BLOCK) + 1
            lines += count
            continue
        end = line_end(data, at, is_last=is_last)
        if end is None:
            break
        at = end
        lines += 1
    return LineCount(lines, at)


def take_lines(data: bytes, most: int, most_bytes: int, *, is_last: bool) -> LineCount:
    """Count whole lines from the beginning of some bytes, at most `most` with at most `most_bytes`."""
    lines, at = 0, 0
    while lines < most:
        end = line_end(data, at, is_last=is_last)
        if end is None or end > most_bytes:
            break
        at = end
        lines += 1
    return LineCount(lines, at)


def _character_start(data: bytes, at: int) -> int:
    """The offset, or the beginning of the UTF-8 character that it is inside of."""
    for place in range(at, at - _MAX_CHARACTER_BYTES, -1):
        if data[place] & 0xC0 != 0x80:  # noqa: PLR2004 -- not a UTF-8 continuation byte
            return place
    return at
