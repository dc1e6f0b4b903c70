"""Hits as a model gets them: plain, bounded, each with an address that can be opened.

Does not know which engine found them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from toolhaft.toolbox.answers import is_address
from toolhaft.toolbox.asking import hide
from toolhaft.toolbox.outside import show_outside
from toolhaft.toolbox.searching.engine import Hit

LONGEST_TITLE: Final = 300
LONGEST_SNIPPET: Final = 1_000


class Results(NamedTuple):
    """What is shown of a search, and what was done to it."""

    results: list[dict[str, str]]
    notes: tuple[str, ...]


def show_hits(hits: Iterable[Hit], *, most: int, secrets: Sequence[str] = ()) -> Results:
    """The first hits that have an address, as the tool answers with them."""
    shown: list[dict[str, str]] = []
    dropped = cut = hidden = 0
    for hit in hits:
        if len(shown) == most:
            break
        if not is_address(hit.url):
            dropped += 1
            continue
        title = show_outside(hide(" ".join(hit.title.split()), secrets), longest=LONGEST_TITLE)
        snippet = show_outside(hide(hit.snippet.strip(), secrets), longest=LONGEST_SNIPPET)
        cut += bool(title.cut) + bool(snippet.cut)
        hidden += title.hidden + snippet.hidden
        shown.append({"title": title.text, "snippet": snippet.text, "url": hide(hit.url, secrets)})
    notes: list[str] = []
    if dropped:
        notes.append(f"left out {_count(dropped, 'result')} without an address that can be opened")
    if cut:
        notes.append(f"cut {_count(cut, 'text')} that would not end")
    if hidden:
        notes.append(f"{_count(hidden, 'invisible character')} written as <U+XXXX>")
    return Results(shown, tuple(notes))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
