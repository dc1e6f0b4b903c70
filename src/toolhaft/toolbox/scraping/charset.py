"""Finds out in which charset a page is written, as browsers do, and gives it back in UTF-8.

Does not know what stands on the page.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from toolhaft.toolbox.scraping.labels import Charset, find_charset

_UTF8: Final = Charset("utf-8", "utf-8")
_FALLBACK: Final = Charset("windows-1252", "cp1252")
_WITHIN: Final = 4_096
"""Bytes in which a page says its charset; the standard wants it in 1,024, and not all pages heed that."""
_BOMS: Final = (
    (codecs.BOM_UTF8, _UTF8),
    (codecs.BOM_UTF16_LE, Charset("utf-16le", "utf-16-le")),
    (codecs.BOM_UTF16_BE, Charset("utf-16be", "utf-16-be")),
)
_IN_HEADER: Final = re.compile(r"""charset\s*+=\s*+["']?([^\s"';,]++)""", re.IGNORECASE)
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META: Final = re.compile(rb"<meta[\s/]([^>]*+)", re.IGNORECASE)
_IN_META: Final = re.compile(rb"""charset\s*+=\s*+["']?\s*+([^\s"'/>;]++)""", re.IGNORECASE)
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
    try:
        body.decode()
    except UnicodeDecodeError:
        return _read(body, _FALLBACK, f"no charset declared, read as {_FALLBACK.name}")
    return Decoded(body, f"no charset declared, read as {_UTF8.name}")


def _said_by(content_type: str, body: bytes) -> Charset | None:
    match = _IN_HEADER.search(content_type)
    by_server = find_charset(match[1]) if match is not None else None
    return _said_within(body[:_WITHIN]) if by_server is None else by_server


def _said_within(start: bytes) -> Charset | None:
    """The charset that the start of a page names."""
    xml = _IN_XML.match(start)
    metas = (_IN_META.search(meta) for meta in _META.findall(_COMMENT.sub(b"", start)))
    for match in (xml, *metas):
        charset = None if match is None else find_charset(match[1].decode("latin-1"))
        if charset is not None:
            # it was read as ASCII, so it cannot be what it says
            return _UTF8 if charset.name.startswith("utf-16") else charset
    return None


def _read(body: bytes, charset: Charset, note: str) -> Decoded:
    if charset == _UTF8:
        return Decoded(body, "")
    return Decoded(body.decode(charset.codec, "replace").encode(), note)
