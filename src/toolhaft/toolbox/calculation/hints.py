"""What is wrong with the form of an expression and what to write instead, in words.

Knows pieces of an expression and the names of functions; does not parse and does not compute.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from toolhaft.schema.nearest import nearest
from toolhaft.toolbox.calculation.functions import CONSTANTS, FUNCTIONS
from toolhaft.toolbox.calculation.spellings import NAMES, PERCENT, SIGNS, THOUSANDS, TIMES

_SUPERSCRIPTS: Final = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
_FRACTION_SLASH: Final = "\u2044"
_RADIXES: Final = "xXbBoO"
_GROUP: Final = 3
_LONGEST_PIECE: Final = 12
_PERCENT_TERM: Final = re.compile(r"(?<=[0-9)])%(?=\s*[-+]\s)")
_LIKE_PERCENT: Final = re.compile(r"[0-9)]%[-+\s]")
_LIKE_GROUPED: Final = re.compile(r"(?<![0-9.eE])(?<![eE][+-])[0-9]{1,3},[0-9]{3}(?![0-9.])")
_EXAMPLES: Final = {"(": "(...)", ")": "(...)"}

Hint = tuple[str, str]
"""What is wrong, and what to do about it."""


def of_name(name: str) -> str:
    """For a name that stands for nothing."""
    known = NAMES.get(name.lower())
    if known:
        return known
    close = nearest(name, (*FUNCTIONS, *CONSTANTS))
    if close:
        return f"did you mean '{close}'?"
    return "known are " + ", ".join((*FUNCTIONS, *CONSTANTS))


def of_sign(sign: str) -> Hint:
    """For a character, or two, that the grammar has no place for."""
    called = f"'{sign}'" if sign.isprintable() else f"The character U+{ord(sign):04X}"
    return f"{called} is not known", SIGNS.get(sign, "")


def of_foreign(character: str) -> Hint:
    """For a character outside ASCII."""
    name = unicodedata.name(character, "")
    called = f"U+{ord(character):04X} {name}".rstrip()
    hint = SIGNS.get(character) or _plain_form(character) or "only ASCII characters are read"
    return f"The character {called} is not known", hint


def _plain_form(character: str) -> str:
    if character in _SUPERSCRIPTS:
        return f"write ** {_SUPERSCRIPTS.index(character)}"
    if character.isspace() or unicodedata.category(character) == "Cf":
        return "write a plain space, or nothing"
    if character.isdecimal():
        return f"write the plain {unicodedata.decimal(character)}"
    plain = unicodedata.normalize("NFKC", character)
    if _FRACTION_SLASH in plain:  # one half is one character
        return f"write ({plain.replace(_FRACTION_SLASH, ' / ')})"
    return f"write the plain {plain}" if plain.isascii() and plain.isprintable() else ""


def of_missing_operator(before: str, piece: str) -> Hint:
    """For a number, name or parenthesis right after a number or a parenthesis."""
    if before[-1] in "0123456789.":
        hint = _of_broken_number(before, piece)
        if hint is not None:
            return hint
    if piece == "(" and before in CONSTANTS:
        return f"'{before}' is a number, not a function", f"write {before} * (...) for a product"
    if piece[0].isalpha() and piece not in FUNCTIONS and piece not in CONSTANTS:
        return f"Unknown name '{piece:.40}'", of_name(piece)
    product = f"{_EXAMPLES.get(before, _short(before))} * {_EXAMPLES.get(piece, _short(piece))}"
    return "An operator is missing", f"{TIMES}, as in {product}"


def _of_broken_number(before: str, piece: str) -> Hint | None:
    if before == "0" and piece[0] in _RADIXES and len(piece) > 1:
        return "Only decimal numbers are read", "write 31, not 0x1F"
    if piece[0] == "_":
        return "Digits are not grouped", "write 1000, not 1_000"
    if piece[0] == "." and "." in before:
        return "A number with two points", "write one point only, and no separators"
    if before.endswith(".") and piece[0].isalpha():
        return "A point before a name", SIGNS["."]
    if piece[0].isdecimal():
        return (
            "Two numbers in a row",
            "an operator or a comma is missing; digits are not grouped: 1000, not 1 000",
        )
    if piece == "e":
        return "An operator is missing", "write 1e5 for a number with an exponent, 2 * e for a product"
    return None


def of_missing_number(before: str, piece: str) -> Hint:
    """For an operator, a parenthesis or the end (no piece) where a number must come."""
    if not before and not piece:
        return "The expression is empty", "give one such as 2 + 2"
    if before == "%":
        return "A number is missing after '%'", PERCENT
    if before == "(" and piece == ")":
        return "Nothing stands between the parentheses", "put a number there, or leave them out"
    if before == piece == "*":
        return "A number is missing", "write ** in one piece for powers"
    after = f"after '{before}'" if before else f"before '{piece}'"
    return f"A number is missing {after}", ""


def find_percent(text: str) -> re.Match[str] | None:
    """A percentage that something is added to: the grammar would take 10% + 5 for a remainder."""
    return _PERCENT_TERM.search(text)


def of_comma(before: str, after: str) -> Hint:
    """For a comma that separates no arguments."""
    if before.isdecimal() and after[:_GROUP].isdecimal() and len(after) >= _GROUP:
        return "A comma inside a number", THOUSANDS
    decimals = "a comma only separates arguments, as in max(1, 2); write a point for decimals, as in 1.5"
    return "A comma outside a function", decimals


def of_grouped(after: str) -> Hint | None:
    """For a comma between arguments where what follows is clearly the rest of a number such as 1,000."""
    if len(after) >= _GROUP and after[0] == "0" and after[:_GROUP].isdecimal():
        return "A comma inside a number", THOUSANDS
    return None


def remarks(text: str) -> list[str]:
    """What may have been read other than it was meant, though it is of the grammar."""
    told: list[str] = []
    if _LIKE_PERCENT.search(text):
        told.append("% was read as the remainder of a division, not as percent")
    grouped = _LIKE_GROUPED.search(text)
    if grouped:
        told.append(f"{grouped[0]} was read as two numbers")
    return told


def _short(piece: str) -> str:
    return piece if len(piece) <= _LONGEST_PIECE else f"{piece[:_LONGEST_PIECE]}..."
