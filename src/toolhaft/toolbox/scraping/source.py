"""The source of a page, decoded as far as somebody asks for it, without what is never text.

Does not know tags, but for those that hold scripts and style sheets.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from typing import Final

from toolhaft.toolbox.scraping.insides import insides_of_bytes

_RAW: Final = re.compile(rb"<[sS!](?:(?<=!)--|(?<!!)(?i:cript|tyle)(?=[\s/>]))")
_SCRIPT: Final = re.compile(rb"<(?i:script)")
_LONGEST_RAW_START: Final = len(b"<script ")
_ENDS: Final[dict[int, re.Pattern[bytes]]] = {
    ord("c"): re.compile(rb"</(?i:script)(?=[\s/>])"),
    ord("t"): re.compile(rb"</(?i:style)(?=[\s/>])"),
}
"""How scripts and style sheets end, by the second letter of how they start."""
_FORMULA: Final = re.compile(rb"""<script\s[^>]*\btype=["']?math/tex\b[^>]*+>(?:% <!\[CDATA\[)?+""")
_FORMULA_END: Final = re.compile(rb"(?:%\]\]>)?</script\s*+>\Z")
_LONGEST_FORMULA_TAG: Final = 200
_LONGEST_FORMULA: Final = 10_000
_SHORT_COMMENT: Final = re.compile(rb"<!---?>")
_COMMENT_END: Final = re.compile(rb"--!?>")
_MOST_RAW: Final = 50_000
"""Scripts, style sheets and comments that are passed over."""
_LONGEST_TEXT: Final = 500_000
"""Bytes of text in which a tag is waited for."""


class Source:
    """A page in UTF-8, of which `text` holds the first part.

    Style sheets and comments are left out, and scripts where they are not kept; of a script that is a
    formula, the formula stays.
    """

    __slots__ = (
        "_at",
        "_body",
        "_clear",
        "_decoder",
        "_insides",
        "_keeps_scripts",
        "_passed",
        "_taken",
        "text",
    )

    def __init__(self, body: bytes, *, keeps_scripts: bool = False) -> None:
        self._body = body
        self._keeps_scripts = keeps_scripts
        self._at: int = 0
        self._clear: int = 0
        """The last place that is known to be in no tag."""
        self._passed = 0
        self._taken = 0
        self._insides = insides_of_bytes(body)
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
            match = _RAW.search(body, at, at + size + _LONGEST_RAW_START)
            if match is None:
                end = self._at = self._cut(at, at + size)
                stays = b""
            else:
                end = match.start()
                stays = self._pass(end)
            kept += filter(None, (body[at:end], stays))  # a single one is joined without a copy
            taken = end - at + len(stays)
            self._taken += taken
            size -= taken
        self.text += self._decoder.decode(b"".join(kept), final=not self.left)

    def _pass(self, start: int) -> bytes:
        """Go on after the script, style sheet or comment that starts here; says what of it stays."""
        self._passed += 1
        tag_end = self._insides.tag_end(start, self._clear)
        self._at = self._clear = self._raw_end(start) if tag_end < 0 else tag_end
        if tag_end >= 0:  # what looks like one in an attribute starts nothing
            return self._body[start:tag_end]
        if self._keeps_scripts and _SCRIPT.match(self._body, start):
            return self._body[start : self._at]  # what is in it starts nothing either
        tag = _FORMULA.match(self._body, start, start + _LONGEST_FORMULA_TAG)
        if tag is None or self._at - start > _LONGEST_FORMULA:
            return b""
        return _FORMULA_END.sub(b"", self._body[tag.end() : self._at]).replace(b"<", b"&lt;")

    def _cut(self, start: int, at: int) -> int:
        """A place from `at` on where a tag starts, so that none is cut in two, or in a long text."""
        body = self._body
        last = body.rfind(b"<", start, at)
        is_in_tag = last >= 0 and body.find(b">", last, at) < 0
        end = body.find(b"<", at) if is_in_tag else body.find(b"<", at, at + _LONGEST_TEXT)
        if end < 0:
            return len(body) if is_in_tag else min(at + _LONGEST_TEXT, len(body))
        self._clear = max(end, self._insides.tag_end(end, self._clear))
        return self._clear

    def _raw_end(self, start: int) -> int:
        """Where the script, style sheet or comment ends that starts here; without an end, the end of all."""
        body = self._body
        if body.startswith(b"<!", start):
            return self._comment_end(start)
        found = _ENDS[body[start + 2] | 0x20].search(body, start)
        return len(body) if found is None else body.find(b">", found.end()) + 1 or len(body)

    def _comment_end(self, start: int) -> int:
        body = self._body
        found = _SHORT_COMMENT.match(body, start) or _COMMENT_END.search(body, start + len(b"<!--"))
        return len(body) if found is None else found.end()
