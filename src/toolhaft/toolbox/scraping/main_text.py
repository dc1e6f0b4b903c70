"""Extracts the readable text of a page: its main part, without menus, hidden elements and cookie banners."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from toolhaft.toolbox.scraping.text_lines import (
    BLOCKS,
    HEADINGS,
    HtmlNode,
    LineWriter,
    TextLine,
    has_ancestor,
    join_lines,
    neighbour_tag,
)

_MIN_MAIN_CHARS: Final = 250
"""A main part with this many characters is returned without the rest of the page."""
_MAX_PAGE_RATIO: Final = 4
"""A shorter main part is returned too, unless the whole page has more than this many times its text."""
_READ_AHEAD: Final = 5 / 4
"""This many times the wanted text is read, because some lines are left out afterwards."""

_DROPPED_NAMES: Final = (
    "annotation annotation-xml audio canvas datalist iframe nav noembed noframes noscript object script "
    "select style svg template textarea title video"
)
_DROPPED: Final = frozenset(_DROPPED_NAMES.split())
_CONDITIONAL: Final = frozenset(("aside", "button", "footer", "form", "header"))
"""Elements that are read depending on their content and on the elements around them."""
_ALWAYS_READ: Final = frozenset(("article", "body", "html", "main"))
_UNREAD_ROLE_NAMES: Final = (
    "alertdialog complementary contentinfo dialog menu menubar navigation search toolbar"
)
_UNREAD_ROLES: Final = frozenset(_UNREAD_ROLE_NAMES.split())
_MAYBE_UNREAD: Final = (
    "[hidden], [aria-hidden=true], [style*=display i], [style*=visibility i], [role], dialog, "
    "[class*=cookie i], [id*=cookie i]"
)
_HIDING_STYLE: Final = re.compile(r"display\s*+:\s*+none|visibility\s*+:\s*+hidden", re.IGNORECASE)
_BANNER: Final = re.compile(
    r"(?<!has-)(?<!with-)(?<!no-)cookie[\w-]{0,20}?"
    r"(?:alert|banner|bar|consent|dialog|disclaimer|law|message|modal|notice|overlay|popup|prompt|warning)\b"
    r"|\b(?:banner|consent|gdpr|notice)[\w-]{0,20}?cookies?\b",
    re.IGNORECASE,
)
_LARGEST_BANNER: Final = 8_000
"""Characters of HTML; a larger element is probably an article about cookies."""
_MAIN_ELEMENTS: Final = "main, article, h1"
"""An element that contains one of these is neither a cookie banner nor a decoration."""

_LARGEST_BOILERPLATE: Final = 150
"""The most characters of a header or a form that is left out."""
_SMALLEST_ASIDE: Final = 36
"""The fewest characters, outside links and without blanks, of an <aside> that is read."""
_LINE_COST: Final = 20
"""Subtracted from the length of a line without links."""
_LINK_COST: Final = 16
"""Subtracted from the text outside links, in a line with links: menus get a negative score."""
_MIN_LINE_SCORE: Final = 8
"""The lowest score of a line without links: a price or an answer is short too."""
_HEADING_SCORE: Final = 42
_MIN_DENSE_CHARS: Final = 250


class ReadText(NamedTuple):
    """Text of a page."""

    text: str
    is_whole: bool
    """False if the page has more text than was read."""


def read_main_text(tree: LexborHTMLParser, *, longest: int) -> ReadText:
    """The readable text of a page; text beyond `longest` characters may be missing."""
    top = tree.body or tree.root
    if top is None:
        return ReadText("", is_whole=True)
    unread = _unread_elements(top, reads_aria_hidden=False)
    main = _find_main(top, unread)
    found = ReadText("", is_whole=True) if main is None else _Reader(unread, longest, is_main=True).read(main)
    if len(found.text) >= _MIN_MAIN_CHARS:
        return found
    page = _Reader(unread, longest, is_main=False).read(top)
    if not page.text and not found.text:  # a page behind an open dialog is hidden from screen readers
        return _Reader(_unread_elements(top, reads_aria_hidden=True), longest, is_main=False).read(top)
    return found if len(page.text) <= len(found.text) * _MAX_PAGE_RATIO else page


def _find_main(top: HtmlNode, unread: set[int]) -> HtmlNode | None:
    """The element that a page declares as its main part; None if it declares none."""
    main = next((node for node in top.css("main") if _is_shown(node, unread)), None)
    if main is not None:
        return main
    articles = [node for node in top.css("article") if not has_ancestor(node, ("article",))]
    if not articles:
        return top.css_first("[role=main]")
    sizes = [len(node.text()) for node in articles]
    largest = max(sizes)
    return articles[sizes.index(largest)] if largest * 2 > sum(sizes) else None


def _is_shown(node: HtmlNode, unread: set[int]) -> bool:
    here: HtmlNode | None = node
    while here is not None and here.mem_id not in unread and not _is_hidden(here):
        here = here.parent
    return here is None


def _unread_elements(top: HtmlNode, *, reads_aria_hidden: bool) -> set[int]:
    """The ids of elements that are hidden or not content, judged by their attributes."""
    return {
        node.mem_id
        for node in top.css(_MAYBE_UNREAD)
        if _is_unread(node, reads_aria_hidden=reads_aria_hidden)
    }


def _is_unread(node: HtmlNode, *, reads_aria_hidden: bool) -> bool:
    if node.tag in _ALWAYS_READ or (node.child is not None and node.child.tag == "math"):
        return False  # a formula, which many pages hide next to its picture
    if _is_hidden(node) or node.attributes.get("role") in _UNREAD_ROLES:
        return True
    attributes = node.attributes
    if _BANNER.search(f"{attributes.get('class') or ''} {attributes.get('id') or ''}"):
        return len(node.html or "") <= _LARGEST_BANNER and not node.css(_MAIN_ELEMENTS)
    return attributes.get("aria-hidden") == "true" and not reads_aria_hidden and not node.css(_MAIN_ELEMENTS)


def _is_hidden(node: HtmlNode) -> bool:
    attributes = node.attributes
    return (
        ("hidden" in attributes and attributes["hidden"] != "until-found")
        or (node.tag == "dialog" and "open" not in attributes)
        or _HIDING_STYLE.search(attributes.get("style") or "") is not None
    )


class _Reader:
    """Reads the text of a page, or of its main part, without unread elements and boilerplate."""

    __slots__ = ("_has_header_or_form", "_is_main", "_largest_form", "_longest", "_unread")

    def __init__(self, unread: set[int], longest: int, *, is_main: bool) -> None:
        self._unread = unread
        self._longest = longest
        self._is_main = is_main
        self._largest_form: int | None = None
        """The size below which a form is boilerplate; None while all headers and forms are read."""
        self._has_header_or_form = False

    def read(self, top: HtmlNode) -> ReadText:
        """The text of an element."""
        writer = self._writer()
        lines = writer.write(top)
        if self._has_header_or_form:
            self._largest_form = min(_LARGEST_BOILERPLATE, _size(lines) // 2)
            inner = self._writer()
            if _size(inner.write(top)):
                writer, lines = inner, inner.lines
        return ReadText(join_lines(lines if self._is_main else _densest(lines)), writer.is_whole)

    def _writer(self) -> LineWriter:
        return LineWriter(self._is_read, longest=int(self._longest * _READ_AHEAD))

    def _lines(self, node: HtmlNode) -> list[TextLine]:
        return [line for child in node.iter(include_text=True) for line in self._writer().write(child)]

    def _is_read(self, node: HtmlNode, tag: str) -> bool:
        if tag in _DROPPED or node.mem_id in self._unread:
            return False
        return tag not in _CONDITIONAL or self._is_worth_reading(node, tag)

    def _is_worth_reading(self, node: HtmlNode, tag: str) -> bool:
        match tag:
            case "aside":
                return self._is_main and self._is_text(node)
            case "button":
                return _is_question(node)
            case "footer":
                return has_ancestor(node, ("blockquote",))  # it names the person quoted
            case _:
                self._has_header_or_form = True
                return self._largest_form is None or not self._is_boilerplate(node, tag, self._largest_form)

    def _is_text(self, aside: HtmlNode) -> bool:
        """True for an <aside> that is text, not a list of links or a form."""
        lines = self._lines(aside)
        linked = sum(line.linked for line in lines)
        own = _size(lines) - linked
        return own >= _SMALLEST_ASIDE and own > linked and not aside.css("form, header")

    def _is_boilerplate(self, node: HtmlNode, tag: str, largest_form: int) -> bool:
        """True for a header or a form with little text."""
        lines = self._lines(node)
        size = _size(lines)
        if any(line.is_heading for line in lines):
            return False
        if tag == "header":  # in a main part it names the author and the date, unless it is a menu
            return size < _LARGEST_BOILERPLATE and (
                not self._is_main or sum(line.linked for line in lines) * 2 > size
            )
        return size < largest_form and not any(self._is_data(row) for row in node.css("tr"))

    def _is_data(self, row: HtmlNode) -> bool:
        """True if two cells of a table row have text; the rows of a form have a label and a field."""
        return sum(1 for cell in row.css("td, th") if _size(self._lines(cell))) > 1


def _size(lines: list[TextLine]) -> int:
    return sum(len("".join(line.text.split())) for line in lines)


def _is_question(button: HtmlNode) -> bool:
    """True for a button that fills its heading or term, or that fills its line and expands a text."""
    is_candidate = "aria-expanded" in button.attributes or has_ancestor(button, ("dt", *HEADINGS))
    return is_candidate and all(
        neighbour_tag(button, is_next=is_next, skipped=_DROPPED) in BLOCKS for is_next in (False, True)
    )


def _densest(lines: list[TextLine]) -> list[TextLine]:
    """The consecutive lines with the most text outside links, if they have over half of it; else all."""
    scores = [_score(line) for line in lines]
    total = _sum_of_text(scores)
    if total < _MIN_DENSE_CHARS:
        return lines
    start = best_start = best_end = best = current = 0
    for number, score in enumerate(scores):
        if current <= 0:
            start, current = number, 0
        current += score
        if current > best:
            best, best_start, best_end = current, start, number + 1
    is_most = _sum_of_text(scores[best_start:best_end]) * 2 > total
    return lines[best_start:best_end] if is_most else lines


def _score(line: TextLine) -> int:
    """How much a line counts in favour of reading it and the lines around it, or against it."""
    if not line.text:
        return 0
    heading = _HEADING_SCORE if line.is_heading else 0
    if not line.linked:
        return max(len(line.text) - _LINE_COST, _MIN_LINE_SCORE) + heading
    return len(line.text) - line.linked - _LINK_COST + heading


def _sum_of_text(scores: list[int]) -> int:
    return sum(score + _LINE_COST for score in scores if score > 0)
