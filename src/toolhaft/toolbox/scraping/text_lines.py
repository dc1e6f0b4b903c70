"""Writes the elements of a page as lines of text: each block and each row of a table on its own line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple, TypeAlias

try:
    from selectolax.lexbor import LexborNode
except ImportError as error:
    raise ImportError("web pages need selectolax: pip install 'toolhaft[web]'") from error

HtmlNode: TypeAlias = LexborNode

TEXT: Final = "-text"
"""The tag that the HTML library gives to text."""
PARAGRAPH: Final = "paragraph"
ROW: Final = "row"
_LINES: Final = (
    "address aside body caption center colgroup dd details dialog dir div dt fieldset figcaption footer form "
    "frameset head header hgroup html legend li menu nav optgroup option search summary tbody tfoot thead"
)
_PARAGRAPHS: Final = (
    "article blockquote dl figure h1 h2 h3 h4 h5 h6 hr listing main marquee ol p plaintext pre section table "
    "ul xmp"
)
HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_STARTS: Final = {
    **dict.fromkeys(_LINES.split(), ""),
    **dict.fromkeys(_PARAGRAPHS.split(), PARAGRAPH),
    "tr": ROW,
}
"""By tag: a block starts a paragraph, a row or just a line, and so does the text after it."""
BLOCKS: Final = frozenset((*_STARTS, "br", "td", "th"))
_BLOCK_SELECTOR: Final = ", ".join(sorted(BLOCKS))
_NEVER_TEXT: Final = frozenset(("script", "style"))
_TEX_SCRIPT: Final = "math/tex"
_TEX_CDATA: Final = re.compile(r"\A% <!\[CDATA\[|%\]\]>\Z")

# No text that was decoded from UTF-8 has these characters.
_CELL: Final = "\ud800"
_KEPT_WHITE: Final = {"\n": "\ud801", " ": "\ud802", "\t": "\ud803"}
_TO_KEPT: Final = str.maketrans(_KEPT_WHITE)
_FROM_KEPT: Final = {ord(kept): white for white, kept in _KEPT_WHITE.items()}
_WHITE: Final = re.compile(r"[ \n\t\r\f\xa0]+")
_BETWEEN_CELLS: Final = " | "


class TextLine(NamedTuple):
    """One line of text, with _CELL before each cell of a table."""

    starts: str
    """What begins here: PARAGRAPH, ROW, or empty for just a line. A line without text separates others."""
    text: str
    linked: int
    """How many of its characters are in links."""
    is_heading: bool


class LineWriter:
    """Writes the text of an element as lines.

    Args:
        is_read: decides for each element whether its text is written.
        longest: writing stops once the text has more characters.
    """

    __slots__ = (
        *("_buffer", "_is_heading", "_is_read", "_starts", "_left", "_link_depth", "_linked", "_pre_depth"),
        "lines",
    )

    def __init__(self, is_read: Callable[[HtmlNode, str], bool], *, longest: int) -> None:
        self._is_read = is_read
        self._left = longest
        self._link_depth = 0
        self._pre_depth = 0
        self.lines: list[TextLine] = []
        # of the line that is being written
        self._buffer: list[str] = []
        self._starts = ""
        self._linked = 0
        self._is_heading = False

    @property
    def is_whole(self) -> bool:
        """False if there is more text than was wanted."""
        return self._left >= 0

    def write(self, top: HtmlNode) -> list[TextLine]:
        """The lines of an element."""
        pending: list[HtmlNode | str] = [top]
        while pending and self._left >= 0:
            item = pending.pop()
            if isinstance(item, str):
                self._end(item)
                continue
            if item is not top and item.next is not None:
                pending.append(item.next)
            tag = item.tag or ""
            if tag == TEXT:
                self._add(item.text_content or "")
            elif self._is_written(item, tag):
                pending.append(self._start(item, tag))
                if item.child is not None:
                    pending.append(item.child)
        self._end_line("")
        return self.lines

    def _add(self, text: str) -> None:
        self._buffer.append(text)
        if self._link_depth:
            self._linked += len(text)

    def _is_written(self, node: HtmlNode, tag: str) -> bool:
        """True for an element whose children are to be written."""
        tex = _tex(node, tag)
        if tex:
            self._add(tex)
        return not tex and tag not in _NEVER_TEXT and not tag.startswith("-") and self._is_read(node, tag)

    def _start(self, node: HtmlNode, tag: str) -> str:
        """Begin an element; returns what to end after its children."""
        if tag in _STARTS:
            self._end_line(_STARTS[tag])
            self._is_heading = tag in HEADINGS
            self._pre_depth += tag == "pre"
        elif tag == "br":
            self._buffer.append("\n")  # only matters in <pre>; elsewhere it is white space
            self._end_line("")
        elif tag in ("td", "th"):
            self._buffer.append("\t" if self._pre_depth else _CELL)
        elif tag == "a":
            if self._buffer and not self._buffer[-1]:  # right after a link: only CSS separates the two
                self._buffer.append(" ")
            self._link_depth += 1
        elif "-" in tag:
            if _is_inline(node):
                return ""
            self._end_line("")
        return tag

    def _end(self, tag: str) -> None:
        if tag == "a":
            self._link_depth -= 1
            self._buffer.append("")
        elif tag in _STARTS:
            if tag == "pre":
                self._end_pre()
            if tag == "table":
                self._end_line(ROW)
            self._end_line(_STARTS[tag])
        elif "-" in tag:
            self._end_line("")

    def _end_pre(self) -> None:
        self._pre_depth -= 1
        if not self._pre_depth:
            kept = "".join(self._buffer).replace("\r\n", "\n").rstrip().lstrip("\n")
            self._buffer = [kept.translate(_TO_KEPT)]

    def _end_line(self, starts: str) -> None:
        if self._pre_depth:
            last = next(filter(None, reversed(self._buffer)), "\n")
            self._buffer += () if last.endswith("\n") else ("\n",)
            return
        text = _WHITE.sub(" ", "".join(self._buffer)).strip()
        if text or self._starts:
            self.lines.append(TextLine(self._starts, text, self._linked, self._is_heading))
            self._left -= len(text)
        self._buffer, self._starts, self._linked, self._is_heading = [], starts, 0, False


def _tex(node: HtmlNode, tag: str) -> str:
    """The TeX of an element that is a formula; empty for all others, and if the page has no TeX."""
    if tag == "script" and (node.attributes.get("type") or "").startswith(_TEX_SCRIPT):
        return _TEX_CDATA.sub("", node.text())
    if tag != "math":
        return ""
    for annotation in node.css("annotation"):
        if "tex" in (annotation.attributes.get("encoding") or "").lower():
            return annotation.text().strip()
    return (node.attributes.get("alttext") or "").strip()


def _is_inline(node: HtmlNode) -> bool:
    """True for a custom element that is part of a sentence, not a block."""
    before, after = neighbour_tag(node, is_next=False), neighbour_tag(node, is_next=True)
    is_in_sentence = before not in BLOCKS or _STARTS.get(before) == PARAGRAPH
    return (
        is_in_sentence and "-" not in f"{before}{after}".replace(TEXT, "") and not node.css(_BLOCK_SELECTOR)
    )


def neighbour_tag(node: HtmlNode, *, is_next: bool, skipped: Collection[str | None] = ()) -> str:
    """The tag next to an element in its line, or the tag of the block that begins or ends there."""
    here: HtmlNode | None = node
    while here is not None:
        sibling = here.next if is_next else here.prev
        while sibling is not None and (_is_blank(sibling) or sibling.tag in skipped):
            sibling = sibling.next if is_next else sibling.prev
        if sibling is not None:
            return sibling.tag or ""
        here = here.parent
        if here is not None and here.tag in BLOCKS:
            return here.tag or ""
    return "html"


def has_ancestor(node: HtmlNode, tags: Collection[str | None]) -> bool:
    """True if an element is inside one with any of these tags."""
    outer = node.parent
    while outer is not None and outer.tag not in tags:
        outer = outer.parent
    return outer is not None


def _is_blank(node: HtmlNode) -> bool:
    tag = node.tag or ""
    return tag.startswith("-") and not (tag == TEXT and (node.text_content or "").strip())


def join_lines(lines: Iterable[TextLine]) -> str:
    """Lines as one text: a blank line before each paragraph, the cells of a row on one line."""
    joiner = _Joiner()
    for line in lines:
        if line.starts:
            joiner.begin(line.starts)
        if _CELL in line.text:
            joiner.add_cells(line.text)
        elif line.text:
            joiner.add(line.text)
    return "".join(joiner.pieces).lstrip("\n").translate(_FROM_KEPT)


class _Joiner:
    """Joins lines, and decides which gap goes between two of them."""

    __slots__ = ("_empty_cells", "_gap", "_is_cell_open", "_is_in_row", "_is_row_new", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        """Gap, text, gap, text."""
        self._gap = "\n"
        self._empty_cells = 0
        """Cells without text before the open one."""
        self._is_in_row = False
        self._is_row_new = True
        self._is_cell_open = False

    def begin(self, starts: str) -> None:
        """A paragraph or a row starts or ends; a paragraph changes nothing in a cell that has no text yet."""
        if starts == ROW:
            if self._is_in_row:  # whatever its last cell ended with
                self._gap = "\n"
            self._is_row_new, self._is_in_row, self._is_cell_open = True, False, False
            self._empty_cells = 0
        elif not self._is_cell_open:
            self._gap = "\n\n"

    def add(self, text: str) -> None:
        """Add text, after the pending gap."""
        if self._empty_cells:
            cells = _BETWEEN_CELLS * self._empty_cells
            self._gap += cells if self._gap == _BETWEEN_CELLS else cells.lstrip()
            self._empty_cells = 0
        self.pieces += (self._gap, text)
        self._gap, self._is_row_new, self._is_cell_open = "\n", False, False

    def add_cells(self, line: str) -> None:
        """Add text with cells in it; the last cell may get its text from a later line."""
        before, *cells = map(str.strip, line.split(_CELL))
        if before:
            self.add(before)
        count = len(cells)
        while cells and not cells[-1]:
            del cells[-1]
        count -= len(cells)
        if cells:
            is_first = self._is_row_new
            self._begin_cell()
            text = _BETWEEN_CELLS.join(cells)
            self.add(text.lstrip() if is_first else text)
        if count:
            self._begin_cell()
            self._empty_cells += count - 1

    def _begin_cell(self) -> None:
        if self._is_cell_open:  # the one before is empty
            self._empty_cells += 1
        elif not self._is_row_new:
            self._gap = _BETWEEN_CELLS
        self._is_row_new, self._is_in_row, self._is_cell_open = False, True, True
