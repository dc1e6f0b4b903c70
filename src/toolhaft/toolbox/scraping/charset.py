"""Finds out in which charset a page is written, as browsers do, and gives it back in UTF-8.

Does not know what stands on the page.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import Final, NamedTuple

from toolhaft.toolbox.mostly_utf8 import is_mostly_utf8
from toolhaft.toolbox.scraping.labels import Charset, find_charset
from toolhaft.toolbox.scraping.markup import attributes_in

_UTF8: Final = Charset("utf-8", "utf-8")
_FALLBACK: Final = Charset("windows-1252", "cp1252")
_WITHIN: Final = 4_096
"""Bytes in which a page says its charset; the standard wants it in 1,024, and not all pages heed that."""
_BOMS: Final = (
    (codecs.BOM_UTF8, _UTF8),
    (codecs.BOM_UTF16_LE, Charset("utf-16le", "utf-16-le")),
    (codecs.BOM_UTF16_BE, Charset("utf-16be", "utf-16-be")),
)
_OF_SEVERAL_BYTES: Final = frozenset(
    ("big5hkscs", "cp932", "cp949", "euc_jp", "gb18030", "iso2022_jp", "utf-16-be", "utf-16-le")
)
_FIRST_LETTER: Final = 0xA0
_IN_HEADER: Final = re.compile(r"""charset\s*+=\s*+["']?([^\s"';,]++)""", re.IGNORECASE)
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META: Final = re.compile(rb"<meta[\s/]([^>]*+)", re.IGNORECASE)
_THAT_SAY_IT: Final = ("html", "xml")
_IN_XML: Final = re.compile(rb"""\s*+<\?xml\s[^>]*?encoding\s*+=\s*+["']([^"'>]++)""")


class Decoded(NamedTuple):
    """A page in UTF-8."""

    body: bytes
    note: str
    """How it was read, where that is worth knowing."""


def to_utf8(body: bytes, content_type: str) -> Decoded:
    """A page in UTF-8, from whatever charset its first bytes, the server or itself say."""
    for bom, charset in _BOMS:
        if body.startswith(bom):
            return _read(body[len(bom) :], charset, "")
    said = _said_by(content_type, body)
    if said is not None:
        return _read(body, said, f"charset {said.name}")
    if body.isascii():
        return Decoded(body, "")
    charset = _UTF8 if is_mostly_utf8(body) else _FALLBACK
    return Decoded(_read(body, charset, "").body, f"no charset declared, read as {charset.name}")


def _said_by(content_type: str, body: bytes) -> Charset | None:
    match = _IN_HEADER.search(content_type)
    by_server = find_charset(match[1]) if match is not None else None
    media_type = content_type.partition(";")[0].strip().lower()
    if by_server is not None or (media_type and not media_type.endswith(_THAT_SAY_IT)):
        return by_server
    return _said_within(body[:_WITHIN])


def _said_within(start: bytes) -> Charset | None:
    """The charset that the start of a page names."""
    xml = _IN_XML.match(start)
    said = [] if xml is None else [xml[1].decode("latin-1")]
    said += (_said_in(meta.decode("latin-1")) for meta in _META.findall(_COMMENT.sub(b"", start)))
    for label in filter(None, said):
        charset = find_charset(label)
        if charset is not None:
            # it was read as ASCII, so it cannot be what it says
            return _UTF8 if charset.name.startswith("utf-16") else charset
    return None


def _said_in(meta: str) -> str:
    """The label in the attributes of a `<meta>`; empty where they are about something else."""
    attributes = attributes_in(meta)
    if "charset" in attributes:
        return attributes["charset"].strip()
    if attributes.get("http-equiv", "").lower() != "content-type":
        return ""
    match = _IN_HEADER.search(attributes.get("content", ""))
    return "" if match is None else match[1]


def _read(body: bytes, charset: Charset, note: str) -> Decoded:
    if charset == _UTF8:
        return Decoded(body, "")
    if charset.codec in _OF_SEVERAL_BYTES:
        return Decoded(body.decode(charset.codec, "replace").encode(), note)
    text, _ = codecs.charmap_decode(body, "strict", _letters_of(charset.codec))  # pyright: ignore[reportArgumentType] -- a text is the quickest of the mappings it takes
    return Decoded(text.encode(), note)


@cache
def _letters_of(codec: str) -> str:
    """What each byte means; one that means nothing is a control character, if it may be, as in browsers."""
    letters = [bytes((number,)).decode(codec, "replace") for number in range(256)]
    return "".join(
        chr(number) if letter == "\ufffd" and number < _FIRST_LETTER else letter
        for number, letter in enumerate(letters)
    )
