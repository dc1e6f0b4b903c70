"""Nested calls fork the fork; calls beside one another all land."""

import asyncio
import threading

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, kind_of
from tests.execute.state_kit import (
    AFTER,
    BEFORE,
    Note,
    raising,
    scribble,
    state_of,
    world,
    write,
)
from toolhaft import RetryPolicy, ToolContext, ToolExecutor, tool
from toolhaft.errors import ToolExecutionError
from toolhaft.session import replace_latest

PATIENCE_S = 30.0


# --- nested calls ---


def nesting(end=lambda: "done", *, is_async=False):
    """A tool that has another one write, and then ends as told."""
    seen = []

    @tool(effect="reversible", name="outer")
    def outer(context: ToolContext) -> str:
        """Have another tool write."""
        inner = context_executor[0].execute(call("write", text="inside"))
        seen.append(
            (inner.success, context.session[Note].latest().text, context.filesystem.read("kept.txt").content)
        )
        seen.append(state_of(context_executor[0]))
        return end()

    @tool(effect="reversible", name="outer")
    async def aouter(context: ToolContext) -> str:
        """Have another tool write."""
        inner = await context_executor[0].aexecute(call("write", text="inside"))
        seen.append(
            (inner.success, context.session[Note].latest().text, context.filesystem.read("kept.txt").content)
        )
        seen.append(state_of(context_executor[0]))
        return end()

    context_executor = [None]
    executor = context_executor[0] = world(aouter if is_async else outer, write)
    return executor, seen


@each_way
@each_case("is_async", [False, True], ids=["thread", "loop"])
def test_a_nested_call_forks_the_fork(run, is_async):
    """A nested call forks the fork."""
    executor, seen = nesting(is_async=is_async)
    assert run(executor, call("outer")).success
    assert seen == [(True, "inside", "inside"), BEFORE]
    assert state_of(executor) == AFTER


@each_way
@each_case("is_async", [False, True], ids=["thread", "loop"])
def test_a_nested_call_is_rolled_back_with_its_parent(run, is_async):
    executor, _ = nesting(lambda: 1 / 0, is_async=is_async)
    assert kind_of(run(executor, call("outer"))) == "failed"
    assert state_of(executor) == BEFORE


@both_ways
def test_a_failed_nested_call_does_not_roll_back_its_parent(run):
    @tool
    def bad(context: ToolContext) -> None:
        """Write and fail."""
        scribble(context, "lost")
        raise ValueError("no")

    @tool
    def outer(context: ToolContext) -> str:
        """Write, and have another tool fail."""
        scribble(context)
        return kind_of(executor.execute(call("bad")))

    executor = world(outer, bad)
    assert run(executor, call("outer")).value == "failed"
    assert state_of(executor) == AFTER


@each_case("outer_effect", ["reversible", "irreversible"])
@each_case("has_context", [False, True], ids=["without context", "with context"])
@both_ways
def test_a_nested_call_does_not_wait_for_its_parent(run, outer_effect, has_context):
    """Nested calls never deadlock; those that take turns take them inside the call around them."""

    @tool(effect=outer_effect, timeout_s=1, name="outer")
    def bare() -> str:
        """Have another tool write."""
        return executor.execute(call("write", text="inside")).value

    @tool(effect=outer_effect, timeout_s=1, name="outer")
    def outer(context: ToolContext) -> str:
        """Have another tool write."""
        return executor.execute(call("write", text="inside")).value

    executor = world(outer if has_context else bare, write)
    assert run(executor, call("outer")).value == "inside"
    assert state_of(executor) == AFTER


@both_ways
def test_nested_calls_of_one_turn_keep_their_order(run):
    order = []

    @tool(effect="reversible")
    def step(n: int, context: ToolContext) -> int:
        """Note the order."""
        order.append(n)
        return n

    @tool
    def outer(context: ToolContext) -> list[int]:
        """Make several calls."""
        return [result.value for result in executor.execute_all([call("step", n=n) for n in range(5)])]

    executor = world(outer, step)
    assert run(executor, call("outer")).value == [0, 1, 2, 3, 4]
    assert order == [0, 1, 2, 3, 4]


def test_a_call_of_an_executor_with_another_session_is_not_nested():
    """Each executor has its own state."""

    @tool
    def outer(context: ToolContext) -> None:
        """Call a tool of another executor, and fail."""
        assert other.execute(call("write", text="inside")).success
        raise ValueError("no")

    other, executor = world(write), world(outer)
    executor.execute(call("outer"))
    assert state_of(executor) == BEFORE
    assert state_of(other) == AFTER


