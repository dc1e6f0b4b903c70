"""How steps wait: on the event loop of an async caller, or by blocking the thread of a sync caller.

A step awaits `active.waiter.wait(...)` in both cases, so that one code path serves both kinds of caller.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextvars import Context, copy_context
from heapq import heappop, heappush
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast
from weakref import ref

from toolhaft.backends.loop import GRACE_S, LoopJob, TimeIsUpError, background, drive
from toolhaft.backends.threads import current_thread_pool
from toolhaft.backends.timers import PerLoop, Timer

Start = Callable[[Callable[[], None]], object]
"""Starts an operation; its argument is the function to call, from any thread, when the operation is done."""
T = TypeVar("T")
_SLICE_S: Final = 0.5
_BLOCKED_LOOP_S: Final = 1.0
"""Added to a job's limit and the grace period: if it still runs then, its background loop is blocked."""


class Waiter(Protocol):
    """The only way in which steps wait; there is one waiter for sync and one for async callers."""

    is_loop: bool

    async def wait(self, start: Start, timeout_s: float | None) -> bool:
        """Start an operation and wait for it; False if the time ran out first."""
        ...


class _WakeUps:
    """The futures of one loop that other threads have completed; one wake-up of the loop delivers many."""

    __slots__ = ("done", "is_scheduled", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = ref(loop)  # weak: this object is the value in a mapping whose key is the loop
        self.done: deque[asyncio.Future[bool]] = deque()
        self.is_scheduled = False

    def add(self, future: asyncio.Future[bool]) -> None:
        self.done.append(future)
        if not self.is_scheduled:
            self.is_scheduled = True
            loop = self.loop()
            try:
                if loop is not None:
                    loop.call_soon_threadsafe(self.deliver, context=Context())
            except RuntimeError:  # the loop was closed: nothing waits on it any more
                self.is_scheduled = False

    def deliver(self) -> None:
        self.is_scheduled = False  # before the queue is emptied, so that a later `add` schedules again
        while self.done:
            _complete(self.done.popleft(), value=True)


class _Timeout(Timer):
    """Completes a future with False at the end of its time."""

    __slots__ = ("future",)

    def __init__(
        self, loop: asyncio.AbstractEventLoop, timeout_s: float, future: asyncio.Future[bool]
    ) -> None:
        self.future = future
        self.begin(loop, timeout_s)

    def ring(self) -> None:
        _complete(self.future, value=False)


def _complete(future: asyncio.Future[bool], *, value: bool) -> None:
    if not future.done():
        future.set_result(value)


class LoopWaiter:
    """For async callers: the caller's task waits, and its loop goes on."""

    is_loop = True

    def __init__(self) -> None:
        self._wake_ups = PerLoop(_WakeUps)

    async def wait(self, start: Start, timeout_s: float | None) -> bool:
        """Start an operation and wait for it; False if the time ran out first."""
        loop = asyncio.get_running_loop()
        wake_ups = self._wake_ups.of(loop)
        future: asyncio.Future[bool] = loop.create_future()
        start(lambda: wake_ups.add(future))
        if timeout_s is None:
            return await future
        timer = _Timeout(loop, timeout_s, future)
        try:
            return await future
        finally:
            timer.stop()


class _Wait(NamedTuple):
    start: Start
    timeout_s: float | None


class BlockingWaiter:
    """For sync callers: yields what a step waits for to `run_all` or `run_one`, which block the thread."""

    is_loop = False

    @types.coroutine
    def wait(self, start: Start, timeout_s: float | None) -> Generator[_Wait, bool, bool]:
        """Start an operation and wait for it; False if the time ran out first."""
        return (yield _Wait(start, timeout_s))


class _WakeUp:
    """The wake-up of an operation that is waited for several times; it is called once."""

    __slots__ = ("_wake", "is_done")

    def __init__(self) -> None:
        self.is_done = False
        self._wake: Callable[[], None] | None = None

    def __call__(self) -> None:
        self.is_done = True  # before the wake-up is read: `wait` sets that first and reads this afterwards
        if self._wake is not None:
            self._wake()

    def wait(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        if self.is_done:
            wake()


LeftSeconds = Callable[[], float]
"""Returns how many seconds are left until a limit that may move."""


async def wait_up_to(
    waiter: Waiter, start: Start, limit_s: float, left_s: LeftSeconds | None, *, extra_s: float = 0.0
) -> bool:
    """Start an operation and wait for it; False if its time ran out first.

    Its time is `limit_s`, or what `left_s` returns, which may grow meanwhile; and `extra_s` in both cases.
    """
    if left_s is None:
        return await waiter.wait(start, limit_s + extra_s)
    wake_up = _WakeUp()

    def begin(wake: Callable[[], None]) -> None:
        wake_up.wait(wake)
        start(wake_up)

    wait = begin
    while (left := left_s() + extra_s) > 0:
        if await waiter.wait(wait, None if left == inf else left):
            return True
        wait = wake_up.wait
    return wake_up.is_done


LOOP_WAITER = LoopWaiter()
BLOCKING_WAITER = cast("Waiter", BlockingWaiter())


def run_all(
    coroutines: Sequence[Coroutine[Any, Any, T]],
) -> tuple[list[T | BaseException], BaseException | None]:
    """Run the coroutines of one sync caller concurrently to their ends; returns their values or exceptions.

    Also returns an interrupt of the caller while it blocked, which all coroutines that still ran received.
    """
    return _BlockedCaller(coroutines).run()


def run_one(awaitable: Awaitable[T]) -> T:
    """Run the coroutine of a sync caller to its end.

    Raises:
        BaseException: what it raised, or an interrupt of the caller while it blocked.
    """
    coroutine = cast("Coroutine[Any, Any, T]", awaitable)
    try:
        wait = coroutine.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    caller = _BlockedCaller([coroutine])
    caller.rounds[0] = 1
    caller.run_from(lambda: caller.start(0, cast("_Wait", wait)))
    outcome = caller.outcomes[0]
    if isinstance(outcome, BaseException):
        raise outcome
    return cast("T", outcome)


class _BlockedCaller:
    """Runs the coroutines of one sync caller: what each waits for, and until when.

    `rounds` counts how often each coroutine was resumed: a wake-up or timer of an earlier round is ignored.
    """

    __slots__ = ("contexts", "coroutines", "left", "outcomes", "rounds", "timers", "woken")

    def __init__(self, coroutines: Sequence[Coroutine[Any, Any, Any]]) -> None:
        self.coroutines = coroutines
        self.contexts: list[Context] | None = None
        self.outcomes: list[Any] = [None] * len(coroutines)
        self.left = len(coroutines)
        self.rounds = [0] * len(coroutines)
        self.timers: list[tuple[float, int, int]] = []
        self.woken: SimpleQueue[tuple[int, int]] = SimpleQueue()

    def run(self) -> tuple[list[Any], BaseException | None]:
        """Start all, and continue until all have ended, or the caller is interrupted."""
        # each in a copy of the context, like a task: a variable that one sets is not visible to the others
        self.contexts = [copy_context() for _ in self.coroutines]
        try:
            self.run_from(self._start_all)
        except BaseException as error:  # noqa: BLE001 -- raised by the caller of this function
            return self.outcomes, error
        return self.outcomes, None

    def _start_all(self) -> None:
        for number in range(len(self.coroutines)):
            self._send(number, value=None)

    def run_from(self, begin: Callable[[], None]) -> None:
        """Call `begin`, then wait and resume until all coroutines have ended."""
        # before anything starts: a job must not be given to the thread that is about to block
        pool = current_thread_pool()
        if pool is not None:
            pool.begin_nested_wait()
        loop = background().block()
        try:
            begin()
            while self.left:
                self._step()
        except BaseException as error:
            self._interrupt(error)
            raise
        finally:
            background().unblock(loop)
            if pool is not None:
                pool.end_nested_wait()

    def _step(self) -> None:
        """Wait for the next wake-up or the next timer."""
        # in slices: some Python versions do not react to an interrupt during this wait
        pause = _SLICE_S if not self.timers else min(_SLICE_S, self.timers[0][0] - monotonic())
        try:
            if pause <= 0:
                number, round_ = self.woken.get_nowait()
            else:
                number, round_ = self.woken.get(timeout=pause)
        except Empty:
            if not self.timers or self.timers[0][0] > monotonic():
                return
            _, number, round_ = heappop(self.timers)
            value = False
        else:
            value = True
        if round_ == self.rounds[number]:  # else its timer or wake-up came first
            self._send(number, value=value)

    def _send(self, number: int, *, value: bool | None) -> None:
        self.rounds[number] += 1
        try:
            wait = self._in_context(number, self.coroutines[number].send, value)
        except StopIteration as done:
            self._end(number, done.value)
        except BaseException as error:  # noqa: BLE001 -- it must not end the other coroutines
            self._end(number, error)
        else:
            self.start(number, cast("_Wait", wait))

    def _in_context(self, number: int, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401 -- what a coroutine yields
        return function(*args) if self.contexts is None else self.contexts[number].run(function, *args)

    def start(self, number: int, wait: _Wait) -> None:
        """Start the operation that a coroutine waits for, and its timer."""
        round_ = self.rounds[number]
        if wait.timeout_s is not None:
            heappush(self.timers, (monotonic() + wait.timeout_s, number, round_))
        wait.start(lambda: self.woken.put((number, round_)))

    def _end(self, number: int, outcome: object) -> None:
        self.outcomes[number] = outcome
        self.rounds[number] = -1
        self.left -= 1

    def _interrupt(self, error: BaseException) -> None:
        """Raise the caller's interrupt in every coroutine that still runs, so that it can roll back."""
        for number, round_ in enumerate(self.rounds):
            if round_ >= 0:
                self._end(number, error)
                try:
                    self._in_context(number, self.coroutines[number].throw, error)
                    self._in_context(number, self.coroutines[number].close)
                except StopIteration as done:  # it was at its end
                    self.outcomes[number] = done.value
                except BaseException:  # noqa: BLE001, S110 -- the caller gets the interrupt itself
                    pass


async def run_coroutine(
    waiter: Waiter,
    start: Callable[[], Coroutine[Any, Any, Any]],
    limit_s: float,
    on_end: Callable[[], None] | None = None,
    left_s: LeftSeconds | None = None,
) -> object:
    """Run a coroutine on the caller's loop, or for a sync caller on the background loop; returns its value.

    `on_end` is called on the background loop, as soon as the coroutine has ended there. `left_s` replaces the
    limit by one that may grow meanwhile.

    Raises:
        TimeIsUpError: if it was stopped at its limit.
    """
    if waiter.is_loop:
        return await drive(start(), limit_s, left_s)
    job = LoopJob(start, limit_s, copy_context(), left_s=left_s)
    loop = background()

    def submit(wake: Callable[[], None]) -> None:
        def end() -> None:
            if on_end is not None:
                on_end()
            wake()

        job.wake = end
        loop.submit(job)

    try:
        woken = await wait_up_to(waiter, submit, limit_s, left_s, extra_s=GRACE_S + _BLOCKED_LOOP_S)
    except BaseException:
        loop.cancel(job)
        raise
    if not woken:
        loop.abandon_loop(job)
        raise TimeIsUpError(was_abandoned=True)
    if job.error is not None:
        raise job.error
    return job.value
