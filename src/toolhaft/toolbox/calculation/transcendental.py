"""Trigonometry in radians, logarithms and the exponential: exact at special values, floats otherwise.

Overflow is left to Python's exception, which `evaluate` reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from toolhaft.toolbox.calculation.number import (
    LARGEST_ANGLE,
    SMALLEST_NORMAL,
    SNAPPED,
    Calculation,
    Exact,
    Number,
    UndefinedError,
    as_exact,
    finite,
    shown,
)

_USUAL_BITS: Final = 1000
_COSINE_NEAR_ONE: Final = 1e-4
_LOG_NEAR_ONE: Final = 1e-6
_SMALLEST_EXPONENT: Final = -800
"""The exponential of less is smaller than any float."""


def sine(calculation: Calculation, angle: Number) -> Number:
    """The sine."""
    if _is_exact_zero(angle):
        return 0
    return _snapped(calculation, math.sin(_checked(angle)), angle)


def cosine(calculation: Calculation, angle: Number) -> Number:
    """The cosine."""
    if _is_exact_zero(angle):
        return 1
    return _snapped(calculation, math.cos(_checked(angle)), angle)


def tangent(calculation: Calculation, angle: Number) -> Number:
    """The tangent; undefined if the cosine is zero."""
    if _is_exact_zero(angle):
        return 0
    near = _checked(angle)
    if isinstance(angle, float) and _is_noise(math.cos(near), near):
        raise UndefinedError(f"The tangent of {shown(angle)}, an odd multiple of pi / 2, is not defined")
    return _snapped(calculation, math.tan(near), angle)


def arc_sine(_: Calculation, value: Number) -> Number:
    """The angle with this sine."""
    if _is_exact_zero(value):
        return 0
    near = _within_one("asin", value)
    rest = _distance_to_one(value)
    return math.asin(near) if rest is None else math.copysign(math.pi / 2 - _small_angle(rest), near)


def arc_cosine(_: Calculation, value: Number) -> Number:
    """The angle with this cosine."""
    if value == 1 and not isinstance(value, float):
        return 0
    near = _within_one("acos", value)
    rest = _distance_to_one(value)
    if rest is None:
        return math.acos(near)
    return _small_angle(rest) if near > 0 else math.pi - _small_angle(rest)


def arc_tangent(_: Calculation, value: Number) -> Number:
    """The angle with this tangent."""
    if _is_exact_zero(value):
        return 0
    y, x = _scaled(value, 1)
    return math.atan(y) if x == 1 else math.atan2(y, x)  # the two differ in the last bit


def arc_tangent_2(_: Calculation, y: Number, x: Number) -> Number:
    """The angle from the x axis to the point (x, y); that of (0, 0) is 0."""
    if not y:  # the sign of a floating zero has no meaning here
        zero = 0 if _is_exact_zero(y) else 0.0
        return math.pi if x < 0 else zero
    return math.atan2(*_scaled(y, x))


def to_degrees(_: Calculation, angle: Number) -> Number:
    """Radians as degrees."""
    return 0 if _is_exact_zero(angle) else finite(math.degrees(angle))


def to_radians(_: Calculation, angle: Number) -> Number:
    """Degrees as radians."""
    return 0 if _is_exact_zero(angle) else math.radians(angle)


def _scaled(y: Number, x: Number) -> tuple[float, float]:
    """Two numbers scaled by the same factor into the range where floats have full precision."""
    exact_y, exact_x = Fraction(y), Fraction(x)
    sizes = [_binary_size(exact) for exact in (exact_y, exact_x) if exact]
    if all(abs(size) < _USUAL_BITS for size in sizes):
        return float(y), float(x)
    scale = Fraction(2) ** -max(sizes)
    return float(exact_y * scale), float(exact_x * scale)


def _binary_size(value: Fraction) -> int:
    """About its binary logarithm."""
    return value.numerator.bit_length() - value.denominator.bit_length()


def _distance_to_one(value: Number) -> float | None:
    """The distance of an exact number from 1 or -1, if a float would round it away; else None."""
    if isinstance(value, float):
        return None
    rest = 1 - abs(value)
    return float(rest) if rest < _COSINE_NEAR_ONE else None


def _small_angle(rest: float) -> float:
    """The angle whose cosine is this far from 1."""
    return 2 * math.asin(math.sqrt(rest / 2))


def _is_exact_zero(value: Number) -> bool:
    return not value and not isinstance(value, float)


def _checked(angle: Number) -> float:
    if abs(angle) > LARGEST_ANGLE:
        raise UndefinedError(
            f"The angle {shown(angle)} is too large: its rounding error would be a good part of a full turn"
        )
    return float(angle)


def _snapped(calculation: Calculation, result: float, angle: Number) -> Number:
    """Zero if the result is smaller than the rounding error of the angle, as for sin(pi)."""
    if isinstance(angle, float) and _is_noise(result, angle):
        calculation.is_floating = True
        calculation.note(SNAPPED)
        return 0
    return result


def _is_noise(result: float, angle: float) -> bool:
    # two units in the last place: pi is half of one off, and a product or a quotient adds to that
    return abs(result) < 2 * math.ulp(angle)


def _within_one(name: str, value: Number) -> float:
    if not -1 <= value <= 1:
        raise UndefinedError(f"{name} needs a number from -1 to 1, not {shown(value)}")
    return float(value)


def logarithm(_: Calculation, value: Number, base: Number | None = None) -> Number:
    """The natural logarithm, or the one to a base."""
    _check(value)
    if base is None:
        return 0 if value == 1 and not isinstance(value, float) else float_log(value)
    _check(base, "base")
    if not float_log(base):  # it is 1, or so near that its logarithm is rounded to zero
        raise UndefinedError("A logarithm needs a base other than 1")
    exact = None if isinstance(value, float) or isinstance(base, float) else _whole_log(value, base)
    if exact is not None:
        return exact
    if base in (2, 10):
        return float_log(value, math.log2 if base == 2 else math.log10)  # noqa: PLR2004 -- more precise than a quotient of logarithms
    return finite(float_log(value) / float_log(base))


def exponential(calculation: Calculation, value: Number) -> Number:
    """The number e to a power."""
    if not isinstance(value, float) and not value:
        return 1
    return calculation.nonzero(0.0 if value < _SMALLEST_EXPONENT else math.exp(value))


def _check(value: Number, what: str = "argument") -> None:
    if value <= 0:
        raise UndefinedError(f"A logarithm needs a positive {what}, not {shown(value)}")


def float_log(value: Number, log: Callable[[float], float] = math.log) -> float:
    """The logarithm of a positive number, also of one outside the range of floats."""
    if isinstance(value, float | int):  # Python computes it for whole numbers of any size
        return log(value)
    try:
        near = float(value)
    except OverflowError:
        near = 0.0
    if abs(near - 1) < _LOG_NEAR_ONE:  # converting the value to a float would round away its distance from 1
        return math.log1p(float(value - 1)) * log(math.e)
    # floats below the smallest normal one have fewer digits
    return log(near) if near >= SMALLEST_NORMAL else log(value.numerator) - log(value.denominator)


def _whole_log(value: Exact, base: Exact) -> int | None:
    """The logarithm if it is whole; else None."""
    if value == 1:
        return 0
    whole = round(float_log(value, math.log2) / float_log(base, math.log2))
    # powers of a fraction in lowest terms are in lowest terms, so a power with more bits is not the value
    if abs(whole) * (_bits(base) - 1) > _bits(value):
        return None
    return whole if as_exact(base) ** whole == value else None


def _bits(value: Exact) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
