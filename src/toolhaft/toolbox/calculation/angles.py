"""Trigonometry in radians: exact at zero, floats otherwise, and zero where only the rounding error is left.

Does not know the text; overflow leaves as Python's own error.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from toolhaft.toolbox.calculation.limits import LARGEST_ANGLE
from toolhaft.toolbox.calculation.work import SNAPPED, Number, UndefinedError, Work, finite, shown

_USUAL_SIZE: Final = 1000
_NEAR_ONE: Final = 1e-4


def sine(work: Work, angle: Number) -> Number:
    """The sine."""
    if _is_exact_zero(angle):
        return 0
    return _snapped(work, math.sin(_checked(angle)), angle)


def cosine(work: Work, angle: Number) -> Number:
    """The cosine."""
    if _is_exact_zero(angle):
        return 1
    return _snapped(work, math.cos(_checked(angle)), angle)


def tangent(work: Work, angle: Number) -> Number:
    """The tangent; not defined where the cosine is zero."""
    if _is_exact_zero(angle):
        return 0
    near = _checked(angle)
    if isinstance(angle, float) and _is_noise(math.cos(near), near):
        raise UndefinedError(f"The tangent of {shown(angle)}, an odd multiple of pi / 2, is not defined")
    return _snapped(work, math.tan(near), angle)


def arc_sine(_: Work, value: Number) -> Number:
    """The angle that has this sine."""
    if _is_exact_zero(value):
        return 0
    near = _within_one("asin", value)
    rest = _rest_to_one(value)
    return math.asin(near) if rest is None else math.copysign(math.pi / 2 - _small_angle(rest), near)


def arc_cosine(_: Work, value: Number) -> Number:
    """The angle that has this cosine."""
    if value == 1 and not isinstance(value, float):
        return 0
    near = _within_one("acos", value)
    rest = _rest_to_one(value)
    if rest is None:
        return math.acos(near)
    return _small_angle(rest) if near > 0 else math.pi - _small_angle(rest)


def arc_tangent(_: Work, value: Number) -> Number:
    """The angle that has this tangent."""
    if _is_exact_zero(value):
        return 0
    y, x = _scaled(value, 1)
    return math.atan(y) if x == 1 else math.atan2(y, x)  # not the same in the last bit


def arc_tangent_2(_: Work, y: Number, x: Number) -> Number:
    """The angle from the x axis to the point (x, y); that of (0, 0) is 0."""
    if not y:  # an approximate zero may be the negative one, whose sign means nothing here
        nothing = 0 if _is_exact_zero(y) else 0.0
        return math.pi if x < 0 else nothing
    return math.atan2(*_scaled(y, x))


def to_degrees(_: Work, angle: Number) -> Number:
    """Radians as degrees."""
    return 0 if _is_exact_zero(angle) else finite(math.degrees(angle))


def to_radians(_: Work, angle: Number) -> Number:
    """Degrees as radians."""
    return 0 if _is_exact_zero(angle) else math.radians(angle)


def _scaled(y: Number, x: Number) -> tuple[float, float]:
    """Two numbers in the same proportion, as floats that have all their digits."""
    exact_y, exact_x = Fraction(y), Fraction(x)
    sizes = [_size(exact) for exact in (exact_y, exact_x) if exact]
    if all(abs(size) < _USUAL_SIZE for size in sizes):
        return float(y), float(x)
    scale = Fraction(2) ** -max(sizes)
    return float(exact_y * scale), float(exact_x * scale)


def _size(value: Fraction) -> int:
    """About the power of two that it has."""
    return value.numerator.bit_length() - value.denominator.bit_length()


def _rest_to_one(value: Number) -> float | None:
    """What an exact number lacks to 1 or -1, where a float of it would have lost that; else None."""
    if isinstance(value, float):
        return None
    rest = 1 - abs(value)
    return float(rest) if rest < _NEAR_ONE else None


def _small_angle(rest: float) -> float:
    """The angle whose cosine lacks this much to 1."""
    return 2 * math.asin(math.sqrt(rest / 2))


def _is_exact_zero(value: Number) -> bool:
    return not value and not isinstance(value, float)


def _checked(angle: Number) -> float:
    if abs(angle) > LARGEST_ANGLE:
        raise UndefinedError(
            f"The angle {shown(angle)} is too large: its rounding error would be a good part of a full turn"
        )
    return float(angle)


def _snapped(work: Work, result: float, angle: Number) -> Number:
    """Zero where the result is smaller than the rounding error of the angle: sin(pi) says nothing else."""
    if isinstance(angle, float) and _is_noise(result, angle):
        work.is_floating = True
        work.note(SNAPPED)
        return 0
    return result


def _is_noise(result: float, angle: float) -> bool:
    # two steps of a float: pi is half of one off by itself, and a product or a quotient adds to that
    return abs(result) < 2 * math.ulp(angle)


def _within_one(name: str, value: Number) -> float:
    if not -1 <= value <= 1:
        raise UndefinedError(f"{name} needs a number from -1 to 1, not {shown(value)}")
    return float(value)
