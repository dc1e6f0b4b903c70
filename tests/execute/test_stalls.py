"""Signs of life: beats that the caller sees, and handlers that are stopped because they give none."""

import asyncio
import threading
import time
from types import SimpleNamespace

import pytest

from tests.cases import each_case
from tests.execute import process_tools
from tests.execute.calls import PATIENCE_S, both_ways, call, kind_of
from toolhaft import Deadline, RetryPolicy, ToolContext, ToolExecutor, tool
from toolhaft.errors import CallEndedError, DefinitionError, ToolTimeoutError
from toolhaft.execute import Beat, Progress, stall_limit

STALL_S = 0.05
ALIVE_S = 1.0
"""The `stall_s` of handlers that beat in time: long, because a busy machine may hold them up."""


def stream(executor, one):
    async def read():
        return [item async for item in executor.astream(one)]

    return asyncio.run(read())


# --- beats are seen ---


@each_case("isolation", ["inline", "thread", None])
def test_a_stream_has_the_beats_between_chunks_and_progress(isolation):
    @tool(isolation=isolation)
    async def work(context: ToolContext) -> str:
        """Work."""
        context.beat()
        context.progress(1, 2)
        return "done"

    beat, progress, result = stream(ToolExecutor([work]), call("work", id="7"))
    assert (type(beat), beat.call_id) == (Beat, "7")
    assert beat.running_s >= 0
    assert progress == Progress(call_id="7", done=1, total=2)
    assert result.value == "done"


def test_a_stream_is_not_flooded_with_beats():
    @tool
    def work(context: ToolContext) -> None:
        """Beat often."""
        for _ in range(10_000):
            context.beat()

    items = stream(ToolExecutor([work]), call("work"))
    assert 2 <= len(items) < 1000


def test_an_executor_shows_which_calls_run_and_when_they_last_beat():
    reached, go_on = threading.Event(), threading.Event()

    @tool
    def work(context: ToolContext) -> None:
        """Work."""
        began.set()
        reached.wait(PATIENCE_S)
        context.progress(1, 3, "one")
        reached.clear()
        beaten.set()
        go_on.wait(PATIENCE_S)

    began, beaten = threading.Event(), threading.Event()
    executor = ToolExecutor([work])
    assert executor.running == ()
    before = time.time()
    thread = threading.Thread(target=executor.execute, args=(call("work", id="a"),))
    thread.start()
    began.wait(PATIENCE_S)
    (silent,) = executor.running
    assert (silent.tool, silent.call_id, silent.last_beat_at, silent.progress) == ("work", "a", None, None)
    assert before - 1 < silent.started_at <= time.time()
    assert silent.silent_s == silent.running_s >= 0
    reached.set()
    beaten.wait(PATIENCE_S)
    (beating,) = executor.running
    assert beating.progress == Progress(call_id="a", done=1, total=3, message="one")
    assert beating.last_beat_at >= beating.started_at - 0.001
    assert beating.silent_s <= beating.running_s
    go_on.set()
    thread.join(PATIENCE_S)
    assert executor.running == ()


KINDS = ["async", "async with a context", "inline", "failing", "async stream"]


@each_case("kind", KINDS)
def test_a_running_call_is_listed_until_it_ends(kind):
    seen = []

    @tool(name="work")
    async def plain() -> int:
        """Work."""
        await asyncio.sleep(0)
        seen.extend(executor.running)
        return 1

    @tool(name="work")
    async def with_context(context: ToolContext) -> int:
        """Work."""
        await asyncio.sleep(0)
        seen.extend(executor.running)
        return 1

    @tool(name="work", isolation="inline")
    def inline(context: ToolContext) -> int:
        """Work."""
        seen.extend(executor.running)
        return 1

    @tool(name="work")
    def failing() -> int:
        """Fail."""
        seen.extend(executor.running)
        raise ValueError("no")

    @tool(name="work")
    async def chunks():
        """Stream."""
        yield "a"
        seen.extend(executor.running)

    made = dict(zip(KINDS, (plain, with_context, inline, failing, chunks), strict=True))[kind]
    executor = ToolExecutor([made])
    asyncio.run(executor.aexecute(call("work", id="x")))
    assert [(one.tool, one.call_id) for one in seen] == [("work", "x")]
    assert executor.running == ()


# --- a handler that stalls is stopped ---


