"""The source of a page, decoded as far as somebody asks for it, without what is never text.

Does not know tags, but for those that hold scripts and style sheets.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from typing import Final

_RAW: Final = re.compile(rb"<(?:[sS](?:cript|tyle|CRIPT|TYLE)(?=[\s/>])|!--)")
_RAW_BUT_SCRIPTS: Final = re.compile(rb"<(?:style(?=[\s/>])|STYLE(?=[\s/>])|!--)")
_LONGEST_RAW_START: Final = len(b"<script ")
_ENDS: Final = {
    ord("c"): (b"</script", b"</SCRIPT"),
    ord("C"): (b"</SCRIPT", b"</script"),
    ord("t"): (b"</style", b"</STYLE"),
    ord("T"): (b"</STYLE", b"</style"),
}
"""How scripts and style sheets end, by the second letter of how they start: the likely spelling first."""
_SHORT_COMMENT: Final = re.compile(rb"<!---?>")
_MOST_RAW: Final = 50_000
"""Scripts, style sheets and comments that are passed over."""
_LONGEST_TEXT: Final = 500_000
"""Bytes of text in which a tag is waited for."""


class Source:
    """A page in UTF-8, of which `text` holds the first part.

    Style sheets and comments are left out, and scripts where they are not kept.
    """

    __slots__ = ("_at", "_body", "_decoder", "_passed", "_raw", "_taken", "_unfound", "text")

    def __init__(self, body: bytes, *, keeps_scripts: bool = False) -> None:
        self._body = body
        self._raw = _RAW_BUT_SCRIPTS if keeps_scripts else _RAW
        self._at = 0
        self._passed = 0
        self._taken = 0
        self._unfound = set[bytes]()
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self.text = ""

    @property
    def left(self) -> int:
        """Bytes that can still be taken."""
        return len(self._body) - self._at if self._passed <= _MOST_RAW else 0

    @property
    def is_whole(self) -> bool:
        """True if `text` holds all of the page."""
        return self._at >= len(self._body)

    def reach(self, size: int) -> None:
        """See to it that about so many bytes of the page, if it has them, went into `text`."""
        self.take(size - self._taken)

    def take(self, size: int) -> None:
        """Add about so many bytes of the page to `text`."""
        body, kept = self._body, list[bytes]()
        while size > 0 and self.left:
            at = self._at
            match = self._raw.search(body, at, at + size + _LONGEST_RAW_START)
            if match is not None:
                end = match.start()
                self._at = self._raw_end(end)
                self._passed += 1
            else:
                end = self._at = _next_tag(body, at, at + size)
            kept.append(body[at:end])
            self._taken += end - at
            size -= end - at
        self.text += self._decoder.decode(b"".join(kept), final=not self.left)

    def _raw_end(self, start: int) -> int:
        """Where the script, style sheet or comment ends that starts here; without an end, the end of all."""
        body = self._body
        if body.startswith(b"<!", start):
            short = _SHORT_COMMENT.match(body, start)
            end = body.find(b"-->", start) if short is None else short.end() - 3
            return end + 3 if end >= 0 else len(body)
        for needle in _ENDS[body[start + 2]]:
            if needle not in self._unfound:
                end = body.find(needle, start)
                if end >= 0:
                    return body.find(b">", end) + 1 or len(body)
                self._unfound.add(needle)  # so that many scripts are not each searched to the end of all
        return len(body)


def _next_tag(body: bytes, start: int, at: int) -> int:
    """A place from `at` on where a tag starts, so that none is cut in two, or in a long text."""
    last = body.rfind(b"<", start, at)
    is_in_tag = last >= 0 and body.find(b">", last, at) < 0
    end = body.find(b"<", at) if is_in_tag else body.find(b"<", at, at + _LONGEST_TEXT)
    if end >= 0:
        return end
    return len(body) if is_in_tag else min(at + _LONGEST_TEXT, len(body))