def test_deeply_nested_calls_return():
    @tool(effect="reversible")
    def dive(depth: int, context: ToolContext) -> int:
        """Call itself."""
        context.session[Note].append(Note(str(depth)))
        return depth if depth == 0 else executor.execute(call("dive", depth=depth - 1)).value

    executor = world(dive)
    assert executor.execute(call("dive", depth=30)).value == 0
    assert len(executor.session[Note]) == 32


# --- at the same time ---


@each_case("is_async", [False, True], ids=["sync", "async"])
def test_parallel_calls_are_all_committed(is_async):
    """Commit compares and swaps, and replays the fork's events where it lost a race."""
    barrier = threading.Barrier(4, timeout=PATIENCE_S)

    @tool(effect="idempotent")
    def put(n: int, context: ToolContext) -> int:
        """Write beside the others."""
        barrier.wait()
        context.session[Note].append(Note(str(n)))
        context.filesystem.write(f"{n}.txt", str(n))
        barrier.wait()
        return n

    executor = world(put)
    calls = [call("put", n=n) for n in range(4)]
    results = asyncio.run(executor.aexecute_all(calls)) if is_async else executor.execute_all(calls)
    assert [result.value for result in results] == [0, 1, 2, 3]
    notes, _, files = state_of(executor)
    assert sorted(notes[1:]) == ["0", "1", "2", "3"]
    assert len(files) == 5


def test_a_failing_sibling_does_not_undo_the_others():
    executor = world(write, raising(ValueError("no")))
    results = executor.execute_all([call("act"), call("write", text="inside"), call("act")])
    assert [result.success for result in results] == [False, True, False]
    assert state_of(executor) == AFTER


def test_calls_in_turn_see_what_the_ones_before_them_wrote():
    @tool(effect="reversible")
    def count(context: ToolContext) -> int:
        """Count up."""
        last = context.session[int].latest() or 0
        context.session[int].append(last + 1)
        return last + 1

    executor = world(count)
    executor.session[int].register(replace_latest)
    results = executor.execute_all([call("count") for _ in range(10)])
    assert [result.value for result in results] == list(range(1, 11))


def sharing(end):
    """Two executors on one session: a tool of the first calls one of the second."""

    @tool
    def outer(context: ToolContext) -> str:
        """Have a tool of the other executor write."""
        other.execute(call("write", text="inside"))
        return end(context)

    executor = world(outer)
    other = ToolExecutor([write], session=executor.session, resources=executor.resources)
    return executor


@both_ways
def test_a_call_of_another_executor_with_the_same_session_is_nested(run):
    executor = sharing(lambda context: context.session[Note].latest().text)
    assert run(executor, call("outer")).value == "inside"
    assert state_of(executor) == AFTER
    executor = sharing(lambda context: 1 / 0)
    assert kind_of(run(executor, call("outer"))) == "failed"
    assert state_of(executor) == BEFORE


@both_ways
def test_a_tool_that_calls_itself_without_end_is_stopped(run):
    deepest = []

    @tool(effect="read")
    def dive(depth: int) -> str:
        """Call itself."""
        deepest.append(depth)
        return executor.execute(call("dive", depth=depth + 1)).render()

    executor = ToolExecutor([dive], max_threads=2)
    assert "calls are nested" in run(executor, call("dive", depth=0)).value
    assert max(deepest) < 100
    executor.close()


@each_way
@each_case("effect", ["read", "reversible", "idempotent"])
def test_a_failed_call_that_made_an_irreversible_one_is_not_said_to_be_rolled_back_and_not_repeated(
    run, effect
):
    sent = []

    @tool(effect="irreversible", isolation="inline")
    def send(text: str) -> str:
        """Send a text; fails before anything is sent if there is none."""
        if not text:
            error = ToolExecutionError("nothing to send")
            error.nothing_happened = True
            raise error
        sent.append(text)
        return "sent"

    @tool(effect="read")
    def middle(text: str, context: ToolContext) -> str:
        """Let another tool send."""
        return executor.execute(call("send", text=text)).message

    @tool(effect=effect)
    def outer(text: str, context: ToolContext) -> str:
        """Let another tool send, and fail."""
        executor.execute(call("middle", text=text))
        raise ConnectionError("later")

    executor = ToolExecutor([send, middle, outer], retry=RetryPolicy(backoff_s=0.0))
    failed = run(executor, call("outer", text="hello"))
    assert failed.failure.outcome == "unknown"
    assert "It has called send, which cannot be undone. Outcome unknown" in failed.message
    assert sent == ["hello"]
    harmless = run(executor, call("outer", text=""))
    assert harmless.failure.outcome != "unknown"
