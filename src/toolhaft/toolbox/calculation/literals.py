"""The exact value of a number as it is written: 0.1 is one tenth.

Knows one number, not where it stands; its size is checked before anything is built from it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from toolhaft.toolbox.calculation.limits import MOST_BITS, MOST_DECIMALS, MOST_DIGITS
from toolhaft.toolbox.calculation.work import Exact

_CHUNK: Final = 500  # digits; Python can be told to read no more than 640 at once
_LONGEST_EXPONENT: Final = 6


class TooLongError(Exception):
    """A number with more digits than are computed with."""


def exact_value(text: str) -> Exact:
    """What a number of the grammar stands for.

    Raises:
        TooLongError: where it has too many digits, before or after the point.
    """
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    if not digits:
        return 0
    steps = exponent.lstrip("+-0")
    if len(steps) > _LONGEST_EXPONENT:
        raise TooLongError
    shift = int(f"-{steps or 0}" if exponent.startswith("-") else steps or 0) - len(part)
    if len(digits) + max(shift, 0) > MOST_DIGITS + 1 or shift < -MOST_DECIMALS:
        raise TooLongError
    value = _read(digits)
    if shift < 0:
        fraction = Fraction(value, 10**-shift)
        return fraction if fraction.denominator > 1 else fraction.numerator
    value *= 10**shift
    if value.bit_length() > MOST_BITS:
        raise TooLongError
    return value


def _read(digits: str) -> int:
    value = 0
    for start in range(0, len(digits), _CHUNK):
        chunk = digits[start : start + _CHUNK]
        value = value * 10 ** len(chunk) + int(chunk)
    return value
