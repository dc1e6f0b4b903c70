"""Functions of whole numbers: factorial, gcd, comb, perm; estimated before they are computed.

Does not know the text.
"""

from __future__ import annotations

import math
from typing import Final

from toolhaft.toolbox.calculation.limits import MOST_BITS
from toolhaft.toolbox.calculation.work import Number, UndefinedError, Work, bounded, shown, too_long

_LN2: Final = math.log(2)
# Up to here the logarithms of factorials are told apart well; beyond, n, n - 1, ... are all near to n.
_MODERATE: Final = 1_000_000
_COUNTABLE: Final = 10**300


def factorial(_: Work, value: Number) -> Number:
    """The product of the whole numbers up to one."""
    count = _whole("factorial", value, least=0)
    _check_bits(_perm_bits(count, count))
    return bounded(math.factorial(count))


def greatest_divisor(_: Work, *values: Number) -> Number:
    """The greatest common divisor."""
    return math.gcd(*(_whole("gcd", value) for value in values))


def combinations(work: Work, items: Number, chosen: Number) -> Number:
    """In how many ways some of the items can be chosen, whatever their order."""
    count, taken = _whole("comb", items, least=0), _whole("comb", chosen, least=0)
    if taken > count:
        return 0
    taken = min(taken, count - taken)
    bits = _perm_bits(count, taken)
    bits = bits if bits == math.inf else bits - _factorial_bits(taken)
    _check_bits(bits)
    work.spend(taken * int(bits), "comb")
    return bounded(math.comb(count, taken))


def permutations(work: Work, items: Number, chosen: Number | None = None) -> Number:
    """In how many ways some of the items, or all, can be put in a row."""
    if chosen is None:
        return factorial(work, items)
    count, taken = _whole("perm", items, least=0), _whole("perm", chosen, least=0)
    if taken > count:
        return 0
    bits = _perm_bits(count, taken)
    _check_bits(bits)
    work.spend(taken * int(bits), "perm")
    return bounded(math.perm(count, taken))


def _perm_bits(count: int, taken: int) -> float:
    """About how many bits count! / (count - taken)! has; infinite where it is not worth to know."""
    if count > _COUNTABLE and taken > MOST_BITS:
        return math.inf
    if count <= _MODERATE or 2 * taken > count:
        return _factorial_bits(count) - _factorial_bits(count - taken)
    return taken * math.log2(count)


def _factorial_bits(count: int) -> float:
    return math.lgamma(count + 1) / _LN2


def _check_bits(bits: float) -> None:
    if bits > MOST_BITS + 1:  # the estimate may be a bit off; the result itself is measured too
        raise too_long(bits)


def _whole(name: str, value: Number, *, least: int | None = None) -> int:
    if isinstance(value, float):
        raise UndefinedError(f"{name} needs whole numbers, and {shown(value)} is an approximation")
    if not isinstance(value, int):
        raise UndefinedError(f"{name} needs whole numbers, not {shown(value)}")
    if least is not None and value < least:
        raise UndefinedError(f"{name} needs whole numbers from {least} on, not {shown(value)}")
    return value
