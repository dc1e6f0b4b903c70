"""Finds where an element ends, also one whose end tag is left out.

Does not know what the element is for.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from toolhaft.toolbox.scraping.markup import TAG, VOID, Opener, element_end
from toolhaft.toolbox.scraping.nesting import AROUND_OTHERS, MAY_LACK_END, Nesting

_MOST_INSIDE: Final = 5_000
"""Tags; in an element of more, only the tags of its name are counted."""


def end_of(source: str, opener: Opener, last: int) -> int:
    """The place where an element ends; -1 where that is not in sight.

    Args:
        source: of the page.
        opener: its start tag.
        last: the end of the last tag of the source, which takes long to find.
    """
    if opener.name not in MAY_LACK_END:
        return element_end(source, opener)
    nesting = Nesting()
    nesting.start(opener.name)
    # up to the last one every attempt at a tag ends in one
    for match in islice(TAG.finditer(source, opener.end, last), _MOST_INSIDE):
        name = match[1].lower().removeprefix("/")
        is_end = match[1].startswith("/")
        if is_end and name in AROUND_OTHERS and not nesting.is_in((name,)):
            return match.start()
        if is_end:
            nesting.end(name)
        else:
            nesting.before(name)
        if nesting.is_empty:
            return match.end() if is_end else match.start()
        if not is_end and name not in VOID:
            nesting.start(name)
    return element_end(source, opener)
