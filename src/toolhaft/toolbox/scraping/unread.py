"""Tells which elements of a page nobody reads, by their attributes: hidden ones, menus, cookie banners.

Those that are dropped for their names alone are known to the flat text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from toolhaft.toolbox.scraping.endings import end_of
from toolhaft.toolbox.scraping.markup import Opener, element_end, opener_at

_SIGNS: Final = {sign: re.compile(sign) for sign in ("hidden", "display", "role=", "cookie", "dialog")}
"""One of them stands in the start tag of each such element."""
_ALWAYS_READ: Final = frozenset(("html", "body", "main", "article"))
_DROPPED_ANYWAY: Final = ("<svg", "<path", "<button", "<nav", "<footer", "<input")
_ROLES: Final = frozenset(
    (
        "alertdialog",
        "complementary",
        "contentinfo",
        "dialog",
        "menu",
        "menubar",
        "navigation",
        "search",
        "toolbar",
    )
)
_STYLE: Final = re.compile(r"display\s*+:\s*+none|visibility\s*+:\s*+hidden", re.IGNORECASE)
_BANNER: Final = re.compile(
    r"(?<!has-)(?<!with-)(?<!no-)cookie[\w-]{0,20}?"
    r"(?:alert|banner|bar|consent|dialog|disclaimer|law|message|modal|notice|overlay|popup|prompt|warning)\b"
    r"|\b(?:banner|consent|gdpr|notice)[\w-]{0,20}?cookies?\b"
)
_IMPORTANT: Final = re.compile(r"<(?:main|article|h1)[\s>]")
"""No question about cookies holds any of these, and no ornament."""
_FORMULA: Final = "<math"
"""What is hidden beside its picture."""
_LARGEST_BANNER: Final = 8_000
"""Characters of source."""
_LONGEST_TAG: Final = 2_000
_MOST_PASSED: Final = 8
"""Elements that are read after all and put up with: the end of each was looked for up to that of the page."""
_MOST_SIGNS: Final = 4_000
"""Places of a sign that are looked at; pages that people read have fewer."""


class Unread(NamedTuple):
    """A stretch of the source that nobody reads."""

    start: int
    end: int
    """-1 where the end is not in sight."""


def unread_parts(plain: str, start: int, stop: int, *, reads_unspoken: bool = False) -> Iterator[Unread]:
    """The elements that nobody reads which start in a stretch of the source, in order, none in another.

    Args:
        plain: the source.
        start: of the stretch.
        stop: its end.
        reads_unspoken: leaves what is seen, and kept from screen readers alone.
    """
    at, passed, last = start, 0, -1
    last_tag = plain.rfind(">") + 1
    for place in _places(plain, start, stop):
        tag = plain.rfind("<", max(at, place - _LONGEST_TAG), place)
        if tag in (-1, last) or plain.startswith(_DROPPED_ANYWAY, tag) or passed > _MOST_PASSED:
            continue
        last = tag  # a second sign in a tag, or after it, says nothing new
        opener = opener_at(plain, tag)
        if opener is None or opener.end <= place or not _is_unread(opener):
            continue
        if (reads_unspoken and _is_unspoken(opener)) or plain.startswith(_FORMULA, opener.end):
            continue
        end = _end(plain, opener, last_tag)
        if end is None or end < 0:
            passed += 1
        if end is not None:
            at = max(opener.end, min(end, stop))
            yield Unread(opener.start, end)


def _end(plain: str, opener: Opener, last_tag: int) -> int | None:
    """The end of an element that nobody reads; None where what is in it tells otherwise."""
    if _is_banner(opener):
        end = element_end(plain, opener, within=_LARGEST_BANNER)
        return None if end < 0 or _IMPORTANT.search(plain, opener.end, end) else end
    end = end_of(plain, opener, last_tag)
    is_read = end >= 0 and _is_unspoken(opener) and _IMPORTANT.search(plain, opener.end, end) is not None
    return None if is_read else end


def _places(plain: str, start: int, stop: int) -> list[int]:
    """Where signs stand, in order."""
    places: list[int] = []
    for sign, pattern in _SIGNS.items():
        # a pattern is the quicker way through ASCII, and the slower one through letters of two bytes
        if plain.isascii() or plain.find(sign, start, stop) >= 0:
            found = pattern.finditer(plain, start, stop)
            places += [match.start() for match in islice(found, _MOST_SIGNS)]
    places.sort()
    return places


def is_hidden(opener: Opener) -> bool:
    """True for an element that is not shown."""
    attributes = opener.attributes
    return (
        ("hidden" in attributes and attributes["hidden"] != "until-found")
        or (opener.name == "dialog" and "open" not in attributes)
        or _STYLE.search(attributes.get("style", "")) is not None
    )


def _is_unread(opener: Opener) -> bool:
    return opener.name not in _ALWAYS_READ and (
        opener.attributes.get("aria-hidden") == "true"
        or is_hidden(opener)
        or opener.attributes.get("role") in _ROLES
        or _is_banner(opener)
    )


def _is_unspoken(opener: Opener) -> bool:
    """True for what is unread only since screen readers leave it out, as they do behind an open window."""
    return not is_hidden(opener) and opener.attributes.get("role") not in _ROLES and not _is_banner(opener)


def _is_banner(opener: Opener) -> bool:
    """True for what is named as questions about cookies are."""
    attributes = opener.attributes
    return _BANNER.search(f"{attributes.get('class', '')} {attributes.get('id', '')}".lower()) is not None
