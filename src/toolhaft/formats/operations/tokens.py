"""Estimates how many tokens tools cost, from their text alone."""

from __future__ import annotations

import re
from typing import Final

from toolhaft.errors import WireError
from toolhaft.formats.operations.exporting import Export

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_LONG_WORDS: Final = re.compile(r"[A-Z]?[a-z]{9,}|[A-Z]{9,}")
_DIGITS: Final = re.compile(r"[0-9]{1,3}")
_SIGNS: Final = re.compile(r"[^\w\s]{1,4}")
_LINES: Final = re.compile(r"\n\s*")
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]")
_LONGEST_WORD: Final = 8


def estimate_tokens(given: Export | str | bytes) -> int:
    """About how many tokens an export, or any text, takes of a model's context.

    Compared with the mean of four tokenizers (GPT-4's, GPT-4o's, Claude's older public one, Mistral's), it is
    within 10 % for each of a hundred exports and descriptions; the tokenizers themselves differ by about 6 %.
    A provider may rewrite the tools for its model, so use it to compare formats and sets of tools.

    Raises:
        WireError: for anything but an export or text.
    """
    text = _text(given)
    words = _WORDS.findall(text)
    longer = sum(len(word) - _LONGEST_WORD for word in _LONG_WORDS.findall(text))
    total = (
        len(words)
        + 0.45 * longer
        + 1.6 * len(_DIGITS.findall(text))
        + len(_SIGNS.findall(text))
        + len(_LINES.findall(text))
        + 0.45 * text.count("_")
        + 0.75 * len(_FOREIGN.findall(text))
    )
    return round(total)


def _text(given: object) -> str:
    if isinstance(given, Export):
        given = given.json_bytes
    if isinstance(given, bytes | bytearray):
        return given.decode(errors="replace")
    if isinstance(given, str):
        return given
    raise WireError(f"got {type(given).__name__}", expected="an Export, or text")
