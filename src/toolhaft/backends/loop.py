"""Runs async handlers: in the caller's own task, or on one background loop for sync callers.

Knows coroutines; does not know tools or calls.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, Final

from toolhaft.backends.timers import Timer

GRACE_S: Final = 0.1
"""How long a cancelled handler may take to clean up before it is given up."""


class TimeIsUpError(Exception):
    """The handler was stopped at its limit; `was_abandoned` if it would not stop."""

    def __init__(self, *, was_abandoned: bool = False) -> None:
        super().__init__("time is up")
        self.was_abandoned = was_abandoned


class GivenUpError(asyncio.CancelledError):
    """The caller was cancelled, and its handler would not stop."""


class _Alarm(Timer):
    """Cancels the task at the limit, and gives the handler up when the grace after a cancellation is over."""

    # on the class: few alarms ever change them
    rang = False
    is_leaving = False
    is_over = False
    calls = 0

    def __init__(self, task: asyncio.Task[Any], timeout_s: float) -> None:
        self.task = task
        self.before = task.cancelling()
        self.begin(task.get_loop(), timeout_s)
        self.limit_at = self.ends_at

    def ring(self) -> None:
        """At the limit, or at the end of a grace."""
        if self.is_leaving and not self.rang and not self.is_cancelled():
            self._wait_on()  # the handler had cancelled itself, as `asyncio.timeout` does, and gone on
            return
        if self.rang or self.is_leaving:
            self.is_over = True
        else:
            self.rang = True
            self.begin(self.task.get_loop(), GRACE_S)
        self.calls += 1
        self.task.cancel()

    def _wait_on(self) -> None:
        self.is_leaving = False
        loop = self.task.get_loop()
        self.begin(loop, max(0.0, self.limit_at - loop.time()))

    def is_cancelled(self) -> bool:
        """True while a cancellation that is not ours stands."""
        return self.task.cancelling() - self.calls > self.before

    def throw_into(self, handler: Coroutine[Any, Any, Any], error: BaseException) -> object:
        """Hand the handler what reached its task; gives back what it waits for next."""
        if self.is_over:
            _close(handler)
            return None
        if not self.rang and not self.is_leaving and self.is_cancelled():
            # by the caller, or by the handler itself; a grace tells them apart
            self.stop()
            self.is_leaving = True
            self.begin(self.task.get_loop(), GRACE_S)
        return handler.throw(error)

    def settle(self, error: BaseException | None) -> None:
        """End the alarm; raises what stopped the handler, whatever the handler made of it."""
        self.stop()
        if self.calls:
            for _ in range(self.calls):
                self.task.uncancel()
        if self.task.cancelling() > self.before:
            raise GivenUpError if self.is_over else asyncio.CancelledError
        if self.rang:
            raise TimeIsUpError(was_abandoned=self.is_over) from error


async def drive(handler: Coroutine[Any, Any, Any], timeout_s: float) -> object:
    """Run a handler in the current task; a timer is armed only if it suspends.

    Raises:
        TimeIsUpError: where it was stopped at its limit.
        asyncio.CancelledError: where the caller was cancelled meanwhile.
    """
    try:
        waits_for = handler.send(None)
    except StopIteration as done:
        return done.value
    return await drive_on(handler, waits_for, timeout_s)


@types.coroutine
def drive_on(
    handler: Coroutine[Any, Any, Any], waits_for: object, timeout_s: float
) -> Generator[Any, Any, Any]:
    """The same for a handler that was begun and waits for something."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("an async handler that waits needs a running task")
    alarm = _Alarm(task, timeout_s)
    value: object = None
    error: BaseException | None = None
    try:
        while not alarm.is_over:
            try:
                sent = yield waits_for
            except BaseException as thrown:  # noqa: BLE001 -- handed to the handler, as `await` would
                waits_for = alarm.throw_into(handler, thrown)
            else:
                waits_for = handler.send(sent)
    except StopIteration as done:
        value = done.value
    except BaseException as raised:  # noqa: BLE001 -- weighed against what stopped the handler
        error = raised
    alarm.settle(error)
    if error is not None:
        raise error
    return value


