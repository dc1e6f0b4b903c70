"""Finds tags, elements and attributes in the source of a page, without building a tree of it.

Every pattern takes time in proportion to the source, whatever is in it. Does not know what is worth reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
"""Elements that hold nothing, and so have no end."""

# Quotes count only after an equals sign, as in the standard. Where the source ends with `>` every attempt
# ends in a match, since no quoted value can reach past the last character: so nothing is read twice.
_ATTRIBUTES: Final = r"""[^>=]*+(?:="[^"]*+"[^>=]*+|=\s*+(?:"[^"]*+"|'[^']*+'|)[^>=]*+)*+"""
_NAME: Final = r"([/!?a-zA-Z][^ \n\t\r\f/>]*+)"
TAG: Final = re.compile(rf"<{_NAME}{_ATTRIBUTES}>")
"""A tag, a declaration or an instruction; its group is the name, with the slash of an end tag."""
# Where no value is in single quotes, a quote before the first `>` that does not begin a value ends one, or is
# in none: so the tag ends there, and nothing in it has to be read letter by letter.
_TAG_WITHOUT_SINGLE_QUOTES: Final = re.compile(rf"""<{_NAME}(?:>|[^>]*+(?<=[^=\s]")>|{_ATTRIBUTES}>)""")
_SINGLE_QUOTE: Final = re.compile(r"=\s*+'")
_OPENER: Final = re.compile(rf"<([a-zA-Z][^\s/>]*+)({_ATTRIBUTES})>")
_ATTRIBUTE: Final = re.compile(r"""([^\s/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+""")
_LONGEST_TAG: Final = 10_000
_MOST_INSIDE: Final = 20_000
_AFTER_NAME: Final = (*" \t\n\f\r/>",)


class Opener(NamedTuple):
    """A start tag."""

    name: str
    """In lower case."""
    start: int
    end: int
    """Just after the tag."""
    attributes: dict[str, str]
    """By lower-case name; the first of a name counts."""


def split_tags(source: str) -> list[str]:
    """Text, the name of a tag, text, and so on: what `TAG.split` gives, more quickly for most pages."""
    has_single_quotes = _SINGLE_QUOTE.search(source) is not None
    return (TAG if has_single_quotes else _TAG_WITHOUT_SINGLE_QUOTES).split(source)


def find_tag(source: str, start: str, at: int = 0) -> int:
    """The place of the next start tag that is written just so, such as '<main'; -1 where there is none."""
    at = source.find(start, at)
    while at >= 0 and source[at + len(start) : at + len(start) + 1] not in _AFTER_NAME:
        at = source.find(start, at + 1)
    return at


def opener_at(source: str, start: int) -> Opener | None:
    """The start tag at a place; None where there is none."""
    match = _OPENER.match(source, start, start + _LONGEST_TAG)
    if match is None:
        return None
    return Opener(match[1].lower(), match.start(), match.end(), attributes_in(match[2]))


def openers(source: str, pattern: re.Pattern[str], *, most: int) -> Iterator[Opener]:
    """The start tags that begin as a pattern says, in none another, as far as so many places go."""
    at = 0
    for _ in range(most):
        match = pattern.search(source, at)
        if match is None:
            break
        opener = opener_at(source, match.start())
        at = match.end() if opener is None else opener.end
        if opener is not None:
            yield opener


def attributes_in(written: str, *, most: int | None = None) -> dict[str, str]:
    """The attributes of a tag, by lower-case name, entities left as they are; the first of a name counts."""
    attributes: dict[str, str] = {}
    for match in islice(_ATTRIBUTE.finditer(written), most):
        attributes.setdefault(match[1].lower(), match[match.lastindex or 1] if match.lastindex != 1 else "")
    return attributes


def element_end(source: str, opener: Opener, *, within: int | None = None) -> int:
    """The place after the end tag of an element, found by counting the tags of its name.

    -1 without one, with too many to count, or none within so many characters.
    """
    stop = len(source) if within is None else opener.end + within
    if opener.name in VOID:
        return opener.end
    depth = 1
    name = source[opener.start + 1 : opener.start + 1 + len(opener.name)]
    for match in islice(_tags_of(name).finditer(source, opener.end, stop), _MOST_INSIDE):
        depth += -1 if match[1] else 1
        if not depth:
            end = source.find(">", match.end())
            return end + 1 if end >= 0 else -1
    return -1


@lru_cache(maxsize=64)
def _tags_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])")
