"""Keeps a tool within its rate and its number of calls at once, and stops the same call made over and over.

Knows clocks and queues; does not know what a handler does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Final

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.execute.arguments import final_arguments
from toolhaft.execute.canonical import canonical_text
from toolhaft.execute.failures import refused
from toolhaft.execute.gates import Gate
from toolhaft.execute.run import Answer, Run, Step, arrive
from toolhaft.execute.setup import Setup

_SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0}


class Bucket:
    """A rate such as 100/min: so many at once, filled up again evenly."""

    __slots__ = ("_clock", "_filled_at", "_left", "_lock", "_most", "_per_s")

    def __init__(self, rate: str, clock: Callable[[], float] = time.monotonic) -> None:
        count, _, unit = rate.partition("/")
        self._most = float(count)
        self._per_s = self._most / _SECONDS[unit]
        self._left = self._most
        self._clock = clock
        self._filled_at = clock()
        self._lock = Lock()

    def take(self) -> float:
        """0 where one may pass, else the seconds until one may."""
        with self._lock:
            now = self._clock()
            self._left = min(self._most, self._left + (now - self._filled_at) * self._per_s)
            self._filled_at = now
            if self._left >= 1.0:
                self._left -= 1.0
                return 0.0
            return (1.0 - self._left) / self._per_s


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where the tool has no caps."""
    if tool.max_parallel is not None:
        # by its cap too: another prompt may have another tool of this name
        gate = setup.parallel.setdefault(f"{tool.name} {tool.max_parallel}", Gate(tool.max_parallel))
        inner = _in_parallel(tool, gate, inner)
    if tool.rate is not None:
        bucket = setup.buckets.setdefault(f"{tool.name} {tool.rate}", Bucket(tool.rate))
        inner = _at_rate(tool, bucket, inner)
    if setup.max_repeats is not None:
        inner = _unrepeated(tool, setup.max_repeats, inner)
    return inner


def _at_rate(tool: AnyTool, bucket: Bucket, inner: Step) -> Step:
    def at_rate(run: Run) -> Answer:
        wait_s = bucket.take()
        if wait_s:
            return refused(
                "rate",
                f"{tool.name} may be called at most {tool.rate} and was not run.",
                advice=f"Try again in {wait_s:.1f} s.",
            )
        return inner(run)

    return at_rate


def _in_parallel(tool: AnyTool, gate: Gate, inner: Step) -> Step:
    async def in_parallel(run: Run) -> AnyResult:
        ticket = gate.ask()
        try:
            if not await gate.enter(ticket, run.port, run.patience_s(tool)):
                return refused(
                    "rate", f"{tool.max_parallel} other calls of {tool.name} did not end: it was not run."
                )
            return await arrive(inner(run))
        finally:
            gate.leave(ticket)

    return in_parallel


def _unrepeated(tool: AnyTool, most: int, inner: Step) -> Step:
    def unrepeated(run: Run) -> Answer:
        this = f"{tool.name}{canonical_text(final_arguments(run))}"
        before, count = run.ledger.last_call
        run.ledger.last_call = (this, count + 1 if this == before else 1)
        if run.ledger.last_call[1] > most:
            return refused(
                "circuit_open",
                f"the same call of {tool.name} was made {count} times in a row and is not run again.",
                advice="Use what it gave back, or change the arguments.",
            )
        return inner(run)

    return unrepeated
