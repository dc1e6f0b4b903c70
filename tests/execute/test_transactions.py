"""Transactions: success commits, every failure path discards, and nothing lands after the end.

Keeps issue 3 (*Transactions*), seed 003 (steps 5 and 7; *all failure paths restore session and resource state
before returning*; *Resource Access*) and threats (*rollback*).
"""

import asyncio
import threading
import time
from dataclasses import dataclass

import pytest

from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from toolhaft import (
    Budget,
    Deadline,
    RetryPolicy,
    Session,
    Tool,
    ToolContext,
    ToolExecutor,
    ToolResult,
    reducer,
    tool,
)
from toolhaft.errors import CallEndedError, PromptEvaluationError, ResourceError
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem, ResourceRegistry
from toolhaft.session import replace_latest

PATIENCE_S = 5.0


@dataclass(frozen=True)
class Note:
    text: str


@dataclass(frozen=True)
class Said:
    text: str


def world(*tools, files=None, **options):
    session = Session()
    session[Note].append(Note("before"))
    filesystem = MemoryFilesystem({"kept.txt": "before"} if files is None else files)
    return ToolExecutor(tools, session=session, resources={Filesystem: filesystem}, **options)


def scribble(context, text="inside"):
    """Change everything that a call can change."""
    context.session[Note].append(Note(text))
    context.session.dispatch(Said(text))
    context.filesystem.write("kept.txt", text)
    context.filesystem.write("new/file.txt", text)


def state_of(executor):
    files = executor.resources.get(Filesystem)
    return (
        [note.text for note in executor.session[Note].all()],
        [said.text for said in executor.session[Said].all()],
        {
            entry.path: files.read(entry.path).content
            for entry in files.list(recursive=True)
            if entry.kind == "file"
        },
    )


BEFORE = (["before"], [], {"kept.txt": "before"})
AFTER = (["before", "inside"], ["inside"], {"kept.txt": "inside", "new/file.txt": "inside"})


# --- success commits ---


@each_way
@pytest.mark.parametrize("how", [{}, {"isolation": "inline"}], ids=["thread", "inline"])
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
    """Issue 3: a call that takes a context works on its own fork."""
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
def test_subscribers_hear_of_events_only_after_the_commit(run):
    """Seed 003: tool handlers publish events via `context.session.dispatcher`."""
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
    "base exception": (raises(type("Own", (BaseException,), {})("no")), {}, {}, "failed"),
    "generator exit": (raises(GeneratorExit()), {}, {}, "failed"),
    "stop iteration": (raises(StopIteration("no")), {}, {}, "failed"),
    "recursion": (lambda context: recurse(0), {}, {}, "failed"),
    "error result": (lambda context: ToolResult.error("no"), {}, {}, "failed"),
    "invalid output": (lambda context: object(), {}, {}, "invalid_output"),
    "timeout": (wait_too_long, {"timeout_s": 0.05}, {}, "timeout"),
    "deadline": (wait_too_long, {}, {"deadline": 0.05}, "deadline"),
    "budget": (wait_too_long, {}, {"budget": 0.05}, "budget"),
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
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_path_discards(run, is_async, name):
    """Issue 3: every failure path discards: handler exception, error result, invalid output, timeout, ..."""
    end, options, bounds, kind = FAILURES[name]
    budget = Budget(max_wall_s=bounds["budget"]) if "budget" in bounds else None
    executor = world(failing_tool(end, is_async=is_async, **options), budget=budget)
    given = {"deadline": Deadline.after(bounds["deadline"])} if "deadline" in bounds else {}
    result = run(executor, call("act"), **given)
    assert kind_of(result) == kind
    assert state_of(executor) == BEFORE


@both_ways
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, PromptEvaluationError])
def test_what_goes_through_to_the_caller_discards(run, error):
    executor = world(failing_tool(raises(error("no"))))
    with pytest.raises(error):
        run(executor, call("act"))
    assert state_of(executor) == BEFORE


