"""What the file tools say beside their values: how much it was, and what does not show in it.

Knows texts; does not know files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolhaft.core.result import LONGEST_OUTPUT
from toolhaft.toolbox.outside import begins_plain, hidden_characters

MUCH: Final = 90_000
"""Characters from which on a model may be shown the beginning only."""
_MARK: Final = "\ufeff"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """So many of something."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def hidden_in(text: str, *, begins_file: bool = True) -> str:
    """Which characters of a text do not show, as a note; empty where all do.

    Looked for as far as a model is shown a result. Line ends of any kind are no news, nor is a byte order
    mark where a file begins.
    """
    if len(text) > LONGEST_OUTPUT and text.isascii() and begins_plain(text, LONGEST_OUTPUT):
        return ""
    head, where = text, "it"
    if len(text) > LONGEST_OUTPUT:
        where = f"its first {LONGEST_OUTPUT:,} characters"
        head = text[:LONGEST_OUTPUT].removesuffix("\r")  # a line end that the cut goes through, mostly
    if begins_file:
        head = head.removeprefix(_MARK)
    if "\r" in head:
        head = head.replace("\r\n", "\n")
    return _note(where, hidden_characters(head))


def hidden_in_names(names: Iterable[str]) -> str:
    """Which characters in names do not show, as a note; empty where all do."""
    joined = "/".join(names)[:LONGEST_OUTPUT]
    found = hidden_characters(joined)
    return _note("names", ("U+000A", *found) if "\n" in joined else found)


def _note(where: str, found: tuple[str, ...]) -> str:
    return f"characters in {where} that do not show: {', '.join(found)}" if found else ""
