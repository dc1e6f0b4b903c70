"""The worker processes of a pool: idle and busy ones, waiting jobs, and when workers start and stop."""

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

from toolhaft.backends.worker_handle import WorkerDiedError, WorkerHandle, WorkerTimeoutError
from toolhaft.errors import ToolExecutionError

_START_S: Final = 30.0
"""How long a supervisor may take to start when no job waits for it."""
_REPLACE_S: Final = 5.0
"""How long a supervisor may take to replace a worker."""
_CLOSE_S: Final = 5.0
_MAX_KNOWN_HANDLERS: Final = 32

_POOLS: Final[weakref.WeakSet[WorkerPool]] = weakref.WeakSet()


class Stoppable(Protocol):
    """A job that can be killed."""

    def on_kill(self, stop: Callable[[], None] | None) -> bool:
        """Set the function that `kill` calls; False if `kill` was called already."""
        ...

    def kill(self) -> None:
        """End the job now."""
        ...


class _Waiter:
    """A job that waits for a worker."""

    __slots__ = ("_wakeup", "handle", "job")

    def __init__(self, job: Stoppable) -> None:
        self.job = job
        self.handle: WorkerHandle | None = None
        self._wakeup = threading.Lock()
        self._wakeup.acquire()

    def wait(self, until: float) -> None:
        """Block until `wake` is called, or the time is up."""
        left = min(until - time.monotonic(), threading.TIMEOUT_MAX)
        self._wakeup.acquire(timeout=max(left, 0))

    def wake(self) -> None:
        """End the wait; safe to repeat."""
        with suppress(RuntimeError):  # it was called before
            self._wakeup.release()


