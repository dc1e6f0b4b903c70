"""The names that an expression may use: functions with how many arguments they take, and constants.

Knows no text beyond the names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from toolhaft.toolbox.calculation import angles, counting, gathering, logarithms, powers
from toolhaft.toolbox.calculation.work import Number


class Function(NamedTuple):
    """What a name stands for."""

    apply: Callable[..., Number]
    usage: str
    least: int = 1
    most: int | None = 1
    """None is any number of arguments."""

    def takes(self, count: int) -> bool:
        """True if it takes so many arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


CONSTANTS: Final[dict[str, float]] = {"pi": math.pi, "e": math.e, "tau": math.tau}

FUNCTIONS: Final[dict[str, Function]] = {
    "sqrt": Function(powers.square_root, "sqrt(x)"),
    "sin": Function(angles.sine, "sin(x)"),
    "cos": Function(angles.cosine, "cos(x)"),
    "tan": Function(angles.tangent, "tan(x)"),
    "asin": Function(angles.arc_sine, "asin(x)"),
    "acos": Function(angles.arc_cosine, "acos(x)"),
    "atan": Function(angles.arc_tangent, "atan(x)"),
    "atan2": Function(angles.arc_tangent_2, "atan2(y, x)", 2, 2),
    "log": Function(logarithms.logarithm, "log(x) or log(x, base)", 1, 2),
    "log2": Function(logarithms.logarithm_2, "log2(x)"),
    "log10": Function(logarithms.logarithm_10, "log10(x)"),
    "exp": Function(logarithms.exponential, "exp(x)"),
    "abs": Function(gathering.absolute, "abs(x)"),
    "round": Function(gathering.rounded, "round(x) or round(x, digits)", 1, 2),
    "floor": Function(gathering.floor, "floor(x)"),
    "ceil": Function(gathering.ceiling, "ceil(x)"),
    "min": Function(gathering.least, "min(a, b, ...)", 1, None),
    "max": Function(gathering.greatest, "max(a, b, ...)", 1, None),
    "sum": Function(gathering.total, "sum(a, b, ...)", 1, None),
    "mean": Function(gathering.mean, "mean(a, b, ...)", 1, None),
    "factorial": Function(counting.factorial, "factorial(n)"),
    "gcd": Function(counting.greatest_divisor, "gcd(a, b, ...)", 1, None),
    "comb": Function(counting.combinations, "comb(n, k)", 2, 2),
    "perm": Function(counting.permutations, "perm(n) or perm(n, k)", 1, 2),
    "hypot": Function(powers.hypotenuse, "hypot(a, b, ...)", 1, None),
    "degrees": Function(angles.to_degrees, "degrees(x)"),
    "radians": Function(angles.to_radians, "radians(x)"),
}
