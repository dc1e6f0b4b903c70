"""Tells which elements of a page nobody reads, by their attributes: hidden ones, menus, cookie banners.

Those that are dropped for their names alone are known to the flat text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Final, NamedTuple

from toolhaft.toolbox.scraping.markup import Opener, element_end, opener_at

_SIGNS: Final = ("hidden", "display", "role=", "cookie")
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
_LARGEST_BANNER: Final = 20_000
"""Characters of source: what is named after cookies and larger is a page about them."""
_LONGEST_TAG: Final = 2_000
_MOST_PASSED: Final = 4
"""Elements without an end that are put up with: each was looked for to the end of the page."""
_MOST_SIGNS: Final = 4_000
"""Places of a sign that are looked at; pages that people read have fewer."""


class Unread(NamedTuple):
    """A stretch of the source that nobody reads."""

    start: int
    end: int
    """-1 where the end is not in sight."""


def unread_parts(plain: str, start: int, stop: int) -> Iterator[Unread]:
    """The elements that nobody reads which start in a stretch of the source, in order, none in another."""
    at, passed = start, 0
    places = (islice(_places(plain, sign, start, stop), _MOST_SIGNS) for sign in _SIGNS)
    for place in sorted(chain.from_iterable(places)):
        if place < at or passed > _MOST_PASSED:
            continue
        opener = _opener(plain, place, at)
        if opener is None or not _is_unread(opener):
            continue
        end = element_end(plain, opener)
        if _is_banner(opener) and end - opener.start > _LARGEST_BANNER:
            continue
        if end < 0:
            passed += 1
        at = max(opener.end, min(end, stop))
        yield Unread(opener.start, end)


def _opener(plain: str, place: int, since: int) -> Opener | None:
    tag = plain.rfind("<", max(since, place - _LONGEST_TAG), place)
    if tag < 0 or plain.startswith(_DROPPED_ANYWAY, tag):
        return None
    found = opener_at(plain, tag)
    return found if found is not None and found.end > place else None


def _places(plain: str, sign: str, start: int, stop: int) -> Iterator[int]:
    at = plain.find(sign, start, stop)
    while at >= 0:
        yield at
        at = plain.find(sign, at + len(sign), stop)


def _is_unread(opener: Opener) -> bool:
    attributes = opener.attributes
    return opener.name not in _ALWAYS_READ and (
        ("hidden" in attributes and attributes["hidden"] != "until-found")
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") in _ROLES
        or _STYLE.search(attributes.get("style", "")) is not None
        or _is_banner(opener)
    )


def _is_banner(opener: Opener) -> bool:
    """True for what is named after cookies."""
    attributes = opener.attributes
    return "cookie" in f"{attributes.get('class', '')} {attributes.get('id', '')}"
