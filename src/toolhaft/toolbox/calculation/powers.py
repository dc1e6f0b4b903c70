"""Powers and roots: exact where the result is, estimated before anything large is computed.

Does not know the text; overflow leaves as Python's own error.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from toolhaft.toolbox.calculation.arithmetic import BEYOND, add, multiply
from toolhaft.toolbox.calculation.limits import MOST_BITS, MOST_DENOMINATOR_BITS, MOST_ROOT_BITS
from toolhaft.toolbox.calculation.logarithms import float_log
from toolhaft.toolbox.calculation.work import (
    SMALLEST_NORMAL,
    TOO_MANY_DIGITS,
    Exact,
    Number,
    UndefinedError,
    Work,
    as_exact,
    bounded,
    finite,
    shown,
    too_long,
)

_FLOAT_ROOT_BITS: Final = 40
_NOTHING_LEFT: Final = 800
"""(1 - x) ** n is less than exp(-n * x), which from here on is less than any float."""


def power(work: Work, base: Number, exponent: Number) -> Number:
    """One number to the power of another; 0 ** 0 is 1."""
    if isinstance(exponent, int) and not isinstance(base, float):
        return _whole_power(work, base, exponent)
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    if base < 0 and exponent != int(exponent):
        raise UndefinedError(
            f"A negative number ({shown(base)}) to a power that is not whole is not a real number"
        )
    if isinstance(base, float) or isinstance(exponent, float):
        return _float_power(work, base, exponent)
    return _root_power(work, base, exponent)


def square_root(work: Work, value: Number) -> Number:
    """The square root, exact where it is."""
    if value < 0:
        raise UndefinedError(f"The square root of a negative number ({shown(value)}) is not a real number")
    if isinstance(value, float):
        return math.sqrt(value)
    root = _exact_root(value, 2)
    return work.nonzero(_float_root(value)) if root is None else root


def hypotenuse(work: Work, *sides: Number) -> Number:
    """The square root of the sum of squares, exact where it is."""
    square: Number = 0
    if not any(isinstance(side, float) for side in sides):
        for side in sides:
            square = add(work, square, multiply(work, side, side))
        if not isinstance(square, float):
            root = _exact_root(square, 2)
            if root is not None:
                return root
    return finite(math.hypot(*map(float, sides)))


def _whole_power(work: Work, base: Exact, exponent: int) -> Number:
    if not exponent:
        return 1
    if exponent < 0:
        base, exponent = _reciprocal(base), -exponent
    if base in (0, 1, -1):  # any exponent is fine here, however large
        return base ** (2 - exponent % 2)
    if isinstance(base, int):
        bits = _power_bits(abs(base), exponent)
        if bits > MOST_BITS:
            raise too_long(bits)
        return bounded(base**exponent)
    bits = max(_power_bits(abs(base.numerator), exponent), _power_bits(base.denominator, exponent))
    if bits <= MOST_DENOMINATOR_BITS:
        return base**exponent
    work.note(TOO_MANY_DIGITS)
    return work.nonzero(_long_power(base, exponent))


def _reciprocal(value: Exact) -> Exact:
    result = Fraction(1, value)
    return result.numerator if result.denominator == 1 else result


def _power_bits(base: int, exponent: int) -> float:
    """About how many bits a power will have, for a base from 1 on."""
    if base == 1:
        return 0.0
    if exponent > MOST_BITS:
        return math.inf if exponent.bit_length() > MOST_BITS // 10 else float(exponent) * math.log2(base)
    return exponent * math.log2(base)


def _long_power(base: Fraction, exponent: int) -> float:
    """A power that is not worth its digits.

    Near 1 the distance from 1 is what counts, and a float of the base would round it away.
    """
    size = abs(base)
    if exponent * (1 - size) > _NOTHING_LEFT:
        return 0.0
    if Fraction(1, 2) < size < 2:  # noqa: PLR2004 -- near 1
        result = math.exp(exponent * math.log1p(float(size - 1)))
    else:
        result = math.pow(float(size), exponent)
    return -result if base < 0 and exponent % 2 else result


def _root_power(work: Work, base: Exact, exponent: Exact) -> Number:
    """A power whose exponent is a fraction: 8 ** (1 / 3) is 2."""
    if base in (0, 1):
        return base
    root = _exact_root(base, exponent.denominator)
    if root is not None:
        return _whole_power(work, root, exponent.numerator)
    return _float_power(work, base, exponent)


def _float_power(work: Work, base: Number, exponent: Number) -> float:
    if base and abs(exponent) >= BEYOND and (abs(base) < 1) == (exponent > 0) and abs(base) != 1:
        return work.nonzero(0.0)
    if isinstance(base, float) or not base or SMALLEST_NORMAL <= _float_size(base) < math.inf:
        result = math.pow(base, exponent)
        return work.nonzero(result) if base else result
    # the base fits no float, while its power may
    result = math.exp(float(exponent) * float_log(abs(base)))
    return work.nonzero(-result if base < 0 and exponent % 2 else result)


def _float_size(value: Number) -> float:
    """How large a number is; infinite where it fits no float."""
    try:
        return abs(float(value))
    except OverflowError:
        return math.inf


def _exact_root(value: Exact, degree: int) -> Exact | None:
    """The root of a number that is not negative, where it is a fraction; None where it is not."""
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
    elif bits > MOST_ROOT_BITS:
        return None
    else:
        root = _near_root(value, degree)
    return root if root**degree == value else None


def _near_root(value: int, degree: int) -> int:
    """The root where it is whole: what floats say, made exact where they have too few digits for it."""
    root_bits = value.bit_length() // degree
    excess = max(0, root_bits - _FLOAT_ROOT_BITS)
    guess = round(2 ** (math.log2(value) / degree - excess)) << excess
    if root_bits < _FLOAT_ROOT_BITS:
        return guess
    # The first step leads to the root or above it, the others down to it. They are few, as the guess is near;
    # from a short guess, to a high degree, they would be many thousands.
    root = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
    while True:
        nearer = ((degree - 1) * root + value // root ** (degree - 1)) // degree
        if nearer >= root:
            return root
        root = nearer


def _float_root(value: Exact) -> float:
    """A square root; of a number that fits no float too."""
    near = _float_size(value)
    if SMALLEST_NORMAL <= near < math.inf:
        return math.sqrt(near)
    half = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    scaled = as_exact(value) / Fraction(4) ** half
    return math.ldexp(math.sqrt(float(scaled)), half)
