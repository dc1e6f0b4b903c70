"""Tells whether a place in the source of a page is inside of a tag, as what stands in an attribute is.

Does not know what the tags are for.
"""

from __future__ import annotations

import re
from typing import AnyStr, Final, Generic, NamedTuple

from toolhaft.toolbox.scraping.markup import TAG


class _Signs(NamedTuple, Generic[AnyStr]):
    """What tags are made of, as text or as bytes."""

    tag: re.Pattern[AnyStr]
    less: AnyStr
    more: AnyStr
    equals: AnyStr
    quotes: tuple[AnyStr, AnyStr]


_OF_TEXT: Final = _Signs(TAG, "<", ">", "=", ('"', "'"))
_OF_BYTES: Final = _Signs(re.compile(TAG.pattern.encode()), b"<", b">", b"=", (b'"', b"'"))


class Insides(Generic[AnyStr]):
    """The insides of the tags of one source.

    All questions together take time in proportion to the source where each starts after the one before.
    """

    __slots__ = ("_signs", "_source", "_stop")

    def __init__(self, source: AnyStr, signs: _Signs[AnyStr]) -> None:
        self._source = source
        self._signs = signs
        self._stop: int | None = None

    def tag_end(self, at: int, start: int) -> int:
        """The end of the tag that a place is inside of; -1 where it is in none.

        Args:
            at: the place.
            start: a place before it that is in no tag.
        """
        if not self._may_be_inside(at, start):
            return -1
        if self._stop is None:  # up to there every attempt at a tag ends in one
            self._stop = self._source.rfind(self._signs.more) + 1
        for match in self._signs.tag.finditer(self._source, start, self._stop):
            if match.start() >= at:
                break
            if match.end() > at:
                return match.end()
        return -1

    def _may_be_inside(self, at: int, start: int) -> bool:
        """False for nearly every place outside, by the last signs before it, and for none in a value."""
        source, signs = self._source, self._signs
        last = source.rfind(signs.less, start, at)
        if last >= 0 and source[last + 1 : last + 2].isalpha() and source.find(signs.more, last, at) < 0:
            return True
        return any(self._is_value_open(source.rfind(quote, start, at), start) for quote in signs.quotes)

    def _is_value_open(self, quote: int, start: int) -> bool:
        """True if a quote, the last of its kind, begins a value."""
        equals = -1 if quote < 0 else self._source.rfind(self._signs.equals, start, quote)
        return equals >= 0 and not self._source[equals + 1 : quote].strip()


def insides_of(source: str) -> Insides[str]:
    """The insides of the tags of a source that is decoded."""
    return Insides(source, _OF_TEXT)


def insides_of_bytes(source: bytes) -> Insides[bytes]:
    """The insides of the tags of a source in UTF-8."""
    return Insides(source, _OF_BYTES)
