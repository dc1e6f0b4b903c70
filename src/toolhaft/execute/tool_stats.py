"""Counts, failures and durations of the calls of each tool."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import count
from math import ceil
from threading import Lock
from types import MappingProxyType
from typing import Final

from toolhaft.core.result import FailureKind

LATEST: Final = 1000
"""How many durations are kept of each tool."""
_MOST_TOOLS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStats:
    """The calls of one tool that have ended, as they were when `executor.stats.tools` was read.

    The durations are those of the latest 1,000 calls that ran the handler: how long it took.
    """

    calls: int
    failures: Mapping[FailureKind, int]
    """How many of the calls failed, by the kind of the failure."""
    mean_s: float
    p50_s: float
    p95_s: float
    max_s: float

    @property
    def failed(self) -> int:
        """How many calls failed."""
        return sum(self.failures.values())

    @property
    def failure_rate(self) -> float:
        """The share of calls that failed, from 0 to 1."""
        return self.failed / self.calls if self.calls else 0.0

    def to_dict(self) -> dict[str, object]:
        """Every number by name, as JSON can hold them."""
        return {**asdict(self), "failure_rate": self.failure_rate}


class ToolCounter:
    """Counts the calls of one tool; from any thread.

    What happens for each call, `count_call` and `add_duration`, is one operation each that needs no lock.
    """

    __slots__ = ("_durations", "_failures", "_lock", "_reads", "add_duration", "count_call")

    def __init__(self) -> None:
        self._durations: deque[float] = deque(maxlen=LATEST)
        self.add_duration = self._durations.append
        """Called with the seconds that a handler took."""
        self.count_call = count().__next__
        """Called once for each call."""
        self._failures: dict[FailureKind, int] = {}
        self._reads = 0
        self._lock = Lock()

    def count_failure(self, kind: FailureKind) -> None:
        """Count a call that has failed; one that waits for an approval has not ended."""
        if kind == "needs_approval":
            return
        self.count_call()
        with self._lock:
            self._failures[kind] = self._failures.get(kind, 0) + 1

    def read(self) -> ToolStats:
        """The numbers up to now."""
        with self._lock:
            calls = self.count_call() - self._reads  # reading counts too
            self._reads += 1
            failures = self._failures.copy()
        durations = sorted(self._durations.copy())
        return ToolStats(
            calls=calls,
            failures=failures,
            mean_s=sum(durations) / len(durations) if durations else 0.0,
            p50_s=_percentile(durations, 0.5),
            p95_s=_percentile(durations, 0.95),
            max_s=_percentile(durations, 1),
        )


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[ceil(share * len(ordered)) - 1] if ordered else 0.0


class ToolCounters:
    """The counters of the tools of one executor."""

    __slots__ = ("_counters", "_lock")

    def __init__(self) -> None:
        self._counters: dict[str, ToolCounter] = {}
        self._lock = Lock()

    def of(self, name: str) -> ToolCounter:
        """The counter of a tool; drops the oldest one if there are too many."""
        with self._lock:
            counter = self._counters.get(name)
            if counter is None:
                if len(self._counters) >= _MOST_TOOLS:
                    del self._counters[next(iter(self._counters))]
                counter = self._counters[name] = ToolCounter()
            return counter

    def read(self) -> Mapping[str, ToolStats]:
        """The numbers of every tool that was called."""
        with self._lock:
            counters = list(self._counters.items())
        read = {name: counter.read() for name, counter in counters}
        return MappingProxyType({name: stats for name, stats in read.items() if stats.calls})
