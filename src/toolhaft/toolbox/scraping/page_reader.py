"""Reads the title of a page, and its main text or selected elements; runs in a worker process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import urljoin

try:
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError
except ImportError as error:
    raise ImportError("web pages need selectolax: pip install 'toolhaft[web]'") from error

from toolhaft.errors import HttpRefusedError, ToolExecutionError
from toolhaft.resources.http.urls import parse_url
from toolhaft.toolbox.scraping.config import Extractor
from toolhaft.toolbox.scraping.main_text import ReadText, read_main_text
from toolhaft.toolbox.scraping.page_limits import limit_page, xhtml_to_html
from toolhaft.toolbox.scraping.selectors import Selector
from toolhaft.toolbox.scraping.text_lines import HtmlNode, LineWriter, has_ancestor, join_lines

_MAX_COUNTED: Final = 6
"""Parts of a selector whose matches are counted for an error message."""
_AS_WRITTEN: Final = ("script", "style")
_NO_TITLE_IN: Final = ("math", "noscript", "svg")
"""Elements in which a <title> is not that of the page."""
_LONGEST_TITLE: Final = 2_000
_MAX_TARGETS: Final = 3
_LONGEST_TARGET: Final = 200
_REFRESH: Final = re.compile(r"""[\s\d.]*+[;,]?+\s*+(?:url\s*+=\s*+)?+["']?+([^\s"']++)""", re.IGNORECASE)


class PageRequest(NamedTuple):
    """A page, and what to read of it."""

    body: bytes
    """In UTF-8."""
    url: str
    is_xhtml: bool
    selector: Selector | None
    extractor: Extractor
    longest: int
    """Characters of text that are wanted; more may be returned."""


class PageText(NamedTuple):
    """What was read."""

    text: str
    """Empty if there is nothing to read."""
    title: str
    is_whole: bool
    """False if there is more text than was wanted."""
    targets: tuple[str, ...]
    """Where a page without text redirects, or what its frames show."""


def read_page(request: PageRequest) -> PageText:
    """The text and the title of a page.

    Raises:
        ToolExecutionError: if the selector matches nothing that has text, or the extractor fails.
        MemoryError: if the page takes more memory than the process may use.
    """
    body = limit_page(xhtml_to_html(request.body) if request.is_xhtml else request.body)
    try:
        tree = LexborHTMLParser(body)
    except SelectolaxError as error:  # HTML is never invalid, so this is the only reason
        raise MemoryError("no memory left to parse the page") from error
    title = find_title(tree)
    if request.selector is not None:
        found = select_text(tree, request.selector, longest=request.longest)
    elif request.extractor == "trafilatura":
        found = ReadText(extract_with_trafilatura(body), is_whole=True)
    else:
        found = read_main_text(tree, longest=request.longest)
    targets = () if found.text else tuple(islice(find_targets(tree, request.url), _MAX_TARGETS))
    return PageText(found.text[: request.longest + 1], title, found.is_whole, targets)


def extract_with_trafilatura(body: bytes) -> str:
    """The readable text of a page as trafilatura finds it; empty if it finds none.

    Raises:
        ToolExecutionError: if it fails.
    """
    from trafilatura import extract  # noqa: PLC0415 -- slow to import, and rarely chosen

    try:
        return extract(body.decode(errors="replace"), include_comments=False) or ""
    except (ValueError, TypeError, RecursionError, LookupError, AttributeError) as error:
        raise ToolExecutionError(f"trafilatura could not read the page ({type(error).__name__})") from error


def select_text(tree: LexborHTMLParser, selector: Selector, *, longest: int) -> ReadText:
    """The text of the elements that a selector matches, one paragraph per element.

    Raises:
        ToolExecutionError: if it matches nothing, or nothing that has text.
    """
    found = find_elements(tree, selector.css)
    if not found:
        counts = ", ".join(
            f"{part or '*'!r} alone matches {len(_unique(tree, part or '*')):,}"
            for part in selector.parts[:_MAX_COUNTED]
        )
        raise ToolExecutionError(f"selector matches nothing; {counts}; try without a selector")
    texts: list[str] = []
    left = longest
    for node in found:
        text = _text_of(node, longest=max(left, 0))
        texts += (text,) if text else ()
        left -= len(text)
        if left < 0:
            break
    if not texts:
        several = "1 element that has no text; select what is around it"
        if len(found) > 1:
            several = f"{len(found):,} elements that have no text; select what is around them"
        raise ToolExecutionError(f"selector matches {several}")
    return ReadText("\n\n".join(texts), is_whole=left >= 0)


def _unique(tree: LexborHTMLParser, css: str) -> set[int]:
    return {node.mem_id for node in tree.css(css)}  # an element may match twice


def find_elements(tree: LexborHTMLParser, css: str) -> list[HtmlNode]:
    """The elements that match, in the order of the page, without those inside another one."""
    matches = _unique(tree, css)
    found: list[HtmlNode] = []
    pending = [tree.root] if matches and tree.root is not None else []
    while pending:
        node = pending.pop()
        if node.next is not None:
            pending.append(node.next)
        if node.mem_id in matches:
            found.append(node)
        elif node.child is not None:
            pending.append(node.child)
    return found


def _text_of(node: HtmlNode, *, longest: int) -> str:
    if node.tag in _AS_WRITTEN:
        return node.text().strip()
    return join_lines(LineWriter(_always, longest=longest).write(node))


def _always(_node: HtmlNode, _tag: str) -> bool:
    return True


def find_title(tree: LexborHTMLParser) -> str:
    """The title of a page: its <title>, else the one for social networks, else its first heading."""
    return next(filter(None, (" ".join(title[:_LONGEST_TITLE].split()) for title in _titles(tree))), "")


def _titles(tree: LexborHTMLParser) -> Iterator[str]:
    title = next((node for node in tree.css("title") if not has_ancestor(node, _NO_TITLE_IN)), None)
    yield "" if title is None else title.text()
    for meta in tree.css("meta[property='og:title'], meta[name='og:title']"):
        yield meta.attributes.get("content") or ""
        break
    for heading in tree.css("h1"):
        yield join_lines(LineWriter(_is_in_heading, longest=_LONGEST_TITLE).write(heading))


def _is_in_heading(_node: HtmlNode, tag: str) -> bool:
    return tag not in ("annotation", "noscript", "select", "svg", "textarea")


def find_targets(tree: LexborHTMLParser, url: str) -> Iterator[str]:
    """The addresses to which a page fetched from `url` redirects or that its frames show, without queries."""
    known = {url.partition("?")[0]}
    for node in tree.css("meta[http-equiv=refresh i], frame"):
        written = node.attributes.get("src") or ""
        if node.tag == "meta":
            match = _REFRESH.match(node.attributes.get("content") or "")
            written = "" if match is None else match[1]
        bare, query = _address(written.strip(), url)
        if bare and bare not in known:
            known.add(bare)
            yield f"{bare} (its query is left out)" if query else bare


def _address(written: str, url: str) -> tuple[str, str]:
    try:
        address = parse_url(urljoin(url, written)).url if written else ""
    except (HttpRefusedError, ValueError):
        return "", ""
    bare, _, query = address.partition("?")
    return (bare, query) if len(bare) <= _LONGEST_TARGET else ("", "")