@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
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
def test_a_write_that_cannot_be_kept_fails_the_call_and_leaves_nothing(run):
    """Threats, *rollback*: session and resources are kept together or not at all."""

    class Stubborn:
        """A resource that cannot keep its changes."""

        def fork(self, *, read_only=False):
            return Stubborn()

        def commit(self):
            raise OSError(28, "No space left on device")

        def discard(self):
            pass

    @tool
    def act(context: ToolContext) -> str:
        """Write everywhere."""
        context.resources.get(Stubborn)
        scribble(context)
        return "done"

    session = Session()
    session[Note].append(Note("before"))
    files = MemoryFilesystem({"kept.txt": "before"})
    executor = ToolExecutor([act], session=session, resources={Stubborn: Stubborn(), Filesystem: files})
    result = run(executor, call("act"))
    assert kind_of(result) == "failed"
    assert "act ran, but what it wrote could not be kept" in result.message
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
def test_a_resource_that_can_only_be_restored_is_put_back(run):
    """Issue 3, *Resources*: the Snapshotable port (fork / commit / discard, or snapshot / restore)."""

    class Counter:
        def __init__(self):
            self.count = 0

        def snapshot(self):
            return self.count

        def restore(self, snapshot):
            self.count = snapshot

    @tool
    def act(ok: bool, context: ToolContext) -> int:
        """Count."""
        counter = context.resources.get(Counter)
        counter.count += 1
        if not ok:
            raise ValueError("no")
        return counter.count

    counter = Counter()
    executor = ToolExecutor([act], resources={Counter: counter})
    run(executor, call("act", ok=False))
    assert counter.count == 0
    assert run(executor, call("act", ok=True)).value == 1
    assert counter.count == 1


@both_ways
def test_logs_survive_a_rollback(run):
    """Issue 3, *Sessions*: state slices that roll back and log slices that do not."""

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


@pytest.mark.parametrize("ended_by", ["timeout", "cancellation", "success"])
def test_nothing_lands_after_the_end(ended_by):
    """Issue 3: a thread that outlived its timeout and writes later gets an error and changes nothing."""
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


def test_a_write_that_is_under_way_at_the_end_lands_nowhere():
    """Issue 3: revoked under its write lock, so that nothing lands after the rollback."""
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


def test_reading_through_an_ended_view_is_no_error():
    """DESIGN, ToolContext: after the call ends, *writing* through it raises."""
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


# --- nested calls ---


@tool(effect="reversible")
def write(text: str, context: ToolContext) -> str:
    """Write."""
    scribble(context, text)
    return text


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
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_a_nested_call_forks_the_fork(run, is_async):
    """DESIGN, *Choices that hold the speed*: a nested call forks the fork."""
    executor, seen = nesting(is_async=is_async)
    assert run(executor, call("outer")).success
    assert seen == [(True, "inside", "inside"), BEFORE]
    assert state_of(executor) == AFTER


@each_way
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_what_a_nested_call_wrote_is_lost_with_the_call_around_it(run, is_async):
    executor, _ = nesting(lambda: 1 / 0, is_async=is_async)
    assert kind_of(run(executor, call("outer"))) == "failed"
    assert state_of(executor) == BEFORE


@both_ways
def test_a_nested_call_that_fails_takes_nothing_else_with_it(run):
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


@pytest.mark.parametrize("outer_effect", ["reversible", "irreversible"])
@pytest.mark.parametrize("has_context", [False, True], ids=["without context", "with context"])
@both_ways
def test_a_nested_call_does_not_wait_for_the_turn_of_the_call_around_it(run, outer_effect, has_context):
    """Issue 3: nested calls never deadlock; those that take turns take them inside the call around them."""

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


def test_calls_of_another_executor_do_not_land_in_this_calls_fork():
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


def test_deep_nesting_comes_back():
    @tool(effect="reversible")
    def dive(depth: int, context: ToolContext) -> int:
        """Call itself."""
        context.session[Note].append(Note(str(depth)))
        return depth if depth == 0 else executor.execute(call("dive", depth=depth - 1)).value

    executor = world(dive)
    assert executor.execute(call("dive", depth=30)).value == 0
    assert len(executor.session[Note]) == 32


# --- at the same time ---


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_calls_that_run_beside_one_another_all_land(is_async):
    """DESIGN: commit compares and swaps, and replays the fork's events where it lost a race."""
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
    executor = world(write, failing_tool(raises(ValueError("no"))))
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


# --- resources ---


@each_way
def test_a_tool_that_needs_a_filesystem_says_how_to_give_one(run):
    """Issue 3: fails with a message that says how to give one."""

    @tool
    def read(context: ToolContext) -> str:
        """Read."""
        return context.filesystem.read("a.txt").content

    result = run(ToolExecutor([read]), call("read"))
    assert kind_of(result) == "failed"
    assert isinstance(result.failure.error, ResourceError)
    assert "no resource Filesystem was given" in result.message
    assert "ToolExecutor(..., resources={Filesystem: " in result.message


