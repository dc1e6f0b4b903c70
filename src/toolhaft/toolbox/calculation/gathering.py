"""Functions that gather several numbers or round one: sum, mean, min, max, abs, round, floor, ceil.

Does not know the text; overflow leaves as Python's own error.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from toolhaft.toolbox.calculation.arithmetic import add, divide
from toolhaft.toolbox.calculation.limits import MOST_ROUND_DIGITS
from toolhaft.toolbox.calculation.work import (
    TIE,
    Number,
    UndefinedError,
    Work,
    as_exact,
    finite,
    shown,
)

_HALF: Final = Fraction(1, 2)


def total(work: Work, *values: Number) -> Number:
    """The sum; of floats, rounded only once."""
    if any(isinstance(value, float) for value in values):
        return finite(math.fsum(map(float, values)))
    result: Number = 0
    for value in values:
        result = add(work, result, value)
    return result


def mean(work: Work, *values: Number) -> Number:
    """The average."""
    return divide(work, total(work, *values), len(values))


def least(_: Work, *values: Number) -> Number:
    """The smallest."""
    return min(values)


def greatest(_: Work, *values: Number) -> Number:
    """The largest."""
    return max(values)


def absolute(_: Work, value: Number) -> Number:
    """The number without its sign."""
    return abs(value)


def floor(work: Work, value: Number) -> Number:
    """The whole number at or below."""
    return math.floor(_told(work, value))


def ceiling(work: Work, value: Number) -> Number:
    """The whole number at or above."""
    return math.ceil(_told(work, value))


def rounded(work: Work, value: Number, digits: Number | None = None) -> Number:
    """The nearest number with so many digits after the point; a tie goes to the even digit."""
    if digits is None:
        return _nearest(work, _told(work, value))
    if not isinstance(digits, int) or abs(digits) > MOST_ROUND_DIGITS:
        raise UndefinedError(
            f"round needs a whole number of digits from -{MOST_ROUND_DIGITS:,} to {MOST_ROUND_DIGITS:,}, "
            f"not {shown(digits)}"
        )
    if isinstance(value, float):
        return round(value, digits)
    unit = Fraction(10) ** -digits
    return work.settle(_nearest(work, as_exact(value) / unit) * unit)


def _nearest(work: Work, value: Number) -> int:
    if value % 1 == _HALF:
        work.note(TIE)
    return round(value)


def _told(work: Work, value: Number) -> Number:
    """A value that is about to be taken for a whole number."""
    if isinstance(value, float):
        work.is_floating = True
    return value
