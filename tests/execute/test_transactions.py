"""Transactions: success commits, every failure path discards, and nothing lands after the end."""

import asyncio
import threading
import time

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, kind_of
from tests.execute.state_kit import (
    AFTER,
    BEFORE,
    Note,
    Said,
    scribble,
    state_of,
    world,
)
from toolhaft import (
    Budget,
    Deadline,
    ToolContext,
    ToolResult,
    reducer,
    tool,
)
from toolhaft.errors import CallEndedError, PromptEvaluationError
from toolhaft.resources import Filesystem

PATIENCE_S = 30.0


# --- success commits ---


@each_way
@each_case("how", [{}, {"isolation": "inline"}], ids=["thread", "inline"])
def test_success_commits_session_and_files(run, how):
    @tool(**how)
    def act(context: ToolContext) -> str:
        """Write."""
        scribble(context)
        return "done"

    executor = world(act)
    assert run(executor, call("act")).success
    assert state_of(executor) == AFTER


@each_way
def test_an_async_handlers_success_commits(run):
    @tool
    async def act(context: ToolContext) -> str:
        """Write."""
        scribble(context)
        await asyncio.sleep(0)
        return "done"

    executor = world(act)
    assert run(executor, call("act")).success
    assert state_of(executor) == AFTER


@both_ways
def test_nobody_sees_the_writes_of_a_call_that_still_runs(run):
    """A call that takes a context works on its own fork."""
    seen = []

    @tool
    def act(context: ToolContext) -> str:
        """Write, and look from outside."""
        scribble(context)
        seen.append(state_of(executor))
        seen.append([note.text for note in context.session[Note].all()])
        seen.append(context.filesystem.read("kept.txt").content)
        return "done"

    executor = world(act)
    assert run(executor, call("act")).success
    assert seen == [BEFORE, ["before", "inside"], "inside"]
    assert state_of(executor) == AFTER


@both_ways
def test_subscribers_get_events_only_after_the_commit(run):
    """Tool handlers publish events via `context.session.dispatcher`."""
    heard = []

    @tool
    def act(ok: bool, context: ToolContext) -> str:
        """Publish."""
        context.session.dispatcher.dispatch(Said("published"))
        assert heard == []
        if not ok:
            raise ValueError("no")
        return "done"

    executor = world(act)
    executor.session.dispatcher.subscribe(Said, heard.append)
    run(executor, call("act", ok=False))
    assert heard == []
    run(executor, call("act", ok=True))
    assert heard == [Said("published")]


@both_ways
def test_reducers_run_inside_the_call(run):
    @reducer(on=Said)
    def note_it(state, said):
        from toolhaft.session import Append  # noqa: PLC0415 -- beside its one use

        return Append(Note(said.text))

    @tool
    def act(context: ToolContext) -> int:
        """Dispatch."""
        context.session.dispatch(Said("reduced"))
        return len(context.session[Note])

    executor = world(act)
    executor.session[Note].register(note_it)
    assert run(executor, call("act")).value == 2
    assert executor.session[Note].latest() == Note("reduced")


# --- every failure path discards ---


def raises(error):
    def end(context):
        raise error

    return end


def wait_too_long(context):
    over.wait(PATIENCE_S)


async def await_too_long(context):
    await asyncio.sleep(PATIENCE_S)


over = threading.Event()


@pytest.fixture(autouse=True)
def let_go():
    over.clear()
    yield
    over.set()


FAILURES = {
    "exception": (raises(ValueError("no")), {}, {}, "failed"),
    "exit": (raises(SystemExit("no")), {}, {}, "failed"),
    "base exception": (raises(type("Own", (BaseException,), {})("no")), {}, {}, "failed"),
    "generator exit": (raises(GeneratorExit()), {}, {}, "failed"),
    "stop iteration": (raises(StopIteration("no")), {}, {}, "failed"),
    "recursion": (lambda context: recurse(0), {}, {}, "failed"),
    "error result": (lambda context: ToolResult.error("no"), {}, {}, "failed"),
    "invalid output": (lambda context: object(), {}, {}, "invalid_output"),
    "timeout": (wait_too_long, {"timeout_s": 0.03}, {}, "timeout"),
    "deadline": (wait_too_long, {}, {"deadline": 0.03}, "deadline"),
    "budget": (wait_too_long, {}, {"budget": 0.03}, "budget"),
}


def recurse(n):
    return recurse(n + 1)


def failing_tool(end, *, is_async=False, **options):
    def act(context: ToolContext) -> str:
        scribble(context)
        return end(context)

    async def aact(context: ToolContext) -> str:
        scribble(context)
        if end is wait_too_long:
            return await await_too_long(context)
        return end(context)

    return tool(aact if is_async else act, name="act", description="Act.", **options)


@each_way
@each_case("is_async", [False, True], ids=["thread", "loop"])
@each_case("name", FAILURES)
def test_every_failure_path_discards(run, is_async, name):
    end, options, bounds, kind = FAILURES[name]
    budget = Budget(max_wall_s=bounds["budget"]) if "budget" in bounds else None
    executor = world(failing_tool(end, is_async=is_async, **options), budget=budget)
    given = {"deadline": Deadline.after(bounds["deadline"])} if "deadline" in bounds else {}
    result = run(executor, call("act"), **given)
    assert kind_of(result) == kind
    assert state_of(executor) == BEFORE


