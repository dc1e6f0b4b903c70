"""Cheap timers and per-loop values for asyncio event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Final, Generic, TypeVar
from weakref import ReferenceType, WeakKeyDictionary, ref

ValueT = TypeVar("ValueT")

_MAX_QUEUES: Final = 64


class PerLoop(Generic[ValueT]):
    """One value per event loop, created on first use and dropped with the loop."""

    __slots__ = ("_make", "_recent", "_values")

    def __init__(self, make: Callable[[asyncio.AbstractEventLoop], ValueT]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, ValueT] = WeakKeyDictionary()
        self._recent: tuple[ReferenceType[asyncio.AbstractEventLoop], ValueT] | None = None

    def of(self, loop: asyncio.AbstractEventLoop) -> ValueT:
        """The value of a loop; call it only on the thread of that loop."""
        recent = self._recent
        if recent is not None and recent[0]() is loop:
            return recent[1]
        value = self._values.get(loop)
        if value is None:
            value = self._values[loop] = self._make(loop)
        self._recent = (ref(loop), value)
        return value


class Timer:
    """A timer that calls `ring` at its end, unless `stop` was called before.

    Timers of equal length end in the order in which they began, so one timer of the event loop is enough for
    all of them. That makes them much cheaper than `loop.call_later`.
    """

    __slots__ = ("_queue", "ends_at")

    _queue: _TimerQueue
    ends_at: float

    def begin(self, loop: asyncio.AbstractEventLoop, span_s: float) -> None:
        """Start: `ring` is called on the thread of the loop after `span_s` seconds."""
        self.ends_at = loop.time() + span_s
        self._queue = queue = _QUEUES.of(loop).queue_of(loop, span_s)
        queue.running[self] = None
        if not queue.is_set:
            queue.set(self.ends_at)

    def stop(self) -> None:
        """Cancel the timer; safe to repeat."""
        self._queue.running.pop(self, None)

    def ring(self) -> None:
        """Called at the end; to be overridden."""
        raise NotImplementedError


class _TimerQueue:
    """All timers of one length, the oldest first; only that one has a timer of the event loop."""

    __slots__ = ("is_set", "loop", "running")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = ref(loop)  # weak: the loop refers to the queue
        self.running: dict[Timer, None] = {}
        self.is_set = False

    def set(self, ends_at: float) -> None:
        loop = self.loop()
        if loop is not None:
            self.is_set = True
            # in an empty context: the loop would keep the context of the call alive
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


class _TimerQueues:
    """The timer queues of one loop, by the length of their timers."""

    __slots__ = ("_queues",)

    def __init__(self, _: asyncio.AbstractEventLoop) -> None:
        self._queues: dict[float, _TimerQueue] = {}

    def queue_of(self, loop: asyncio.AbstractEventLoop, span_s: float) -> _TimerQueue:
        queue = self._queues.get(span_s)
        return self._new_queue(loop, span_s) if queue is None else queue

    def _new_queue(self, loop: asyncio.AbstractEventLoop, span_s: float) -> _TimerQueue:
        if len(self._queues) >= _MAX_QUEUES:  # timers shortened by deadlines have different lengths
            self._queues = {span: queue for span, queue in self._queues.items() if queue.running}
        if len(self._queues) >= _MAX_QUEUES:
            return _TimerQueue(loop)
        return self._queues.setdefault(span_s, _TimerQueue(loop))


_QUEUES: Final = PerLoop(_TimerQueues)
