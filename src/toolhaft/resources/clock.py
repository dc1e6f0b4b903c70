"""The clock of the system, and one for tests."""

from __future__ import annotations

import time


class SystemClock:
    """The time of the machine."""

    __slots__ = ()

    def monotonic(self) -> float:
        """Seconds that never decrease."""
        return time.monotonic()

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()


class FakeClock:
    """A clock that a test advances."""

    __slots__ = ("_epoch_s", "_passed_s")

    def __init__(self, *, epoch_s: float = 1_700_000_000.0) -> None:
        self._epoch_s = epoch_s
        self._passed_s = 0.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._passed_s += seconds

    def monotonic(self) -> float:
        """Seconds that never decrease."""
        return self._passed_s

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._epoch_s + self._passed_s
