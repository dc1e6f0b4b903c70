"""The operators: exact on whole numbers and fractions, floats once a float is in it.

Does not know the text; division by zero and overflow leave as Python's own errors.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from toolhaft.toolbox.calculation.limits import MOST_BITS
from toolhaft.toolbox.calculation.work import (
    Number,
    UndefinedError,
    Work,
    as_exact,
    bounded,
    finite,
    too_long,
)

BEYOND: Final = 1 << 1024
"""No float is as large, so that a float divided by it leaves nothing."""


def add(work: Work, left: Number, right: Number) -> Number:
    """The sum."""
    if type(left) is int and type(right) is int:
        return bounded(left + right)
    if isinstance(left, float) or isinstance(right, float):
        return finite(float(left) + float(right))
    return work.settle(as_exact(left) + right)


def subtract(work: Work, left: Number, right: Number) -> Number:
    """The difference."""
    if type(left) is int and type(right) is int:
        return bounded(left - right)
    if isinstance(left, float) or isinstance(right, float):
        return finite(float(left) - float(right))
    return work.settle(as_exact(left) - right)


def multiply(work: Work, left: Number, right: Number) -> Number:
    """The product."""
    if type(left) is int and type(right) is int:
        bits = left.bit_length() + right.bit_length() - 1
        if bits > MOST_BITS:
            raise too_long(bits)
        return bounded(left * right)
    if isinstance(left, float) or isinstance(right, float):
        product = float(left) * float(right)
        return work.nonzero(product) if left and right else finite(product)
    return work.settle(as_exact(left) * right)


def divide(work: Work, left: Number, right: Number) -> Number:
    """The quotient, exact where both are."""
    if isinstance(left, float) or isinstance(right, float):
        quotient = 0.0 if abs(right) >= BEYOND else float(left) / _divisor(right)
        return work.nonzero(quotient) if left else finite(quotient)
    return work.settle(Fraction(left, right))


def floor_divide(_: Work, left: Number, right: Number) -> Number:
    """The quotient rounded down, as Python has it for negative numbers too."""
    if type(left) is int and type(right) is int:
        return left // right
    if isinstance(left, float) or isinstance(right, float):
        if abs(right) >= BEYOND:
            return -1.0 if left and (left < 0) != (right < 0) else 0.0
        return finite(float(left) // _divisor(right))
    return bounded(as_exact(left) // right)


def modulo(work: Work, left: Number, right: Number) -> Number:
    """What is left over; it has the sign of the divisor, as in Python."""
    if type(left) is int and type(right) is int:
        return left % right
    if isinstance(left, float) or isinstance(right, float):
        if abs(right) >= BEYOND and (not left or (left < 0) == (right < 0)):
            return left
        return finite(float(left) % _divisor(right))
    return work.settle(as_exact(left) % right)


def _divisor(value: Number) -> float:
    near = float(value)
    if value and not near:
        raise UndefinedError("The divisor is too small for a float")
    return near


def negate(_: Work, value: Number) -> Number:
    """The same number with the other sign."""
    return -value
