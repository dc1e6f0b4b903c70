"""Turns flat text into text as it reads: what stands in a block of its own gets a line of its own.

Does not know which tag a mark comes from.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from toolhaft.toolbox.scraping.marks import (
    BREAK,
    CELL,
    HEADING,
    KEEP,
    KEEP_END,
    KEPT_WHITE,
    LINE,
    LINK,
    LINK_END,
    MARKS,
    PARAGRAPH,
    ROW,
    STAND_IN,
    STAND_INS,
    without,
)

_UNSEEN: Final = (LINK, LINK_END, HEADING)
_WHITE: Final = "\n\t\r\f\xa0"
_WIDE: Final = " " * 16
_LEADS: Final = (PARAGRAPH, ROW)
_BLANK_LINE: Final = "\n\n"
_BETWEEN_CELLS: Final = " | "
_EDGE_OF_BLOCK: Final = re.compile(f"\n?{LINE}++")
"""Where white space counts, it ends the line unless that has ended."""
_ZEROS: Final = re.compile(r"&#0+(?=[0-9])")
_LONG_NUMBER: Final = re.compile(r"&#[0-9]{8,}+;?")
_TO_KEPT: Final = str.maketrans(KEPT_WHITE)
_WITHOUT_MARKS: Final = dict.fromkeys(map(ord, MARKS.replace(LINE, "").replace(CELL, "")))


def settle(flat: str) -> str:
    """Flat text as it reads: entities decoded, white space collapsed, marks turned into lines.

    Marks around what may not be worth reading must be gone.
    """
    text = _decoded(flat)
    if KEEP in text or KEEP_END in text:
        first, *others = text.split(KEEP)
        text = "".join((first, *map(_with_kept, others))).replace(KEEP_END, "")
    text = _joined(filter(None, map(str.strip, _collapsed(text).split(LINE))))
    for white, mark in KEPT_WHITE.items():
        text = text.replace(mark, white)
    if STAND_IN in text:
        for mark, stand_in in STAND_INS.items():
            text = text.replace(stand_in, mark)
    return text


def _with_kept(text: str) -> str:
    """Text that begins with what keeps its lines and blanks, up to the mark of its end."""
    kept, _, rest = text.partition(KEEP_END)
    kept = kept.replace("\r\n", "\n").replace(BREAK, "\n").replace(CELL, "\t").translate(_WITHOUT_MARKS)
    kept = _EDGE_OF_BLOCK.sub("\n", kept).rstrip().lstrip("\n").translate(_TO_KEPT)
    return f"{LINE}{PARAGRAPH}{kept}{LINE}{PARAGRAPH}{rest}"


def _decoded(text: str) -> str:
    if "&" not in text:
        return text
    if "&#" in text:
        text = _LONG_NUMBER.sub("\ufffd", _ZEROS.sub("&#", text))  # longer than int() takes
    return html.unescape(text.replace("&nbsp;", " "))  # the most frequent one, without a call for each


def _collapsed(text: str) -> str:
    """One blank between words; marks that are not seen go."""
    if LINK in text:
        text = text.replace(LINK_END + LINK, " ")  # links of a menu, which only a style sheet keeps apart
    text = without(text, _UNSEEN)
    for white in _WHITE:
        text = text.replace(white, " ")
    while "  " in text:
        text = text.replace(_WIDE, " ").replace("  ", " ")
    return text


def _joined(lines: Iterable[str]) -> str:
    """Lines with a blank one before each paragraph, and each row of a table on one."""
    page = _Lines()
    for line in lines:
        lead = line[0]
        if lead in _LEADS:
            page.begin(lead)
            line = line[1:].lstrip()  # noqa: PLW2901 -- what is left of it
            if not line:
                continue
        if CELL in line:
            page.add_cells(line)
        else:
            page.add(line)
    return "".join((page.pieces[0].lstrip("\n"), *page.pieces[1:])) if page.pieces else ""


class _Lines:
    """Lines as they come, and what goes between them."""

    __slots__ = ("_empty_cells", "_gap", "_is_cell_open", "_is_in_row", "_is_row_new", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        """Gap, text, gap, text."""
        self._gap = "\n"
        self._empty_cells = 0
        """Cells without text before the one that is open."""
        self._is_in_row = False
        self._is_row_new = True
        self._is_cell_open = False

    def begin(self, lead: str) -> None:
        """A paragraph or a row starts or ends; in a cell that has no text yet a paragraph changes nothing."""
        if lead == ROW:
            if self._is_in_row:  # whatever its last cell ended with
                self._gap = "\n"
            self._is_row_new, self._is_in_row, self._is_cell_open = True, False, False
            self._empty_cells = 0
        elif not self._is_cell_open:
            self._gap = _BLANK_LINE

    def add(self, text: str) -> None:
        """Some text, after the gap that is due."""
        if self._empty_cells:
            cells = _BETWEEN_CELLS * self._empty_cells
            self._gap += cells if self._gap == _BETWEEN_CELLS else cells.lstrip()
            self._empty_cells = 0
        self.pieces += (self._gap, text)
        self._gap, self._is_row_new, self._is_cell_open = "\n", False, False

    def add_cells(self, line: str) -> None:
        """Text with cells in it; the last one may get its text later."""
        before, *cells = map(str.strip, line.split(CELL))
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
