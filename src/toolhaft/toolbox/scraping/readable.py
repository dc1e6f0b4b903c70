"""Finds what is worth reading on a page, looking at no more of it than the wanted text takes.

Builds no tree, so that a page nested a hundred thousand deep costs no more than a flat one. Does not know how
long the text may be that is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Final, NamedTuple

from toolhaft.toolbox.scraping.flat import flatten
from toolhaft.toolbox.scraping.insides import insides_of
from toolhaft.toolbox.scraping.marks import HEADING, LINE, LINK, LINK_END, MARKS
from toolhaft.toolbox.scraping.markup import Opener, element_end, find_tag, opener_at
from toolhaft.toolbox.scraping.pruning import LINKED, prune, without_rim
from toolhaft.toolbox.scraping.settling import settle
from toolhaft.toolbox.scraping.source import Source
from toolhaft.toolbox.scraping.unread import Unread, is_hidden, unread_parts

_ENOUGH: Final = 250
"""Characters that make the main part of a page worth reading alone."""
_SHARE: Final = 4
"""How many times longer the page may be than a main part that has not enough."""
_FIRST_BYTES: Final = 150_000
_MOST_NESTED: Final = 16
_LINE_COST: Final = 20
_LINK_COST: Final = 18
"""Characters that a line must have, and one with links beside those, to speak for its surroundings."""
_SHORT_WORTH: Final = 8
"""Of a line without links, however short: a price or an answer is short too."""
_HEADING_WORTH: Final = 40
_FEWEST_DENSE: Final = 250
_INERT: Final = ("template", "textarea")

_NOTHING: Final = frozenset(("", LINK, LINK_END))
"""Lines that say nothing, of which pages full of markup have many."""

_MAIN_ROLE: Final = re.compile(r"""role=["']?main\b""")
_BODY: Final = re.compile(r"<body(?=[\s>])|</head\s*+>", re.IGNORECASE)


class Readable(NamedTuple):
    """What was found."""

    text: str
    is_whole: bool
    """False where the page holds more than was looked at."""


def read_page(source: Source, *, longest: int) -> Readable:
    """The readable text of a page; what goes beyond `longest` characters may be left out."""
    source.reach(max(_FIRST_BYTES, 2 * longest))
    source.take(2 * (longest * 5 // 4 - len(source.text)))  # letters of several bytes each have yielded less
    main = _main_of(source.text)
    found = Readable("", is_whole=True) if main is None else _read(source, main.start, main, longest)
    if len(found.text) >= _ENOUGH:
        return found
    body_start = _BODY.search(source.text)
    start = 0 if body_start is None else body_start.start()
    whole = _read(source, start, None, longest)
    if not whole.text and not found.text and "aria-hidden" in source.text:
        return _read(source, start, None, longest, reads_unspoken=True)
    return found if len(whole.text) <= len(found.text) * _SHARE else whole


def _main_of(plain: str) -> Opener | None:
    """The start of what a page itself calls its main part."""
    main = _shown_main(plain)
    if main is not None:
        return main
    articles = list(_articles(plain))
    if articles:
        size, largest = max(articles, key=itemgetter(0))
        return largest if size * 2 > sum(size for size, _ in articles) else None
    match = _MAIN_ROLE.search(plain)
    tag = -1 if match is None else plain.rfind("<", 0, match.start())
    opener = None if tag < 0 else opener_at(plain, tag)
    return opener if opener is not None and opener.attributes.get("role") == "main" else None


def _shown_main(plain: str) -> Opener | None:
    """The first `<main>` that is shown; one in an attribute, a template or a hidden part is none."""
    start, insides = find_tag(plain, "<main"), insides_of(plain)
    for _ in range(_MOST_NESTED):
        if start < 0:
            break
        opener = opener_at(plain, start)
        is_in_tag = insides.tag_end(start, 0) >= 0
        is_in_template = any(
            plain.rfind(f"<{name}", 0, start) > plain.rfind(f"</{name}", 0, start) for name in _INERT
        )
        if opener is not None and not is_in_tag and not is_in_template and not is_hidden(opener):
            return opener
        start = find_tag(plain, "<main", start + 1)
    return None


def _articles(plain: str) -> Iterator[tuple[int, Opener]]:
    """The sizes and starts of articles that are in no other one."""
    start = find_tag(plain, "<article")
    while start >= 0:
        opener = opener_at(plain, start)
        end = -1 if opener is None else element_end(plain, opener)
        end = len(plain) if end < 0 else end
        if opener is not None:
            yield end - start, opener
        start = find_tag(plain, "<article", end)


def _read(
    source: Source, start: int, main: Opener | None, longest: int, *, reads_unspoken: bool = False
) -> Readable:
    """The text from a place on: that of the main part, or the densest of all."""
    at, flats = start, list[str]()
    while True:
        end = -1 if main is None else element_end(source.text, main)
        is_last = end >= 0 or not source.left
        stop = len(source.text) if end < 0 else end
        unread = unread_parts(source.text, at, stop, reads_unspoken=reads_unspoken)
        flat, at = _flatten_on(source.text, (at, stop), unread, is_last=is_last)
        flats.append(flat)
        known, rest = prune("".join(flats), is_last=is_last, keeps_notes=main is not None)
        size = len(known)
        if is_last or size * 8 > longest * 9:  # the marks in it are no text
            shown = without_rim(known, is_main=main is not None)
            text = settle(_densest(shown) if main is None else shown)
            size = len(text)
            if is_last or size > longest:
                return Readable(text, end >= 0 or source.is_whole)
        flats = [known, rest]
        wanted = max(_FIRST_BYTES, (at - start) * longest // max(size, 1))
        source.take(source.left if wanted * 2 > source.left else wanted)


def _flatten_on(
    plain: str, stretch: tuple[int, int], unread: Iterable[Unread], *, is_last: bool
) -> tuple[str, int]:
    """A stretch as flat text, but for what nobody reads, and where the next one starts."""
    kept: list[str] = []
    at, stop = stretch
    for part in unread:
        if part.end < 0 and is_last:
            continue
        kept.append(plain[at : part.start])
        at = part.start if part.end < 0 else part.end
        if part.end < 0:  # its end may be in what comes next
            stop = at
            break
    kept.append(plain[at:stop])
    return flatten("".join(kept), marks_unread=True), max(at, stop)


def _densest(flat: str) -> str:
    """The stretch of lines with the most text that is no link, if it has most of all such text."""
    lines = [line for line in map(str.strip, flat.split(LINE)) if line not in _NOTHING]
    worths = list(map(_worth, lines))
    total = _said(worths)
    if total < _FEWEST_DENSE:
        return flat
    start = best_start = best_end = best = current = 0
    for number, worth in enumerate(worths):
        if current <= 0:
            start, current = number, 0
        current += worth
        if current > best:
            best, best_start, best_end = current, start, number + 1
    is_most = _said(worths[best_start:best_end]) * 2 > total
    return LINE.join(lines[best_start:best_end]) if is_most else flat


def _worth(line: str) -> int:
    """How much a line speaks for reading it and its surroundings."""
    if line[-1] in MARKS and not line.strip(MARKS):
        return 0
    heading = _HEADING_WORTH if HEADING in line else 0
    if LINK not in line:
        return max(len(line) - _LINE_COST, _SHORT_WORTH) + heading
    return len(line) - sum(map(len, LINKED.findall(line))) - _LINK_COST + heading


def _said(worths: list[int]) -> int:
    return sum(worth + _LINE_COST for worth in worths if worth > 0)
