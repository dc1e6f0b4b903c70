"""Tells pages that the HTML library reads quickly, whatever is in them, from those that may take it minutes.

It only counts: what so few tags and attributes can do is bounded. Does not know what to do with the others.
"""

from __future__ import annotations

import re
from typing import Final

MOST_BYTES: Final = 500_000
"""Each new name of an element or an attribute is compared with many that came before."""
MOST_TAGS: Final = 100_000
MOST_STEPS: Final = 20_000_000
"""Start tags times tags: a tag is compared with the open ones, at worst with all that there were."""
MOST_CLONES: Final = 200_000
"""Formatting tags times tags: formatting that is not closed is made anew for each block."""
MOST_ATTRIBUTES: Final = 64
"""Each attribute is compared with all others of its tag."""

_TAG: Final = re.compile(rb"<[/!?a-zA-Z]")
_START_TAG: Final = re.compile(rb"<[a-zA-Z]")
_FORMAT: Final = re.compile(
    rb"<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\s/>]", re.IGNORECASE
)
# Looked for at every place where a tag might start, so that no quote or comment can hide one.
_MANY_ATTRIBUTES: Final = re.compile(
    rb"""<[a-zA-Z][^\t\n\f\r\x20/>]*+(?:[\t\n\f\r\x20/]*+[^\t\n\f\r\x20/>][^\t\n\f\r\x20/>=]*+
    (?:[\t\n\f\r\x20]*+=[\t\n\f\r\x20]*+(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r\x20>]*+))?+){%d}"""
    % (MOST_ATTRIBUTES + 1),
    re.VERBOSE,
)


def is_harmless(body: bytes) -> bool:
    """True if no page with as many tags, formats and attributes as this one takes long or much to read."""
    if len(body) > MOST_BYTES:
        return False
    tags = len(_TAG.findall(body))
    return (
        tags <= MOST_TAGS
        and len(_START_TAG.findall(body)) * tags <= MOST_STEPS
        and len(_FORMAT.findall(body)) * tags <= MOST_CLONES
        and _MANY_ATTRIBUTES.search(body) is None
    )
