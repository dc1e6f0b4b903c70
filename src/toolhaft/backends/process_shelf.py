"""The worker processes that a pool has: who is idle, who waits, when one more is started and when one ends.

Knows slots; does not know handlers or what a job is for.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from toolhaft.backends.process_slot import Slot, TimeUpError, WorkerDiedError
from toolhaft.errors import ToolExecutionError

_START_S: Final = 30.0
"""How long a keeper may take to come up when nobody waits for it."""
_REPLACE_S: Final = 5.0
"""How long a keeper may take to bury a worker and start the next."""
_CLOSE_S: Final = 5.0
_MOST_KNOWN: Final = 32


class Stoppable(Protocol):
    """A job, as far as the shelf knows one."""

    def stop_by(self, stop: Callable[[], None] | None) -> bool:
        """Say what `kill` does from now on; False if it has been called already."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


class _Waiter:
    """A thread that waits for a slot."""

    __slots__ = ("_bell", "job", "slot")

    def __init__(self, job: Stoppable) -> None:
        self.job = job
        self.slot: Slot | None = None
        self._bell = threading.Lock()
        self._bell.acquire()

    def wait(self, until: float) -> None:
        """Block until somebody wakes this, or it is too late."""
        left = min(until - time.monotonic(), threading.TIMEOUT_MAX)
        self._bell.acquire(timeout=max(left, 0))

    def wake(self) -> None:
        """End the waiting; safe to repeat."""
        with suppress(RuntimeError):  # awake already
            self._bell.release()


