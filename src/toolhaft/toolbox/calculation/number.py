"""The numbers of a calculation, its limits, and what it records about how the result was computed."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Final, TypeAlias

# With these limits, every calculation and every refusal takes well under a second.
LONGEST_TEXT: Final = 10_000
"""Characters of an expression."""
MAX_SYMBOLS: Final = 5_000
"""Numbers, names, operators, parentheses and commas."""
MAX_DEPTH: Final = 100
"""Nested parentheses."""
MAX_BITS: Final = 10_000
"""Of a whole number, and of the numerator of a fraction."""
MAX_DIGITS: Final = 3_010
"""The digits of such a number; Python converts at most 4,300 digits to text."""
MAX_DENOMINATOR_BITS: Final = 4_000
"""Of the denominator of a fraction; a longer one becomes a float."""
MAX_DECIMALS: Final = 1_200
"""Digits after the point that such a denominator can represent."""
MAX_ROUND_DIGITS: Final = 1_000
"""The digits argument of `round`, positive or negative."""
MAX_ROOT_BITS: Final = 2_048
"""Of a number whose exact root is computed; square roots are fast at any size."""
LARGEST_ANGLE: Final = 10**15
"""In radians; the rounding error of a larger float is a good part of a full turn."""
MAX_STEPS: Final = 1_000_000_000
"""The work of all `comb` and `perm` in an expression together, in bits."""

Exact: TypeAlias = int | Fraction
Number: TypeAlias = int | Fraction | float
"""A whole number, a fraction that is not whole, or a float: an approximation."""

TOO_MANY_DIGITS: Final = "an exact value had too many digits"
TINY: Final = "a value too small for a float became 0"
SNAPPED: Final = "a result below the rounding error of its angle is taken as 0"
TIE: Final = "a tie was rounded to the even digit"

SMALLEST_NORMAL: Final = 2.0**-1022
"""Smaller floats have fewer significant digits."""
_BITS_PER_DIGIT: Final = 3.321928094887362
_LONGEST_SHOWN: Final = 40
_COUNTABLE: Final = 10**15


class UndefinedError(Exception):
    """An operation without a finite real result, or with one over the limits."""


class Calculation:
    """The state of one calculation: notes for the message, and how much work is left."""

    __slots__ = ("is_floating", "left", "notes")

    def __init__(self) -> None:
        self.is_floating = False
        """True if a whole number was rounded from a float: it looks exact, but is not."""
        self.left = MAX_STEPS
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Add a note to the message, once."""
        if text not in self.notes:
            self.notes.append(text)

    def spend(self, steps: int, what: str) -> None:
        """Reserve work before it is done.

        Raises:
            UndefinedError: if too little is left.
        """
        self.left -= steps
        if self.left < 0:
            raise UndefinedError(f"Too much work: {what} of numbers this large is too slow this many times")

    def normalized(self, value: Fraction) -> Number:
        """A fraction as a whole number if it is one, and as a float if it has too many digits.

        Raises:
            UndefinedError: for a whole number over the limits.
            OverflowError: if it is too large for a float.
        """
        if value.denominator == 1:
            return bounded(value.numerator)
        if (
            value.denominator.bit_length() <= MAX_DENOMINATOR_BITS
            and value.numerator.bit_length() <= MAX_BITS
        ):
            return value
        self.note(TOO_MANY_DIGITS)
        return self.nonzero(float(value))

    def nonzero(self, value: float) -> float:
        """A float whose exact value is not zero; adds a note if it was rounded to zero."""
        if value == 0:
            self.note(TINY)
        return finite(value)


def bounded(value: int) -> int:
    """The number itself.

    Raises:
        UndefinedError: if it is over the limits.
    """
    if value.bit_length() > MAX_BITS:
        raise too_long(value.bit_length())
    return value


def finite(value: float) -> float:
    """The float itself.

    Raises:
        OverflowError: if it is infinite or not a number.
    """
    if not isfinite(value):
        raise OverflowError
    return value


def as_exact(value: Exact) -> Fraction:
    """Any exact number as a fraction."""
    return value if isinstance(value, Fraction) else Fraction(value)


def too_long(bits: float) -> UndefinedError:
    """The error for a whole number over the limits."""
    digits = bits / _BITS_PER_DIGIT
    count = f"about {digits:,.0f}" if digits < _COUNTABLE else "over 10**15"
    return UndefinedError(
        f"Too large: the result would have {count} digits, up to {MAX_DIGITS:,} are computed"
    )


def shown(value: Number) -> str:
    """A short form of a number for messages."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_SHOWN * _BITS_PER_DIGIT:
        return f"a number of about {value.bit_length() / _BITS_PER_DIGIT:,.0f} digits"
    if isinstance(value, Fraction):
        try:
            return repr(float(value))
        except OverflowError:
            return "a fraction of many digits"
    return repr(value)
