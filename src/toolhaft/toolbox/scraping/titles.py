"""The title of a page: what it says it is, what it tells social networks, or its first heading.

Does not know how long a title may be that is shown.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from toolhaft.toolbox.scraping.flat import flatten
from toolhaft.toolbox.scraping.markup import Opener, element_end, opener_at
from toolhaft.toolbox.scraping.settling import settle
from toolhaft.toolbox.scraping.source import Source

_WITHIN: Final = 200_000
"""Bytes of a page, scripts aside, in which its title is looked for."""
_MOST_HEADINGS: Final = 5
_MOST_TITLES: Final = 50
_LONGEST_SOURCE: Final = 2_000
_TITLE: Final = re.compile(r"<title(?=[\s>])[^>]*+>([^<]*+(?:<(?!/title)[^<]*+)*+)", re.IGNORECASE)
_BODY: Final = re.compile(r"<body(?=[\s>])", re.IGNORECASE)
_META: Final = re.compile(r"<meta(?=[\s/])", re.IGNORECASE)
_HEADING: Final = re.compile(r"<h1(?=[\s>])", re.IGNORECASE)


def title_of(source: Source) -> str:
    """The title of a page, on one line; empty where it has none."""
    source.reach(_WITHIN)
    plain = source.text
    title = _one_line(_said(plain).replace("<", "&lt;"))
    return title or _one_line(_social_title(plain)) or _first_heading(plain)


def _said(plain: str) -> str:
    body = _BODY.search(plain)
    end = len(plain) if body is None else body.start()
    for match in islice(_TITLE.finditer(plain, 0, end), _MOST_TITLES):
        picture = plain.rfind("<svg", 0, match.start())  # what is drawn has titles too
        if picture < 0 or plain.find("</svg", picture, match.start()) >= 0:
            return match[1]
    return ""


def _social_title(plain: str) -> str:
    for match in _META.finditer(plain):
        opener = opener_at(plain, match.start())
        if opener is not None and _kind(opener) == "og:title":
            return opener.attributes.get("content", "").replace("<", "&lt;")
    return ""


def _kind(opener: Opener) -> str:
    return opener.attributes.get("property") or opener.attributes.get("name") or ""


def _first_heading(plain: str) -> str:
    for match in islice(_HEADING.finditer(plain), _MOST_HEADINGS):
        opener = opener_at(plain, match.start())
        end = -1 if opener is None else element_end(plain, opener)
        text = "" if end < 0 else _one_line(plain[match.start() : end])
        if text:
            return text
    return ""


def _one_line(source: str) -> str:
    return " ".join(settle(flatten(source[:_LONGEST_SOURCE])).split())
