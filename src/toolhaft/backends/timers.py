"""Timers by the thousand, at a fraction of the loop's own: equal spans end in the order in which they began.

Knows one event loop; does not know what is timed.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import Final
from weakref import ref

from toolhaft.backends.per_loop import PerLoop

_MOST_LANES: Final = 64


class Timer:
    """One span that runs; `stop` it, or its `ring` is called at the end."""

    __slots__ = ("_lane", "ends_at")

    _lane: _Lane
    ends_at: float

    def begin(self, loop: asyncio.AbstractEventLoop, span_s: float) -> None:
        """Have `ring` called on the loop's thread once so many seconds have passed; once at a time."""
        self.ends_at = loop.time() + span_s
        self._lane = lane = _LANES.of(loop).lane_of(span_s)
        lane.running[self] = None
        if not lane.is_set:
            lane.set(self.ends_at)

    def stop(self) -> None:
        """Let the span end in silence; safe to repeat."""
        self._lane.running.pop(self, None)

    def ring(self) -> None:
        """The span is over."""
        raise NotImplementedError


class _Lane:
    """All timers of one span, the oldest first; the loop has a timer for that one alone."""

    __slots__ = ("is_set", "loop", "running")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = ref(loop)  # the loop holds the lane's timer, and no lane holds a loop
        self.running: dict[Timer, None] = {}
        self.is_set = False

    def set(self, ends_at: float) -> None:
        loop = self.loop()
        if loop is not None:
            self.is_set = True
            # in a context of its own: the loop would keep that of the call, and all that is in it
            loop.call_at(ends_at, self._ring, loop, context=Context())

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self.is_set = False
        now = loop.time()
        while self.running:
            oldest = next(iter(self.running))
            if oldest.ends_at > now:
                self.set(oldest.ends_at)
                return
            del self.running[oldest]
            oldest.ring()


class _Lanes:
    """The lanes of one loop."""

    __slots__ = ("_lanes", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._lanes: dict[float, _Lane] = {}

    def lane_of(self, span_s: float) -> _Lane:
        lane = self._lanes.get(span_s)
        return self._new_lane(span_s) if lane is None else lane

    def _new_lane(self, span_s: float) -> _Lane:
        loop = self._loop()
        if loop is None:
            raise RuntimeError("the loop is gone")  # pragma: no cover -- only its own thread asks
        if len(self._lanes) >= _MOST_LANES:  # spans cut short by deadlines differ each time
            self._lanes = {span: lane for span, lane in self._lanes.items() if lane.running}
        if len(self._lanes) >= _MOST_LANES:
            return _Lane(loop)
        return self._lanes.setdefault(span_s, _Lane(loop))


_LANES: Final = PerLoop(_Lanes)
