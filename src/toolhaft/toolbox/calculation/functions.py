"""The functions and constants of the calculator: the table of all, and those that round, count or add up."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple

from toolhaft.toolbox.calculation import arithmetic, transcendental
from toolhaft.toolbox.calculation.arithmetic import add, divide
from toolhaft.toolbox.calculation.number import (
    MAX_BITS,
    MAX_ROUND_DIGITS,
    TIE,
    Calculation,
    Number,
    UndefinedError,
    as_exact,
    bounded,
    finite,
    shown,
    too_long,
)

_HALF: Final = Fraction(1, 2)
_LN2: Final = math.log(2)
# Up to here, differences of log-factorials are precise; beyond, the factors n, n - 1, ... are all close to n.
_MODERATE: Final = 1_000_000
_COUNTABLE: Final = 10**300


def total(calculation: Calculation, *values: Number) -> Number:
    """The sum; a sum of floats is rounded only once."""
    if any(isinstance(value, float) for value in values):
        return finite(math.fsum(map(float, values)))
    result: Number = 0
    for value in values:
        result = add(calculation, result, value)
    return result


def mean(calculation: Calculation, *values: Number) -> Number:
    """The average."""
    return divide(calculation, total(calculation, *values), len(values))


def least(_: Calculation, *values: Number) -> Number:
    """The smallest."""
    return min(values)


def greatest(_: Calculation, *values: Number) -> Number:
    """The largest."""
    return max(values)


def absolute(_: Calculation, value: Number) -> Number:
    """The number without its sign."""
    return abs(value)


def floor(calculation: Calculation, value: Number) -> Number:
    """The largest whole number that is not greater."""
    return math.floor(_noting_float(calculation, value))


def ceiling(calculation: Calculation, value: Number) -> Number:
    """The smallest whole number that is not less."""
    return math.ceil(_noting_float(calculation, value))


def rounded(calculation: Calculation, value: Number, digits: Number | None = None) -> Number:
    """The number rounded to a number of digits after the point; ties go to the even digit."""
    if digits is None:
        return _nearest(calculation, _noting_float(calculation, value))
    if not isinstance(digits, int) or abs(digits) > MAX_ROUND_DIGITS:
        raise UndefinedError(
            f"round needs a whole number of digits from -{MAX_ROUND_DIGITS:,} to {MAX_ROUND_DIGITS:,}, "
            f"not {shown(digits)}"
        )
    if isinstance(value, float):
        return round(value, digits)
    unit = Fraction(10) ** -digits
    return calculation.normalized(_nearest(calculation, as_exact(value) / unit) * unit)


def _nearest(calculation: Calculation, value: Number) -> int:
    if value % 1 == _HALF:
        calculation.note(TIE)
    return round(value)


def _noting_float(calculation: Calculation, value: Number) -> Number:
    """The value itself, which will be rounded; records whether it is a float."""
    if isinstance(value, float):
        calculation.is_floating = True
    return value


def factorial(_: Calculation, value: Number) -> Number:
    """The product of the whole numbers from 1 on."""
    count = _whole("factorial", value, least=0)
    _check_bits(_perm_bits(count, count))
    return bounded(math.factorial(count))


def greatest_divisor(_: Calculation, *values: Number) -> Number:
    """The greatest common divisor."""
    return math.gcd(*(_whole("gcd", value) for value in values))


def combinations(calculation: Calculation, items: Number, chosen: Number) -> Number:
    """The number of ways to choose items without regard to their order."""
    count, taken = _whole("comb", items, least=0), _whole("comb", chosen, least=0)
    if taken > count:
        return 0
    taken = min(taken, count - taken)
    bits = _perm_bits(count, taken)
    bits = bits if bits == math.inf else bits - _factorial_bits(taken)
    _check_bits(bits)
    calculation.spend(taken * int(bits), "comb")
    return bounded(math.comb(count, taken))


def permutations(calculation: Calculation, items: Number, chosen: Number | None = None) -> Number:
    """The number of ways to arrange some or all of the items in a row."""
    if chosen is None:
        return factorial(calculation, items)
    count, taken = _whole("perm", items, least=0), _whole("perm", chosen, least=0)
    if taken > count:
        return 0
    bits = _perm_bits(count, taken)
    _check_bits(bits)
    calculation.spend(taken * int(bits), "perm")
    return bounded(math.perm(count, taken))


def _perm_bits(count: int, taken: int) -> float:
    """About how many bits count! / (count - taken)! has; infinite if it is certainly too many."""
    if count > _COUNTABLE and taken > MAX_BITS:
        return math.inf
    if count <= _MODERATE or 2 * taken > count:
        return _factorial_bits(count) - _factorial_bits(count - taken)
    return taken * math.log2(count)


def _factorial_bits(count: int) -> float:
    return math.lgamma(count + 1) / _LN2


def _check_bits(bits: float) -> None:
    if bits > MAX_BITS + 1:  # the estimate may be slightly off; the result itself is checked too
        raise too_long(bits)


def _whole(name: str, value: Number, *, least: int | None = None) -> int:
    if isinstance(value, float):
        raise UndefinedError(f"{name} needs whole numbers, and {shown(value)} is an approximation")
    if not isinstance(value, int):
        raise UndefinedError(f"{name} needs whole numbers, not {shown(value)}")
    if least is not None and value < least:
        raise UndefinedError(f"{name} needs whole numbers from {least} on, not {shown(value)}")
    return value


class MathFunction(NamedTuple):
    """A function that an expression can call."""

    apply: Callable[..., Number]
    usage: str
    least: int = 1
    most: int | None = 1
    """None for any number of arguments."""

    def takes(self, count: int) -> bool:
        """True if it takes this number of arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


