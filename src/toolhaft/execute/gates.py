"""Lets so many pass at a time, in the order in which they asked.

Knows waiting; does not know calls or tools.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from toolhaft.execute.waiting import Port


class Ticket:
    """One place in the queue of a gate."""

    __slots__ = ("is_granted", "is_over", "wake")

    def __init__(self) -> None:
        self.is_granted = False
        self.is_over = False
        self.wake: Callable[[], None] | None = None


class Gate:
    """A door for at most so many at once; whoever asked first goes first."""

    __slots__ = ("_inside", "_lock", "_queue", "places")

    def __init__(self, places: int = 1) -> None:
        self.places = places
        self._inside = 0
        self._queue: deque[Ticket] = deque()
        self._lock = Lock()

    def ask(self) -> Ticket:
        """A place in the queue; the order of asking is the order of passing."""
        ticket = Ticket()
        with self._lock:
            if self._inside < self.places:
                self._inside += 1
                ticket.is_granted = True
            else:
                self._queue.append(ticket)
        return ticket

    async def enter(self, ticket: Ticket, port: Port, timeout_s: float | None) -> bool:
        """Wait until it is this ticket's turn; False if the time ran out first."""
        if ticket.is_granted:
            return True
        await port.wait(lambda wake: self._arm(ticket, wake), timeout_s)
        return ticket.is_granted

    def leave(self, ticket: Ticket) -> None:
        """Give the place up, inside or still in the queue; safe to repeat."""
        with self._lock:
            if ticket.is_over:
                return
            ticket.is_over = True
            if not ticket.is_granted:
                self._queue.remove(ticket)
                return
            if not self._queue:
                self._inside -= 1
                return
            following = self._queue.popleft()
            following.is_granted = True
            wake = following.wake
        if wake is not None:
            wake()

    @property
    def is_unused(self) -> bool:
        """True if nobody is inside or waits."""
        return self._inside == 0 and not self._queue

    def _arm(self, ticket: Ticket, wake: Callable[[], None]) -> None:
        with self._lock:
            if not ticket.is_granted:
                ticket.wake = wake
                return
        wake()
