"""Requests searches and page summaries from Wikipedia, and reads its responses."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote

from toolhaft.core.context import ToolContext
from toolhaft.errors import ToolExecutionError
from toolhaft.resources.http.client import default_user_agent
from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.json_service import JsonService, ServiceError, ServiceRequest, request_json
from toolhaft.toolbox.untrusted_json import (
    AnswerError,
    html_at,
    is_intact,
    is_web_address,
    objects_at,
    text_at,
)

CONTACT_VARIABLE: Final = "TOOLHAFT_CONTACT"
_MAX_PAGES: Final = 10
_MISSING: Final = 404
_MAX_REDIRECTS: Final = 3
"""For a page that has moved, and a title in another spelling than Wikipedia's."""
_CONTACT: Final = re.compile(r"[^\s()@;]+@[^\s()@;]+\.[^\s()@;]+|https?://[^\s();]+")
_LONGEST_CONTACT: Final = 200

_LONGEST_KEY: Final = 255


class FoundPage(NamedTuple):
    """A page that a search found."""

    key: str
    """Its title as in an address."""
    title: str
    description: str
    """A short description; may be empty."""
    excerpt: str
    """The part of the page that matches the search."""


class PageSummary(NamedTuple):
    """The beginning of a page; missing fields are empty."""

    title: str
    extract: str
    description: str
    url: str
    is_ambiguous: bool
    """True for a page that lists several meanings of a name."""


def read_pages(answer: JSONValue) -> list[FoundPage]:
    """The pages that a search found, best first.

    Raises:
        AnswerError: if it is not the response to a search.
    """
    found = [
        FoundPage(
            text_at(row, "key"), text_at(row, "title"), text_at(row, "description"), html_at(row, "excerpt")
        )
        for row in objects_at(answer, "pages")
    ]
    return [page for page in found if page.title and _is_key(page.key)]


def read_summary(answer: JSONValue) -> PageSummary:
    """The beginning of a page.

    Raises:
        AnswerError: if it is not a summary.
    """
    title = text_at(answer, "titles", "normalized") or text_at(answer, "title")
    if not title:
        raise AnswerError("there is no 'title'")
    url = text_at(answer, "content_urls", "desktop", "page")
    return PageSummary(
        title=title,
        extract=text_at(answer, "extract").strip(),
        description=text_at(answer, "description").strip(),
        url=url if is_web_address(url) else "",
        is_ambiguous=text_at(answer, "type") == "disambiguation",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiki:
    """One Wikipedia, for the requests of one call."""

    address: str
    headers: Mapping[str, str]
    service: JsonService

    def find(self, query: str, context: ToolContext) -> list[FoundPage]:
        """The pages that fit a query, best first.

        Raises:
            ServiceError: if Wikipedia gives no usable response.
        """
        request = ServiceRequest(
            url=f"{self.address}/w/rest.php/v1/search/page",
            query={"q": query, "limit": str(_MAX_PAGES)},
            headers=self.headers,
        )
        return self.service.parse(read_pages, request_json(request, self.service, context))

    def summarize(self, page: FoundPage, context: ToolContext) -> PageSummary:
        """The summary of a page; for one without a summary, what the search returned.

        Raises:
            ServiceError: if Wikipedia gives no usable response.
        """
        request = ServiceRequest(
            url=f"{self.address}/api/rest_v1/page/summary/{path_of(page.key)}", headers=self.headers
        )
        try:
            answer = request_json(request, self.service, context)
        except ServiceError as error:
            if error.status != _MISSING:
                raise
            return PageSummary(page.title, "", page.description, "", is_ambiguous=False)
        return self.service.parse(read_summary, answer)

    def url_of(self, page: FoundPage) -> str:
        """The address of a page for readers."""
        return f"{self.address}/wiki/{path_of(page.key)}"


def open_wiki(language: str, contact: str | None, endpoint: str | None) -> Wiki:
    """The Wikipedia of a language.

    Raises:
        ToolExecutionError: if the configured contact for Wikimedia is not valid.
    """
    reachable_at = contact or os.environ.get(CONTACT_VARIABLE, "").strip()
    fix = f"set {CONTACT_VARIABLE} to your e-mail address or a URL of yours"
    if reachable_at and not is_contact(reachable_at):
        raise ToolExecutionError(
            f"{CONTACT_VARIABLE} is neither an e-mail address nor a URL, and nothing was sent: {fix}"
        )
    advice = f"check that the contact in {CONTACT_VARIABLE} or WikipediaConfig(contact=...) reaches you"
    if not reachable_at:
        advice = f"{fix}: Wikimedia refuses more requests of those who name no contact"
    service = JsonService(
        name=f"Wikipedia ({language})", if_denied=advice, if_busy=advice, max_redirects=_MAX_REDIRECTS
    )
    address = endpoint or f"https://{language}.wikipedia.org"
    agent = f"{default_user_agent()} ({'; '.join(filter(None, (reachable_at, 'wikipedia tool')))})"
    return Wiki(address=address.rstrip("/"), headers={"User-Agent": agent}, service=service)


def is_contact(contact: str) -> bool:
    """True for an e-mail address or a URL that can be sent in a header."""
    if not isinstance(contact, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
        return False
    is_line = contact.isascii() and contact.isprintable() and len(contact) <= _LONGEST_CONTACT
    return is_line and _CONTACT.fullmatch(contact) is not None


def best_of(pages: Sequence[FoundPage], query: str) -> FoundPage:
    """The page whose title equals the query, or the first result."""
    wanted = fold(query)
    return next((page for page in pages if fold(page.title) == wanted), pages[0])


def fold(title: str) -> str:
    """A title normalised for comparison."""
    return " ".join(title.replace("_", " ").split()).casefold()


def _is_key(key: str) -> bool:
    """True for a key that is one valid path segment, and not longer than titles can be."""
    if key in ("", ".", "..") or not is_intact(key):
        return False
    return len(key.encode()) <= _LONGEST_KEY


def path_of(key: str) -> str:
    """A page's key as one segment of a path."""
    return quote(key.replace(" ", "_"), safe="")
