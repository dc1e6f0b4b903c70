"""Timers by the thousand, at a fraction of the loop's own: equal spans end in the order in which they began.

Knows one event loop; does not know what is timed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

_MOST_LANES: Final = 64


class Timer:
    """One span that runs; `stop` it, or its `ring` is called at the end."""

    __slots__ = ("ends_at", "lane", "ring")

    def __init__(self, lane: _Lane, ring: Callable[[], None], ends_at: float) -> None:
        self.lane = lane
        self.ring = ring
        self.ends_at = ends_at

    def stop(self) -> None:
        """Let the span end in silence; safe to repeat."""
        self.lane.running.pop(self, None)


class _Lane:
    """All timers of one span, the oldest first; the loop has a timer for that one alone."""

    __slots__ = ("is_set", "loop", "running")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.running: dict[Timer, None] = {}
        self.is_set = False

    def set(self, ends_at: float) -> None:
        self.is_set = True
        self.loop.call_at(ends_at, self._ring)

    def _ring(self) -> None:
        self.is_set = False
        now = self.loop.time()
        while self.running:
            oldest = next(iter(self.running))
            if oldest.ends_at > now:
                self.set(oldest.ends_at)
                return
            del self.running[oldest]
            oldest.ring()


class Timers:
    """The timers of one loop."""

    __slots__ = ("_lanes", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lanes: dict[float, _Lane] = {}

    def start(self, span_s: float, ring: Callable[[], None]) -> Timer:
        """Have `ring` called on the loop's thread once so many seconds have passed."""
        lane = self._lanes.get(span_s)
        if lane is None:
            lane = self._lane(span_s)
        timer = Timer(lane, ring, self._loop.time() + span_s)
        lane.running[timer] = None
        if not lane.is_set:
            lane.set(timer.ends_at)
        return timer

    def _lane(self, span_s: float) -> _Lane:
        if len(self._lanes) >= _MOST_LANES:  # spans cut short by deadlines differ each time
            self._lanes = {span: lane for span, lane in self._lanes.items() if lane.running}
        if len(self._lanes) >= _MOST_LANES:
            return _Lane(self._loop)
        return self._lanes.setdefault(span_s, _Lane(self._loop))


_TIMERS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Timers]] = WeakKeyDictionary()


def timers_of(loop: asyncio.AbstractEventLoop) -> Timers:
    """The timers of a loop; only ever used on its own thread."""
    found = _TIMERS.get(loop)
    if found is None:
        found = _TIMERS[loop] = Timers(loop)
    return found