@both_ways
@each_case("error", [KeyboardInterrupt, PromptEvaluationError])
def test_exceptions_raised_to_the_caller_discard(run, error):
    executor = world(failing_tool(raises(error("no"))))
    with pytest.raises(error):
        run(executor, call("act"))
    assert state_of(executor) == BEFORE


@each_case("is_async", [False, True], ids=["thread", "loop"])
def test_cancellation_discards(is_async):
    began = threading.Event()

    def act(context: ToolContext) -> None:
        scribble(context)
        began.set()
        over.wait(PATIENCE_S)

    async def aact(context: ToolContext) -> None:
        scribble(context)
        began.set()
        await asyncio.sleep(PATIENCE_S)

    executor = world(tool(aact if is_async else act, name="act", description="Act."))

    async def main():
        task = asyncio.create_task(executor.aexecute(call("act")))
        await asyncio.to_thread(began.wait, PATIENCE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert state_of(executor) == BEFORE


@both_ways
def test_a_reducer_that_raises_fails_the_call_and_leaves_nothing(run):
    @reducer(on=Said)
    def broken(state, said):
        raise RuntimeError("cannot reduce")

    executor = world(failing_tool(lambda context: "done"))
    executor.session[Said].register(broken)
    result = run(executor, call("act"))
    assert kind_of(result) == "failed"
    assert "cannot reduce" in result.message
    assert state_of(executor) == BEFORE


@both_ways
def test_logs_survive_a_rollback(run):
    """State slices that roll back and log slices that do not."""

    @tool
    def act(context: ToolContext) -> None:
        """Log, and fail."""
        context.session[Said].append(Said("logged"))
        context.session[Note].append(Note("lost"))
        raise ValueError("no")

    executor = world(act)
    executor.session[Said].register(log=True)
    run(executor, call("act"))
    assert executor.session[Said].all() == (Said("logged"),)
    assert executor.session[Note].all() == (Note("before"),)


# --- late writes ---


@each_case("ended_by", ["timeout", "cancellation", "success"])
def test_writes_after_the_end_of_a_call_are_refused(ended_by):
    """A thread that outlived its timeout and writes later gets an error and changes nothing."""
    may_write, done, errors, contexts = threading.Event(), threading.Event(), [], []

    def write_late(context):
        assert may_write.wait(PATIENCE_S)
        acts = [
            lambda: context.session[Note].append(Note("late")),
            lambda: context.session[Note].seed([Note("late")]),
            context.session[Note].clear,
            lambda: context.session.dispatch(Said("late")),
            lambda: context.session.dispatcher.dispatch(Said("late")),
            lambda: files.write("kept.txt", "late"),
            lambda: files.delete("kept.txt"),
            lambda: files.mkdir("late"),
            lambda: context.resources.get(Filesystem).write("kept.txt", "late"),
            context.beat,
            context.progress,
        ]
        files = contexts[0]
        for act in acts:
            try:
                act()
            except CallEndedError as error:
                errors.append(error)
        done.set()

    @tool(timeout_s=0.05 if ended_by == "timeout" else 10)
    def act(context: ToolContext) -> str:
        """Write after the end."""
        contexts.append(context.filesystem)
        context.session[Note].append(Note("inside"))
        if ended_by == "success":
            threading.Thread(target=write_late, args=(context,), daemon=True).start()
            return "done"
        began.set()
        write_late(context)
        return "late"

    began = threading.Event()
    executor = world(act)

    async def main():
        task = asyncio.create_task(executor.aexecute(call("act")))
        if ended_by == "cancellation":
            await asyncio.to_thread(began.wait, PATIENCE_S)
            task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    ended = state_of(executor)
    may_write.set()
    assert done.wait(PATIENCE_S)
    assert len(errors) == 11
    assert "has ended" in str(errors[0])
    assert state_of(executor) == ended
    assert ended == ((["before", "inside"], *BEFORE[1:]) if ended_by == "success" else BEFORE)


def test_a_write_that_is_in_progress_at_the_end_is_discarded():
    stop, writing, errors = threading.Event(), threading.Event(), []

    @tool(timeout_s=0.05)
    def act(context: ToolContext) -> None:
        """Write without pause."""
        files = context.filesystem
        n = 0
        try:
            while not stop.is_set():
                n += 1
                context.session[Note].append(Note(str(n)))
                files.write("kept.txt", str(n))
                writing.set()
        except CallEndedError as error:
            errors.append(error)

    executor = world(act)
    for _ in range(3):
        assert kind_of(executor.execute(call("act"))) == "timeout"
        assert state_of(executor) == BEFORE
        executor.new_run()
    end = time.monotonic() + PATIENCE_S
    while len(errors) < 3 and time.monotonic() < end:
        time.sleep(0.002)
    stop.set()
    assert len(errors) == 3
    assert state_of(executor) == BEFORE


def test_reading_through_an_ended_view_still_works():
    """After the call ends, *writing* through it raises."""
    kept = []

    @tool
    def act(context: ToolContext) -> str:
        """Keep the view."""
        kept.append((context.session, context.filesystem))
        return "done"

    world(act).execute(call("act"))
    session, files = kept[0]
    assert session[Note].latest() == Note("before")
    assert files.read("kept.txt").content == "before"
