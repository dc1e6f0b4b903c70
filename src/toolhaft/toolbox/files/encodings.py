"""Makes text of a file's bytes: which encoding it is in, or that it is no text at all.

Knows bytes; does not know files.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final, NamedTuple

from toolhaft.toolbox.files.kinds import BINARY, SURE_BYTES, likely, surely
from toolhaft.toolbox.mostly_utf8 import is_mostly_utf8, mend

SAMPLE_BYTES: Final = 8192
"""How much of a file is looked at to tell what it is."""
HEAD: Final = 100_000
"""How far NUL bytes are looked for; further on they are characters like others that do not show."""
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECODERS: Final[dict[str, Callable[[bytes, str, bool], tuple[str, int]]]] = {
    "utf-16-be": codecs.utf_16_be_decode,
    "utf-16-le": codecs.utf_16_le_decode,
    "utf-32-be": codecs.utf_32_be_decode,
    "utf-32-le": codecs.utf_32_le_decode,
}
# tab, line ends, form feed, and the escape that colours terminals
_IN_TEXTS: Final = frozenset((0x09, 0x0A, 0x0C, 0x0D, 0x1B))
_CONTROLS: Final = frozenset(range(0x20)) - _IN_TEXTS | {0x7F}
_NO_CONTROLS: Final = bytes(code for code in range(256) if code not in _CONTROLS)
_UNASSIGNED: Final = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
_ASSIGNED: Final = bytes(code for code in range(256) if code not in _CONTROLS | _UNASSIGNED)
_ASCII: Final = bytes(range(128))
_FEW: Final = 8
"""Odd bytes that say nothing, in however short a text."""
_LITTLE: Final = 2
"""Bad places that say nothing of what the others are in."""
_FEWEST_WIDE: Final = 8
"""Bytes that zeros tell something of."""
_LONG_ENOUGH: Final = 64
"""Bytes from which on their mixture tells something."""


class NotTextError(ValueError):
    """Bytes that are no text; the message ends a sentence about the file."""


class Decoded(NamedTuple):
    """A text and how its bytes were read."""

    text: str
    codec: str
    note: str
    """The encoding, as it is told."""

    @property
    def is_wide(self) -> bool:
        """True where a line end is more than one byte."""
        return self.codec in _DECODERS


def decode(data: bytes, *, is_whole: bool = True) -> Decoded:
    """The text that bytes stand for; what is left of a character at the end of a part is left out.

    Raises:
        NotTextError: where they are none.
    """
    wide = wide_codec(data)
    if wide is not None:
        return _decode_wide(data, wide, is_whole=is_whole)
    check_beginning(data)
    return decode_part(data, is_whole=is_whole)


def check_beginning(head: bytes) -> None:
    """Nothing, for bytes that a text may begin with.

    Raises:
        NotTextError: for those of a known kind of file.
    """
    kind = surely(head)
    if kind is not None:
        raise _not_text(kind)


def wide_codec(head: bytes) -> str | None:
    """The codec of a text whose characters take two or four bytes each, by its mark or its many zeros."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    sample = head[:SAMPLE_BYTES]
    if b"\0" not in sample or len(sample) < _FEWEST_WIDE:
        return None
    first, second = sample[::2].count(0), sample[1::2].count(0)
    if max(first, second) < 0.35 * len(sample) or min(first, second) > 0.01 * len(sample):
        return None  # of letters of the West every other byte is zero, and hardly any of the others
    return "utf-16-le" if second > first else "utf-16-be"


def decode_part(
    data: bytes, *, at: int = 0, is_whole: bool = True, around: Callable[[], bytes] | None = None
) -> Decoded:
    """The text of some bytes of a file whose beginning is no obstacle.

    Args:
        data: the bytes.
        at: where in the file they begin.
        is_whole: False where a character may go on after them.
        around: more of the file, these bytes among it, by which a single bad one is judged: a page of a text
            in UTF-8 may have no other character of several bytes.

    Raises:
        NotTextError: where they are none.
    """
    if data.find(b"\0", 0, max(HEAD - at, 0)) >= 0:
        raise _not_text(likely(data), "it holds NUL bytes")
    try:
        text, _ = codecs.utf_8_decode(data, "strict", is_whole)
    except UnicodeDecodeError as error:
        judged = around() if around is not None and mend(data).bad <= _LITTLE else data
        is_cut = is_mostly_utf8(judged)
        return (_mended if is_cut else _guess)(data, at + error.start)
    return _in_utf_8(text, data[:SAMPLE_BYTES], at=at)


