"""The title of a page: what it says it is, what it tells social networks, or its first heading.

Does not know how long a title may be that is shown.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from toolhaft.toolbox.scraping.flat import flatten
from toolhaft.toolbox.scraping.markup import TAG, Opener, element_end, opener_at, openers
from toolhaft.toolbox.scraping.pruning import prune, without_rim
from toolhaft.toolbox.scraping.settling import settle
from toolhaft.toolbox.scraping.source import Source

_WITHIN: Final = 200_000
"""Characters of a page, scripts aside, in which its title is looked for."""
_MOST_HEADINGS: Final = 5
_MOST_METAS: Final = 300
_LONGEST_SOURCE: Final = 2_000
_TITLE: Final = re.compile(r"<title(?=[\s/>])", re.IGNORECASE)
_TITLE_TEXT: Final = re.compile(r"[^<]*+(?:<(?!/title)[^<]*+)*+", re.IGNORECASE)
_INERT: Final = frozenset(("iframe", "math", "noscript", "svg", "template", "textarea", "xmp"))
"""Elements in which a title is not that of the page."""
_META: Final = re.compile(r"<meta(?=[\s/])", re.IGNORECASE)
_HEADING: Final = re.compile(r"<h1(?=[\s>])", re.IGNORECASE)


def title_of(source: Source) -> str:
    """The title of a page, on one line; empty where it has none."""
    source.reach(_WITHIN)
    plain = source.text[:_WITHIN]  # a tag that is longer was taken whole
    title = _one_line(_said(plain).replace("<", "&lt;"))
    return title or _one_line(_social_title(plain)) or _first_heading(plain)


def _said(plain: str) -> str:
    if _TITLE.search(plain) is None:
        return ""
    around, depth = "", 0
    end = plain.rfind(">") + 1  # up to there every attempt at a tag ends in one
    for match in TAG.finditer(plain, 0, end):
        name = match[1].lower()
        if around:
            depth += (name == around) - (name == f"/{around}")
            around = around if depth else ""
        elif name in _INERT and not match[0].endswith("/>"):
            around, depth = name, 1
        elif name == "title":
            text = _TITLE_TEXT.match(plain, match.end())
            return "" if text is None else text[0]
    return ""


def _social_title(plain: str) -> str:
    for opener in openers(plain, _META, most=_MOST_METAS):
        if _kind(opener) == "og:title":
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
    flat = flatten(source[:_LONGEST_SOURCE], marks_unread=True)
    return " ".join(settle(without_rim(prune(flat, is_last=True, keeps_notes=False).flat)).split())