@both_ways
def test_resources_and_the_shortcut_hand_out_the_same_view(run):
    """Seed 003, *Resource Access*: `context.resources.get(Filesystem)` or `context.filesystem`."""

    @tool
    def look(context: ToolContext) -> bool:
        """Compare."""
        return context.resources.get(Filesystem) is context.filesystem

    assert run(world(look), call("look")).value is True


@both_ways
def test_resources_given_as_a_registry_work_as_those_in_a_mapping(run):
    @tool
    def read(context: ToolContext) -> str:
        """Read."""
        return context.filesystem.read("kept.txt").content

    registry = ResourceRegistry({Filesystem: MemoryFilesystem({"kept.txt": "x"})})
    assert run(ToolExecutor([read], resources=registry), call("read")).value == "x"


@both_ways
def test_an_absolute_path_inside_the_root_works_and_outside_it_is_denied(run, tmp_path):
    """Issue 3: an absolute path inside the root works, outside it is `Permission denied`."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "in.txt").write_text("inside")
    (tmp_path / "out.txt").write_text("outside")

    @tool
    def read(path: str, context: ToolContext) -> str:
        """Read a file."""
        return context.filesystem.read(path).content

    with HostFilesystem(root) as files:
        executor = ToolExecutor([read], resources={Filesystem: files})
        assert run(executor, call("read", path="in.txt")).value == "inside"
        assert run(executor, call("read", path=str(root / "in.txt"))).value == "inside"
        for path in (str(tmp_path / "out.txt"), "../out.txt", "/etc/hostname"):
            refused = run(executor, call("read", path=path))
            assert kind_of(refused) == "failed"
            assert f"Permission denied: {path}" in refused.message
            executor.new_run()


@both_ways
def test_files_on_the_host_are_put_back_too(run, tmp_path):
    (tmp_path / "kept.txt").write_text("before")
    with HostFilesystem(tmp_path) as files:
        session = Session()
        session[Note].append(Note("before"))
        executor = ToolExecutor(
            [failing_tool(raises(ValueError("no"))), write], session=session, resources={Filesystem: files}
        )
        assert kind_of(run(executor, call("act"))) == "failed"
        assert state_of(executor) == BEFORE
        assert run(executor, call("write", text="inside")).success
        assert state_of(executor) == AFTER


def test_a_context_is_read_only_and_holds_what_the_seed_names():
    """Seed 003, ToolContext: prompt, rendered_prompt, adapter, session, deadline, budget_tracker, ..."""
    seen = {}

    @tool
    def look(context: ToolContext) -> str:
        """Look around."""
        seen.update(
            prompt=context.prompt,
            rendered=context.rendered_prompt,
            adapter=context.adapter,
            call=context.call,
        )
        assert context.deadline.remaining() > 0
        assert context.budget_tracker.budget.max_calls == 5
        context.beat()
        try:
            context.prompt = "other"
        except AttributeError as error:
            return str(error)
        return "it was set"

    executor = ToolExecutor(
        [look], prompt="P", rendered_prompt="R", adapter="A", budget=Budget(max_calls=5), session=Session()
    )
    one = call("look", id="c")
    assert executor.execute(one).value == "a ToolContext is read-only: 'prompt' cannot be set"
    assert seen == {"prompt": "P", "rendered": "R", "adapter": "A", "call": one}


def test_a_repeat_begins_with_a_fresh_fork():
    """DESIGN, effect table: yes, after rollback."""
    tried = []

    @tool(effect="reversible")
    def act(context: ToolContext) -> str:
        """Fail the first time."""
        tried.append(state_of(executor))
        scribble(context)
        if len(tried) == 1:
            raise ConnectionError("no line")
        return "done"

    executor = world(act, retry=RetryPolicy(backoff_s=0))
    assert executor.execute(call("act")).success
    assert tried == [BEFORE, BEFORE]
    assert state_of(executor) == AFTER


def test_typed_tools_work_in_a_transaction_too():
    @dataclass(frozen=True)
    class Params:
        ok: bool

    def handle(params: Params, *, context: ToolContext) -> ToolResult[None]:
        """Write."""
        scribble(context)
        return ToolResult.ok(None) if params.ok else ToolResult.error("no")

    executor = world(Tool[Params, None](name="act", description="Act.", handler=handle))
    events = hear(executor)
    assert not executor.execute(call("act", ok=False)).success
    assert state_of(executor) == BEFORE
    assert executor.execute(call("act", ok=True)).success
    assert state_of(executor) == AFTER
    assert [event.success for event in events] == [False, True]
