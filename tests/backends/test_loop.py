"""Async handlers: stopped at their limit, given up when they will not stop, on the caller's loop or another."""

import asyncio
from contextlib import suppress

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, kind_of
from toolhaft import ToolExecutor, tool
from toolhaft.backends.loop import TimeIsUpError, drive

PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def _short_grace_period(monkeypatch):
    monkeypatch.setattr("toolhaft.backends.loop.GRACE_S", 0.02)


async def give(value, pauses=0):
    for _ in range(pauses):
        await asyncio.sleep(0)
    return value


async def fail(error, pauses=0):
    await give(None, pauses)
    raise error


async def swallow(errors=asyncio.CancelledError, seen=None):
    while True:
        try:
            await asyncio.sleep(PATIENCE_S)
        except errors as error:
            if seen is not None:
                seen.append(error)


# --- drive ---


@each_case("pauses", [0, 1, 5])
def test_a_handler_returns_its_value(pauses):
    assert asyncio.run(drive(give(5, pauses), 1)) == 5


@each_case("pauses", [0, 1])
@each_case("error", [ValueError, KeyboardInterrupt, GeneratorExit, type("Own", (BaseException,), {})])
def test_an_exception_of_a_handler_is_raised(pauses, error):
    async def main():
        try:
            await drive(fail(error("no"), pauses), 1)
        except BaseException as raised:  # noqa: BLE001 -- any of them
            return type(raised)

    assert asyncio.run(main()) is error


def test_no_timer_is_armed_for_a_handler_that_never_waits():
    """A timer is armed only when a handler first suspends."""

    async def main():
        loop = asyncio.get_running_loop()
        scheduled = len(loop._scheduled)  # noqa: SLF001 -- that nothing is scheduled is the point
        await drive(give(1), 60)
        return len(loop._scheduled) - scheduled  # noqa: SLF001 -- the same

    assert asyncio.run(main()) == 0


def test_a_handler_is_cancelled_at_its_limit():
    seen = []

    async def handler():
        try:
            await asyncio.sleep(PATIENCE_S)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main():
        with pytest.raises(TimeIsUpError) as caught:
            await drive(handler(), 0.02)
        task = asyncio.current_task()
        return caught.value.was_abandoned, task.cancelling()

    was_abandoned, cancelling = asyncio.run(main())
    assert (was_abandoned, seen, cancelling) == (False, ["cancelled"], 0)


def test_a_handler_has_a_moment_to_clean_up():
    cleaned = []

    async def handler():
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(1)

    async def main():
        with pytest.raises(TimeIsUpError) as caught:
            await drive(handler(), 0.02)
        return caught.value.was_abandoned

    assert asyncio.run(main()) is False
    assert cleaned == [1]


@each_case("end", ["value", "error"])
def test_any_exception_after_the_cancellation_is_still_a_timeout(end):
    async def handler():
        try:
            await asyncio.sleep(PATIENCE_S)
        except asyncio.CancelledError:
            if end == "error":
                raise ValueError("in the way") from None
            return "too late"

    async def main():
        with pytest.raises(TimeIsUpError) as caught:
            await drive(handler(), 0.02)
        return caught.value

    error = asyncio.run(main())
    assert error.was_abandoned is False
    assert isinstance(error.__cause__, ValueError) == (end == "error")


def test_a_handler_that_swallows_its_cancellation_is_abandoned():
    seen = []

    async def main():
        with pytest.raises(TimeIsUpError) as caught:
            await drive(swallow(seen=seen), 0.02)
        await asyncio.sleep(0.01)
        return caught.value.was_abandoned

    assert asyncio.run(main()) is True
    assert len(seen) == 1


def test_the_task_continues_after_a_handler_was_abandoned():
    async def main():
        for _ in range(2):
            with pytest.raises(TimeIsUpError):
                await drive(swallow(), 0.01)
        await asyncio.sleep(0.01)
        assert asyncio.current_task().cancelling() == 0
        return await drive(give(5, 2), 1)

    assert asyncio.run(main()) == 5


def test_a_callers_cancellation_reaches_the_handler_and_goes_on():
    seen = []

    async def handler():
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            seen.append("cleaned")

    async def main():
        task = asyncio.ensure_future(drive(handler(), PATIENCE_S))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(main()) is True
    assert seen == ["cleaned"]


def test_a_handler_cannot_swallow_its_callers_cancellation():
    async def main():
        task = asyncio.ensure_future(drive(swallow(), PATIENCE_S))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_swallowed_cancellation_of_the_caller_is_counted():

    @tool
    async def stubborn() -> None:
        """Never listen."""
        await swallow()

    async def main():
        executor = ToolExecutor([stubborn])
        task = asyncio.create_task(executor.aexecute(call("stubborn")))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return executor.stats.abandoned_tasks

    assert asyncio.run(main()) == 1


# --- cancellations of the handler's own ---


async def recover_from_a_timeout(pause_s):
    with suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(PATIENCE_S)
    await asyncio.sleep(pause_s)
    return "recovered"


async def recover_from_wait_for(pause_s):
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.sleep(PATIENCE_S), 0.01)
    await asyncio.sleep(pause_s)
    return "recovered"


async def recover_from_a_group(pause_s):
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(ValueError("no"), 1))
            await asyncio.sleep(PATIENCE_S)
    except* ValueError:
        pass
    await asyncio.sleep(pause_s)
    return "recovered"


async def recover_by_itself(pause_s):
    task = asyncio.current_task()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(PATIENCE_S)
    task.uncancel()
    await asyncio.sleep(pause_s)
    return "recovered"


RECOVERIES = [recover_from_a_timeout, recover_from_wait_for, recover_from_a_group, recover_by_itself]


@both_ways
@each_case("pause_s", [0, 0.04], ids=["at once", "after the grace period"])
@each_case("recover", RECOVERIES)
def test_a_handler_may_cancel_itself_and_go_on(run, recover, pause_s):
    """asyncio.timeout, TaskGroup and all that is built on them work inside handlers as they do elsewhere."""

    @tool
    async def act() -> str:
        """Recover."""
        return await recover(pause_s)

    executor = ToolExecutor([act])
    assert run(executor, call("act")).value == "recovered"
    assert executor.stats.abandoned_tasks == 0


@both_ways
@each_case("recover", RECOVERIES)
def test_the_limit_still_holds_after_a_handler_undid_a_cancellation(run, recover):
    @tool(timeout_s=0.03)
    async def act() -> str:
        """Recover, and then take too long."""
        return await recover(PATIENCE_S)

    assert kind_of(run(ToolExecutor([act]), call("act"))) == "timeout"


@both_ways
def test_a_timeout_inside_a_handler_that_nobody_catches_is_the_handlers_failure(run):
    @tool
    async def act() -> None:
        """Run out of its own time."""
        async with asyncio.timeout(0.01):
            await asyncio.sleep(PATIENCE_S)

    result = run(ToolExecutor([act]), call("act"))
    assert kind_of(result) == "failed"
    assert "TimeoutError" in result.message


def test_calls_inside_a_callers_own_timeout_are_cancelled_by_it():
    @tool
    async def act() -> None:
        """Take long."""
        await asyncio.sleep(PATIENCE_S)

    async def main():
        executor = ToolExecutor([act])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await executor.aexecute(call("act"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await executor.aexecute_all([call("act"), call("act")])
        return asyncio.current_task().cancelling(), len(asyncio.all_tasks())

    assert asyncio.run(main()) == (0, 1)
