"""Takes out of flat text what its marks say nobody reads, and leaves in what only looks like it.

Does not know pages.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from toolhaft.toolbox.scraping.marks import (
    BUTTON,
    CELL,
    DROP,
    DROP_END,
    EDGE,
    EDGE_END,
    FOOT,
    HEADING,
    LINE,
    LINK,
    LINK_END,
    MARKS,
    NOTE,
    PARAGRAPH,
    QUESTION,
    QUOTE,
    QUOTE_END,
    ROW,
    TERM,
    without,
)

_MOST_NESTED: Final = 16
_MOST_JUDGED: Final = 10_000
"""Headings, quotations or notes; pages that people read have fewer."""
_LARGEST_RIM: Final = 150
_LOOKED_AT: Final = 2_000
"""Characters of a page that tell whether a form has most of its text."""
_MOST_RIMS: Final = 2
"""Forms in heads, and heads in forms."""
_SMALLEST_NOTE: Final = 40
_NOT_TEXT: Final = f"{MARKS} \n\t\r\f\xa0"
_TEXT: Final = re.compile(f"[^{_NOT_TEXT}]")

_INSIDE: Final = f"([^{DROP}{DROP_END}]*+){DROP_END}"
_DROPPED: Final = re.compile(f"{DROP}{_INSIDE}")
# each begins with a mark that it is quickly found by
_DROPPED_BUT_NOTES: Final = re.compile(f"{DROP}(?!{NOTE[1]}){_INSIDE}")
_DROPPED_BUT_BUTTONS: Final = re.compile(f"{DROP}(?!{BUTTON[1]}){_INSIDE}")
_DROPPED_BUT_BOTH: Final = re.compile(f"{DROP}(?![{BUTTON[1]}{NOTE[1]}]){_INSIDE}")
_DROPPED_BUT_FEET: Final = re.compile(f"{DROP}(?!{FOOT[1]}){_INSIDE}")
_NOTE: Final = re.compile(f"{NOTE}{_INSIDE}")
_BUTTON: Final = re.compile(f"{BUTTON}{_INSIDE}")
_DROP_OR_LINE: Final = re.compile(f"[{DROP}{DROP_END}{LINE}]")
_QUESTION: Final = re.compile(
    f"({LINE}{TERM}\\s*+{BUTTON}|[{LINE}{PARAGRAPH}]\\s*+{QUESTION}){_INSIDE}(?=\\s*+{LINE})"
)
_FOOT: Final = re.compile(f"{FOOT}{_INSIDE}")
_HEADING: Final = re.compile(f"{HEADING}[^{LINE}]*+")
_QUOTE: Final = re.compile(f"{QUOTE}([^{QUOTE}{QUOTE_END}]*+){QUOTE_END}")
_RIM: Final = re.compile(f"{EDGE}([^{EDGE}{EDGE_END}]*+){EDGE_END}")
LINKED: Final = re.compile(f"{LINK}([^{LINK_END}]*+)")
"""The text of a link."""


class Pruned(NamedTuple):
    """Flat text as far as it can be judged, and the rest."""

    flat: str
    rest: str
    """It begins with what is not at its end yet."""


def prune(flat: str, *, is_last: bool, keeps_notes: bool) -> Pruned:
    """Flat text without what is dropped.

    Args:
        flat: with marks around what may not be worth reading.
        is_last: False where more of it is to come.
        keeps_notes: reads what stands aside of a text and is one.
    """
    for _ in range(_MOST_NESTED if QUOTE in flat else 0):
        flat, count = _QUOTE.subn(_quote, flat, count=_MOST_JUDGED)
        if not count:
            break
    end = len(flat) if is_last else _first_open(flat)
    judged, rest = flat[:end], flat[end:]
    border = LINE if rest.startswith(LINE) else ""  # where it ends a question, that must see it
    judged += border
    if HEADING in judged and BUTTON in judged:
        judged = _HEADING.sub(_heading, judged, count=_MOST_JUDGED)
    if TERM in judged and (QUESTION in judged or LINE + TERM in judged):
        judged = _with_questions(judged, keeps_notes=keeps_notes)
    if keeps_notes and DROP in judged and NOTE in judged:
        judged = _NOTE.sub(_note, _drop(_DROPPED_BUT_NOTES, judged), count=_MOST_JUDGED)
    judged = _drop(_DROPPED, judged).removesuffix(border)
    if not is_last:  # what has no end yet may be dropped, once it has one
        judged, drop, dropped = judged.partition(DROP)
        rest = f"{drop}{dropped}{rest}"
    return Pruned(judged, rest)


def without_rim(flat: str, *, is_main: bool = False) -> str:
    """Flat text without the heads and forms that have little to say, nor any mark of what never ended.

    Args:
        flat: the text.
        is_main: of a main part, whose heads say by whom it is, and when: only those of links go.
    """
    if EDGE in flat:
        flat = _without_rim(flat, is_main=is_main)
    return without(flat, (DROP, DROP_END, EDGE, EDGE_END, QUOTE, QUOTE_END, TERM))


def _without_rim(flat: str, *, is_main: bool) -> str:
    largest = min(_LARGEST_RIM, len("".join(flat[:_LOOKED_AT].split())) // 2)

    def rim(match: re.Match[str]) -> str:
        inside = match[1]
        is_head = inside.startswith(PARAGRAPH)
        is_rim = _is_head(inside, is_main=is_main) if is_head else _is_form(inside, largest)
        return "" if is_rim else inside[is_head:]

    shown = flat
    for _ in range(_MOST_RIMS):
        shown = _RIM.sub(rim, shown)
    return shown if _TEXT.search(shown) else flat


def _is_head(inside: str, *, is_main: bool) -> bool:
    size = _size(inside)
    is_short = HEADING not in inside and size < _LARGEST_RIM
    return is_short and (not is_main or sum(map(_size, LINKED.findall(inside))) * 2 > size)


def _size(flat: str) -> int:
    return len("".join(without(flat, MARKS).split()))


def _is_form(inside: str, largest: int) -> bool:
    return HEADING not in inside and len("".join(inside.split())) < largest and not _has_rows(inside)


def _has_rows(inside: str) -> bool:
    """True if two cells of a row have text, and not a field each."""
    rows = (row.split(CELL)[1:] for row in inside.split(ROW)) if CELL in inside else ()
    return any(sum(1 for cell in row if cell.strip(_NOT_TEXT)) > 1 for row in rows)


def _first_open(flat: str) -> int:
    """Where a heading, a question or a quotation starts that has no end yet."""
    heading = flat.rfind(HEADING) if HEADING in flat else -1  # which is quick where there is none
    first = len(flat)
    if heading >= 0 and flat.find(LINE, heading) < 0:
        first = max(flat.rfind(LINE, 0, heading), 0)
    quote = flat.find(QUOTE)  # those with an end are gone
    first = min(first, quote if quote >= 0 else first)
    return _last_border(flat, first) if TERM in flat and BUTTON in flat else first


def _last_border(flat: str, end: int) -> int:
    """Where the last line starts that is in nothing which may be dropped: what precedes it can be judged."""
    depth = border = 0
    for mark in _DROP_OR_LINE.finditer(flat, 0, end):
        if mark[0] == DROP:
            depth += 1
        elif mark[0] == DROP_END:
            depth = max(depth - 1, 0)
        elif not depth:
            border = mark.start()
    return border


def _with_questions(flat: str, *, keeps_notes: bool) -> str:
    """Flat text without buttons, but for those that are questions; the innermost are judged first."""
    others = _DROPPED_BUT_BOTH if keeps_notes else _DROPPED_BUT_BUTTONS
    for _ in range(_MOST_NESTED):
        flat, kept = _QUESTION.subn(_question, _drop(others, flat), count=_MOST_JUDGED)
        flat, dropped = _BUTTON.subn("", flat)
        if not kept and not dropped:
            break
    return flat


def _drop(pattern: re.Pattern[str], flat: str) -> str:
    """Flat text without what a pattern drops, the innermost first."""
    for _ in range(_MOST_NESTED):
        flat, count = pattern.subn("", flat) if DROP in flat else (flat, 0)
        if not count:
            break
    return flat


def _heading(match: re.Match[str]) -> str:
    """A heading; the text of a button in it is its own where it has no other."""
    heading = match[0]
    if BUTTON not in heading:
        return heading
    heading = _drop(_DROPPED_BUT_BUTTONS, heading)
    return heading if _BUTTON.sub("", heading).strip(_NOT_TEXT) else _BUTTON.sub(r"\1", heading)


def _question(match: re.Match[str]) -> str:
    """A question that is all of its block, as a line of the text."""
    return f"{match[1].replace(DROP, '')}{match[2]}"


def _quote(match: re.Match[str]) -> str:
    """A quotation, whose foot says who said it."""
    inside = match[1]
    return _FOOT.sub(r"\1", _drop(_DROPPED_BUT_FEET, inside)) if FOOT in inside else inside


def _note(match: re.Match[str]) -> str:
    """What stands aside, if it is a text and no list of links, nor a form."""
    inside = match[1]
    linked = sum(map(len, LINKED.findall(inside)))
    said = len("".join(inside.split())) - linked
    is_text = EDGE not in inside and said >= _SMALLEST_NOTE and said > linked
    return f"{PARAGRAPH}{inside}{LINE}{PARAGRAPH}" if is_text else ""