class Shelf:
    """Slots, the one that was idle last taken first; at most so many, idle or not.

    One thread tends it: starts a spare when the last idle slot is taken, has new workers import what was used
    before, and ends slots that were idle for too long.
    """

    def __init__(self, *, max_workers: int, memory_bytes: int | None, idle_s: float) -> None:
        self._max = max_workers
        self._memory_bytes = memory_bytes
        self._idle_s = idle_s
        self.started = 0
        self.killed = 0
        self._is_closed = False
        self._known: dict[bytes, None] = {}
        self._begin()
        _SHELVES.add(self)

    def _begin(self) -> None:
        self._change = threading.Condition()
        self._slots: set[Slot] = set()
        self._starting = 0
        self._idle: deque[Slot] = deque()
        self._busy: dict[Slot, Stoppable] = {}
        self._waiting: deque[_Waiter] = deque()
        self._wants_spare = False
        self._tender: threading.Thread | None = None

    @property
    def count(self) -> int:
        """Slots there are, those being started too."""
        return len(self._slots) + self._starting

    @property
    def idle_count(self) -> int:
        """Slots that wait for a job."""
        return len(self._idle)

    def take(self, until: float, job: Stoppable) -> Slot | None:
        """A slot with a worker that lives, for `put_back`; None if the job is killed while it waits.

        Raises:
            TimeUpError: where none is free by then.
            WorkerDiedError: where a new worker does not come up.
            ToolExecutionError: where the shelf is closed, or no process can be started.
        """
        while True:
            slot = self._claim(until, job)
            if slot is None:
                return None
            is_new = not slot.number
            try:
                slot.be_ready(until)
            except WorkerDiedError:
                self._end([slot])
                if is_new:
                    raise
            except BaseException:  # the time is up, or an interrupt came
                self.put_back(slot)
                raise
            else:
                return slot

    def _claim(self, until: float, job: Stoppable) -> Slot | None:
        """A slot, whatever state it is in: an idle one, a new one, or the first that is put back."""
        while True:
            with self._change:
                self._refuse_closed()
                if self._idle:
                    slot = self._idle.pop()
                    self._busy[slot] = job
                    self._want_spare()
                    return slot
                waiter = None if self.count < self._max else _Waiter(job)
                if waiter is None:
                    self._starting += 1
                else:
                    self._waiting.append(waiter)
            if waiter is None:
                return self._start(job)
            slot = self._await_turn(waiter, until)
            if slot is not None or not job.stop_by(None):
                return slot
            if time.monotonic() >= until:
                raise TimeUpError

    def _await_turn(self, waiter: _Waiter, until: float) -> Slot | None:
        """The slot that comes to a waiter; None where it is woken for another reason."""
        try:
            if waiter.job.stop_by(waiter.wake):
                waiter.wait(until)
        except BaseException:  # an interrupt
            slot = self._leave(waiter)
            if slot is not None:
                self.put_back(slot)
            raise
        return self._leave(waiter)

    def _leave(self, waiter: _Waiter) -> Slot | None:
        with self._change:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            return waiter.slot

    def _start(self, job: Stoppable | None) -> Slot:
        """A new slot, for which a place was kept."""
        try:
            slot = Slot(self._memory_bytes)
        except BaseException:
            with self._change:
                self._starting -= 1
                self._change.notify_all()
            raise
        with self._change:
            self._starting -= 1
            self.started += 1
            self._slots.add(slot)
            if job is not None:
                self._busy[slot] = job
                self._want_spare()
            if len(self._slots) > 1:
                self._call_tender()  # from now on there may be one too many
            is_late = self._is_closed
        if is_late:
            self._end([slot])
            self._refuse_closed()
        return slot

    def put_back(self, slot: Slot, *, is_spare: bool = False) -> None:
        """Let the next job have a slot: the first that waits, else whichever comes; a spare comes last."""
        with self._change:
            self._busy.pop(slot, None)
            if not self._is_closed:
                slot.idle_since = time.monotonic()
                if self._waiting:
                    self._hand_over(slot)
                elif slot.is_warm and not is_spare:
                    self._idle.append(slot)
                else:
                    self._idle.appendleft(slot)
                    self._call_tender()
                return
        self._end([slot])

    def _hand_over(self, slot: Slot) -> None:
        waiter = self._waiting.popleft()
        waiter.slot = slot
        self._busy[slot] = waiter.job
        waiter.wake()

    def count_kill(self) -> None:
        """One more job was killed."""
        with self._change:
            self.killed += 1

    def know(self, handler: bytes) -> None:
        """Have new workers import this handler before a job asks for it."""
        if handler not in self._known:
            with self._change:
                while len(self._known) >= _MOST_KNOWN:
                    del self._known[next(iter(self._known))]
                self._known[handler] = None

    def warm_up(self, handlers: Iterable[bytes]) -> None:
        """Have these handlers known, and one worker at least that imports them in the background."""
        for handler in handlers:
            self.know(handler)
        with self._change:
            if not self.count and not self._is_closed:
                self._want_spare()

    def close(self) -> None:
        """Kill what runs and end every slot; safe to repeat."""
        with self._change:
            if self._is_closed:
                return
            self._is_closed = True
            idle = [*self._idle]
            self._idle.clear()
            jobs = [*self._busy.values()]
            for waiter in self._waiting:
                waiter.wake()
            tender = self._tender
            self._change.notify_all()
            for slot in self._slots.difference(idle, self._busy):
                slot.cut()  # the tender waits for its worker
        for job in jobs:
            job.kill()
        self._end(idle)
        with self._change:
            self._change.wait_for(lambda: not self.count, _CLOSE_S)
        if tender is not None and tender is not threading.current_thread():
            tender.join(_CLOSE_S)

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise ToolExecutionError("the process pool is closed; the handler did not run")

    def _end(self, slots: list[Slot]) -> None:
        for slot in slots:
            slot.hang_up()
        for slot in slots:
            slot.end()
        with self._change:
            self._slots.difference_update(slots)
            for slot in slots:
                self._busy.pop(slot, None)
            for waiter in self._waiting:  # there is room for a new slot
                waiter.wake()
            self._change.notify_all()

    def _want_spare(self) -> None:
        if not self._idle and self.count < self._max:
            self._wants_spare = True
            self._call_tender()

    def _call_tender(self) -> None:
        self._change.notify_all()
        if self._tender is None:
            tender = threading.Thread(target=self._tend, name="toolhaft-workers", daemon=True)
            with suppress(RuntimeError):  # no more threads: then every job starts what it needs
                tender.start()
                self._tender = tender

    def _tend(self) -> None:
        while (chore := self._await_chore()) is not None:
            chore()

    def _await_chore(self) -> Callable[[], None] | None:
        """What is to be done next; None once the shelf is closed."""
        with self._change:
            while not self._is_closed:
                if self._wants_spare:
                    self._wants_spare = False
                    if not self._idle and self.count < self._max:
                        self._starting += 1
                        return self._add_spare
                if self._idle and not self._idle[0].is_warm:
                    return partial(self._warm, self._idle.popleft())
                if len(self._idle) > 1 and self._idle[0].idle_since + self._idle_s <= time.monotonic():
                    return partial(self._end, [self._idle.popleft()])
                self._change.wait(self._idle_s if len(self._slots) > 1 else None)
        return None

    def _add_spare(self) -> None:
        with suppress(ToolExecutionError):  # a job that needs one tells why there is none
            self._warm(self._start(None))

    def _warm(self, slot: Slot) -> None:
        """Wait for a slot's new worker and have it import what was used before."""
        try:
            slot.be_ready(time.monotonic() + (_REPLACE_S if slot.number else _START_S))
        except (TimeUpError, WorkerDiedError):
            self._end([slot])
            return
        slot.load([*reversed(self._known)])  # what was new last is what is most likely wanted next
        self.put_back(slot, is_spare=True)

    def forget(self) -> None:
        """Begin anew in a fork of the host: the workers are the original's."""
        for slot in self._slots:
            slot.forget()
        self._begin()


_SHELVES: Final[weakref.WeakSet[Shelf]] = weakref.WeakSet()


def _after_fork() -> None:
    for shelf in _SHELVES:
        shelf.forget()


os.register_at_fork(after_in_child=_after_fork)
