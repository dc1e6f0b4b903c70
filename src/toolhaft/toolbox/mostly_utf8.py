"""Tells UTF-8 with a few bad bytes, as a text that was cut has it, from text in another encoding.

Knows bytes; does not know where they are from.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_ASCII: Final = bytes(range(128))
_MOSTLY: Final = 5
"""Bytes that are not ASCII for each bad place, at least."""
_REPLACEMENT: Final = "\ufffd"
_REPLACEMENT_BYTES: Final = _REPLACEMENT.encode()


class Mended(NamedTuple):
    """A text with U+FFFD in each bad place, and how many there are."""

    text: str
    bad: int


def is_mostly_utf8(data: bytes) -> bool:
    """True if bytes are UTF-8 but for a few of them, False if they are in another encoding."""
    bad = mend(data).bad
    # what is in another encoding hardly ever has a character of several bytes by chance
    return not bad or len(data.translate(None, _ASCII)) >= _MOSTLY * bad


def mend(data: bytes) -> Mended:
    """The text of bytes that are mostly UTF-8."""
    text = data.decode(errors="replace")
    marks = text.count(_REPLACEMENT)
    # a text may have the character itself, which is a good one
    return Mended(text, marks and marks - data.count(_REPLACEMENT_BYTES))
