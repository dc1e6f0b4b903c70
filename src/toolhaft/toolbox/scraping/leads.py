"""Where a page leads that has no text of its own: one that only sends its readers on, or only holds frames.

Does not go there.
"""

from __future__ import annotations

import html
import re
from itertools import islice
from typing import Final
from urllib.parse import urljoin

from toolhaft.errors import HttpRefusedError
from toolhaft.resources.http.places import read_url
from toolhaft.toolbox.scraping.markup import Opener, openers

_WITHIN: Final = 200_000
_MOST_TAGS: Final = 100
_MOST_TOLD: Final = 3
_LONGEST: Final = 200
_TAG: Final = re.compile(r"<(?:meta|frame)(?=[\s/])", re.IGNORECASE)
_REFRESH: Final = re.compile(r"""[\s\d.]*+[;,]?+\s*+(?:url\s*+=\s*+)?+["']?+([^\s"']++)""", re.IGNORECASE)


def leads_of(plain: str, url: str) -> list[str]:
    """The addresses that a page leads to which was fetched from an address, without their queries."""
    found = (_address(opener, url) for opener in openers(plain[:_WITHIN], _TAG, most=_MOST_TAGS))
    here = url.partition("?")[0]
    told = dict.fromkeys(address for address in found if address and address.partition(" ")[0] != here)
    return [*islice(told, _MOST_TOLD)]


def _address(opener: Opener, url: str) -> str:
    try:
        written = html.unescape(_written(opener)).strip()
        place = read_url(urljoin(url, written)).url if written else ""
    except (HttpRefusedError, ValueError):
        return ""
    bare, query, _ = place.partition("?")
    if len(bare) > _LONGEST:
        return ""
    return f"{bare} (its query is left out)" if query else bare


def _written(opener: Opener) -> str:
    attributes = opener.attributes
    if opener.name == "frame":
        return attributes.get("src", "")
    is_refresh = attributes.get("http-equiv", "").lower() == "refresh"
    match = _REFRESH.match(attributes.get("content", "")) if is_refresh else None
    return "" if match is None else match[1]
