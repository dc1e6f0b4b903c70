"""Runs async handlers: in the task of the caller, or on a background loop for sync callers."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Final

from toolhaft.backends.timers import Timer

GRACE_S: Final = 0.1
"""How long a cancelled handler may clean up before it is abandoned."""
_LONGEST_TIMER_S: Final = 3600.0

_KEEPS_CANCELS: Final = sys.version_info < (3, 13)
"""True if a TaskGroup that waits for its tasks cancels its parent and does not take that back."""

_LOCAL: Final = threading.local()


class TimeIsUpError(Exception):
    """The handler was cancelled at its time limit; `was_abandoned` is true if it did not stop."""

    def __init__(self, *, was_abandoned: bool = False) -> None:
        super().__init__("time is up")
        self.was_abandoned = was_abandoned


class HandlerAbandonedError(asyncio.CancelledError):
    """The caller was cancelled, and its handler did not stop."""


class _Alarm(Timer):
    """Cancels the task of a handler at its time limit, and abandons the handler if it ignores that."""

    # class attributes: most alarms never change them
    has_timed_out = False
    is_in_grace = False
    is_abandoned = False
    own_cancels = 0
    groups: tuple[asyncio.TaskGroup, ...] = ()
    """Those whose cancellation was taken back."""

    def __init__(self, task: asyncio.Task[Any], timeout_s: float) -> None:
        self.task = task
        self.cancels_before = task.cancelling()
        self.begin(task.get_loop(), timeout_s)
        self.limit_at = self.ends_at

    def ring(self) -> None:
        """Called at the time limit, and at the end of a grace period."""
        if self.is_in_grace and not self.has_timed_out and not self.is_cancelled():
            self._resume_limit()  # the handler cancelled itself, as `asyncio.timeout` does, and continued
            return
        if self.has_timed_out or self.is_in_grace:
            self.is_abandoned = True
        else:
            self.has_timed_out = True
            self.begin(self.task.get_loop(), GRACE_S)
        self.own_cancels += 1
        self.task.cancel()

    def _resume_limit(self) -> None:
        self.is_in_grace = False
        loop = self.task.get_loop()
        self.begin(loop, max(0.0, self.limit_at - loop.time()))

    def is_cancelled(self) -> bool:
        """True while the task has a cancellation request that did not come from this alarm."""
        return self.task.cancelling() - self.own_cancels > self.cancels_before

    def throw_into(self, handler: Coroutine[Any, Any, Any], error: BaseException) -> object:
        """Throw into the handler what reached its task; returns what the handler waits for next."""
        if self.is_abandoned:
            _close(handler)
            return None
        if _KEEPS_CANCELS and self.is_cancelled():
            self._uncancel_group(handler)
        if not self.has_timed_out and not self.is_in_grace and self.is_cancelled():
            # by the caller or by the handler itself; the grace period shows which
            self.stop()
            self.is_in_grace = True
            self.begin(self.task.get_loop(), GRACE_S)
        return handler.throw(error)

    def _uncancel_group(self, handler: Coroutine[Any, Any, Any]) -> None:
        """Take back the cancellation by a TaskGroup of the handler, one of whose tasks has failed.

        Else the handler would seem to be cancelled by its caller, and the error of the group would be lost.
        """
        inner: Any = handler
        while inner is not None:
            if getattr(inner, "cr_code", None) is asyncio.TaskGroup.__aexit__.__code__:
                names = inner.cr_frame.f_locals
                group = names["self"]
                # if its body has raised, the group has taken back its cancellation itself
                has_cancelled = names["et"] is None and group._parent_cancel_requested  # noqa: SLF001 -- there is no public attribute
                if has_cancelled and group not in self.groups:
                    self.groups += (group,)
                    self.task.uncancel()
            inner = getattr(inner, "cr_await", None)

    def finish(self, error: BaseException | None) -> None:
        """Stop the alarm; raises the reason why the handler was stopped, whatever the handler raised."""
        self.stop()
        for _ in range(self.own_cancels):
            self.task.uncancel()
        if self.task.cancelling() > self.cancels_before:
            raise HandlerAbandonedError if self.is_abandoned else asyncio.CancelledError
        if self.has_timed_out:
            raise TimeIsUpError(was_abandoned=self.is_abandoned) from error


class _MovingAlarm(_Alarm):
    """An alarm whose time limit moves: `left_s` returns how far away it is."""

    def __init__(self, task: asyncio.Task[Any], left_s: Callable[[], float]) -> None:
        self.left_s = left_s
        super().__init__(task, _timer_s(left_s))

    def ring(self) -> None:
        """Called when the limit may have been reached, and at the end of a grace period."""
        loop = self.task.get_loop()
        self.limit_at = loop.time() + self.left_s()
        if self.has_timed_out or self.is_in_grace or self.limit_at <= loop.time():
            super().ring()
        else:
            self.begin(loop, _timer_s(self.left_s))


def _timer_s(left_s: Callable[[], float]) -> float:
    """The length of a timer that checks the time limit: a loop cannot wait forever."""
    return max(0.0, min(left_s(), _LONGEST_TIMER_S))


async def drive(
    handler: Coroutine[Any, Any, Any], timeout_s: float, left_s: Callable[[], float] | None = None
) -> object:
    """Run a handler in the current task; starts a timer only if it suspends.

    `left_s` replaces the time limit by one that may move meanwhile.

    Raises:
        TimeIsUpError: if it was stopped at its time limit.
        asyncio.CancelledError: if the caller was cancelled meanwhile.
    """
    try:
        waits_for = handler.send(None)
    except StopIteration as done:
        return done.value
    return await drive_on(handler, waits_for, timeout_s, left_s)


@types.coroutine
def drive_on(
    handler: Coroutine[Any, Any, Any],
    waits_for: object,
    timeout_s: float,
    left_s: Callable[[], float] | None = None,
) -> Generator[Any, Any, Any]:
    """Continue a handler that has begun and waits for something."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("an async handler that waits needs a running task")
    alarm = _Alarm(task, timeout_s) if left_s is None else _MovingAlarm(task, left_s)
    value: object = None
    error: BaseException | None = None
    try:
        while not alarm.is_abandoned:
            try:
                sent = yield waits_for
            except BaseException as thrown:  # noqa: BLE001 -- thrown into the handler, as `await` would
                waits_for = alarm.throw_into(handler, thrown)
            else:
                waits_for = handler.send(sent)
    except StopIteration as done:
        value = done.value
    except BaseException as raised:  # noqa: BLE001 -- `finish` decides what to raise
        error = raised
    alarm.finish(error)
    if error is not None:
        raise error
    return value


