"""Time: a limit a tool, and an overall deadline that a child can only shorten."""

import asyncio
import threading
import time
from contextlib import suppress

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from toolhaft import Deadline, ToolContext, ToolExecutor, tool

PATIENCE_S = 30.0


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
def left(context: ToolContext) -> float:
    """Seconds that this call has."""
    return context.time_limit.remaining()


# --- the time of a tool ---


def test_the_default_timeout_is_ten_seconds():
    assert add.timeout_s == 10.0
    assert 9.5 < ToolExecutor([left]).execute(call("left")).value <= 10.0


@each_way
def test_timeout_s_sets_the_limit_of_a_tool(run):
    assert run(ToolExecutor([left.replace(timeout_s=2)]), call("left")).value <= 2.0


@both_ways
@each_case("is_async", [False, True], ids=["thread", "loop"])
def test_a_handler_is_stopped_at_its_limit(run, is_async):
    over = threading.Event()

    @tool(timeout_s=0.05, name="slow")
    def slow() -> None:
        """Take too long."""
        over.wait(PATIENCE_S)

    @tool(timeout_s=0.05, name="slow")
    async def aslow() -> None:
        """Take too long."""
        await asyncio.sleep(PATIENCE_S)

    executor = ToolExecutor([aslow if is_async else slow])
    result = run(executor, call("slow"))
    assert not over.is_set()  # it was not waited for
    over.set()
    assert kind_of(result) == "timeout"
    assert executor.stats.overruns == 0
    assert "could not be stopped" not in result.message


@both_ways
@each_case("kind", ["inline", "async"])
def test_a_handler_that_cannot_be_stopped_is_reported_afterwards(run, kind):

    @tool(timeout_s=0.02, isolation="inline", name="slow")
    def slow() -> int:
        """Block the caller."""
        time.sleep(0.04)
        return 1

    @tool(timeout_s=0.02, name="slow")
    async def aslow() -> int:
        """Block the loop."""
        time.sleep(0.04)  # noqa: ASYNC251 -- a handler that blocks is the point
        return 1

    executor = ToolExecutor([slow if kind == "inline" else aslow])
    result = run(executor, call("slow"))
    assert kind_of(result) == "timeout"
    assert result.value is None
    assert executor.stats.overruns + executor.stats.abandoned_tasks == 1


@both_ways
def test_an_async_handler_is_cancelled_and_may_clean_up(run):
    cleaned = []

    @tool(timeout_s=0.05)
    async def slow() -> None:
        """Clean up after itself."""
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            await asyncio.sleep(0)
            cleaned.append(1)

    executor = ToolExecutor([slow])
    assert kind_of(run(executor, call("slow"))) == "timeout"
    assert cleaned == [1]
    assert executor.stats.abandoned == 0


@both_ways
def test_a_handler_that_swallows_its_cancellation_is_abandoned_and_counted(run, monkeypatch):
    monkeypatch.setattr("toolhaft.backends.loop.GRACE_S", 0.02)

    @tool(timeout_s=0.02)
    async def stubborn() -> None:
        """Never listen."""
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(PATIENCE_S)

    executor = ToolExecutor([stubborn])
    assert kind_of(run(executor, call("stubborn"))) == "timeout"
    assert executor.stats.abandoned_tasks == 1


@both_ways
def test_a_thread_that_outlives_its_call_is_counted_while_it_is_stuck(run):
    """Thread handlers are cut off and counted (`executor.stats`)."""
    over, ended = threading.Event(), threading.Event()

    @tool(timeout_s=0.05)
    def stuck() -> None:
        """Outlive the call."""
        over.wait(PATIENCE_S)
        ended.set()

    executor = ToolExecutor([stuck], max_threads=2)
    assert kind_of(run(executor, call("stuck"))) == "timeout"
    assert executor.stats.abandoned_threads == 1
    assert executor.stats.stuck_threads == 1
    over.set()
    assert ended.wait(PATIENCE_S)
    wait_until(lambda: executor.stats.stuck_threads == 0)
    assert executor.stats.to_dict()["abandoned_threads"] == 1
    assert "abandoned_threads=1" in repr(executor.stats)
    executor.close()


def wait_until(is_so):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_late_value_is_not_a_result():
    """Threats, *timeouts*: thread: cut off, late results discarded."""
    over = threading.Event()

    @tool(timeout_s=0.05, effect="read", cache_s=60)
    def slow() -> str:
        """Answer too late."""
        over.wait(PATIENCE_S)
        return "late"

    executor = ToolExecutor([slow])
    events = hear(executor)
    assert kind_of(executor.execute(call("slow"))) == "timeout"
    over.set()
    assert kind_of(executor.execute(call("slow"))) is None
    assert [event.success for event in events] == [False, True]


# --- deadlines ---


@each_way
@each_case("whose", ["executor", "call"])
def test_nothing_is_begun_after_the_deadline(run, whose):
    ran = []

    @tool
    def act() -> None:
        """Note that it ran."""
        ran.append(1)

    passed = Deadline.after(0)
    executor = ToolExecutor([act], deadline=passed if whose == "executor" else None)
    bounds = {"deadline": passed} if whose == "call" else {}
    result = run(executor, call("act"), **bounds)
    assert kind_of(result) == "deadline"
    assert result.failure.outcome == "nothing_happened"
    assert ran == []


