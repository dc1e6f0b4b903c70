"""Fetches a page, reads it as it was asked for, and tells what is worth knowing about that.

Does not know the tool's schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import AnyStr, Final, NamedTuple

from toolhaft.core.context import ToolContext
from toolhaft.core.result import ToolResult
from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.resources.http import HttpResponse
from toolhaft.resources.http.places import read_url
from toolhaft.toolbox.outside import from_outside, one_line, show_outside
from toolhaft.toolbox.scraping.charset import to_utf8
from toolhaft.toolbox.scraping.config import ScraperConfig
from toolhaft.toolbox.scraping.fetching import Fetcher
from toolhaft.toolbox.scraping.leads import leads_of
from toolhaft.toolbox.scraping.media import kind_of
from toolhaft.toolbox.scraping.readable import Readable, read_page
from toolhaft.toolbox.scraping.selecting import select
from toolhaft.toolbox.scraping.selector_reader import read_selector
from toolhaft.toolbox.scraping.selectors import Complex
from toolhaft.toolbox.scraping.source import Source
from toolhaft.toolbox.scraping.titles import title_of
from toolhaft.toolbox.scraping.xhtml import MEDIA_TYPE, as_html

LONGEST_TITLE: Final = 300
_LONGEST_CHARACTER: Final = 4
"""Bytes of a character in UTF-8."""


class _Read(NamedTuple):
    """A document as it was read."""

    text: str
    title: str = ""
    is_whole: bool = True
    notes: tuple[str, ...] = ()


class Scraper:
    """What all calls of a tool share."""

    __slots__ = ("_config", "_fetcher")

    def __init__(self, config: ScraperConfig) -> None:
        self._config = config
        self._fetcher = Fetcher(config)

    def scrape(self, url: str, selector: str | None, context: ToolContext) -> ToolResult[dict[str, object]]:
        """The text and the title of the page at an address.

        Raises:
            ToolValidationError: for an address that may not be fetched, or a selector that cannot be read.
            ToolExecutionError: where there is no page, or nothing to read on it.
        """
        selectors = None if selector is None else read_selector(selector)  # before anything is fetched for it
        response = self._fetcher.fetch(url, context)
        found = self._read(response, selectors)
        text = show_outside(found.text, longest=self._config.max_chars)
        title = show_outside(found.title, longest=LONGEST_TITLE)
        notes = [*_moved(url, response), *found.notes]
        if text.cut or not found.is_whole:
            what = "a narrower selector" if selectors else "a selector"
            notes.append(
                f"cut: the first {len(text.text):,} characters are shown, give {what} to read other parts"
            )
        if "\ufffd" in text.text:
            notes.append("what could not be decoded stands as U+FFFD")
        notes += (note for note in text._replace(cut=0).notes)
        value: dict[str, object] = {"text": text.text, "title": title.text}
        return from_outside(value, _without_query(response.url), *notes)

    def _read(self, response: HttpResponse, selectors: Sequence[Complex] | None) -> _Read:
        kind = kind_of(response)
        body, note = to_utf8(response.body, response.headers.get("content-type", ""))
        notes = (note,) if note else ()
        longest = self._config.max_chars
        if kind == "text":
            if selectors is not None:
                what = one_line(response.media_type) or "plain text"
                raise ToolValidationError(f"a selector is for web pages, and this is {what}: leave it out")
            start = body.lstrip()[: (longest + 1) * _LONGEST_CHARACTER]
            return _Read(_not_empty(start.decode(errors="replace").strip()), notes=notes)
        _not_empty(body.strip())
        if response.media_type == MEDIA_TYPE:
            body = as_html(body)
        source = Source(body)
        title = title_of(source)
        if selectors is not None:
            text, is_whole, is_searched = select(body, selectors, longest=longest)
            large = () if is_searched else ("the page is very large, and only its first part was searched",)
            return _Read(text, title, is_whole, (*notes, *large))
        if self._config.extractor == "trafilatura":
            from toolhaft.toolbox.scraping.by_trafilatura import extract_text  # noqa: PLC0415 -- slow, and rarely asked for

            found = Readable(extract_text(body), is_whole=True)
        else:
            found = read_page(source, longest=longest)
        if not found.text:
            raise _nothing(leads_of(source.text, response.url))
        return _Read(found.text, title, found.is_whole, notes)


def _not_empty(text: AnyStr) -> AnyStr:
    if not text:
        raise ToolExecutionError("the document is empty; look for another address")
    return text


def _nothing(leads: Sequence[str]) -> ToolExecutionError:
    """The error for a page that is not empty and has nothing to read."""
    if leads:
        addresses = " and ".join(map(one_line, leads))
        error = ToolExecutionError(f"the page has no text of its own, and leads to {addresses}")
        error.untrusted = True
        return error
    return ToolExecutionError(
        "the page has no text that could be read: it may be drawn by scripts, which are not run, "
        "or be hidden; a selector reads hidden parts too"
    )


def _moved(url: str, response: HttpResponse) -> tuple[str, ...]:
    """Where redirects led, if there were any."""
    if read_url(url.strip()).url == response.url:
        return ()
    return (f"redirected to {one_line(_without_query(response.url))}",)


def _without_query(url: str) -> str:
    """An address without what may be a secret in it."""
    return url.partition("?")[0]
