"""Runs sync handlers on a pool of threads."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from functools import cache
from typing import Final

MAX_THREADS: Final = 256
_IDLE_S: Final = 10.0

_LOCAL: Final = threading.local()
_POOLS: Final[weakref.WeakSet[ThreadPool]] = weakref.WeakSet()


@dataclass(slots=True, eq=False, repr=False)
class Job:
    """One function to run on a thread; `wake` is called when it has ended.

    A job ends once: with a value or error, or when it is abandoned. What its thread does later is ignored.
    """

    function: Callable[[], object]
    context: Context
    wake: Callable[[], None] = lambda: None
    value: object = None
    error: BaseException | None = None
    is_waiting: bool = False
    """True while its thread waits for a nested call."""
    is_stuck: bool = False
    was_dropped: bool = False
    """True if it was abandoned before a thread took it: it never ran."""
    pool: ThreadPool | None = None
    _end: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(self) -> bool:
        """Run the function; False if the job was abandoned meanwhile."""
        if self._end.locked():  # abandoned before it began
            self.was_dropped = True
            return False
        try:
            self.value = self.context.run(self.function)
        except BaseException as error:  # noqa: BLE001 -- the waiting side handles it
            self.error = error
        return self._end.acquire(blocking=False)

    def refuse(self, error: BaseException) -> None:
        """End the job without running it."""
        self.error = error
        if self._end.acquire(blocking=False):
            self.wake()

    def abandon(self) -> bool:
        """Abandon the job; False if it had ended already. A thread that still runs it counts as stuck."""
        if not self._end.acquire(blocking=False):
            return False
        if self.pool is not None:
            self.pool.remove_abandoned(self)
        return True


def current_thread_pool() -> ThreadPool | None:
    """The pool that the current thread belongs to; None on other threads."""
    return getattr(_LOCAL, "pool", None)


def _after_fork() -> None:
    for pool in _POOLS:
        pool.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Worker:
    """One thread and its next job."""

    __slots__ = ("job", "ready")

    def __init__(self, job: Job) -> None:
        self.job: Job | None = job
        self.ready = threading.Lock()
        self.ready.acquire()


class ThreadPool:
    """A pool of at most `max_threads` working threads; the thread that became idle last is used first.

    Stuck threads are replaced, up to `max_threads` of them. A thread that waits for a nested call does not
    count, so that nested calls cannot block each other.
    """

    __slots__ = (
        "__weakref__",
        "_closed",
        "_idle",
        "_lock",
        "_waiting",
        "_working",
        "max_threads",
        "stuck",
    )

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self.max_threads = max_threads
        self.forget_threads()
        _POOLS.add(self)

    def forget_threads(self) -> None:
        """Reset the pool in a forked process, which has no threads of its parent."""
        self.stuck = 0
        self._working = 0  # living threads, without stuck ones and those in nested calls
        self._idle: list[_Worker] = []
        self._waiting: deque[Job] = deque()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def threads(self) -> int:
        """Living threads that are neither stuck nor waiting for a nested call."""
        return self._working

    @property
    def idle(self) -> int:
        """Threads that wait for work."""
        return len(self._idle)

    def submit(self, job: Job) -> None:
        """Start the job on an idle or new thread, or queue it until a thread is free."""
        job.pool = self
        with self._lock:
            if self._idle:
                worker = self._idle.pop()
                worker.job = job
                worker.ready.release()
                return
            if not self._may_grow():
                self._waiting.append(job)
                return
            self._working += 1
        self._start(job)

    def remove_abandoned(self, job: Job) -> None:
        """Remove an abandoned job from the queue, or replace its thread, which counts as stuck."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
                job.was_dropped = True
                return
            self.stuck += 1
            job.is_stuck = True
            self._working -= not job.is_waiting
            nxt = self._take_waiting()
        if nxt is not None:
            self._start(nxt)

    def begin_nested_wait(self) -> None:
        """Stop counting the current thread, which is about to wait for a nested call."""
        job: Job = _LOCAL.job
        with self._lock:
            self._working -= not job.is_stuck
            job.is_waiting = True
            nxt = self._take_waiting()
        if nxt is not None:
            self._start(nxt)

    def end_nested_wait(self) -> None:
        """Count the current thread again after its nested call."""
        job: Job = _LOCAL.job
        with self._lock:
            job.is_waiting = False
            self._working += not job.is_stuck

    def close(self) -> None:
        """End idle threads now, and working threads after their jobs."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            self._working -= len(idle)
        for worker in idle:
            worker.ready.release()

    def _may_grow(self) -> bool:
        return self._working < self.max_threads and self.stuck < self.max_threads

    def _take_waiting(self) -> Job | None:
        if self._waiting and self._may_grow():
            self._working += 1
            return self._waiting.popleft()
        return None

    def _start(self, job: Job) -> None:
        thread = threading.Thread(
            target=self._work, args=(_Worker(job),), name="toolhaft-handler", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # the system cannot start more threads
            with self._lock:
                self._working -= 1
            job.refuse(error)

    def _work(self, worker: _Worker) -> None:
        _LOCAL.pool = self
        while True:
            job = worker.job
            if job is None:
                return
            _LOCAL.job = job
            ended = job.run()
            wake = job.wake
            worker.job = job = _LOCAL.job = None  # an idle thread must not keep objects alive
            continues = self._next_job(worker) if ended else self._end_stuck()
            if ended:
                wake()
            del wake
            if not continues or not self._wait_for_job(worker):
                return

    def _next_job(self, worker: _Worker) -> bool:
        """Take the next job or become idle, before the waiting side wakes up and may submit another."""
        with self._lock:
            if self._waiting:
                worker.job = self._waiting.popleft()
                worker.ready.release()
                return True
            if self._closed or self._working > self.max_threads:
                self._working -= 1
                return False
            self._idle.append(worker)
            return True

    def _end_stuck(self) -> bool:
        """End a stuck thread that has finished: it was replaced."""
        with self._lock:
            self.stuck -= 1
            nxt = self._take_waiting()
        if nxt is not None:
            self._start(nxt)
        return False

    def _wait_for_job(self, worker: _Worker) -> bool:
        if worker.ready.acquire(timeout=_IDLE_S):
            return True
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
                self._working -= 1
                return False
        return worker.ready.acquire()  # a job arrived at the last moment


@cache
def shared_pool() -> ThreadPool:
    """The pool of all executors without a thread limit."""
    return ThreadPool()
