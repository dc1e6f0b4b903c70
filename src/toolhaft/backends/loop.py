"""Runs async handlers: in the caller's own task, or on one background loop for sync callers.

Knows coroutines; does not know tools or calls.
"""

from __future__ import annotations

import asyncio
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context
from typing import Any, Final

from toolhaft.backends.timers import timers_of

GRACE_S: Final = 0.1
"""How long a cancelled handler may take to clean up before it is given up."""


class TimeIsUpError(Exception):
    """The handler was stopped at its limit; `was_abandoned` if it would not stop."""

    def __init__(self, *, was_abandoned: bool = False) -> None:
        super().__init__("time is up")
        self.was_abandoned = was_abandoned


class _Alarm:
    """Cancels the task at the limit, and again, to give the handler up, when its grace is over."""

    __slots__ = ("before", "calls", "is_over", "rang", "task", "timer", "timers")

    def __init__(self, task: asyncio.Task[Any], timeout_s: float) -> None:
        self.task = task
        self.before = task.cancelling()
        self.rang = False
        self.is_over = False
        self.calls = 0
        self.timers = timers_of(task.get_loop())
        self.timer = self.timers.start(timeout_s, self.ring)

    def ring(self) -> None:
        self.rang = True
        self.cancel()
        self.timer = self.timers.start(GRACE_S, self.give_up)

    def give_up(self) -> None:
        self.is_over = True
        self.cancel()

    def throw_into(self, handler: Coroutine[Any, Any, Any], error: BaseException) -> object:
        """Hand the handler what reached its task; gives back what it waits for next."""
        if self.is_over:
            _close(handler)
            return None
        if not self.rang and self.task.cancelling() > self.before:
            # the caller itself goes away: its handler gets the same grace
            self.timer.stop()
            self.timer = self.timers.start(GRACE_S, self.give_up)
        return handler.throw(error)

    def cancel(self) -> None:
        self.calls += 1
        self.task.cancel()

    def stop(self, error: BaseException | None) -> None:
        """End the alarm; raises what stopped the handler, whatever the handler made of it."""
        self.timer.stop()
        for _ in range(self.calls):
            self.task.uncancel()
        if self.task.cancelling() > self.before:
            raise asyncio.CancelledError
        if self.rang:
            raise TimeIsUpError(was_abandoned=self.is_over) from error


@types.coroutine
def drive(handler: Coroutine[Any, Any, Any], timeout_s: float) -> Generator[Any, Any, Any]:
    """Run a handler in the current task; a timer is armed only if it suspends.

    Raises:
        TimeIsUpError: where it was stopped at its limit.
        asyncio.CancelledError: where the caller was cancelled meanwhile.
    """
    try:
        waits_for = handler.send(None)
    except StopIteration as done:
        return done.value
    return (yield from drive_on(handler, waits_for, timeout_s))


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
    alarm.stop(error)
    if error is not None:
        raise error
    return value


def _close(handler: Coroutine[Any, Any, Any]) -> None:
    """Give a handler up: the last word that Python has for it, which it cannot wait through."""
    with suppress(BaseException):  # it would not listen, and is never resumed
        handler.close()


class LoopJob:
    """An async handler on the background loop; whoever waits is woken when it has an outcome."""

    __slots__ = ("context", "error", "start", "task", "timeout_s", "value", "wake")

    def __init__(
        self, start: Callable[[], Coroutine[Any, Any, Any]], timeout_s: float, context: Context
    ) -> None:
        self.start = start
        self.timeout_s = timeout_s
        self.context = context
        self.value: object = None
        self.error: BaseException | None = None
        self.wake: Callable[[], None] | None = None
        self.task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run the handler and wake whoever waits."""
        try:
            self.value = await drive(self.start(), self.timeout_s)
        except BaseException as error:  # noqa: BLE001 -- carried to whoever waits, who decides what it means
            self.error = error
        if self.wake is not None:
            self.wake()


class BackgroundLoop:
    """One loop on a thread of its own, for the async handlers of sync callers."""

    __slots__ = ("_lock", "_loop")

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def submit(self, job: LoopJob) -> None:
        """Start a job."""
        loop = self._running()
        loop.call_soon_threadsafe(self._start, loop, job)

    def cancel(self, job: LoopJob) -> None:
        """Stop a job that nobody waits for any more."""
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(lambda: job.task is not None and job.task.cancel())

    def renew(self) -> None:
        """Leave a loop that some handler blocks; the next job gets another."""
        with self._lock:
            self._loop = None

    def _start(self, loop: asyncio.AbstractEventLoop, job: LoopJob) -> None:
        job.task = loop.create_task(job.run(), context=job.context)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=_run_loop, args=(self._loop,), name="toolhaft-loop", daemon=True
                ).start()
            return self._loop


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while not loop.is_closed():  # a handler may stop the loop that it runs on
        loop.run_forever()


_BACKGROUND: Final = BackgroundLoop()


def background() -> BackgroundLoop:
    """The loop of this process."""
    return _BACKGROUND
