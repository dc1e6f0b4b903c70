"""Turns the source of a page into lines of text: what stands in a block of its own gets a line of its own.

Does not know which parts of the page are worth reading.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from toolhaft.toolbox.scraping.markup import TAG

# What tags become in flat text. A page that has such characters of its own gets stand-ins, see `flatten`.
LINE: Final = "\x01"
PARAGRAPH: Final = "\x02"
"""After LINE: a blank line goes before what follows."""
ROW: Final = "\x03"
"""After LINE: not even cells join across it."""
CELL: Final = "\x04"
LINK: Final = "\x05"
LINK_END: Final = "\x06"
HEADING: Final = "\x07"
DROP: Final = "\x0e"
DROP_END: Final = "\x0f"
EDGE: Final = "\x10"
EDGE_END: Final = "\x11"
"""Around what may be the rim of a page: its head, a form."""
KEEP: Final = "\x12"
KEEP_END: Final = "\x13"
"""Around text whose white space counts."""
_KEPT_WHITE: Final = {"\n": "\x14", " ": "\x15", "\t": "\x16"}
_TO_KEPT: Final = str.maketrans(_KEPT_WHITE)
_LAYOUT: Final = f"{LINE}{PARAGRAPH}{ROW}{CELL}{HEADING}{KEEP}{KEEP_END}"
MARKS: Final = f"{_LAYOUT}{LINK}{LINK_END}{DROP}{DROP_END}{EDGE}{EDGE_END}"
_WITHOUT_MARKS: Final = dict.fromkeys(map(ord, MARKS))
_RESERVED: Final = MARKS + "".join(_KEPT_WHITE.values())
_STAND_IN: Final = "\ud800"
"""Half a surrogate pair, which no decoded text has; with a letter, it stands for a mark of the page's own."""
_STAND_INS: Final = {mark: f"{_STAND_IN}{chr(ord('a') + ord(mark))}" for mark in _RESERVED}
_TO_STAND_IN: Final = str.maketrans(_STAND_INS)

_INLINE: Final = (
    "abbr acronym area b base bdi bdo big body cite code col data del dfn em embed font head html i img "
    "input ins kbd label link map mark math meta meter mfrac mi mn mo mover mrow mroot ms mspace msqrt "
    "mstyle msub msubsup msup mtext munder munderover nobr output picture progress q rb rp rt rtc ruby s "
    "samp semantics small source span strike strong sub sup time track tt u var wbr"
)
_LINES: Final = (
    "address br caption center colgroup dd details dialog dir div dt fieldset figcaption frameset hgroup "
    "legend li menu optgroup option search summary tbody tfoot thead"
)
_PARAGRAPHS: Final = (
    "article blockquote dl figure hr listing main marquee ol p plaintext section table ul xmp"
)
_DROPPED: Final = (
    "annotation annotation-xml audio button canvas datalist iframe noembed noframes noscript object script "
    "select style svg template textarea title video"
)
_DROPPED_BLOCKS: Final = ("aside", "footer", "nav")
_RIMS: Final = ("form", "header")
_UNSEEN: Final = (LINK, LINK_END, HEADING)
_WHITE: Final = "\n\t\r\f\xa0"
_WIDE: Final = " " * 16
_LEADS: Final = (PARAGRAPH, ROW)
_BLANK_LINE: Final = "\n\n"
_BETWEEN_CELLS: Final = " | "
_TAG_START: Final = re.compile(r"<[a-zA-Z/!?]")
_LONG_NUMBER: Final = re.compile(r"&#[0-9]{8,}+;?")


def _table(*, marks_unread: bool) -> dict[str, str]:
    """What each tag becomes, with or without marks around what is not to be read."""
    start_and_end: dict[str, tuple[str, str]] = {
        **dict.fromkeys(_INLINE.split(), ("", "")),
        **dict.fromkeys(_LINES.split(), (LINE, LINE)),
        **dict.fromkeys(_PARAGRAPHS.split(), (LINE + PARAGRAPH, LINE + PARAGRAPH)),
        **dict.fromkeys(_DROPPED.split(), (DROP, DROP_END) if marks_unread else ("", "")),
        **dict.fromkeys(_DROPPED_BLOCKS, (LINE + DROP, DROP_END + LINE) if marks_unread else (LINE, LINE)),
        **dict.fromkeys(_RIMS, (LINE + EDGE, EDGE_END + LINE) if marks_unread else (LINE, LINE)),
        **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), (LINE + PARAGRAPH + HEADING, LINE + PARAGRAPH)),
        **dict.fromkeys(("td", "th"), (CELL, "")),
        "a": (LINK, LINK_END),
        "pre": (LINE + KEEP, KEEP_END + LINE),
        "tr": (LINE + ROW, LINE + ROW),
    }
    table = {"!": "", "?": ""}
    for name, (start, end) in start_and_end.items():
        table[name] = table[name.upper()] = start
        table[f"/{name}"] = table[f"/{name.upper()}"] = end
    return table


