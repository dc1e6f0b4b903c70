"""Times pairs of functions alternately and in random order, so that a noisy machine disturbs both alike."""

import gc
import random
import time
from collections.abc import Callable
from typing import NamedTuple

_ROUNDS = 25
_ROUND_S = 0.004


class Case(NamedTuple):
    """Something to time: the subject, the limit that it is compared with, and the ratio that it may reach."""

    name: str
    subject: Callable[[], object]
    limit: Callable[[], object]
    target: float


class Figure(NamedTuple):
    """The measurement of one case."""

    case: str
    us: float
    limit_us: float
    ratio: float
    target: float


def measure(cases: list[Case], rounds: int = _ROUNDS) -> list[Figure]:
    """Return the best time of each side over many short rounds, all cases and sides shuffled together."""
    sides = [
        (case.name, side, call)
        for case in cases
        for side, call in (("subject", case.subject), ("limit", case.limit))
    ]
    loops = {(name, side): _loops(call) for name, side, call in sides}
    best: dict[tuple[str, str], float] = {}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            random.shuffle(sides)
            for name, side, call in sides:
                call()  # warms the caches, which other cases have filled
                took = _time(call, loops[name, side])
                best[name, side] = min(took, best.get((name, side), took))
    finally:
        gc.enable()
    return [_figure(case, best[case.name, "subject"], best[case.name, "limit"]) for case in cases]


def _figure(case: Case, subject_s: float, limit_s: float) -> Figure:
    return Figure(case.name, subject_s * 1e6, limit_s * 1e6, subject_s / limit_s, case.target)


def _loops(call: Callable[[], object]) -> int:
    """Return the number of calls in a round."""
    call()
    took = _time(call, 10)
    return max(1, int(_ROUND_S / max(took, 1e-8)))


def _time(call: Callable[[], object], loops: int) -> float:
    rounds = range(loops)
    start = time.perf_counter()
    for _ in rounds:
        call()
    return (time.perf_counter() - start) / loops


def measure_fixed(name: str, subject: Callable[[], object], limit_us: float) -> Figure:
    """Compare the best time of a function with a fixed number of microseconds."""
    call = Case(name, subject, subject, 1.0)
    us = measure([call])[0].us
    return Figure(name, us, limit_us, us / limit_us, 1.0)


def measure_over(
    name: str, subject: Callable[[], object], beside: Callable[[], object], limit_us: float
) -> Figure:
    """Compare the time that one function takes beyond another, which may be negative, with a fixed number."""
    measured = measure([Case(name, subject, beside, 1.0)])[0]
    us = measured.us - measured.limit_us
    return Figure(name, us, limit_us, us / limit_us, 1.0)
