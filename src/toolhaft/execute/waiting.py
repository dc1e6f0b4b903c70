"""The one way in which the road waits: on an event loop for async callers, by blocking for sync ones.

Knows coroutines and wake-ups; does not know calls or tools.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final, Protocol, TypeVar, cast
from weakref import ref

from toolhaft.backends.loop import background
from toolhaft.backends.per_loop import PerLoop
from toolhaft.backends.threads import worker_pool
from toolhaft.backends.timers import Timer

Arm = Callable[[Callable[[], None]], object]
"""Begins something, and is handed the function to call, from any thread, once it has happened."""
T = TypeVar("T")
_SLICE_S: Final = 0.5


class Port(Protocol):
    """Where steps wait; nothing else on the road suspends, but for async handlers on their own loop."""

    is_loop: bool

    async def wait(self, arm: Arm, timeout_s: float | None) -> bool:
        """Begin something and wait for it; False if the time ran out first."""
        ...


class _Mailbox:
    """Wake-ups from other threads, handed to a loop in one go."""

    __slots__ = ("box", "is_told", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = ref(loop)  # kept by the loop's own key: it must not keep the loop
        self.box: deque[asyncio.Future[bool]] = deque()
        self.is_told = False

    def put(self, future: asyncio.Future[bool]) -> None:
        self.box.append(future)
        if not self.is_told:
            self.is_told = True
            loop = self.loop()
            try:
                if loop is not None:
                    loop.call_soon_threadsafe(self.open, context=Context())
            except RuntimeError:  # the loop was closed: whoever waited on it is gone
                self.is_told = False

    def open(self) -> None:
        self.is_told = False  # before the box is emptied: a late letter rings again
        while self.box:
            settle(self.box.popleft(), value=True)


class _Limit(Timer):
    """Answers a future at the end of its time."""

    __slots__ = ("future",)

    def __init__(
        self, loop: asyncio.AbstractEventLoop, timeout_s: float, future: asyncio.Future[bool]
    ) -> None:
        self.future = future
        self.begin(loop, timeout_s)

    def ring(self) -> None:
        settle(self.future, value=False)


def settle(future: asyncio.Future[bool], *, value: bool) -> None:
    """Answer a future that is still waiting."""
    if not future.done():
        future.set_result(value)


class LoopPort:
    """For async callers: the caller's task waits, its loop goes on."""

    is_loop = True

    def __init__(self) -> None:
        self._boxes = PerLoop(_Mailbox)

    async def wait(self, arm: Arm, timeout_s: float | None) -> bool:
        """Begin something and wait for it; False if the time ran out first."""
        loop = asyncio.get_running_loop()
        box = self._boxes.of(loop)
        future: asyncio.Future[bool] = loop.create_future()
        arm(lambda: box.put(future))
        if timeout_s is None:
            return await future
        timer = _Limit(loop, timeout_s, future)
        try:
            return await future
        finally:
            timer.stop()


class _Wait:
    __slots__ = ("arm", "timeout_s")

    def __init__(self, arm: Arm, timeout_s: float | None) -> None:
        self.arm = arm
        self.timeout_s = timeout_s


class BlockingPort:
    """For sync callers: hands what a step waits for to `finish`, which blocks the caller's thread."""

    is_loop = False

    @types.coroutine
    def wait(self, arm: Arm, timeout_s: float | None) -> Generator[_Wait, bool, bool]:
        """Begin something and wait for it; False if the time ran out first."""
        return (yield _Wait(arm, timeout_s))


LOOP = LoopPort()
BLOCKING = cast("Port", BlockingPort())


def finish(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T | BaseException]:
    """Run the coroutines of one sync caller side by side to their ends; what one raises stands in its place.

    Raises:
        BaseException: what reached the caller itself while it blocked, after all coroutines were told.
    """
    return _Turn(coroutines).run()


