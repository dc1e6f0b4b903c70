"""What one calculation carries along: what the answer must tell about it, and how much of its budget is left.

Knows the kinds of numbers; does not know operators or functions.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Final, TypeAlias

from toolhaft.toolbox.calculation.limits import MOST_BITS, MOST_DENOMINATOR_BITS, MOST_DIGITS, MOST_STEPS

Exact: TypeAlias = int | Fraction
Number: TypeAlias = int | Fraction | float
"""A whole number, a fraction that is not whole, or a float: an approximation."""

TOO_MANY_DIGITS: Final = "an exact value had too many digits"
TINY: Final = "a value too small for a float became 0"
SNAPPED: Final = "a result below the rounding error of its angle is taken as 0"
TIE: Final = "a tie was rounded to the even digit"

SMALLEST_NORMAL: Final = 2.0**-1022
"""Smaller floats have fewer digits."""
_BITS_PER_DIGIT: Final = 3.321928094887362
_LONGEST_SHOWN: Final = 40
_COUNTABLE: Final = 10**15


class UndefinedError(Exception):
    """A step that has no finite real answer, or one beyond the budget; the place is not known here."""


class Work:
    """One calculation; slots by hand, since it is made on every call."""

    __slots__ = ("is_floating", "left", "notes")

    def __init__(self) -> None:
        self.is_floating = False
        """True if a whole number was made from a float: it looks exact, and is not."""
        self.left = MOST_STEPS
        self.notes: list[str] = []

    def note(self, words: str) -> None:
        """Have the answer say something, once."""
        if words not in self.notes:
            self.notes.append(words)

    def spend(self, steps: int, what: str) -> None:
        """Take from the budget, before the work is done.

        Raises:
            UndefinedError: where there is not enough left.
        """
        self.left -= steps
        if self.left < 0:
            raise UndefinedError(f"Too much work: {what} of numbers this large is too slow this many times")

    def settle(self, value: Fraction) -> Number:
        """A fraction as a whole number where it is one, and as a float where it has too many digits.

        Raises:
            UndefinedError: for a whole number over the budget.
            OverflowError: where it fits no float.
        """
        if value.denominator == 1:
            return bounded(value.numerator)
        if (
            value.denominator.bit_length() <= MOST_DENOMINATOR_BITS
            and value.numerator.bit_length() <= MOST_BITS
        ):
            return value
        self.note(TOO_MANY_DIGITS)
        return self.nonzero(float(value))

    def nonzero(self, value: float) -> float:
        """A float that stands for something other than zero; tells where it became zero all the same."""
        if value == 0:
            self.note(TINY)
        return finite(value)


def bounded(value: int) -> int:
    """A whole number within the budget.

    Raises:
        UndefinedError: where it is not.
    """
    if value.bit_length() > MOST_BITS:
        raise too_long(value.bit_length())
    return value


def finite(value: float) -> float:
    """A float that is a number.

    Raises:
        OverflowError: where it grew over the largest.
    """
    if not isfinite(value):
        raise OverflowError
    return value


def as_exact(value: Exact) -> Fraction:
    """Any exact number as a fraction."""
    return value if isinstance(value, Fraction) else Fraction(value)


def too_long(bits: float) -> UndefinedError:
    """The refusal of a whole number over the budget."""
    digits = bits / _BITS_PER_DIGIT
    count = f"about {digits:,.0f}" if digits < _COUNTABLE else "over 10**15"
    return UndefinedError(
        f"Too large: the result would have {count} digits, up to {MOST_DIGITS:,} are computed"
    )


def shown(value: Number) -> str:
    """A number in a message, short."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_SHOWN * _BITS_PER_DIGIT:
        return f"a number of about {value.bit_length() / _BITS_PER_DIGIT:,.0f} digits"
    if isinstance(value, Fraction):
        try:
            return repr(float(value))
        except OverflowError:
            return "a fraction of many digits"
    return repr(value)
