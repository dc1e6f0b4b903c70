"""Tells which elements of a page nobody reads, by their attributes: hidden ones, menus, cookie banners.

Those that are dropped for their names alone are known to the flat text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_BANNER: Final = re.compile(
    r"(?<!has-)(?<!with-)(?<!no-)cookie[\w-]{0,20}?"
    r"(?:alert|banner|bar|consent|dialog|disclaimer|law|message|modal|notice|overlay|popup|prompt|warning)\b"
    r"|\b(?:banner|consent|gdpr|notice)[\w-]{0,20}?cookies?\b"
)
_IMPORTANT: Final = re.compile(r"<(?:main|article|h1)[\s>]")
"""No question about cookies holds any of these."""
_LARGEST_BANNER: Final = 8_000
"""Characters of source."""
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
    for place in _places(plain, start, stop):
        tag = plain.rfind("<", max(at, place - _LONGEST_TAG), place)
        if tag < 0 or plain.startswith(_DROPPED_ANYWAY, tag) or passed > _MOST_PASSED:
            continue
        opener = opener_at(plain, tag)
        if opener is None or opener.end <= place or not _is_unread(opener):
            continue
        if _is_banner(opener):
            end = element_end(plain, opener, within=_LARGEST_BANNER)
            if end < 0 or _IMPORTANT.search(plain, opener.end, end):
                continue
        else:
            end = element_end(plain, opener)
        if end < 0:
            passed += 1
        at = max(opener.end, min(end, stop))
        yield Unread(opener.start, end)


def _places(plain: str, start: int, stop: int) -> list[int]:
    """Where signs stand, in order."""
    places: list[int] = []
    for sign in _SIGNS:
        at = plain.find(sign, start, stop)
        most = len(places) + _MOST_SIGNS
        while at >= 0 and len(places) < most:
            places.append(at)
            at = plain.find(sign, at + 1, stop)
    places.sort()
    return places


def is_hidden(opener: Opener) -> bool:
    """True for an element that is not shown."""
    attributes = opener.attributes
    return (
        ("hidden" in attributes and attributes["hidden"] != "until-found")
        or attributes.get("aria-hidden") == "true"
        or _STYLE.search(attributes.get("style", "")) is not None
    )


def _is_unread(opener: Opener) -> bool:
    return opener.name not in _ALWAYS_READ and (
        is_hidden(opener) or opener.attributes.get("role") in _ROLES or _is_banner(opener)
    )


def _is_banner(opener: Opener) -> bool:
    """True for what is named as questions about cookies are."""
    attributes = opener.attributes
    return _BANNER.search(f"{attributes.get('class', '')} {attributes.get('id', '')}".lower()) is not None