def _close(handler: Coroutine[Any, Any, Any]) -> None:
    """Give a handler up: the last word that Python has for it, which it cannot wait through."""
    try:
        handler.close()
    except BaseException:  # noqa: BLE001 -- it would not listen, and is never resumed
        # nor ever finalised: it would go on by itself, on no loop, when the collector comes
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))


class LoopJob:
    """An async handler on the background loop; whoever waits is woken when it has an outcome."""

    __slots__ = ("_unbegun", "context", "error", "loop", "start", "task", "timeout_s", "value", "wake")

    def __init__(
        self, start: Callable[[], Coroutine[Any, Any, Any]], timeout_s: float, context: Context
    ) -> None:
        self.start = start
        self.timeout_s = timeout_s
        self.context = context
        self.value: object = None
        self.error: BaseException | None = None
        self.wake: Callable[[], None] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.task: asyncio.Task[None] | None = None
        self._unbegun = [True]

    def begin(self) -> bool:
        """True for the first loop that asks: a job that waited on a blocked loop was given to another too."""
        try:
            return self._unbegun.pop()
        except IndexError:
            return False

    async def run(self) -> None:
        """Run the handler and wake whoever waits."""
        try:
            self.value = await drive(self.start(), self.timeout_s)
        except BaseException as error:  # noqa: BLE001 -- carried to whoever waits, who decides what it means
            self.error = error
        if self.wake is not None:
            self.wake()


class BackgroundLoop:
    """Loops on threads of their own, for the async handlers of sync callers.

    One is enough, unless a handler on it blocks it: by a nested sync call, or for good.
    """

    __slots__ = ("_blocked", "_jobs", "_lock", "_loops")

    def __init__(self) -> None:
        self.forget_threads()

    def forget_threads(self) -> None:
        """Begin anew, as in a forked process, where no thread of the parent's lives on."""
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
        """Stop a job that nobody waits for any more."""
        if job.loop is not None:
            job.loop.call_soon_threadsafe(lambda: job.task is not None and job.task.cancel())

    def leave(self, job: LoopJob) -> None:
        """Give up the loop of a job that does not answer: some handler blocks it; it ends once it can."""
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
        """The calling thread is about to block: if one of our loops runs here, it takes no jobs meanwhile."""
        loop: asyncio.AbstractEventLoop | None = getattr(_HERE, "loop", None)
        if loop is not None:
            with self._lock:
                self._blocked.append(loop)
        return loop

    def unblock(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """The thread goes on."""
        if loop is not None:
            with self._lock:
                self._blocked.remove(loop)

    def _start(self, loop: asyncio.AbstractEventLoop, job: LoopJob) -> None:
        job.task = loop.create_task(self._run(job), context=job.context)

    async def _run(self, job: LoopJob) -> None:
        if job.begin():  # only now: a loop may be blocked between the making of a task and its first step
            self._jobs.discard(job)
            await job.run()

    def _free(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            for loop in self._loops:
                if loop not in self._blocked:
                    return loop
            # in a context of its own: the loop keeps that for as long as it lives
            loop = Context().run(asyncio.new_event_loop)
            self._loops.append(loop)
        threading.Thread(target=_run_loop, args=(loop,), name="toolhaft-loop", daemon=True).start()
        return loop


_HERE: Final = threading.local()


def _end(loop: asyncio.AbstractEventLoop) -> None:
    _HERE.loop = None
    loop.stop()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    _HERE.loop = loop
    asyncio.set_event_loop(loop)
    while getattr(_HERE, "loop", None) is not None:  # a handler may stop the loop that it runs on
        loop.run_forever()
    jobs = [task for task in asyncio.all_tasks(loop) if _is_job(task)]
    if jobs:  # they had nothing to do with what blocked the loop; each has a limit of its own
        loop.run_until_complete(asyncio.wait(jobs))
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=GRACE_S))
    loop.close()


def _is_job(task: asyncio.Task[Any]) -> bool:
    return getattr(task.get_coro(), "cr_code", None) is _JOB_CODE


_JOB_CODE: Final = BackgroundLoop._run.__code__  # noqa: SLF001 -- its own file # pyright: ignore[reportPrivateUsage] -- the same
_BACKGROUND: Final = BackgroundLoop()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BACKGROUND.forget_threads)


def background() -> BackgroundLoop:
    """The loops of this process."""
    return _BACKGROUND
