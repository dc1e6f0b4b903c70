"""Runs sync handlers on threads of its own: the thread that was idle last works first.

Knows jobs; does not know tools, calls or who waits for them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import Context
from functools import cache
from typing import Final

MOST_THREADS: Final = 256
_IDLE_S: Final = 10.0


class Job:
    """One function to run on a thread; whoever waits is woken when it has an outcome.

    A job ends once: by its outcome, or by being abandoned. What a thread still does after that is nobody's.
    """

    __slots__ = (
        "_end",
        "context",
        "error",
        "function",
        "is_lent",
        "pool",
        "value",
        "wake",
        "was_dropped",
        "was_lost",
    )

    def __init__(self, function: Callable[[], object], context: Context) -> None:
        self.function = function
        self.context = context
        self.wake: Callable[[], None] = _nobody
        self.value: object = None
        self.error: BaseException | None = None
        self.is_lent = False
        self.was_lost = False
        self.was_dropped = False
        """True once it was abandoned before any thread had taken it: it never ran."""
        self.pool: ThreadPool | None = None
        self._end = threading.Lock()

    def run(self) -> bool:
        """Run the function; False if the job was abandoned meanwhile."""
        if self._end.locked():  # abandoned on its way here
            self.was_dropped = True
            return False
        try:
            self.value = self.context.run(self.function)
        except BaseException as error:  # noqa: BLE001 -- carried to whoever waits, who decides what it means
            self.error = error
        return self._end.acquire(blocking=False)

    def refuse(self, error: BaseException) -> None:
        """End the job without running it."""
        self.error = error
        if self._end.acquire(blocking=False):
            self.wake()

    def abandon(self) -> bool:
        """Give the job up; False if it had ended already. A thread that works on it is counted as stuck."""
        if not self._end.acquire(blocking=False):
            return False
        if self.pool is not None:
            self.pool.lose(self)
        return True


def _nobody() -> None:
    """Wakes nobody."""


_HERE: Final = threading.local()


def worker_pool() -> ThreadPool | None:
    """The pool whose thread this is, None on any other thread."""
    return getattr(_HERE, "pool", None)


_POOLS: Final[weakref.WeakSet[ThreadPool]] = weakref.WeakSet()


def _after_fork() -> None:
    for pool in _POOLS:
        pool.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Worker:
    """One thread and the job that it is handed."""

    __slots__ = ("job", "ready")

    def __init__(self, job: Job) -> None:
        self.job: Job | None = job
        self.ready = threading.Lock()
        self.ready.acquire()


class ThreadPool:
    """At most so many working threads; stuck ones are replaced, up to as many again.

    A thread that waits for a nested call does not count, so that a chain of calls cannot starve itself.
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

    def __init__(self, max_threads: int = MOST_THREADS) -> None:
        self.max_threads = max_threads
        self.forget_threads()
        _POOLS.add(self)

    def forget_threads(self) -> None:
        """Begin anew, as in a forked process, where no thread of the parent's lives on."""
        self.stuck = 0
        self._working = 0  # threads alive, less the stuck and the lent ones
        self._idle: list[_Worker] = []
        self._waiting: deque[Job] = deque()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def threads(self) -> int:
        """Threads alive that are neither stuck nor waiting for a nested call."""
        return self._working

    @property
    def idle(self) -> int:
        """Threads that wait for work."""
        return len(self._idle)

    def submit(self, job: Job) -> None:
        """Start the job on an idle thread or a new one, else as soon as one is free."""
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

    def lose(self, job: Job) -> None:
        """An abandoned job: off the queue, or its thread counted as stuck and replaced."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
                job.was_dropped = True
                return
            self.stuck += 1
            job.was_lost = True
            self._working -= not job.is_lent
            nxt = self._take_waiting()
        if nxt is not None:
            self._start(nxt)

    def lend(self) -> None:
        """The calling thread, one of ours, is about to wait for a nested call."""
        job: Job = _HERE.job
        with self._lock:
            self._working -= not job.was_lost
            job.is_lent = True
            nxt = self._take_waiting()
        if nxt is not None:
            self._start(nxt)

    def take_back(self) -> None:
        """The nested call is over."""
        job: Job = _HERE.job
        with self._lock:
            job.is_lent = False
            self._working += not job.was_lost

    def close(self) -> None:
        """Let idle threads end at once, and working ones once they are done."""
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
        except RuntimeError as error:  # the system has no more threads
            with self._lock:
                self._working -= 1
            job.refuse(error)

    def _work(self, worker: _Worker) -> None:
        _HERE.pool = self
        while True:
            job = worker.job
            if job is None:
                return
            _HERE.job = job
            ended = job.run()
            wake = job.wake
            worker.job = job = _HERE.job = None  # an idle thread keeps nothing alive
            goes_on = self._settle(worker) if ended else self._return_stuck()
            if ended:
                wake()
            del wake
            if not goes_on or not self._rest(worker):
                return

    def _settle(self, worker: _Worker) -> bool:
        """Take the next job or go idle, before whoever waits is woken and may bring the next."""
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

    def _return_stuck(self) -> bool:
        """A stuck thread has come to its end after all; another has taken its place."""
        with self._lock:
            self.stuck -= 1
            nxt = self._take_waiting()
        if nxt is not None:
            self._start(nxt)
        return False

    def _rest(self, worker: _Worker) -> bool:
        if worker.ready.acquire(timeout=_IDLE_S):
            return True
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
                self._working -= 1
                return False
        return worker.ready.acquire()  # a job came at the last moment


@cache
def shared_pool() -> ThreadPool:
    """The pool of all executors that were not given a limit of their own."""
    return ThreadPool()
