"""Turns the source of a page into flat text: its text, with marks where its tags were.

Does not know which parts of the page are worth reading.
"""

from __future__ import annotations

import re
from typing import Final

from toolhaft.toolbox.scraping.formulas import with_formulas
from toolhaft.toolbox.scraping.marks import (
    AROUND,
    BREAK,
    BUTTON,
    CELL,
    DROP,
    DROP_END,
    EDGE,
    EDGE_END,
    FOOT,
    HEAD,
    HEADING,
    KEEP,
    KEEP_END,
    LAYOUT,
    LINE,
    LINK,
    LINK_END,
    MATH,
    NOTE,
    OWN,
    OWN_END,
    PARAGRAPH,
    QUESTION,
    QUOTE,
    QUOTE_END,
    RESERVED,
    ROW,
    STAND_INS,
    TERM,
)
from toolhaft.toolbox.scraping.markup import split_tags

_INLINE: Final = (
    "abbr acronym area b base bdi bdo big body cite code col data del dfn em embed font head html i img "
    "input ins kbd label link map mark meta meter mfrac mi mn mo mover mrow mroot ms mspace msqrt "
    "mstyle msub msubsup msup mtext munder munderover nobr output picture progress q rb rp rt rtc ruby s "
    "samp semantics small source span strike strong sub sup time track tt u var wbr"
)
_LINES: Final = (
    "address caption center colgroup dd details dialog dir div fieldset figcaption frameset hgroup "
    "legend li menu optgroup option search summary tbody tfoot thead"
)
_PARAGRAPHS: Final = "article dl figure hr listing main marquee ol p plaintext section ul xmp"
_DROPPED: Final = (
    "annotation annotation-xml audio canvas datalist iframe noembed noframes noscript object script "
    "select style svg template textarea title video"
)
_OPENS: Final = re.compile(r"aria-expanded=")
_QUESTION: Final = re.compile(r"<button(?=\s(?:[^<>]*?\s)?aria-expanded=)")
_QUESTION_NAME: Final = "button?"
"""A name that no element has."""
_EMPTY_PICTURE: Final = re.compile(r"<svg(?=[\s/])[^<>]*+(?<=/)>")
"""One whose start tag is its end too."""
_TAG_START: Final = re.compile(r"<[a-zA-Z/!?]")
# An element of a site's own making among words is one of them; all others are blocks more often than not.
_APART: Final = f"{LAYOUT}{AROUND}\\s"
_OWN_WORDS: Final = re.compile(
    f"(?:(?<=[^{_APART}])|(?<=[^{_APART}]\\s)|(?<=[{PARAGRAPH}{HEADING}]))"
    f"{OWN}++([^{OWN}{OWN_END}{LINE}{CELL}]*+){OWN_END}++(?=\\s*+(?:[^{_APART}]|{LINE}))"
)
_OWN_BLOCK: Final = re.compile(f"[{OWN}{OWN_END}]++")
_TO_STAND_IN: Final = str.maketrans(STAND_INS)


def _table(*, marks_unread: bool) -> dict[str, str]:
    """What each tag becomes, with or without marks around what is not to be read."""
    drop, drop_end = (DROP, DROP_END) if marks_unread else ("", "")
    edge_end = EDGE_END if marks_unread else ""
    quote, quote_end = (QUOTE, QUOTE_END) if marks_unread else ("", "")
    start_and_end: dict[str, tuple[str, str]] = {
        **dict.fromkeys(_INLINE.split(), ("", "")),
        **dict.fromkeys(_LINES.split(), (LINE, LINE)),
        **dict.fromkeys(_PARAGRAPHS.split(), (LINE + PARAGRAPH, LINE + PARAGRAPH)),
        **dict.fromkeys(_DROPPED.split(), (drop, drop_end)),
        **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), (LINE + PARAGRAPH + HEADING, LINE + PARAGRAPH)),
        **dict.fromkeys(("td", "th"), (CELL, "")),
        "a": (LINK, LINK_END),
        "aside": (LINE + NOTE if marks_unread else LINE, drop_end + LINE),
        "blockquote": (LINE + PARAGRAPH + quote, quote_end + LINE + PARAGRAPH),
        "br": (BREAK, BREAK),
        "button": (BUTTON if marks_unread else "", drop_end),
        _QUESTION_NAME: (QUESTION if marks_unread else "", drop_end),
        "dt": (LINE + TERM if marks_unread else LINE, LINE),
        "footer": (LINE + FOOT if marks_unread else LINE, drop_end + LINE),
        "form": (LINE + EDGE if marks_unread else LINE, edge_end + LINE),
        "header": (LINE + HEAD if marks_unread else LINE, edge_end + LINE),
        "math": (MATH, ""),
        "nav": (LINE + drop, drop_end + LINE),
        "pre": (LINE + KEEP, KEEP_END + LINE),
        "table": (LINE + PARAGRAPH, LINE + ROW + LINE + PARAGRAPH),
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
        if "-" not in name:
            return ""
        return OWN_END if name.startswith("/") else OWN


_MARK_OF: Final = _Table(_table(marks_unread=False))
_MARK_WITH_UNREAD_OF: Final = _Table(_table(marks_unread=True))


def flatten(source: str, *, marks_unread: bool = False) -> str:
    """The text of a source with marks where its tags were, entities and white space as they are.

    Args:
        source: of a page, or of a part of it.
        marks_unread: puts DROP or EDGE, and their ends, around what may not be worth reading.
    """
    if any(mark in source for mark in RESERVED):
        source = source.translate(_TO_STAND_IN)
    if marks_unread and "<button" in source and _OPENS.search(source):
        source = _QUESTION.sub(f"<{_QUESTION_NAME}", source)
    flat = _flatten(source, marks_unread=marks_unread)
    if flat.count(DROP) > flat.count(DROP_END) and _EMPTY_PICTURE.search(source):
        source = _EMPTY_PICTURE.sub("", source)
        flat = _flatten(source, marks_unread=marks_unread)
    if MATH in flat:
        flat = _flatten(with_formulas(source), marks_unread=marks_unread).replace(MATH, "")
    if OWN in flat or OWN_END in flat:
        flat = _OWN_BLOCK.sub(LINE, _OWN_WORDS.sub(r"\1", flat))
    return flat


def _flatten(source: str, *, marks_unread: bool) -> str:
    end = source.rfind(">") + 1
    parts = split_tags(source[:end])
    table = _MARK_WITH_UNREAD_OF if marks_unread else _MARK_OF
    parts[1::2] = map(table.__getitem__, parts[1::2])
    rest = source[end:]
    cut_off = _TAG_START.search(rest)
    parts.append(rest if cut_off is None else rest[: cut_off.start()])
    return "".join(parts)
