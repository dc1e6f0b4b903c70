"""The number that goes out, and one line about it: how it was computed and what was lost.

Does not know the expression.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Final

from toolhaft.toolbox.calculation.limits import MOST_DIGITS
from toolhaft.toolbox.calculation.work import TINY, Number, UndefinedError, Work

_SHORT: Final = 10**40
_LONGEST_RATIO_BITS: Final = 160
_DECIMALS: Final = 40
_UNIT: Final = 10**_DECIMALS
_FLOATING: Final = "approximate (floating point)"


def answer(value: Number, work: Work) -> tuple[int | float, str]:
    """A number as it goes out, and the message.

    Raises:
        UndefinedError: where it cannot be written.
    """
    if isinstance(value, int):
        result, text, how = value, _digits(value), "exact"
    elif isinstance(value, Fraction):
        result, how = _rounded(value, work)
        text = repr(result)
    else:
        result, how = value + 0.0, _FLOATING  # the sum makes 0.0 of -0.0
        text = repr(result)
    if work.is_floating:
        how = _FLOATING
    message = f"{text}, {how}"
    return result, "; ".join((message, *work.notes)) if work.notes else message


def _digits(value: int) -> str:
    if -_SHORT < value < _SHORT:
        return str(value)
    most = sys.get_int_max_str_digits()  # 4,300, unless somebody set less for the whole process
    if 0 < most <= MOST_DIGITS and abs(value) >= 10**most:
        raise UndefinedError(f"Too large: this process writes whole numbers of up to {most:,} digits")
    return f"A whole number of {len(str(abs(value))):,} digits"


def _rounded(value: Fraction, work: Work) -> tuple[float, str]:
    """The nearest float, and how near it is."""
    try:
        near = float(value)
    except OverflowError:
        raise UndefinedError(
            "Too large for a float, which ends at 1.8e308; floor(...) around it gives the whole part"
        ) from None
    if not near:
        work.note(TINY)
        return 0, "rounded"
    if Fraction(repr(near)) == value:
        return near, "exact (computed with fractions, not binary floats)"
    if value.numerator.bit_length() + value.denominator.bit_length() > _LONGEST_RATIO_BITS:
        return near, "rounded to the nearest float (computed exactly)"
    return near, f"rounded to the nearest float (the exact value is {_written(value)})"


def _written(value: Fraction) -> str:
    """A short fraction as a decimal number where it is one, else as a ratio."""
    if _UNIT % value.denominator:
        return str(value)
    digits = f"{abs(value.numerator) * (_UNIT // value.denominator):0{_DECIMALS + 1}}"
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-_DECIMALS]}.{digits[-_DECIMALS:].rstrip('0')}"