class _Table(dict[str, str]):
    """What each tag becomes; it does not grow, however many names a page makes up."""

    def __missing__(self, name: str) -> str:
        known = self.get(name.lower())
        if known is not None:
            return known
        return LINE if "-" in name else ""  # elements of a site's own making are blocks more often than not


_MARK_OF: Final = _Table(_table(marks_unread=False))
_MARK_WITH_UNREAD_OF: Final = _Table(_table(marks_unread=True))


def flatten(source: str, *, marks_unread: bool = False) -> str:
    """The text of a source with marks where its tags were, entities and white space as they are.

    Args:
        source: of a page, or of a part of it.
        marks_unread: puts DROP or EDGE, and their ends, around what may not be worth reading.
    """
    if any(mark in source for mark in _RESERVED):
        source = source.translate(_TO_STAND_IN)
    end = source.rfind(">") + 1
    parts = TAG.split(source[:end])
    table = _MARK_WITH_UNREAD_OF if marks_unread else _MARK_OF
    parts[1::2] = map(table.__getitem__, parts[1::2])
    rest = source[end:]
    cut_off = _TAG_START.search(rest)
    parts.append(rest if cut_off is None else rest[: cut_off.start()])
    return "".join(parts)


def settle(flat: str) -> str:
    """Flat text as it reads: entities decoded, white space collapsed, marks turned into lines.

    Marks around what may not be worth reading must be gone.
    """
    text = _decoded(flat)
    if KEEP in text or KEEP_END in text:
        first, *others = text.split(KEEP)
        text = "".join((first, *map(_with_kept, others))).replace(KEEP_END, "")
    text = _joined(filter(None, map(str.strip, _collapsed(text).split(LINE))))
    for white, mark in _KEPT_WHITE.items():
        text = text.replace(mark, white)
    if _STAND_IN in text:
        for mark, stand_in in _STAND_INS.items():
            text = text.replace(stand_in, mark)
    return text


def _with_kept(text: str) -> str:
    """Text that begins with what keeps its lines and blanks, up to the mark of its end."""
    kept, _, rest = text.partition(KEEP_END)
    kept = kept.replace("\r\n", "\n").replace(LINE, "\n").replace(CELL, "\t").translate(_WITHOUT_MARKS)
    kept = kept.rstrip().lstrip("\n").translate(_TO_KEPT)
    return f"{LINE}{PARAGRAPH}{kept}{LINE}{PARAGRAPH}{rest}"


def _decoded(text: str) -> str:
    if "&" not in text:
        return text
    if "&#" in text:
        text = _LONG_NUMBER.sub("\ufffd", text)  # longer than int() takes
    return html.unescape(text.replace("&nbsp;", " "))  # the most frequent one, without a call for each


def _collapsed(text: str) -> str:
    """One blank between words; marks that are not seen go."""
    text = text.replace(LINK_END + LINK, " ")  # links of a menu, which only a style sheet keeps apart
    for mark in _UNSEEN:
        text = text.replace(mark, "")
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
    return "".join(page.pieces[1:])


class _Lines:
    """Lines as they come, and what goes between them."""

    __slots__ = ("_gap", "_is_cell_open", "_is_in_row", "_is_row_new", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        """Gap, text, gap, text."""
        self._gap = "\n"
        self._is_in_row = False
        self._is_row_new = False
        self._is_cell_open = False

    def begin(self, lead: str) -> None:
        """A paragraph or a row starts or ends; in a cell that has no text yet a paragraph changes nothing."""
        if lead == ROW:
            if self._is_in_row:  # whatever its last cell ended with
                self._gap = "\n"
            self._is_row_new, self._is_in_row, self._is_cell_open = True, False, False
        elif not self._is_cell_open:
            self._gap = _BLANK_LINE

    def add(self, text: str) -> None:
        """Some text, after the gap that is due."""
        self.pieces += (self._gap, text)
        self._gap, self._is_row_new, self._is_cell_open = "\n", False, False

    def add_cells(self, line: str) -> None:
        """Text with cells in it; the last one may get its text later."""
        before, *cells = map(str.strip, line.split(CELL))
        if before:
            self.add(before)
        is_open = not cells[-1]
        while cells and not cells[-1]:
            del cells[-1]
        if cells:
            self._begin_cell()
            self.add(_BETWEEN_CELLS.join(cells).lstrip())
        if is_open:
            self._begin_cell()

    def _begin_cell(self) -> None:
        if not self._is_row_new:
            self._gap = _BETWEEN_CELLS
        self._is_row_new, self._is_in_row, self._is_cell_open = False, True, True