def all_shown(text: str) -> Decoded | None:
    """A text that was made of bytes in UTF-8, none of its first characters hidden; None where it is none."""
    begins = text[:SURE_BYTES].encode()
    return None if surely(begins) is not None else _told(text, begins)


def read_as_utf_8(text: str) -> Decoded | None:
    """A text that was made of a file's bytes already; None where these must be looked at.

    Raises:
        NotTextError: where it is none, although the bytes were UTF-8.
    """
    if text.find("\0", 0, HEAD) >= 0:
        return None
    sample = text[:SAMPLE_BYTES].encode()
    check_beginning(sample)
    return _in_utf_8(text, sample)


def _in_utf_8(text: str, sample: bytes, *, at: int = 0) -> Decoded:
    _check_controls(sample, sample)
    return _told(text, sample, at=at)


def _told(text: str, begins: bytes, *, at: int = 0) -> Decoded:
    has_mark = not at and begins.startswith(codecs.BOM_UTF8)
    return Decoded(text, "utf-8", "UTF-8 with a byte order mark" if has_mark else "UTF-8")


def _check_controls(sample: bytes, head: bytes) -> None:
    """Refuse what is mostly characters that no text has; `head` is how the file begins."""
    odd = len(sample.translate(None, _NO_CONTROLS))
    if odd > _FEW and odd > 0.1 * len(sample):
        raise _not_text(likely(head), "much of it is control characters")


def _decode_wide(data: bytes, codec: str, *, is_whole: bool) -> Decoded:
    has_mark = any(data.startswith(mark) and codec == named for mark, named in _MARKS)
    name = codec[:6].upper()
    try:
        text, _ = _DECODERS[codec](data, "strict", is_whole)
    except UnicodeDecodeError as error:
        raise _not_text(
            "binary data", f"it begins like {name}, but byte {error.start:,} does not fit"
        ) from None
    if "\0" in text:
        raise _not_text(likely(data), f"it begins like {name}, but holds zeros")
    _check_controls(text[:SAMPLE_BYTES].encode(), data)
    note = f"{name}; write_file would write it as UTF-8"
    return Decoded(text[1:] if has_mark else text, codec, note)


def _mended(data: bytes, position: int) -> Decoded:
    """Text in UTF-8 but for a few bytes, as a file that was cut has it."""
    text, bad = mend(data)
    _check_controls(text[:SAMPLE_BYTES].encode(), data)
    places = "1 place" if bad == 1 else f"{bad:,} places"
    note = f"UTF-8 but for {places} (the first at byte {position:,}), shown as U+FFFD"
    return Decoded(text, "utf-8", f"{note}; what was there is lost where it is written back")


def _guess(data: bytes, position: int) -> Decoded:
    """Text in the one-byte encoding of Western Europe, if it can be that."""
    sample = data[:SAMPLE_BYTES]
    odd = len(sample.translate(None, _ASSIGNED))
    high = len(sample.translate(None, _ASCII))
    is_mixed = len(sample) >= _LONG_ENOUGH and high > 0.4 * len(sample)
    if odd > max(1, 0.01 * len(sample)) or is_mixed:
        why = f"byte {position:,} is not UTF-8, and it does not look like windows-1252; convert it to UTF-8"
        kind = likely(data)
        if kind == BINARY and not sample.translate(None, _NO_CONTROLS):
            kind = "text in another encoding, or binary data"
        raise _not_text(kind, why)
    try:
        text, codec, name = data.decode("cp1252"), "cp1252", "windows-1252"
    except UnicodeDecodeError:
        text, codec, name = data.decode("latin-1"), "latin-1", "Latin-1"
    note = f"not UTF-8 (see byte {position:,}), read as {name}, which is a guess"
    return Decoded(text, codec, f"{note}; write_file would write it as UTF-8")


def _not_text(kind: str, why: str = "") -> NotTextError:
    reason = f" ({why})" if why else ""
    return NotTextError(f"it seems to be {kind}{reason}. Only text can be read here")