def finish_one(answer: Awaitable[T]) -> T:
    """Run the one coroutine of a sync caller to its end.

    Raises:
        BaseException: what it raised, or what reached the caller while it blocked.
    """
    coroutine = cast("Coroutine[Any, Any, T]", answer)
    try:
        wait = coroutine.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    turn = _Turn([coroutine])
    turn.turns[0] = 1
    turn.go_on(lambda: turn.arm(0, cast("_Wait", wait)))
    outcome = turn.answers[0]
    if isinstance(outcome, BaseException):
        raise outcome
    return cast("T", outcome)


class _Turn:
    """The coroutines of one sync caller: who waits for what, and until when."""

    __slots__ = ("answers", "contexts", "coroutines", "left", "timers", "turns", "woken")

    def __init__(self, coroutines: Sequence[Coroutine[Any, Any, Any]]) -> None:
        self.coroutines = coroutines
        self.contexts: list[Context] | None = None
        self.answers: list[Any] = [None] * len(coroutines)
        self.left = len(coroutines)
        self.turns = [0] * len(coroutines)
        self.timers: list[tuple[float, int, int]] = []
        self.woken: SimpleQueue[tuple[int, int]] = SimpleQueue()

    def run(self) -> list[Any]:
        """Begin all, and go on until all have ended."""
        # each in a context of its own, as tasks have them: what one sets there is not its sibling's
        self.contexts = [copy_context() for _ in self.coroutines]
        self.go_on(self._begin)
        return self.answers

    def _begin(self) -> None:
        for number in range(len(self.coroutines)):
            self._send(number, value=None)

    def go_on(self, begin: Callable[[], None]) -> None:
        """Begin, then wait and send until all have ended."""
        # before anything is begun: it must not land on the very thread that is about to block
        pool = worker_pool()
        if pool is not None:
            pool.lend()
        loop = background().block()
        try:
            begin()
            while self.left:
                self._step()
        except BaseException as error:
            self._tell(error)
            raise
        finally:
            background().unblock(loop)
            if pool is not None:
                pool.take_back()

    def _step(self) -> None:
        """Wait for the next wake-up or the next timer, whichever comes first."""
        # in slices: some Pythons do not hear an interruption while they wait here
        pause = _SLICE_S if not self.timers else min(_SLICE_S, self.timers[0][0] - monotonic())
        try:
            if pause <= 0:
                number, turn = self.woken.get_nowait()
            else:
                number, turn = self.woken.get(timeout=pause)
        except Empty:
            if not self.timers or self.timers[0][0] > monotonic():
                return
            _, number, turn = heappop(self.timers)
            value = False
        else:
            value = True
        if turn == self.turns[number]:  # else the other one came first
            self._send(number, value=value)

    def _send(self, number: int, *, value: bool | None) -> None:
        self.turns[number] += 1
        try:
            wait = self._in_context(number, self.coroutines[number].send, value)
        except StopIteration as done:
            self._answer(number, done.value)
        except (KeyboardInterrupt, SystemExit):
            self._answer(number, None)  # it has ended; the others are told, and the caller at once
            raise
        except BaseException as error:  # noqa: BLE001 -- a sibling's end is not this one's
            self._answer(number, error)
        else:
            self.arm(number, cast("_Wait", wait))

    def _in_context(self, number: int, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401 -- what a coroutine yields
        return function(*args) if self.contexts is None else self.contexts[number].run(function, *args)

    def arm(self, number: int, wait: _Wait) -> None:
        """Begin what a coroutine waits for, and its timer."""
        turn = self.turns[number]
        if wait.timeout_s is not None:
            heappush(self.timers, (monotonic() + wait.timeout_s, number, turn))
        wait.arm(lambda: self.woken.put((number, turn)))

    def _answer(self, number: int, answer: object) -> None:
        self.answers[number] = answer
        self.turns[number] = -1
        self.left -= 1

    def _tell(self, error: BaseException) -> None:
        """The caller was interrupted: every call that still runs is cut off and put back."""
        for number, turn in enumerate(self.turns):
            if turn >= 0:
                with suppress(BaseException):  # the interruption itself is what the caller gets
                    self._in_context(number, self.coroutines[number].throw, error)
                    self._in_context(number, self.coroutines[number].close)
