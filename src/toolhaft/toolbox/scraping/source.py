"""The source of a page, decoded as far as somebody asks for it, without what is never text.

Does not know tags, but for those that hold scripts and style sheets.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from typing import Final

_RAW: Final = re.compile(rb"<(?:[sS](?i:cript|tyle)(?=[\s/>])|!--)")
_RAW_BUT_SCRIPTS: Final = re.compile(rb"<(?:[sS](?i:tyle)(?=[\s/>])|!--)")
_LONGEST_RAW_START: Final = len(b"<script ")
_ENDS: Final[dict[int, tuple[bytes, re.Pattern[bytes]]]] = {
    ord("c"): (b"</script", re.compile(rb"</(?i:script)(?=[\s/>])")),
    ord("t"): (b"</style", re.compile(rb"</(?i:style)(?=[\s/>])")),
}
"""How scripts and style sheets end, by the second letter of how they start: as usual, and in any spelling."""
_SHORT_COMMENT: Final = re.compile(rb"<!---?>")
_MOST_RAW: Final = 50_000
"""Scripts, style sheets and comments that are passed over."""
_LONGEST_TAG: Final = 2_000
_NOWHERE: Final = -2
"""Where the end of a script is that has none in any spelling."""
_LONGEST_TEXT: Final = 500_000
"""Bytes of text in which a tag is waited for."""


class Source:
    """A page in UTF-8, of which `text` holds the first part.

    Style sheets and comments are left out, and scripts where they are not kept.
    """

    __slots__ = ("_at", "_body", "_decoder", "_ends", "_passed", "_raw", "_taken", "text")

    def __init__(self, body: bytes, *, keeps_scripts: bool = False) -> None:
        self._body = body
        self._raw = _RAW_BUT_SCRIPTS if keeps_scripts else _RAW
        self._at: int = 0
        self._passed = 0
        self._taken = 0
        self._ends: dict[bytes, int] = {}
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
            if match is not None and _is_in_tag(body, at, match.start()):
                end = self._at = match.end()  # what looks like one in an attribute starts nothing
                self._passed += 1
            elif match is not None:
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
            return self._comment_end(start)
        usual, any_spelling = _ENDS[body[start + 2] | 0x20]
        end = self._ends.get(usual)  # remembered, so that not each script is searched to the end of all
        if end is None or 0 <= end < start:
            end = self._ends[usual] = body.find(usual, start)
        if end < 0 or body.find(b"</S", start, end) >= 0:
            found = None if end == _NOWHERE else any_spelling.search(body, start)
            if found is None:
                self._ends[usual] = _NOWHERE
                return len(body)
            end = found.start()
        return body.find(b">", end) + 1 or len(body)

    def _comment_end(self, start: int) -> int:
        body = self._body
        short = _SHORT_COMMENT.match(body, start)
        if short is not None:
            return short.end()
        end = body.find(b"-->", start)
        odd = body.find(b"--!>", start, len(body) if end < 0 else end)
        if odd >= 0:
            return odd + 4
        return end + 3 if end >= 0 else len(body)


def _is_in_tag(body: bytes, start: int, at: int) -> bool:
    """True for a place inside of a tag that starts from `start` on."""
    last = body.rfind(b"<", max(start, at - _LONGEST_TAG), at)
    return last >= 0 and body[last + 1 : last + 2].isalpha() and body.find(b">", last, at) < 0


def _next_tag(body: bytes, start: int, at: int) -> int:
    """A place from `at` on where a tag starts, so that none is cut in two, or in a long text."""
    last = body.rfind(b"<", start, at)
    is_in_tag = last >= 0 and body.find(b">", last, at) < 0
    end = body.find(b"<", at) if is_in_tag else body.find(b"<", at, at + _LONGEST_TEXT)
    if end >= 0:
        return end
    return len(body) if is_in_tag else min(at + _LONGEST_TEXT, len(body))