def silent_tool(isolation, *, is_async, **options):
    over = threading.Event()
    options = {"stall_s": STALL_S, "timeout_s": None, "isolation": isolation, **options}

    @tool(name="work", **options)
    def work(context: ToolContext) -> None:
        """Beat once, then never again."""
        context.beat()
        over.wait(PATIENCE_S)

    @tool(name="work", **options)
    async def awork(context: ToolContext) -> None:
        """Beat once, then never again."""
        context.beat()
        await asyncio.sleep(PATIENCE_S)

    return (awork if is_async else work), over


@both_ways
@each_case("is_async", [False, True], ids=["thread", "loop"])
def test_a_handler_that_does_not_beat_is_stopped(run, is_async):
    made, over = silent_tool(None, is_async=is_async)
    executor = ToolExecutor([made])
    result = run(executor, call("work"))
    over.set()
    assert kind_of(result) == "timeout"
    how = "it was cancelled" if is_async else "its thread lost access to session and files"
    assert result.message.startswith(
        f"work stalled: it gave no sign of life for 0.05 s ({how}). Outcome unknown: check before repeating."
    )
    assert isinstance(result.failure.error, ToolTimeoutError)
    assert executor.stats.overruns == 0


@each_case(
    ("effect", "outcome"),
    [("read", "Nothing happened"), ("idempotent", "repeated safely"), ("reversible", "Rolled back")],
)
def test_the_message_of_a_stalled_tool_says_what_may_have_happened(effect, outcome):
    made, _ = silent_tool(None, is_async=True, effect=effect)
    assert outcome in ToolExecutor([made]).execute(call("work")).message


def test_a_stalled_thread_is_cut_off():
    over, ended, outcome = threading.Event(), threading.Event(), []

    @tool(stall_s=STALL_S, timeout_s=None)
    def work(context: ToolContext) -> None:
        """Wait without a beat, then beat."""
        over.wait(PATIENCE_S)
        try:
            context.beat()
        except CallEndedError as error:
            outcome.append(str(error))
        ended.set()

    executor = ToolExecutor([work])
    assert kind_of(executor.execute(call("work"))) == "timeout"
    assert executor.stats.abandoned_threads == 1
    over.set()
    assert ended.wait(PATIENCE_S)
    assert outcome == ["the call of 'work' has ended: further work has no effect"]


def test_an_inline_handler_that_stalled_is_reported_afterwards():
    @tool(stall_s=STALL_S, timeout_s=None, isolation="inline")
    def work(context: ToolContext) -> str:
        """Take long."""
        threading.Event().wait(3 * STALL_S)
        return "done"

    executor = ToolExecutor([work])
    result = executor.execute(call("work"))
    assert result.message.startswith(
        "work stalled: it gave no sign of life for 0.05 s (it could not be stopped)"
    )
    assert executor.stats.overruns == 1


def test_a_late_beat_ends_a_handler_that_could_not_be_stopped():
    done = []

    @tool(stall_s=STALL_S, timeout_s=None, isolation="inline")
    def work(context: ToolContext) -> None:
        """Beat too late."""
        threading.Event().wait(3 * STALL_S)
        context.beat()
        done.append(1)

    result = ToolExecutor([work]).execute(call("work"))
    assert result.message.startswith(
        "work stalled: it gave no sign of life for 0.05 s (it was stopped at its next beat)"
    )
    assert kind_of(result) == "timeout"
    assert done == []


# --- a handler that beats goes on ---


def keep_beating(context):
    until = time.monotonic() + 1.25 * ALIVE_S
    while time.monotonic() < until:
        context.beat()
        time.sleep(0.01)
    return "done"


@tool(stall_s=ALIVE_S, timeout_s=None, effect="read")
def on_thread(context: ToolContext) -> str:
    """Beat."""
    return keep_beating(context)


@tool(stall_s=ALIVE_S, timeout_s=None, effect="read")
async def on_loop(context: ToolContext) -> str:
    """Report progress, which is a sign of life."""
    until = time.monotonic() + 1.25 * ALIVE_S
    while time.monotonic() < until:
        context.progress(1)
        await asyncio.sleep(0.01)
    return "done"


@tool(stall_s=ALIVE_S, timeout_s=None, effect="read")
def chunks():
    """Yield chunks, which are signs of life."""
    until = time.monotonic() + 1.25 * ALIVE_S
    while time.monotonic() < until:
        yield "."
        time.sleep(0.01)


@tool(stall_s=ALIVE_S, timeout_s=None, effect="read")
def outer() -> str:
    """Let another tool beat."""
    return executor_of_nested.execute(call("on_thread")).value


executor_of_nested = ToolExecutor([on_thread, on_loop, chunks, outer])


