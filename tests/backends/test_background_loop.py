"""The background loop of sync callers: one is enough, unless a handler blocks it."""

import asyncio
import threading
import time
from contextvars import ContextVar, copy_context

import pytest

from tests.execute.calls import call, kind_of
from toolhaft import Session, ToolContext, ToolExecutor, tool
from toolhaft.backends.loop import BackgroundLoop, LoopJob, TimeIsUpError, background
from toolhaft.errors import CallEndedError

PATIENCE_S = 5.0


async def give(value, pauses=0):
    for _ in range(pauses):
        await asyncio.sleep(0)
    return value


async def fail(error, pauses=0):
    await give(None, pauses)
    raise error


class Waiting:
    def __init__(self, loop, start, timeout_s=PATIENCE_S, context=None):
        self.ended = threading.Event()
        self.job = LoopJob(start, timeout_s, context or copy_context())
        self.job.wake = self.ended.set
        loop.submit(self.job)

    def value(self):
        assert self.ended.wait(PATIENCE_S)
        if self.job.error is not None:
            raise self.job.error
        return self.job.value


def ident_of(loop):
    async def where():
        return threading.get_ident()

    return Waiting(loop, where).value()


def test_jobs_of_sync_callers_run_on_one_loop_thread():
    """Async handlers under `execute` run on one background loop thread."""
    loop = BackgroundLoop()
    assert len({ident_of(loop) for _ in range(5)}) == 1
    assert ident_of(loop) != threading.get_ident()


def test_a_job_has_its_value_or_its_error():
    loop = BackgroundLoop()
    assert Waiting(loop, lambda: give(5, 2)).value() == 5
    with pytest.raises(ValueError, match="no"):
        Waiting(loop, lambda: fail(ValueError("no"))).value()
    with pytest.raises(TimeIsUpError):
        Waiting(loop, lambda: asyncio.sleep(PATIENCE_S), 0.02).value()
    assert Waiting(loop, lambda: give(6)).value() == 6


def test_a_job_that_cannot_begin_has_an_error():
    def broken():
        raise TypeError("no coroutine")

    with pytest.raises(TypeError, match="no coroutine"):
        Waiting(BackgroundLoop(), broken).value()


def test_a_job_runs_in_its_callers_context():
    colour = ContextVar("colour", default="none")

    async def look():
        return colour.get()

    colour.set("red")
    assert Waiting(BackgroundLoop(), look).value() == "red"


def test_jobs_run_concurrently():
    loop = BackgroundLoop()
    first_is_there = asyncio.Event()

    async def first():
        first_is_there.set()
        return 1

    async def second():
        await first_is_there.wait()
        return 2

    waiting = Waiting(loop, second)
    assert Waiting(loop, first).value() == 1
    assert waiting.value() == 2


def test_a_job_that_nobody_waits_for_is_cancelled():
    loop, ended = BackgroundLoop(), threading.Event()

    async def handler():
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            ended.set()

    waiting = Waiting(loop, handler)
    ident_of(loop)
    loop.cancel(waiting.job)
    assert ended.wait(PATIENCE_S)


def test_a_loop_that_is_stopped_by_a_handler_goes_on():
    loop = BackgroundLoop()

    async def stop():
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return "stopped"

    assert Waiting(loop, stop).value() == "stopped"
    assert Waiting(loop, lambda: give(5)).value() == 5


def test_a_loop_that_a_handler_blocks_is_abandoned(monkeypatch):
    """A handler that blocks the loop is answered in time, and the next one has a loop of its own."""
    monkeypatch.setattr("toolhaft.execute.waiting._BLOCKED_LOOP_S", 0.05)
    over, late = threading.Event(), []

    @tool(timeout_s=0.05)
    async def block(context: ToolContext) -> None:
        """Block the loop."""
        over.wait(PATIENCE_S)
        try:
            context.session[str].append("late")
        except CallEndedError as error:
            late.append(error)

    @tool(timeout_s=1)
    async def add(a: int) -> int:
        """Add one."""
        await asyncio.sleep(0)
        return a + 1

    executor = ToolExecutor([block, add], session=Session())
    before = threading.active_count()
    result = executor.execute(call("block"))
    assert kind_of(result) == "timeout"
    assert executor.stats.abandoned_tasks == 1
    assert executor.execute(call("add", a=1)).value == 2
    over.set()
    end = time.monotonic() + PATIENCE_S
    while (not late or threading.active_count() > before + 1) and time.monotonic() < end:
        time.sleep(0.005)
    assert len(late) == 1
    assert executor.session[str].all() == ()
    assert threading.active_count() <= before + 1, "the loop that was left has ended"


def test_a_sibling_on_a_blocked_loop_finishes_once_it_is_free(monkeypatch):
    monkeypatch.setattr("toolhaft.execute.waiting._BLOCKED_LOOP_S", 0.0)
    monkeypatch.setattr("toolhaft.execute.waiting.GRACE_S", 0.01)

    @tool(timeout_s=0.01, effect="read")
    async def block() -> None:
        """Block the loop."""
        time.sleep(0.1)  # noqa: ASYNC251 -- a handler that blocks is the point

    @tool(timeout_s=PATIENCE_S, effect="read")
    async def sibling() -> str:
        """Take a little longer than the other blocks."""
        await asyncio.sleep(0.01)
        await asyncio.sleep(0.12)
        return "finished"

    blocked, finished = ToolExecutor([block, sibling]).execute_all([call("block"), call("sibling")])
    assert kind_of(blocked) == "timeout"
    assert finished.value == "finished"


def test_a_sync_call_from_the_background_loop_runs_on_another_loop():
    """`execute` works with or without a running event loop, on whichever thread."""

    @tool
    async def inner(a: int) -> int:
        """Add one."""
        await asyncio.sleep(0)
        return a + 1

    @tool
    async def outer(a: int) -> int:
        """Call another async tool as a sync caller would."""
        return executor.execute(call("inner", a=a)).value

    executor = ToolExecutor([inner.replace(timeout_s=1), outer])
    assert executor.execute(call("outer", a=1)).value == 2
    assert [r.value for r in executor.execute_all([call("outer", a=n) for n in range(3)])] == [1, 2, 3]


def test_all_callers_share_one_background_loop():
    assert background() is background()
