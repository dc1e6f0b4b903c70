"""Limits how many calls run at once and how often: a fair semaphore and a token bucket."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from toolhaft.execute.waiting import Waiter

_SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0}


@dataclass(slots=True, eq=False)
class Ticket:
    """A place in the queue of a semaphore."""

    is_granted: bool = False
    is_over: bool = False
    wake: Callable[[], None] | None = None


class FairSemaphore:
    """Admits a limited number of holders at once, in the order in which they joined the queue."""

    __slots__ = ("_holders", "_lock", "_queue", "places")

    def __init__(self, places: int = 1) -> None:
        self.places = places
        self._holders = 0
        self._queue: deque[Ticket] = deque()
        self._lock = Lock()

    def join(self) -> Ticket:
        """Take a place in the queue; tickets are granted in the order of joining."""
        ticket = Ticket()
        with self._lock:
            if self._holders < self.places:
                self._holders += 1
                ticket.is_granted = True
            else:
                self._queue.append(ticket)
        return ticket

    async def enter(self, ticket: Ticket, waiter: Waiter, timeout_s: float | None) -> bool:
        """Wait until the ticket is granted; False if the time ran out first."""
        if ticket.is_granted:
            return True
        await waiter.wait(lambda wake: self._on_grant(ticket, wake), timeout_s)
        return ticket.is_granted

    def leave(self, ticket: Ticket) -> None:
        """Give the place up, whether it was granted or not; can be called twice."""
        with self._lock:
            if ticket.is_over:
                return
            ticket.is_over = True
            if not ticket.is_granted:
                self._queue.remove(ticket)
                return
            if not self._queue:
                self._holders -= 1
                return
            following = self._queue.popleft()
            following.is_granted = True
            wake = following.wake
        if wake is not None:
            wake()

    @property
    def is_unused(self) -> bool:
        """True if nobody holds a place or waits for one."""
        return self._holders == 0 and not self._queue

    def _on_grant(self, ticket: Ticket, wake: Callable[[], None]) -> None:
        with self._lock:
            if not ticket.is_granted:
                ticket.wake = wake
                return
        wake()


class TokenBucket:
    """A rate such as 100/min: up to 100 at once, refilled evenly."""

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
        """Take a token and return 0; if there is none, return the seconds until there is one."""
        with self._lock:
            now = self._clock()
            self._left = min(self._most, self._left + (now - self._filled_at) * self._per_s)
            self._filled_at = now
            if self._left >= 1.0:
                self._left -= 1.0
                return 0.0
            return (1.0 - self._left) / self._per_s
