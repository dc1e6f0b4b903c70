"""Limits how deep a page nests and how many attributes a tag has, in one pass over its source.

The time that the HTML library takes grows with the square of both. The pass need not be exact: what it misses
makes parsing slow, and a worker process that is too slow is killed.
"""

from __future__ import annotations

import html
import re
from itertools import islice
from typing import Final, NamedTuple

MAX_ATTRIBUTES: Final = 64
MAX_DEPTH: Final = 128
"""Nested elements, not counting those of _NOT_COUNTED."""
MAX_OPEN_FORMATS: Final = 12
"""Open elements such as <b>: parsers open them again in each block that follows."""
XHTML: Final = "application/xhtml+xml"

_VOID: Final = frozenset(b"area base br col embed hr img input link meta source track wbr".split())
# Their end tags are optional, so most pages nest them only in elements that are counted. A page that nests
# <li> and <dd> in each other is not limited.
_OPTIONAL_END: Final = b"body colgroup dd dt head html li option p tbody td tfoot th thead tr"
_NOT_COUNTED: Final = _VOID.union(_OPTIONAL_END.split())
_FORMATS: Final = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
_BLOCKS: Final = frozenset(
    b"address article aside blockquote button center details dialog dir div dl fieldset figcaption figure "
    b"footer form h1 h2 h3 h4 h5 h6 header hgroup listing main marquee menu nav object ol pre search section "
    b"select summary table template ul".split()
)

# Quotes count only after an equals sign. Where the source ends with `>`, every attempt to match a tag
# succeeds, so no part of the source is read twice.
_ATTRIBUTES: Final = rb"""[^>=]*+(?:=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+)[^>=]*+)*+"""
_COMMENT: Final = rb"<!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>|\Z))"
_RAW_NAMES: Final = rb"script|style|textarea|title|xmp|iframe|noembed|noframes"
_PIECE: Final = re.compile(
    rb"(?:%b)|<(?:[!?]|/(?![a-z]))[^>]*+>|<(?:(?P<raw>%b)(?=[\s/>])(?P<raw_attributes>%b)>(?:[^<]++|<(?!/(?P=raw)[\s/>]))*+"
    rb"|(?P<name>/?[a-zA-Z][^\s/>]*+)(?P<attributes>%b)>)" % (_COMMENT, _RAW_NAMES, _ATTRIBUTES, _ATTRIBUTES),
    re.IGNORECASE,
)
"""A comment or a declaration, an element whose content is not markup (up to its end tag), or a tag."""
_ATTRIBUTE: Final = re.compile(rb"""[^\s/=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+""")
_CDATA: Final = rb"<!\[CDATA\[(?P<cdata>[^\]]*+(?:\](?!\]>)[^\]]*+)*+)(?:\]\]>|\Z)"
_XHTML_PIECE: Final = re.compile(
    rb"(?:%b)|%b|<(?P<name>[/!?a-zA-Z][^\s/>]*+)%b>" % (_COMMENT, _CDATA, _ATTRIBUTES)
)


def limit_page(body: bytes) -> bytes:
    """A page in UTF-8 without the tags and attributes beyond the limits; the content of such tags stays."""
    end = body.rfind(b">") + 1
    return _PIECE.sub(_Limiter().piece, body[:end]) + body[end:]


def xhtml_to_html(body: bytes) -> bytes:
    """A page in XML and UTF-8 with the end tags that HTML needs: in XML, <script/> is a whole element."""
    end = body.rfind(b">") + 1
    return _XHTML_PIECE.sub(_xhtml_piece, body[:end]) + body[end:]


class _Open(NamedTuple):
    """An open element."""

    name: bytes
    is_kept: bool
    """False if its start tag was left out, so its end tag must be left out too."""


class _Limiter:
    """Tracks the open elements from piece to piece, and drops tags beyond the limits."""

    __slots__ = ("_depth", "_formats", "_open")

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._depth = 0
        self._formats = 0

    def piece(self, match: re.Match[bytes]) -> bytes:
        """The replacement for a comment, an element or a tag."""
        if match["name"] is None:
            return match[0] if match["raw"] is None else _limit_attributes(match, "raw_attributes")
        name = match["name"].lower()
        if name.startswith(b"/"):
            return match[0] if self._keeps_end(name[1:]) else b" "
        return _limit_attributes(match, "attributes") if self._keeps_start(name) else b" "

    def _keeps_start(self, name: bytes) -> bool:
        if name in _NOT_COUNTED:
            return True
        is_format = name in _FORMATS
        is_kept = self._depth < MAX_DEPTH and not (is_format and self._formats >= MAX_OPEN_FORMATS)
        self._open.append(_Open(name, is_kept))
        self._depth += is_kept
        self._formats += is_kept and is_format
        return is_kept

    def _keeps_end(self, name: bytes) -> bool:
        at = self._find(name)
        if at is None:
            return True
        is_kept = self._open[at].is_kept
        if name in _FORMATS:  # elements that are open in it stay open
            closed = [self._open.pop(at)]
        elif name not in _BLOCKS and any(one.name in _BLOCKS for one in self._open[at:]):
            return is_kept  # parsers ignore it, so the element stays open
        else:
            closed = self._open[at:]
            del self._open[at:]
        for one in closed:
            self._depth -= one.is_kept
            self._formats -= one.is_kept and one.name in _FORMATS
        return is_kept

    def _find(self, name: bytes) -> int | None:
        """The index of the innermost open element of a name; searches only the last MAX_DEPTH elements."""
        size = len(self._open)
        for at in range(size - 1, max(size - MAX_DEPTH, 0) - 1, -1):
            if self._open[at].name == name:
                return at
        return None


def _limit_attributes(match: re.Match[bytes], group: str) -> bytes:
    written = match[group]
    if len(written) < 2 * MAX_ATTRIBUTES:
        return match[0]
    beyond = next(islice(_ATTRIBUTE.finditer(written), MAX_ATTRIBUTES, None), None)
    if beyond is None:
        return match[0]
    cut, end = match.start(group) + beyond.start() - match.start(), match.end(group) - match.start()
    return match[0][:cut] + match[0][end:]


def _xhtml_piece(match: re.Match[bytes]) -> bytes:
    written, cdata, name = match[0], match["cdata"], match["name"]
    if cdata is not None:
        return html.escape(cdata.decode(errors="replace"), quote=False).encode()
    if name is None or not written.endswith(b"/>") or not name[:1].isalpha() or name.lower() in _VOID:
        return written
    return b"%b></%b>" % (written[:-2], name)
