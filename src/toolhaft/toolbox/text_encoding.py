"""Detects how the text of files and web pages is encoded; a file may not be text at all."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from toolhaft.toolbox.charset_labels import Charset, find_charset
from toolhaft.toolbox.files.signatures import BINARY, certain_kind, likely_kind
from toolhaft.toolbox.untrusted_text import counted

_ASCII: Final = bytes(range(128))
_MIN_GOOD_PER_BAD: Final = 5
"""Text counts as UTF-8 if it has at least this many bytes beyond ASCII per invalid place."""
_REPLACEMENT: Final = "\ufffd"
_REPLACEMENT_BYTES: Final = _REPLACEMENT.encode()


class ReplacedBytes(NamedTuple):
    """A text with U+FFFD in each place that is not valid UTF-8, and how many such places there are."""

    text: str
    bad: int


def is_mostly_utf8(data: bytes) -> bool:
    """True if bytes are UTF-8 except for a few, False if they are in another encoding."""
    bad = replace_bad_bytes(data).bad
    # text in another encoding hardly ever has a valid character of several bytes by chance
    return not bad or len(data.translate(None, _ASCII)) >= _MIN_GOOD_PER_BAD * bad


def replace_bad_bytes(data: bytes) -> ReplacedBytes:
    """The text of bytes that are mostly UTF-8."""
    text = data.decode(errors="replace")
    replaced = text.count(_REPLACEMENT)
    # U+FFFD may also be in the text itself
    return ReplacedBytes(text, replaced and replaced - data.count(_REPLACEMENT_BYTES))


SAMPLE_BYTES: Final = 8192
"""How much of a file is examined to detect its encoding."""
_NUL_SEARCHED_BYTES: Final = 100_000
"""NUL bytes before this position mean binary data; later ones count as control characters."""
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE_DECODERS: Final[dict[str, Callable[[bytes, str, bool], tuple[str, int]]]] = {
    "utf-16-be": codecs.utf_16_be_decode,
    "utf-16-le": codecs.utf_16_le_decode,
    "utf-32-be": codecs.utf_32_be_decode,
    "utf-32-le": codecs.utf_32_le_decode,
}
# tab, line ends, form feed, and the escape that colours terminals
_USUAL_CONTROLS: Final = frozenset((0x09, 0x0A, 0x0C, 0x0D, 0x1B))
_CONTROLS: Final = frozenset(range(0x20)) - _USUAL_CONTROLS | {0x7F}
_NO_CONTROLS: Final = bytes(code for code in range(256) if code not in _CONTROLS)
_UNASSIGNED: Final = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
"""Bytes without a meaning in windows-1252."""
_ASSIGNED: Final = bytes(code for code in range(256) if code not in _CONTROLS | _UNASSIGNED)
_MAX_CONTROLS: Final = 8
"""Control characters that are accepted in a text of any length."""
_FEW_BAD: Final = 2
"""With so few invalid places, the bytes of a page alone do not tell the encoding."""
_MIN_WIDE_BYTES: Final = 8
"""Bytes that are needed to detect UTF-16 by its zeros."""
_MIN_MIXED_BYTES: Final = 64
"""Shorter text is not refused for having too many bytes beyond ASCII."""


class NotTextError(ValueError):
    """Bytes that are not text; the message completes a sentence about the file."""


class DecodedText(NamedTuple):
    """A text, and how its bytes were decoded."""

    text: str
    codec: str
    note: str
    """The encoding in words, for the result of a tool."""

    @property
    def is_wide(self) -> bool:
        """True if a line end is more than one byte."""
        return self.codec in _WIDE_DECODERS


def decode_text(data: bytes, *, is_whole: bool = True) -> DecodedText:
    """The text of a file's bytes; if not `is_whole`, an incomplete character at the end is left out.

    Raises:
        NotTextError: if they are not text.
    """
    wide = detect_wide_codec(data)
    if wide is not None:
        return _decode_wide(data, wide, is_whole=is_whole)
    refuse_binary_start(data)
    return decode_text_part(data, is_whole=is_whole)


def refuse_binary_start(head: bytes) -> None:
    """Refuse bytes that begin like a binary file.

    Raises:
        NotTextError: if no text begins like this.
    """
    kind = certain_kind(head)
    if kind is not None:
        raise _not_text(kind)


def detect_wide_codec(head: bytes) -> str | None:
    """The codec of UTF-16 or UTF-32 text, by its byte order mark or its many zeros; None for all others."""
    for mark, codec in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return codec
    sample = head[:SAMPLE_BYTES]
    if b"\0" not in sample or len(sample) < _MIN_WIDE_BYTES:
        return None
    first, second = sample[::2].count(0), sample[1::2].count(0)
    if max(first, second) < 0.35 * len(sample) or min(first, second) > 0.01 * len(sample):
        return None  # in Latin text every other byte is zero, and hardly any of the rest
    return "utf-16-le" if second > first else "utf-16-be"


def decode_text_part(
    data: bytes, *, at: int = 0, is_whole: bool = True, around: Callable[[], bytes] | None = None
) -> DecodedText:
    """The text of some bytes of a file whose start was checked before.

    Args:
        data: the bytes.
        at: their position in the file.
        is_whole: False if the last character may be incomplete.
        around: returns more of the file, including these bytes. It is called if only one or two bytes are
            bad, because part of a UTF-8 file may have no other character of several bytes.

    Raises:
        NotTextError: if they are not text.
    """
    if data.find(b"\0", 0, max(_NUL_SEARCHED_BYTES - at, 0)) >= 0:
        raise _not_text(likely_kind(data), "it holds NUL bytes")
    try:
        text, _ = codecs.utf_8_decode(data, "strict", is_whole)
    except UnicodeDecodeError as error:
        examined = around() if around is not None and replace_bad_bytes(data).bad <= _FEW_BAD else data
        decode = _decode_damaged_utf8 if is_mostly_utf8(examined) else _decode_one_byte
        return decode(data, at + error.start)
    _refuse_controls(data[:SAMPLE_BYTES], data)
    has_mark = not at and data.startswith(codecs.BOM_UTF8)
    return DecodedText(text, "utf-8", "UTF-8 with a byte order mark" if has_mark else "UTF-8")


def _refuse_controls(sample: bytes, head: bytes) -> None:
    """Refuse a sample with many control characters; `head` is the start of the file."""
    controls = len(sample.translate(None, _NO_CONTROLS))
    if controls > _MAX_CONTROLS and controls > 0.1 * len(sample):
        raise _not_text(likely_kind(head), "much of it is control characters")


def _decode_wide(data: bytes, codec: str, *, is_whole: bool) -> DecodedText:
    has_mark = any(data.startswith(mark) and codec == named for mark, named in _BYTE_ORDER_MARKS)
    name = codec[:6].upper()
    try:
        text, _ = _WIDE_DECODERS[codec](data, "strict", is_whole)
    except UnicodeDecodeError as error:
        raise _not_text(
            "binary data", f"it begins like {name}, but byte {error.start:,} does not fit"
        ) from None
    if "\0" in text:
        raise _not_text(likely_kind(data), f"it begins like {name}, but holds zeros")
    _refuse_controls(text[:SAMPLE_BYTES].encode(), data)
    note = f"{name}; write_file would write it as UTF-8"
    return DecodedText(text[1:] if has_mark else text, codec, note)


def _decode_damaged_utf8(data: bytes, position: int) -> DecodedText:
    """The text of UTF-8 with a few bad bytes."""
    text, bad = replace_bad_bytes(data)
    _refuse_controls(text[:SAMPLE_BYTES].encode(), data)
    note = f"UTF-8 except for {counted(bad, 'place')} (the first at byte {position:,}), shown as U+FFFD"
    return DecodedText(text, "utf-8", f"{note}; the original bytes are lost if it is written back")


def _decode_one_byte(data: bytes, position: int) -> DecodedText:
    """The text of bytes in windows-1252, the old encoding of Western Europe, if they can be that."""
    sample = data[:SAMPLE_BYTES]
    odd = len(sample.translate(None, _ASSIGNED))
    high = len(sample.translate(None, _ASCII))
    is_mixed = len(sample) >= _MIN_MIXED_BYTES and high > 0.4 * len(sample)
    if odd > max(1, 0.01 * len(sample)) or is_mixed:
        why = f"byte {position:,} is not UTF-8, and it does not look like windows-1252; convert it to UTF-8"
        kind = likely_kind(data)
        if kind == BINARY and not sample.translate(None, _NO_CONTROLS):
            kind = "text in another encoding, or binary data"
        raise _not_text(kind, why)
    try:
        text, codec, name = data.decode("cp1252"), "cp1252", "windows-1252"
    except UnicodeDecodeError:
        text, codec, name = data.decode("latin-1"), "latin-1", "Latin-1"
    note = f"not UTF-8 (see byte {position:,}), read as {name}, which is a guess"
    return DecodedText(text, codec, f"{note}; write_file would write it as UTF-8")


def _not_text(kind: str, why: str = "") -> NotTextError:
    reason = f" ({why})" if why else ""
    return NotTextError(f"it seems to be {kind}{reason}. Only text can be read here")


_UTF8: Final = Charset("utf-8", "utf-8")
_FALLBACK: Final = Charset("windows-1252", "cp1252")
_DECLARED_WITHIN: Final = 4_096
"""Bytes in which a page declares its charset; the standard demands 1,024, which not all pages obey."""
_PAGE_MARKS: Final = (
    (codecs.BOM_UTF8, _UTF8),
    (codecs.BOM_UTF16_LE, Charset("utf-16le", "utf-16-le")),
    (codecs.BOM_UTF16_BE, Charset("utf-16be", "utf-16-be")),
)
_MULTI_BYTE: Final = frozenset(
    ("big5hkscs", "cp932", "cp949", "euc_jp", "gb18030", "iso2022_jp", "utf-16-be", "utf-16-le")
)
_FIRST_LETTER: Final = 0xA0
_IN_HEADER: Final = re.compile(r"""charset\s*+=\s*+["']?([^\s"';,]++)""", re.IGNORECASE)
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META: Final = re.compile(rb"<meta[\s/]([^>]*+)", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"""([^\s/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+""")
_MARKUP: Final = ("html", "xml")
_XML_DECLARATION: Final = re.compile(rb"""\s*+<\?xml\s[^>]*?encoding\s*+=\s*+["']([^"'>]++)""")


class DecodedPage(NamedTuple):
    """A page in UTF-8."""

    body: bytes
    note: str
    """The charset, unless it is UTF-8 and declared."""


def page_to_utf8(body: bytes, content_type: str) -> DecodedPage:
    """A page in UTF-8, from the charset that its first bytes, the server or the page itself declares."""
    for mark, charset in _PAGE_MARKS:
        if body.startswith(mark):
            return _convert(body[len(mark) :], charset, "")
    declared = _declared_charset(content_type, body)
    if declared is not None:
        return _convert(body, declared, f"charset {declared.name}")
    if body.isascii():
        return DecodedPage(body, "")
    charset = _UTF8 if is_mostly_utf8(body) else _FALLBACK
    return DecodedPage(_convert(body, charset, "").body, f"no charset declared, read as {charset.name}")


def _declared_charset(content_type: str, body: bytes) -> Charset | None:
    match = _IN_HEADER.search(content_type)
    by_server = find_charset(match[1]) if match is not None else None
    media_type = content_type.partition(";")[0].strip().lower()
    if by_server is not None or (media_type and not media_type.endswith(_MARKUP)):
        return by_server
    start = body[:_DECLARED_WITHIN]
    xml = _XML_DECLARATION.match(start)
    labels = [] if xml is None else [xml[1].decode("latin-1")]
    labels += (_label_in(meta.decode("latin-1")) for meta in _META.findall(_COMMENT.sub(b"", start)))
    charset = next(filter(None, map(find_charset, labels)), None)
    # the declaration was read as ASCII, so the page is not in UTF-16
    return _UTF8 if charset is not None and charset.name.startswith("utf-16") else charset


def _label_in(meta: str) -> str:
    """The label in the attributes of a <meta>; empty if they are about something else."""
    attributes: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(meta):
        attributes.setdefault(match[1].lower(), match[2] or match[3] or match[4] or "")
    if "charset" in attributes:
        return attributes["charset"].strip()
    if attributes.get("http-equiv", "").lower() != "content-type":
        return ""
    match = _IN_HEADER.search(attributes.get("content", ""))
    return "" if match is None else match[1]


def _convert(body: bytes, charset: Charset, note: str) -> DecodedPage:
    if charset == _UTF8:
        return DecodedPage(body, "")
    if charset.codec in _MULTI_BYTE:
        return DecodedPage(body.decode(charset.codec, "replace").encode(), note)
    return DecodedPage(body.decode("latin-1").translate(_characters(charset.codec)).encode(), note)


@cache
def _characters(codec: str) -> str:
    """The character for each byte; as in browsers, a byte without one is a control character if it can be."""
    characters = [bytes((number,)).decode(codec, "replace") for number in range(256)]
    return "".join(
        chr(number) if character == _REPLACEMENT and number < _FIRST_LETTER else character
        for number, character in enumerate(characters)
    )
