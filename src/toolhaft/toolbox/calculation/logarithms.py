"""Logarithms and the exponential: exact where the argument is a power of the base, floats otherwise.

Does not know the text; overflow leaves as Python's own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from toolhaft.toolbox.calculation.work import (
    SMALLEST_NORMAL,
    Exact,
    Number,
    UndefinedError,
    Work,
    as_exact,
    finite,
    shown,
)

_NEAR_ONE: Final = 1e-6
_NOTHING_LEFT: Final = -800
"""The exponential of less is smaller than any float."""


def logarithm(_: Work, value: Number, base: Number | None = None) -> Number:
    """The natural logarithm, or the one to a base."""
    _check(value)
    if base is None:
        return 0 if value == 1 and not isinstance(value, float) else float_log(value)
    _check(base, "base")
    if not float_log(base):  # it is 1, or so near to it that nothing is left of its logarithm
        raise UndefinedError("A logarithm needs a base other than 1")
    exact = None if isinstance(value, float) or isinstance(base, float) else _whole_log(value, base)
    if exact is not None:
        return exact
    if base in (2, 10):
        return float_log(value, math.log2 if base == 2 else math.log10)  # noqa: PLR2004 -- has its own function
    return finite(float_log(value) / float_log(base))


def logarithm_2(work: Work, value: Number) -> Number:
    """The logarithm to the base 2."""
    return logarithm(work, value, 2)


def logarithm_10(work: Work, value: Number) -> Number:
    """The logarithm to the base 10."""
    return logarithm(work, value, 10)


def exponential(work: Work, value: Number) -> Number:
    """The number e to a power."""
    if not isinstance(value, float) and not value:
        return 1
    return work.nonzero(0.0 if value < _NOTHING_LEFT else math.exp(value))


def _check(value: Number, what: str = "argument") -> None:
    if value <= 0:
        raise UndefinedError(f"A logarithm needs a positive {what}, not {shown(value)}")


def float_log(value: Number, log: Callable[[float], float] = math.log) -> float:
    """The logarithm of a positive number, also of one that fits no float."""
    if isinstance(value, float | int):  # of a whole number it is known at any size
        return log(value)
    try:
        near = float(value)
    except OverflowError:
        near = 0.0
    if abs(near - 1) < _NEAR_ONE:  # a float of the value would round away what its logarithm is about
        return math.log1p(float(value - 1)) * log(math.e)
    # below the smallest normal float there are fewer digits, and none at all further down
    return log(near) if near >= SMALLEST_NORMAL else log(value.numerator) - log(value.denominator)


def _whole_log(value: Exact, base: Exact) -> int | None:
    """The logarithm where it is whole; None where it is not."""
    if value == 1:
        return 0
    whole = round(float_log(value, math.log2) / float_log(base, math.log2))
    # in lowest terms, a power has the powers of both parts: a much longer result is not the value
    if abs(whole) * (_bits(base) - 1) > _bits(value):
        return None
    return whole if as_exact(base) ** whole == value else None


def _bits(value: Exact) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
