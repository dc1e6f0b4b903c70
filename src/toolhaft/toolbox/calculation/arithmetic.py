"""The operators and roots: exact for whole numbers and fractions, floats if an operand is a float.

Division by zero and overflow are left to Python's exceptions, which `evaluate` reports.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from toolhaft.toolbox.calculation.number import (
    MAX_BITS,
    MAX_DENOMINATOR_BITS,
    MAX_ROOT_BITS,
    SMALLEST_NORMAL,
    TOO_MANY_DIGITS,
    Calculation,
    Exact,
    Number,
    UndefinedError,
    as_exact,
    bounded,
    finite,
    shown,
    too_long,
)
from toolhaft.toolbox.calculation.transcendental import float_log

_BEYOND_FLOATS: Final = 1 << 1024
"""Larger than any float: a float divided by it is zero."""
_FLOAT_ROOT_BITS: Final = 40
_MAX_DECAY: Final = 800
"""(1 - x) ** n is less than exp(-n * x), which is smaller than any float if n * x is larger than this."""


def add(calculation: Calculation, left: Number, right: Number) -> Number:
    """The sum."""
    if type(left) is int and type(right) is int:
        return bounded(left + right)
    if isinstance(left, float) or isinstance(right, float):
        return finite(float(left) + float(right))
    return calculation.normalized(as_exact(left) + right)


def subtract(calculation: Calculation, left: Number, right: Number) -> Number:
    """The difference."""
    if type(left) is int and type(right) is int:
        return bounded(left - right)
    if isinstance(left, float) or isinstance(right, float):
        return finite(float(left) - float(right))
    return calculation.normalized(as_exact(left) - right)


def multiply(calculation: Calculation, left: Number, right: Number) -> Number:
    """The product."""
    if type(left) is int and type(right) is int:
        return bounded(left * right)
    if isinstance(left, float) or isinstance(right, float):
        product = float(left) * float(right)
        return calculation.nonzero(product) if left and right else finite(product)
    return calculation.normalized(as_exact(left) * right)


def divide(calculation: Calculation, left: Number, right: Number) -> Number:
    """The quotient, exact if both operands are."""
    if isinstance(left, float) or isinstance(right, float):
        quotient = 0.0 if abs(right) >= _BEYOND_FLOATS else float(left) / _divisor(right)
        return calculation.nonzero(quotient) if left else finite(quotient)
    return calculation.normalized(Fraction(left, right))


def floor_divide(_: Calculation, left: Number, right: Number) -> Number:
    """The quotient rounded down, as in Python."""
    if type(left) is int and type(right) is int:
        return left // right
    if isinstance(left, float) or isinstance(right, float):
        if abs(right) >= _BEYOND_FLOATS:
            return -1.0 if left and (left < 0) != (right < 0) else 0.0
        return finite(float(left) // _divisor(right))
    return bounded(as_exact(left) // right)


def modulo(calculation: Calculation, left: Number, right: Number) -> Number:
    """The remainder, with the sign of the divisor, as in Python."""
    if type(left) is int and type(right) is int:
        return left % right
    if isinstance(left, float) or isinstance(right, float):
        if abs(right) >= _BEYOND_FLOATS and (not left or (left < 0) == (right < 0)):
            return left
        return finite(float(left) % _divisor(right))
    return calculation.normalized(as_exact(left) % right)


def _divisor(value: Number) -> float:
    near = float(value)
    if value and not near:
        raise UndefinedError("The divisor is too small for a float")
    return near


def negate(_: Calculation, value: Number) -> Number:
    """The same number with the other sign."""
    return -value


def power(calculation: Calculation, base: Number, exponent: Number) -> Number:
    """One number to the power of another; 0 ** 0 is 1."""
    if isinstance(exponent, int) and not isinstance(base, float):
        return _whole_power(calculation, base, exponent)
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    if base < 0 and exponent != int(exponent):
        raise UndefinedError(
            f"A negative number ({shown(base)}) to a power that is not whole is not a real number"
        )
    if isinstance(base, float) or isinstance(exponent, float):
        return _float_power(calculation, base, exponent)
    return _root_power(calculation, base, exponent)


def square_root(calculation: Calculation, value: Number) -> Number:
    """The square root, exact if it is rational."""
    if value < 0:
        raise UndefinedError(f"The square root of a negative number ({shown(value)}) is not a real number")
    if isinstance(value, float):
        return math.sqrt(value)
    root = _exact_root(value, 2)
    return calculation.nonzero(_float_root(value)) if root is None else root


def hypotenuse(calculation: Calculation, *sides: Number) -> Number:
    """The square root of the sum of squares, exact if it is rational."""
    square: Number = 0
    if not any(isinstance(side, float) for side in sides):
        for side in sides:
            square = add(calculation, square, multiply(calculation, side, side))
        if not isinstance(square, float):
            root = _exact_root(square, 2)
            if root is not None:
                return root
    return finite(math.hypot(*map(float, sides)))


def _whole_power(calculation: Calculation, base: Exact, exponent: int) -> Number:
    if not exponent:
        return 1
    if exponent < 0:
        base, exponent = _reciprocal(base), -exponent
    if base in (0, 1, -1):  # any exponent is fine, however large
        return base ** (2 - exponent % 2)
    if isinstance(base, int):
        bits = _power_bits(abs(base), exponent)
        if bits > MAX_BITS:
            raise too_long(bits)
        return bounded(base**exponent)
    bits = max(_power_bits(abs(base.numerator), exponent), _power_bits(base.denominator, exponent))
    if bits <= MAX_DENOMINATOR_BITS:
        return base**exponent
    calculation.note(TOO_MANY_DIGITS)
    return calculation.nonzero(_long_power(base, exponent))


def _reciprocal(value: Exact) -> Exact:
    result = Fraction(1, value)
    return result.numerator if result.denominator == 1 else result


def _power_bits(base: int, exponent: int) -> float:
    """About how many bits a power has, for a base of at least 1."""
    if base == 1:
        return 0.0
    if exponent > MAX_BITS:
        return math.inf if exponent.bit_length() > MAX_BITS // 10 else float(exponent) * math.log2(base)
    return exponent * math.log2(base)


def _long_power(base: Fraction, exponent: int) -> float:
    """A power with too many digits to compute exactly, as a float.

    Near 1 the distance from 1 matters, and converting the base to a float would round it away.
    """
    size = abs(base)
    if exponent * (1 - size) > _MAX_DECAY:
        return 0.0
    if Fraction(1, 2) < size < 2:  # noqa: PLR2004 -- near 1
        result = math.exp(exponent * math.log1p(float(size - 1)))
    else:
        result = math.pow(float(size), exponent)
    return -result if base < 0 and exponent % 2 else result


def _root_power(calculation: Calculation, base: Exact, exponent: Exact) -> Number:
    """A power whose exponent is a fraction: 8 ** (1 / 3) is 2."""
    if base in (0, 1):
        return base
    root = _exact_root(base, exponent.denominator)
    if root is not None:
        return _whole_power(calculation, root, exponent.numerator)
    return _float_power(calculation, base, exponent)


def _float_power(calculation: Calculation, base: Number, exponent: Number) -> float:
    if base and abs(exponent) >= _BEYOND_FLOATS and (abs(base) < 1) == (exponent > 0) and abs(base) != 1:
        return calculation.nonzero(0.0)
    if isinstance(base, float) or not base or SMALLEST_NORMAL <= _float_size(base) < math.inf:
        result = math.pow(base, exponent)
        return calculation.nonzero(result) if base else result
    # the base is out of the range of floats, but its power may not be
    result = math.exp(float(exponent) * float_log(abs(base)))
    return calculation.nonzero(-result if base < 0 and exponent % 2 else result)


def _float_size(value: Number) -> float:
    """The absolute value as a float; infinite if it is too large."""
    try:
        return abs(float(value))
    except OverflowError:
        return math.inf


def _exact_root(value: Exact, degree: int) -> Exact | None:
    """The root of a number that is not negative; None if it is irrational."""
    below = _whole_root(value.denominator, degree)
    above = _whole_root(value.numerator, degree)
    if above is None or below is None:
        return None
    return above if below == 1 else Fraction(above, below)


def _whole_root(value: int, degree: int) -> int | None:
    bits = value.bit_length()
    if bits <= 1:
        return value
    if bits <= degree:
        return None  # less than 2 ** degree, and not 1
    if degree == 2:  # noqa: PLR2004 -- a square root
        root = math.isqrt(value)
    elif bits > MAX_ROOT_BITS:
        return None
    else:
        root = _near_root(value, degree)
    return root if root**degree == value else None


def _near_root(value: int, degree: int) -> int:
    """The root if it is whole: computed with floats, then refined where they have too few digits."""
    root_bits = value.bit_length() // degree
    excess = max(0, root_bits - _FLOAT_ROOT_BITS)
    guess = round(2 ** (math.log2(value) / degree - excess)) << excess
    if root_bits < _FLOAT_ROOT_BITS:
        return guess
    # Newton's method: the first step reaches the root or more, the others descend to it. They are few because
    # the guess is close; from a poor guess, for a high degree, there would be thousands.
    root = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
    while True:
        nearer = ((degree - 1) * root + value // root ** (degree - 1)) // degree
        if nearer >= root:
            return root
        root = nearer


def _float_root(value: Exact) -> float:
    """A square root, also of a number that is too large or too small for a float."""
    near = _float_size(value)
    if SMALLEST_NORMAL <= near < math.inf:
        return math.sqrt(near)
    half = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    scaled = as_exact(value) / Fraction(4) ** half
    return math.ldexp(math.sqrt(float(scaled)), half)