def _close(handler: Coroutine[Any, Any, Any]) -> None:
    """Close an abandoned handler."""
    try:
        handler.close()
    except BaseException:  # noqa: BLE001 -- it refused to stop, and is never resumed
        # never finalise it: the garbage collector would run the rest of it without a loop
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))


@dataclass(slots=True, eq=False, repr=False)
class LoopJob:
    """An async handler on the background loop; `wake` is called when it has ended."""

    start: Callable[[], Coroutine[Any, Any, Any]]
    timeout_s: float
    context: Context
    value: object = None
    error: BaseException | None = None
    wake: Callable[[], None] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    task: asyncio.Task[None] | None = None
    left_s: Callable[[], float] | None = None
    _unbegun: list[bool] = field(default_factory=lambda: [True], init=False)

    def begin(self) -> bool:
        """True for the first caller: a job on a blocked loop is submitted to another loop too."""
        try:
            return self._unbegun.pop()
        except IndexError:
            return False

    async def run(self) -> None:
        """Run the handler, then call `wake`."""
        try:
            self.value = await drive(self.start(), self.timeout_s, self.left_s)
        except BaseException as error:  # noqa: BLE001 -- the waiting side handles it
            self.error = error
        if self.wake is not None:
            self.wake()


class BackgroundLoop:
    """Event loops on background threads, for the async handlers of sync callers.

    One loop is enough, unless a handler blocks it, with a nested sync call or forever.
    """

    __slots__ = ("_blocked", "_jobs", "_lock", "_loops")

    def __init__(self) -> None:
        self.forget_threads()

    def forget_threads(self) -> None:
        """Reset in a forked process, which has no threads of its parent."""
        self._loops: list[asyncio.AbstractEventLoop] = []
        self._blocked: list[asyncio.AbstractEventLoop] = []
        self._jobs: set[LoopJob] = set()
        self._lock = threading.Lock()

    def submit(self, job: LoopJob) -> None:
        """Start a job."""
        job.loop = loop = self._free()
        self._jobs.add(job)
        loop.call_soon_threadsafe(self._start, loop, job)

    def cancel(self, job: LoopJob) -> None:
        """Cancel a job."""
        if job.loop is not None:
            job.loop.call_soon_threadsafe(lambda: job.task is not None and job.task.cancel())

    def abandon_loop(self, job: LoopJob) -> None:
        """Stop using the loop of a job that does not respond: a handler blocks it. Other jobs are moved."""
        loop = job.loop
        with self._lock:
            if loop is None or loop not in self._loops:
                return
            self._loops.remove(loop)
        loop.call_soon_threadsafe(_end, loop)
        for other in self._jobs.copy():
            if other.loop is loop and other is not job:
                self.submit(other)

    def block(self) -> asyncio.AbstractEventLoop | None:
        """Mark the loop of the current thread, if there is one, as blocked: it gets no jobs."""
        loop: asyncio.AbstractEventLoop | None = getattr(_LOCAL, "loop", None)
        if loop is not None:
            with self._lock:
                self._blocked.append(loop)
        return loop

    def unblock(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Undo `block`."""
        if loop is not None:
            with self._lock:
                self._blocked.remove(loop)

    def _start(self, loop: asyncio.AbstractEventLoop, job: LoopJob) -> None:
        job.task = loop.create_task(self._run(job), context=job.context)

    async def _run(self, job: LoopJob) -> None:
        if job.begin():  # not earlier: the loop may be blocked before the first step of the task
            self._jobs.discard(job)
            await job.run()

    def _free(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            for loop in self._loops:
                if loop not in self._blocked:
                    return loop
            # in an empty context: the loop keeps its context alive
            loop = Context().run(asyncio.new_event_loop)
            self._loops.append(loop)
        threading.Thread(target=_run_loop, args=(loop,), name="toolhaft-loop", daemon=True).start()
        return loop


def _end(loop: asyncio.AbstractEventLoop) -> None:
    _LOCAL.loop = None
    loop.stop()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    _LOCAL.loop = loop
    asyncio.set_event_loop(loop)
    while getattr(_LOCAL, "loop", None) is not None:  # a handler may stop its loop
        with suppress(
            KeyboardInterrupt, SystemExit
        ):  # of a task that a handler started, and which has it too
            loop.run_forever()
    jobs = [task for task in asyncio.all_tasks(loop) if _is_job(task)]
    if jobs:  # they did not block the loop; each has a time limit
        loop.run_until_complete(asyncio.wait(jobs))
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=GRACE_S))
    loop.close()


def _is_job(task: asyncio.Task[Any]) -> bool:
    return getattr(task.get_coro(), "cr_code", None) is _JOB_CODE


_JOB_CODE: Final = BackgroundLoop._run.__code__  # noqa: SLF001 -- the same file # pyright: ignore[reportPrivateUsage] -- the same
_BACKGROUND: Final = BackgroundLoop()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BACKGROUND.forget_threads)


def background() -> BackgroundLoop:
    """The background loops of this process."""
    return _BACKGROUND