@both_ways
@each_case("is_async", [False, True], ids=["thread", "loop"])
def test_what_runs_is_stopped_at_the_deadline(run, is_async):
    """An overall Deadline, enforced during the call."""
    over = threading.Event()

    @tool(name="slow")
    def slow() -> None:
        """Take too long."""
        over.wait(PATIENCE_S)

    @tool(name="slow")
    async def aslow() -> None:
        """Take too long."""
        await asyncio.sleep(PATIENCE_S)

    result = run(ToolExecutor([aslow if is_async else slow]), call("slow"), deadline=Deadline.after(0.05))
    over.set()
    assert kind_of(result) == "deadline"
    assert "the deadline passed while slow ran" in result.message
    assert "could not be stopped" not in result.message
    assert "Outcome unknown: check what happened." in result.message


@both_ways
def test_a_coroutine_that_a_plain_function_gave_back_is_stopped_too(run):
    @tool
    def later() -> None:
        """Give back a coroutine."""
        return asyncio.sleep(PATIENCE_S)

    executor = ToolExecutor([later, later.replace(name="shorter", timeout_s=0.05)])
    assert kind_of(run(executor, call("later"), deadline=Deadline.after(0.05))) == "deadline"
    assert kind_of(run(executor, call("shorter"))) == "timeout"
    assert executor.stats.overruns == 0


@both_ways
def test_the_earlier_deadline_of_executor_and_call_counts(run):
    executor = ToolExecutor([left], deadline=Deadline.after(2))
    assert run(executor, call("left")).value <= 2
    assert run(executor, call("left"), deadline=Deadline.after(1)).value <= 1
    assert run(executor, call("left"), deadline=Deadline.after(60)).value <= 2


@each_case("outer_name", ["with_context", "without_context", "a_with_context", "a_without_context"])
@both_ways
def test_a_nested_call_is_bounded_by_the_call_around_it(run, outer_name):

    @tool(timeout_s=60)
    def with_context(context: ToolContext) -> float:
        """Ask a nested call how long it has."""
        return executor.execute(call("left"), deadline=Deadline.after(50)).value

    @tool(timeout_s=60)
    def without_context() -> float:
        """Ask a nested call how long it has."""
        return executor.execute(call("left"), deadline=Deadline.after(50)).value

    @tool(timeout_s=60)
    async def a_with_context(context: ToolContext) -> float:
        """Ask a nested call how long it has."""
        return (await executor.aexecute(call("left"), deadline=Deadline.after(50))).value

    @tool(timeout_s=60)
    async def a_without_context() -> float:
        """Ask a nested call how long it has."""
        return (await executor.aexecute(call("left"), deadline=Deadline.after(50))).value

    tools = [with_context, without_context, a_with_context, a_without_context]
    executor = ToolExecutor([*tools, left.replace(timeout_s=60)])
    assert run(executor, call(outer_name), deadline=Deadline.after(2)).value <= 2


def test_a_nested_call_has_no_more_time_than_the_tool_around_it():
    @tool(timeout_s=1)
    def outer() -> float:
        """Ask a nested call how long it has."""
        return executor.execute(call("left")).value

    executor = ToolExecutor([outer, left.replace(timeout_s=60)])
    assert executor.execute(call("outer")).value <= 1


@each_case("ended_by", ["timeout", "cancellation"])
def test_nothing_is_begun_by_a_handler_whose_call_is_over(ended_by):
    """Nothing lands after the end; a thread that outlived its call begins no other."""
    over, done, ran, kinds = threading.Event(), threading.Event(), [], []

    @tool
    def act() -> None:
        """Note that it ran."""
        ran.append(1)

    @tool(timeout_s=0.05 if ended_by == "timeout" else 10)
    def outer() -> None:
        """Call another tool after the end."""
        began.set()
        over.wait(PATIENCE_S)
        kinds.append(kind_of(executor.execute(call("act"))))
        done.set()

    began = threading.Event()
    executor = ToolExecutor([act, outer])

    async def main():
        task = asyncio.create_task(executor.aexecute(call("outer")))
        await asyncio.to_thread(began.wait, PATIENCE_S)
        if ended_by == "cancellation":
            task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    over.set()
    assert done.wait(PATIENCE_S)
    assert ran == []
    assert kinds in (["deadline"], ["cancelled"])


@each_case("is_async", [False, True], ids=["sync", "async"])
def test_a_call_that_waits_for_its_turn_is_refused_at_the_deadline(is_async):
    began, over = threading.Event(), threading.Event()

    @tool(effect="reversible")
    def hold(n: int, context: ToolContext) -> int:
        """Hold the others up."""
        began.set()
        over.wait(PATIENCE_S)
        return n

    executor = ToolExecutor([hold])
    thread = threading.Thread(target=executor.execute, args=(call("hold", n=1),))
    thread.start()
    assert began.wait(PATIENCE_S)
    bounds = {"deadline": Deadline.after(0.05)}
    if is_async:
        result = asyncio.run(executor.aexecute(call("hold", n=2), **bounds))
    else:
        result = executor.execute(call("hold", n=2), **bounds)
    over.set()
    thread.join(PATIENCE_S)
    assert kind_of(result) == "deadline"
    assert "not run" in result.message
    assert result.failure.outcome == "nothing_happened"
