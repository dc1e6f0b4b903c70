"""Writes a page in XML as HTML has it: there, no tag is the whole of an element that could hold something.

Does not know how the page was sent.
"""

from __future__ import annotations

import html
import re
from typing import Final

from toolhaft.toolbox.scraping.markup import TAG, VOID

MEDIA_TYPE: Final = "application/xhtml+xml"

_COMMENT: Final = r"<!--[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z)"
_AS_IT_IS: Final = r"<!\[CDATA\[(?P<text>[^\]]*+(?:\](?!\]>)[^\]]*+)*+)(?:\]\]>|\Z)"
_PIECE: Final = re.compile(f"{_COMMENT}|{_AS_IT_IS}|{TAG.pattern}".encode())


def as_html(body: bytes) -> bytes:
    """A page in XML and UTF-8 as a page in HTML."""
    end = body.rfind(b">") + 1  # up to there every attempt at a tag ends in one
    return _PIECE.sub(_piece, body[:end]) + body[end:]


def _piece(match: re.Match[bytes]) -> bytes:
    written, text, name = match[0], match["text"], match[2]
    if text is not None:
        return html.escape(text.decode(errors="replace"), quote=False).encode()
    if name is None or not written.endswith(b"/>") or not name[:1].isalpha():
        return written
    is_void = name.decode(errors="replace").lower() in VOID
    return written if is_void else b"%b></%b>" % (written[:-2], name)
