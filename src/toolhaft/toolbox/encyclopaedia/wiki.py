"""Asks one Wikipedia, on behalf of somebody whom Wikimedia can reach.

Does not know what is done with its pages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.errors import ToolExecutionError
from toolhaft.resources.http.agent import usual_user_agent
from toolhaft.toolbox.asking import Question, Service, ServiceError, ask
from toolhaft.toolbox.encyclopaedia.pages import Page, Summary, path_of, read_pages, read_summary

CONTACT_VARIABLE: Final = "TOOLHAFT_CONTACT"
_MOST_PAGES: Final = 10
_MISSING: Final = 404
_MOST_REDIRECTS: Final = 3
"""A page that has moved, and a title that was not written as Wikipedia writes it."""
_CONTACT: Final = re.compile(r"[^\s()@;]+@[^\s()@;]+\.[^\s()@;]+|https?://[^\s();]+")
_LONGEST_CONTACT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiki:
    """One Wikipedia, as one call asks it."""

    address: str
    headers: Mapping[str, str]
    service: Service

    def find(self, query: str, context: ToolContext) -> list[Page]:
        """The pages that fit a query, best first.

        Raises:
            ServiceError: where Wikipedia gives no answer.
        """
        question = Question(
            url=f"{self.address}/w/rest.php/v1/search/page",
            query={"q": query, "limit": str(_MOST_PAGES)},
            headers=self.headers,
        )
        return self.service.understand(read_pages, ask(question, self.service, context))

    def summarize(self, page: Page, context: ToolContext) -> Summary:
        """The beginning of a page; of one that has none, what the search knew of it.

        Raises:
            ServiceError: where Wikipedia gives no answer.
        """
        question = Question(
            url=f"{self.address}/api/rest_v1/page/summary/{path_of(page.key)}", headers=self.headers
        )
        try:
            answer = ask(question, self.service, context)
        except ServiceError as error:
            if error.status != _MISSING:
                raise
            return Summary(page.title, "", page.description, "", is_ambiguous=False)
        return self.service.understand(read_summary, answer)

    def url_of(self, page: Page) -> str:
        """Where people read a page."""
        return f"{self.address}/wiki/{path_of(page.key)}"


def open_wiki(language: str, contact: str | None, endpoint: str | None) -> Wiki:
    """The Wikipedia of a language.

    Raises:
        ToolExecutionError: where nobody said whom Wikimedia can reach.
    """
    whom = contact or os.environ.get(CONTACT_VARIABLE, "").strip()
    if not is_contact(whom):
        state = "is no e-mail address and no URL" if whom else "is not set"
        raise ToolExecutionError(
            f"{CONTACT_VARIABLE} {state}, and nothing was sent: Wikimedia wants to know whom to reach about "
            f"requests. Set {CONTACT_VARIABLE} to your e-mail address or a URL of yours, or use "
            "make_wikipedia(WikipediaConfig(contact=...))"
        )
    service = Service(
        name=f"Wikipedia ({language})",
        if_denied=f"see that the contact in {CONTACT_VARIABLE} or WikipediaConfig(contact=...) reaches you",
        max_redirects=_MOST_REDIRECTS,
    )
    address = endpoint or f"https://{language}.wikipedia.org"
    agent = f"{usual_user_agent()} ({whom}; wikipedia tool)"
    return Wiki(address=address.rstrip("/"), headers={"User-Agent": agent}, service=service)


def is_contact(contact: str) -> bool:
    """True for an e-mail address or a URL that can stand in a header."""
    if not isinstance(contact, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- configs come from anywhere
        return False
    is_line = contact.isascii() and contact.isprintable() and len(contact) <= _LONGEST_CONTACT
    return is_line and _CONTACT.fullmatch(contact) is not None
