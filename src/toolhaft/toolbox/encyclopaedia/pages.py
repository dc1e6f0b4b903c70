"""Reads what Wikipedia says about its pages: the hits of a search, and the summary of one page.

Does not know how Wikipedia is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.answers import AnswerError, html_at, is_address, is_whole, rows, text_at

_LONGEST_KEY: Final = 255


class Page(NamedTuple):
    """A page that a search found."""

    key: str
    """Its title as addresses have it."""
    title: str
    description: str
    """A few words, empty for pages that nobody described."""
    excerpt: str
    """Where in it the words of the search stand."""


class Summary(NamedTuple):
    """The beginning of a page; what it does not have is empty."""

    title: str
    extract: str
    description: str
    url: str
    is_ambiguous: bool
    """True for a page that only tells apart others of the same name."""


def read_pages(answer: JSONValue) -> list[Page]:
    """The pages that a search found, best first.

    Raises:
        AnswerError: where it is not the answer to a search.
    """
    found = [
        Page(text_at(row, "key"), text_at(row, "title"), text_at(row, "description"), html_at(row, "excerpt"))
        for row in rows(answer, "pages")
    ]
    return [page for page in found if page.title and _is_key(page.key)]


def read_summary(answer: JSONValue) -> Summary:
    """The beginning of a page.

    Raises:
        AnswerError: where it is not a summary.
    """
    title = text_at(answer, "titles", "normalized") or text_at(answer, "title")
    if not title:
        raise AnswerError("there is no 'title'")
    url = text_at(answer, "content_urls", "desktop", "page")
    return Summary(
        title=title,
        extract=text_at(answer, "extract").strip(),
        description=text_at(answer, "description").strip(),
        url=url if is_address(url) else "",
        is_ambiguous=text_at(answer, "type") == "disambiguation",
    )


def best_of(pages: Sequence[Page], query: str) -> Page:
    """The page whose title is the query, else the one that the search put first."""
    wanted = fold(query)
    return next((page for page in pages if fold(page.title) == wanted), pages[0])


def fold(title: str) -> str:
    """A title as it is compared."""
    return " ".join(title.replace("_", " ").split()).casefold()


def _is_key(key: str) -> bool:
    """True for what can be one step of a path, of no more bytes than Wikipedia's titles have."""
    if key in ("", ".", "..") or not is_whole(key):
        return False
    return len(key.encode()) <= _LONGEST_KEY


def path_of(key: str) -> str:
    """A page's title as one step of a path."""
    return quote(key.replace(" ", "_"), safe="")