def test_a_handler_that_gives_signs_of_life_has_no_time_limit():
    calls = [call(name) for name in ("on_thread", "on_loop", "chunks", "outer")]
    results = executor_of_nested.execute_all(calls)
    assert [result.success for result in results] == [True] * 4
    assert [results[0].value, results[1].value, results[3].value] == ["done"] * 3


def test_a_deadline_still_bounds_a_handler_that_beats():
    @tool(stall_s=PATIENCE_S, timeout_s=None)
    async def work(context: ToolContext) -> None:
        """Beat for ever."""
        assert context.deadline is not None
        assert context.deadline == context.time_limit
        while True:
            context.beat()
            await asyncio.sleep(0.005)

    result = ToolExecutor([work]).execute(call("work"), deadline=Deadline.after(0.1))
    assert kind_of(result) == "deadline"


def test_a_time_limit_still_bounds_a_handler_that_beats():
    @tool(stall_s=0.2, timeout_s=0.3)
    async def work(context: ToolContext) -> None:
        """Beat for ever."""
        while True:
            context.beat()
            await asyncio.sleep(0.005)

    result = ToolExecutor([work]).execute(call("work"))
    assert result.message.startswith("work exceeded its time limit of 0.3 s")


def test_a_retry_begins_with_a_new_limit():
    tries = []

    @tool(stall_s=STALL_S, timeout_s=None, effect="read")
    async def work(context: ToolContext) -> str:
        """Stall in the first try."""
        tries.append(1)
        if len(tries) == 1:
            await asyncio.sleep(PATIENCE_S)
        return "done"

    assert ToolExecutor([work], retry=RetryPolicy(max_attempts=2)).execute(call("work")).value == "done"


# --- the limit itself ---


def test_the_limit_moves_with_every_sign_of_life(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(stall_limit, "monotonic", lambda: clock.now)
    limit = stall_limit.StallLimit(SimpleNamespace(timeout_s=50.0, stall_s=5.0), None)
    assert (limit.until(), limit.left_s()) == (150.0, 5.0)  # not begun: it may begin at any moment
    clock.now = 120.0
    limit.begin()
    assert (limit.until(), limit.left_s(), limit.is_stall) == (125.0, 5.0, True)
    limit.extend(124.0)
    clock.now = 130.0
    assert (limit.until(), limit.left_s()) == (129.0, -1.0)
    limit.extend(148.0)
    assert (limit.until(), limit.is_stall) == (150.0, False)


def test_without_a_time_limit_a_call_does_not_wait_for_ever_to_begin(monkeypatch):
    monkeypatch.setattr(stall_limit, "monotonic", lambda: 100.0)
    assert stall_limit.StallLimit(SimpleNamespace(timeout_s=None, stall_s=5.0), None).until() == 110.0
    assert stall_limit.StallLimit(SimpleNamespace(timeout_s=None, stall_s=60.0), None).until() == 160.0


# --- the options ---


def test_no_time_limit_needs_stall_s():
    @tool(timeout_s=None)
    def work() -> None:
        """Work."""

    assert work.timeout_s == 10.0
    unlimited = work.replace(timeout_s=None, stall_s=5)
    assert (unlimited.timeout_s, unlimited.stall_s) == (None, 5.0)
    assert unlimited.replace(stall_s=None).timeout_s == 10.0


def test_a_stall_s_that_has_no_effect_is_refused():
    with pytest.raises(DefinitionError, match="a stall_s of 30 s has no effect with a timeout_s of 10 s"):
        tool(stall_s=30, description="Work.", name="work")(lambda: None).replace()
    for wrong in (0, -1, True, "5"):
        with pytest.raises(DefinitionError, match="stall_s"):
            tool(stall_s=wrong, timeout_s=None, description="Work.", name="work")(lambda: None).replace()


# --- in a process ---


@pytest.mark.external
def test_beats_and_chunks_of_a_process_reach_the_executor():
    tools = [process_tools.beat_on, process_tools.fall_silent, process_tools.yield_on]
    with ToolExecutor(tools, max_processes=2) as executor:
        silent, yielding = executor.execute_all([call("fall_silent"), call("yield_on")])
        assert set(yielding.value) == {"."}
        assert silent.message.startswith(
            "fall_silent stalled: it gave no sign of life for 1 s (it was killed, with everything"
        )
        assert kind_of(silent) == "timeout"
        assert executor.stats.killed_processes == 1
        *beats, beating = stream(executor, call("beat_on", id="p"))
    assert beating.value == "done"
    assert {(type(beat), beat.call_id) for beat in beats} == {(Beat, "p")}
