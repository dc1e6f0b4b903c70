"""Statistics: how often each tool was called, how often it failed and how long it took."""

import asyncio

import pytest

from tests.cases import each_case
from tests.execute.calls import call, each_way, in_threads, kind_of
from toolhaft import Deadline, RetryPolicy, ToolContext, ToolExecutor, tool
from toolhaft.errors import ToolTimeoutError
from toolhaft.execute import Approval, tool_stats
from toolhaft.execute.tool_stats import ToolCounter, ToolCounters


@tool(isolation="inline", effect="read")
def inline(n: int) -> int:
    """Divide."""
    return 10 // n


@tool(effect="read")
def threaded(n: int) -> int:
    """Divide."""
    return 10 // n


@tool(effect="read")
async def suspended(n: int) -> int:
    """Divide."""
    await asyncio.sleep(0)
    return 10 // n


@tool(effect="read")
async def straight(n: int) -> int:
    """Divide."""
    return 10 // n


@tool(effect="read")
def with_context(n: int, context: ToolContext) -> int:
    """Divide."""
    return 10 // n


@tool(isolation="inline", effect="read", rate="1000000/s")
def chained(n: int) -> int:
    """Divide."""
    return 10 // n


@each_way
@each_case("made", [inline, threaded, suspended, straight, with_context, chained], ids=lambda made: made.name)
def test_every_call_counts_once(run, made):
    executor = ToolExecutor([made])
    assert dict(executor.stats.tools) == {}
    for n in (1, 2, 0, "x", 5):
        run(executor, call(made.name, n=n))
    stats = executor.stats.tools[made.name]
    assert (stats.calls, dict(stats.failures)) == (5, {"failed": 1, "invalid_arguments": 1})
    assert (stats.failed, stats.failure_rate) == (2, 0.4)
    assert 0 < stats.p50_s <= stats.p95_s <= stats.max_s
    assert 0 < stats.mean_s <= stats.max_s
    assert executor.stats.tools[made.name] == stats  # reading counts nothing


def test_refusals_of_the_executor_count_as_failures_of_their_kind():
    executor = ToolExecutor([inline])
    for _ in range(4):
        executor.execute(call("inline", n=0))
    executor.execute(call("inline", n=1), deadline=Deadline.after(0))
    executor.execute(call("missing"))
    stats = executor.stats.tools
    assert [*stats] == ["inline"]
    assert dict(stats["inline"].failures) == {"failed": 3, "attempts": 1, "deadline": 1}


def test_an_automatic_retry_is_the_same_call():
    tries = []

    @tool(effect="read")
    def flaky() -> int:
        """Fail once."""
        tries.append(1)
        if len(tries) == 1:
            raise ToolTimeoutError("later")
        return 1

    executor = ToolExecutor([flaky], retry=RetryPolicy(max_attempts=2))
    assert executor.execute(call("flaky")).value == 1
    stats = executor.stats.tools["flaky"]
    assert (stats.calls, stats.failed, len(tries)) == (1, 0, 2)


def test_a_call_that_waits_for_approval_counts_when_it_has_run():
    executor = ToolExecutor([threaded], policy=lambda _: "ask")
    pending = executor.execute(call("threaded", n=1)).pending
    assert dict(executor.stats.tools) == {}
    assert executor.resume(pending, Approval(approved=True)).value == 10
    assert executor.stats.tools["threaded"].calls == 1


def test_a_cancelled_call_counts():
    began = asyncio.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        began.set()
        await asyncio.sleep(60)

    executor = ToolExecutor([wait])

    async def cancel():
        task = asyncio.ensure_future(executor.aexecute(call("wait")))
        await began.wait()
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(cancel())
    stats = executor.stats.tools["wait"]
    assert (stats.calls, dict(stats.failures)) == (1, {"cancelled": 1})
    assert stats.max_s > 0


def test_nothing_is_lost_between_threads():
    executor = ToolExecutor([inline])

    def work():
        for n in range(500):
            executor.execute(call("inline", n=n % 5))
            executor.stats.tools  # noqa: B018 -- reading must not lose calls either

    assert kind_of(executor.execute(call("inline", n=1))) is None
    in_threads([work] * 4)
    assert executor.stats.tools["inline"].calls == 2001


def test_the_numbers_of_durations_are_those_of_the_latest_calls():
    counter = ToolCounter()
    for n in range(1, tool_stats.LATEST + 101):
        counter.count_call()
        counter.add_duration(float(n))
    stats = counter.read()
    assert (stats.calls, stats.p50_s, stats.p95_s, stats.max_s) == (1100, 600.0, 1050.0, 1100.0)
    assert stats.mean_s == pytest.approx(600.5)
    assert stats.to_dict() == {
        "calls": 1100,
        "failures": {},
        "failure_rate": 0.0,
        "mean_s": 600.5,
        "p50_s": 600.0,
        "p95_s": 1050.0,
        "max_s": 1100.0,
    }


def test_the_memory_of_many_tools_is_bounded(monkeypatch):
    monkeypatch.setattr(tool_stats, "_MOST_TOOLS", 2)
    counters = ToolCounters()
    for name in ("a", "b", "c"):
        counters.of(name).count_call()
    assert [*counters.read()] == ["b", "c"]
    assert counters.of("c") is counters.of("c")


def test_tools_keep_their_numbers_when_chains_are_composed_again():
    executor = ToolExecutor([inline])
    executor.execute(call("inline", n=1))
    executor.new_run()
    executor.execute(call("inline", n=1))
    executor.execute(call("inline", n=1), deadline=Deadline.after(60))
    assert executor.stats.tools["inline"].calls == 3