class WorkerPool:
    """At most `max_workers` workers; the one that became idle last is used first.

    A maintenance thread starts a spare worker when the last idle one is taken, lets new workers import the
    handlers used before, and stops workers that were idle for too long.
    """

    def __init__(self, *, max_workers: int, memory_bytes: int | None, idle_s: float) -> None:
        self._max = max_workers
        self._memory_bytes = memory_bytes
        self._idle_s = idle_s
        self.started = 0
        self.killed = 0
        self._is_closed = False
        self._known: dict[bytes, None] = {}
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        self._change = threading.Condition()
        self._handles: set[WorkerHandle] = set()
        self._starting = 0
        self._idle: deque[WorkerHandle] = deque()
        self._busy: dict[WorkerHandle, Stoppable] = {}
        self._waiting: deque[_Waiter] = deque()
        self._wants_spare = False
        self._maintainer: threading.Thread | None = None

    @property
    def count(self) -> int:
        """The number of workers, including those being started."""
        return len(self._handles) + self._starting

    @property
    def idle_count(self) -> int:
        """The number of idle workers."""
        return len(self._idle)

    def acquire(self, until: float, job: Stoppable) -> WorkerHandle | None:
        """A worker for a job, to be released later; None if the job is killed while it waits.

        Raises:
            WorkerTimeoutError: if none is free in time.
            WorkerDiedError: if a new worker does not start.
            ToolExecutionError: if the pool is closed, or no process can be started.
        """
        while True:
            handle = self._claim(until, job)
            if handle is None:
                return None
            is_new = not handle.number
            try:
                handle.wait_for_worker(until)
            except WorkerDiedError:
                self._end([handle])
                if is_new:
                    raise
            except BaseException:  # a timeout or an interrupt
                self.release(handle)
                raise
            else:
                return handle

    def _claim(self, until: float, job: Stoppable) -> WorkerHandle | None:
        """An idle handle, a new one, or the next one that is released; its worker may have ended."""
        while True:
            with self._change:
                self._check_open()
                if self._idle:
                    handle = self._idle.pop()
                    self._busy[handle] = job
                    self._want_spare()
                    return handle
                waiter = None if self.count < self._max else _Waiter(job)
                if waiter is None:
                    self._starting += 1
                else:
                    self._waiting.append(waiter)
            if waiter is None:
                return self._start(job)
            handle = self._wait_for_handle(waiter, until)
            if handle is not None or not job.on_kill(None):
                return handle
            if time.monotonic() >= until:
                raise WorkerTimeoutError

    def _wait_for_handle(self, waiter: _Waiter, until: float) -> WorkerHandle | None:
        """The handle that a waiter gets; None if it is woken for another reason."""
        try:
            if waiter.job.on_kill(waiter.wake):
                waiter.wait(until)
        except BaseException:  # an interrupt
            handle = self._remove_waiter(waiter)
            if handle is not None:
                self.release(handle)
            raise
        return self._remove_waiter(waiter)

    def _remove_waiter(self, waiter: _Waiter) -> WorkerHandle | None:
        with self._change:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            return waiter.handle

    def _start(self, job: Stoppable | None) -> WorkerHandle:
        """Start a worker, which is counted in `_starting` already."""
        try:
            handle = WorkerHandle(self._memory_bytes)
        except BaseException:
            with self._change:
                self._starting -= 1
                self._change.notify_all()
            raise
        with self._change:
            self._starting -= 1
            self.started += 1
            self._handles.add(handle)
            if job is not None:
                self._busy[handle] = job
                self._want_spare()
            if len(self._handles) > 1:
                self._wake_maintainer()  # it stops workers that are idle for too long
            is_late = self._is_closed
        if is_late:
            self._end([handle])
            self._check_open()
        return handle

    def release(self, handle: WorkerHandle, *, is_spare: bool = False) -> None:
        """Give the worker to the first waiting job, or make it idle; a spare is used last."""
        with self._change:
            self._busy.pop(handle, None)
            if not self._is_closed:
                handle.idle_since = time.monotonic()
                if self._waiting:
                    self._assign(handle)
                elif handle.has_worker and not is_spare:
                    self._idle.append(handle)
                else:
                    self._idle.appendleft(handle)
                    self._wake_maintainer()
                return
        self._end([handle])

    def _assign(self, handle: WorkerHandle) -> None:
        waiter = self._waiting.popleft()
        waiter.handle = handle
        self._busy[handle] = waiter.job
        waiter.wake()

    def count_kill(self) -> None:
        """Count a killed job."""
        with self._change:
            self.killed += 1

    def remember(self, handler: bytes) -> None:
        """Let new workers import this handler in advance."""
        if handler not in self._known:
            with self._change:
                while len(self._known) >= _MAX_KNOWN_HANDLERS:
                    del self._known[next(iter(self._known))]
                self._known[handler] = None

    def warm_up(self, handlers: Iterable[bytes]) -> None:
        """Let workers import these handlers, and start one in the background if there is none."""
        for handler in handlers:
            self.remember(handler)
        with self._change:
            if not self.count and not self._is_closed:
                self._want_spare()

    def close(self) -> None:
        """Kill running jobs and stop all workers; safe to repeat."""
        with self._change:
            if self._is_closed:
                return
            self._is_closed = True
            idle = [*self._idle]
            self._idle.clear()
            jobs = [*self._busy.values()]
            for waiter in self._waiting:
                waiter.wake()
            maintainer = self._maintainer
            self._change.notify_all()
            for handle in self._handles.difference(idle, self._busy):
                handle.disconnect()  # the maintenance thread waits for its worker
        for job in jobs:
            job.kill()
        self._end(idle)
        with self._change:
            self._change.wait_for(lambda: not self.count, _CLOSE_S)
        if maintainer is not None and maintainer is not threading.current_thread():
            maintainer.join(_CLOSE_S)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ToolExecutionError("the process pool is closed; the handler did not run")

    def _end(self, handles: list[WorkerHandle]) -> None:
        for handle in handles:
            handle.close_connections()
        for handle in handles:
            handle.stop()
        with self._change:
            self._handles.difference_update(handles)
            for handle in handles:
                self._busy.pop(handle, None)
            for waiter in self._waiting:  # a new worker can be started
                waiter.wake()
            self._change.notify_all()

    def _want_spare(self) -> None:
        if not self._idle and self.count < self._max:
            self._wants_spare = True
            self._wake_maintainer()

    def _wake_maintainer(self) -> None:
        self._change.notify_all()
        if self._maintainer is None:
            maintainer = threading.Thread(target=self._maintain, name="toolhaft-workers", daemon=True)
            with suppress(RuntimeError):  # no more threads: then every job starts its worker itself
                maintainer.start()
                self._maintainer = maintainer

    def _maintain(self) -> None:
        while (task := self._next_task()) is not None:
            task()

    def _next_task(self) -> Callable[[], None] | None:
        """The next task of the maintenance thread; None once the pool is closed."""
        with self._change:
            while not self._is_closed:
                if self._wants_spare:
                    self._wants_spare = False
                    if not self._idle and self.count < self._max:
                        self._starting += 1
                        return self._add_spare
                if self._idle and not self._idle[0].has_worker:
                    return partial(self._warm, self._idle.popleft())
                if len(self._idle) > 1 and self._idle[0].idle_since + self._idle_s <= time.monotonic():
                    return partial(self._end, [self._idle.popleft()])
                self._change.wait(self._idle_s if len(self._handles) > 1 else None)
        return None

    def _add_spare(self) -> None:
        with suppress(ToolExecutionError):  # a job that needs one reports the error
            self._warm(self._start(None))

    def _warm(self, handle: WorkerHandle) -> None:
        """Wait for a new worker and let it import the handlers used before."""
        try:
            handle.wait_for_worker(time.monotonic() + (_REPLACE_S if handle.number else _START_S))
        except (WorkerTimeoutError, WorkerDiedError):
            self._end([handle])
            return
        handle.load([*reversed(self._known)])  # the newest handlers first: they are the most likely ones
        self.release(handle, is_spare=True)

    def forget(self) -> None:
        """Reset in a forked child: the workers belong to the parent."""
        for handle in self._handles:
            handle.forget()
        self._reset()


def _after_fork() -> None:
    for pool in _POOLS:
        pool.forget()


os.register_at_fork(after_in_child=_after_fork)