CONSTANTS: Final[dict[str, float]] = {"pi": math.pi, "e": math.e, "tau": math.tau}

FUNCTIONS: Final[dict[str, MathFunction]] = {
    "sqrt": MathFunction(arithmetic.square_root, "sqrt(x)"),
    "sin": MathFunction(transcendental.sine, "sin(x)"),
    "cos": MathFunction(transcendental.cosine, "cos(x)"),
    "tan": MathFunction(transcendental.tangent, "tan(x)"),
    "asin": MathFunction(transcendental.arc_sine, "asin(x)"),
    "acos": MathFunction(transcendental.arc_cosine, "acos(x)"),
    "atan": MathFunction(transcendental.arc_tangent, "atan(x)"),
    "atan2": MathFunction(transcendental.arc_tangent_2, "atan2(y, x)", 2, 2),
    "log": MathFunction(transcendental.logarithm, "log(x) or log(x, base)", 1, 2),
    "log2": MathFunction(partial(transcendental.logarithm, base=2), "log2(x)"),
    "log10": MathFunction(partial(transcendental.logarithm, base=10), "log10(x)"),
    "exp": MathFunction(transcendental.exponential, "exp(x)"),
    "abs": MathFunction(absolute, "abs(x)"),
    "round": MathFunction(rounded, "round(x) or round(x, digits)", 1, 2),
    "floor": MathFunction(floor, "floor(x)"),
    "ceil": MathFunction(ceiling, "ceil(x)"),
    "min": MathFunction(least, "min(a, b, ...)", 1, None),
    "max": MathFunction(greatest, "max(a, b, ...)", 1, None),
    "sum": MathFunction(total, "sum(a, b, ...)", 1, None),
    "mean": MathFunction(mean, "mean(a, b, ...)", 1, None),
    "factorial": MathFunction(factorial, "factorial(n)"),
    "gcd": MathFunction(greatest_divisor, "gcd(a, b, ...)", 1, None),
    "comb": MathFunction(combinations, "comb(n, k)", 2, 2),
    "perm": MathFunction(permutations, "perm(n) or perm(n, k)", 1, 2),
    "hypot": MathFunction(arithmetic.hypotenuse, "hypot(a, b, ...)", 1, None),
    "degrees": MathFunction(transcendental.to_degrees, "degrees(x)"),
    "radians": MathFunction(transcendental.to_radians, "radians(x)"),
}
