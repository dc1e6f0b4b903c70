"""Where in an expression something is wrong, in words: the character's number, and the spot between marks.

Knows the pieces of an expression; does not know what is wrong with them.
"""

from __future__ import annotations

import re
from typing import Final

from toolhaft.toolbox.outside import show_outside

PIECE: Final = re.compile(
    r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?"  # numbers
    r"|[A-Za-z_][A-Za-z0-9_]*"  # names
    r"|\*\*|//|[<>=!]=|\S"  # operators, and whatever else is there
)
_AROUND: Final = 25
_LONGEST_SPOT: Final = 40
_LONGEST_SHOWN: Final = 250


def at_piece(text: str, place: int, problem: str, hint: str = "") -> str:
    """What is wrong with a piece, given by its number; the one after the last is the end of the text."""
    for number, match in enumerate(PIECE.finditer(text)):
        if number == place:
            return at_span(text, *match.span(), problem, hint)
    end = len(text.rstrip())
    return at_span(text, end, end, problem, hint)


def at_span(text: str, start: int, end: int, problem: str, hint: str = "") -> str:
    """What is wrong with a stretch of the text."""
    advice = f". {hint[0].upper()}{hint[1:]}" if hint else ""
    return f"{problem}, at character {start + 1:,}: {_excerpt(text, start, end)}{advice}"


def _excerpt(text: str, start: int, end: int) -> str:
    before = text[max(0, start - _AROUND) : start]
    spot = text[start : min(end, start + _LONGEST_SPOT)]
    after = text[end : end + _AROUND]
    head = "..." if start > _AROUND else ""
    cut = "..." if end - start > _LONGEST_SPOT else ""
    tail = "..." if end + _AROUND < len(text) else ""
    shown = f"{head}{before}>>>{spot}{cut}<<<{after}{tail}"
    return show_outside(" ".join(shown.split()), longest=_LONGEST_SHOWN).text
