"""The text of the elements of a page that a selector asks for.

Does not know how the page was fetched, or how much of the text is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from toolhaft.errors import ToolExecutionError
from toolhaft.toolbox.scraping.flat import flatten
from toolhaft.toolbox.scraping.harmless import is_harmless
from toolhaft.toolbox.scraping.matching import Element, Elements
from toolhaft.toolbox.scraping.orderly import Orderly, put_in_order
from toolhaft.toolbox.scraping.selectors import Complex, Compound
from toolhaft.toolbox.scraping.settling import settle
from toolhaft.toolbox.scraping.source import Source

_MOST_TOLD: Final = 6
_AS_WRITTEN: Final = ("script", "style")


class Selected(NamedTuple):
    """What was found."""

    text: str
    is_whole: bool
    """False where there is more text than was wanted."""
    is_searched: bool
    """False where the page has more tags than were looked at."""


def select(body: bytes, selectors: Sequence[Complex], *, longest: int) -> Selected:
    """The text of what the selectors match on a page in UTF-8, a paragraph for each element.

    Raises:
        ToolExecutionError: where they match nothing, or nothing that has text.
    """
    page = Orderly(body, is_whole=True) if is_harmless(body) else put_in_order(body)
    elements = Elements(page.body)
    found = elements.find(selectors)
    if not found:
        rest = "" if page.is_whole else " in the first part of the page, which is very large"
        raise ToolExecutionError(
            f"selector matches nothing{rest}; {_counted(elements, selectors)}; try without a selector"
        )
    texts: list[str] = []
    size = 0
    for element in found:
        text = _text_of(element)
        texts += (text,) if text else ()
        size += len(text)
        if size > longest:
            break
    if not texts:
        several = "1 element that has no text; select what is around it"
        if len(found) > 1:
            several = f"{len(found):,} elements that have no text; select what is around them"
        raise ToolExecutionError(f"selector matches {several}")
    return Selected("\n\n".join(texts), size <= longest, page.is_whole)


def _text_of(element: Element) -> str:
    if element.tag in _AS_WRITTEN:
        return element.text().strip()
    source = Source((element.html or "").encode())
    source.take(source.left)
    return settle(flatten(source.text))


def _counted(elements: Elements, selectors: Sequence[Complex]) -> str:
    """How many elements fit each part of the selectors, for whoever has to write better ones."""
    names = dict.fromkeys(compound.simple for selector in selectors for _, compound in selector.steps)
    told = [
        f"{name or '*'!r} alone matches {elements.count(Compound(simple=name)):,}"
        for name in [*names][:_MOST_TOLD]
    ]
    return ", ".join(told)
