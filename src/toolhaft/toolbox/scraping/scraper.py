"""Fetches a document, reads it in a worker, and returns its text and title with notes about them."""

from __future__ import annotations

from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.core.result import ToolResult
from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.resources.http import HttpResponse
from toolhaft.resources.http.urls import parse_url
from toolhaft.toolbox.scraping.config import ScraperConfig
from toolhaft.toolbox.scraping.fetching import DocumentFetcher, document_kind
from toolhaft.toolbox.scraping.page_limits import XHTML
from toolhaft.toolbox.scraping.page_reader import PageRequest, PageText
from toolhaft.toolbox.scraping.parse_worker import parse_workers
from toolhaft.toolbox.scraping.selectors import Selector, check_selector
from toolhaft.toolbox.text_encoding import page_to_utf8
from toolhaft.toolbox.untrusted_text import short_line, show_untrusted, untrusted_result

LONGEST_TITLE: Final = 300
_BYTES_PER_CHARACTER: Final = 4
"""At most, in UTF-8."""


class Scraper:
    """The fetcher and the options that all calls of a tool share."""

    __slots__ = ("_config", "_fetcher")

    def __init__(self, config: ScraperConfig) -> None:
        self._config = config
        self._fetcher = DocumentFetcher(config)

    def scrape(self, url: str, selector: str | None, context: ToolContext) -> ToolResult[dict[str, object]]:
        """The text and the title of the page at an address.

        Raises:
            ToolValidationError: for an address that may not be fetched, or an invalid selector.
            ToolExecutionError: if there is no page, or nothing to read on it.
        """
        checked = None if selector is None else check_selector(selector)  # before anything is fetched
        response = self._fetcher.fetch(url, context)
        kind = document_kind(response)
        body, charset_note = page_to_utf8(response.body, response.headers.get("content-type", ""))
        if not body.strip():
            raise ToolExecutionError("the document is empty; look for another address")
        if kind == "text":
            page = self._read_text(body, checked, response)
        else:
            page = self._read_page(body, checked, response, context)
        return self._result(page, [*_redirect_note(url, response), charset_note], response, checked)

    def _read_text(self, body: bytes, selector: Selector | None, response: HttpResponse) -> PageText:
        if selector is not None:
            what = short_line(response.media_type) or "plain text"
            raise ToolValidationError(f"a selector is for web pages, and this is {what}: leave it out")
        start = body.lstrip()[: (self._config.max_chars + 1) * _BYTES_PER_CHARACTER]
        return PageText(start.decode(errors="replace").strip(), title="", is_whole=True, targets=())

    def _read_page(
        self, body: bytes, selector: Selector | None, response: HttpResponse, context: ToolContext
    ) -> PageText:
        request = PageRequest(
            body=body,
            url=response.url,
            is_xhtml=response.media_type == XHTML,
            selector=selector,
            extractor=self._config.extractor,
            longest=self._config.max_chars,
        )
        page = parse_workers.read(request, context)
        if not page.text:
            raise _nothing_to_read(page)
        return page

    def _result(
        self, page: PageText, notes: list[str], response: HttpResponse, selector: Selector | None
    ) -> ToolResult[dict[str, object]]:
        text = show_untrusted(page.text, longest=self._config.max_chars)
        title = show_untrusted(page.title, longest=LONGEST_TITLE)
        if text.cut or not page.is_whole:
            what = "a narrower selector" if selector else "a selector"
            notes.append(
                f"cut: the first {len(text.text):,} characters are shown, give {what} to read other parts"
            )
        if "\ufffd" in text.text:
            notes.append("bytes that could not be decoded are shown as U+FFFD")
        notes += text._replace(cut=0).notes
        value: dict[str, object] = {"text": text.text, "title": title.text}
        return untrusted_result(value, _without_query(response.url), *filter(None, notes))


def _nothing_to_read(page: PageText) -> ToolExecutionError:
    """The error for a page that has no text, although it is not empty."""
    if page.targets:
        addresses = " and ".join(map(short_line, page.targets))
        error = ToolExecutionError(f"the page has no text, and leads to {addresses}")
        error.untrusted = True
        return error
    return ToolExecutionError(
        "the page has no text that could be read: it may be drawn by scripts, which are not run, "
        "or be hidden; a selector reads hidden parts too"
    )


def _redirect_note(url: str, response: HttpResponse) -> tuple[str, ...]:
    if parse_url(url.strip()).url == response.url:
        return ()
    return (f"redirected to {short_line(_without_query(response.url))}",)


def _without_query(url: str) -> str:
    """An address without the part that may hold a secret."""
    return url.partition("?")[0]
