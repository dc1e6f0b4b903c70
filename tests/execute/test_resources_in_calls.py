"""What a call's resources do when they are kept, put back, closed or fail at it."""

import asyncio
import logging
import sqlite3
from dataclasses import dataclass

from tests.cases import each_case
from toolhaft import (
    BaseTool,
    Session,
    ToolCall,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolParam,
    ToolResponse,
    ToolReturn,
    ToolSpec,
    create_tool,
    tool,
)
from toolhaft.errors import ToolValidationError
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem, ResourceRegistry


@dataclass(frozen=True)
class Note:
    text: str


class Connection:
    def close(self):
        raise OSError("the line is dead")


class Grudging:
    """Can be forked, and refuses to be kept, put back, or both."""

    def __init__(self, *, keeps=True, drops=True, depth=0):
        self.keeps, self.drops, self.depth = keeps, drops, depth

    def fork(self, *, read_only=False):
        return Grudging(keeps=self.keeps, drops=self.drops, depth=self.depth + 1)

    def commit(self):
        if not self.keeps and self.depth == 1:  # into what everybody sees
            raise OSError("no room")

    def discard(self):
        if not self.drops:
            raise OSError("stuck")


class Counter:
    """Can be put back only as a whole."""

    def __init__(self):
        self.count = 0

    def snapshot(self):
        return self.count

    def restore(self, snapshot):
        self.count = snapshot


def write(context, *kinds):
    context.session[Note].append(Note("written"))
    context.filesystem.write("a", "written")
    for kind in kinds:
        context.resources.get(kind)


def run(handler, given, effect="reversible"):
    session, files = Session(), MemoryFilesystem()
    registry = given if isinstance(given, ResourceRegistry) else ResourceRegistry(given)
    registry.provide(Filesystem, lambda: files)
    executor = ToolExecutor([tool(handler, name="act", effect=effect)], session=session, resources=registry)
    return executor.execute(ToolCall(name="act")), session[Note].all(), files.exists("a")


def test_a_resource_that_cannot_be_closed_rolls_nothing_back(caplog):
    """Success commits; what is closed afterwards decides nothing."""

    def handler(context: ToolContext) -> str:
        """Write."""
        write(context, Connection)
        return "done"

    registry = ResourceRegistry()
    registry.provide(Connection, Connection, scope="call")
    result, notes, is_written = run(handler, registry)
    assert (result.value, notes, is_written) == ("done", (Note("written"),), True)
    assert [record.message for record in caplog.records] == ["a resource of a call could not be closed"]


def test_a_commit_that_fails_half_way_has_an_unknown_outcome():
    """Threats: a failed rollback is loud; what was kept is not told as rolled back."""

    def handler(context: ToolContext) -> str:
        """Write."""
        write(context, Grudging)
        return "done"

    result, notes, _ = run(handler, {Grudging: Grudging(keeps=False)})
    assert (result.failure.kind, result.failure.outcome, notes) == ("failed", "unknown", ())
    assert "no room" in result.message
    assert "Part of it was kept. Outcome unknown: check before repeating." in result.message
    assert "Rolled back" not in result.message


def test_a_failed_rollback_is_reported_in_the_result(caplog):

    def handler(context: ToolContext) -> str:
        """Write and fail."""
        write(context, Grudging)
        raise ValueError("bad")

    result, notes, is_written = run(handler, {Grudging: Grudging(drops=False)})
    assert (result.failure.kind, result.failure.outcome) == ("failed", "unknown")
    assert "bad" in result.message
    assert "What act wrote could not be rolled back. Outcome unknown" in result.message
    assert (notes, is_written) == ((), False)
    assert "a failed call could not be rolled back" in caplog.text


def test_a_failing_read_does_not_undo_what_a_sibling_did():
    """A read runs beside others, and has nothing to put back."""
    counter = Counter()

    @tool(effect="read", isolation="inline")
    def peek(context: ToolContext) -> int:
        """Look, let another change it, and fail."""
        context.resources.get(Counter)
        counter.count += 1  # as a call beside it would
        raise ValueError("blind")

    executor = ToolExecutor([peek], resources={Counter: counter})
    assert not executor.execute(ToolCall(name="peek")).success
    assert counter.count == 1


@each_case("kind", [MemoryFilesystem, HostFilesystem])
@each_case("effect", ["reversible", "irreversible"])
def test_what_a_handler_commits_itself_is_rolled_back_too(kind, effect, tmp_path):
    session, files = Session(), MemoryFilesystem() if kind is MemoryFilesystem else HostFilesystem(tmp_path)

    @tool(effect=effect)
    def hasty(context: ToolContext) -> str:
        """Commit, and fail."""
        write(context)
        context.filesystem.commit()
        context.session.commit()
        raise ValueError("too late")

    executor = ToolExecutor([hasty], session=session, resources={Filesystem: files})
    assert not executor.execute(ToolCall(name="hasty")).success
    assert (session[Note].all(), files.exists("a")) == ((), False)


def test_a_raw_tool_and_a_class_tool_take_a_context_by_its_annotation():

    def execute(given, context: ToolContext):
        context.filesystem.write(given["path"], "raw")
        return {"written": 3}

    class Save(BaseTool):
        effect = "reversible"
        spec = ToolSpec(
            name="save",
            description="Saves.",
            when_to_use="To save",
            inputs=[ToolParam(name="path", type="string", description="Where")],
            returns=ToolReturn(type="string", description="What"),
        )

        def __call__(self, *, path: str, context: ToolContext, **runtime: object) -> ToolResponse:
            context.filesystem.write(path, "class")
            if runtime.get("fails"):
                raise ValueError("no")
            return ToolResponse(observation="saved")

    raw = create_tool(
        ToolConfig(
            name="raw",
            description="Writes.",
            input_schema={"type": "object", "properties": {"path": {}}},
            execute=execute,
        )
    )
    files = MemoryFilesystem()
    executor = ToolExecutor([raw, Save()], resources={Filesystem: files})
    assert executor.execute(ToolCall(name="raw", arguments={"path": "r"})).value == {"written": 3}
    assert executor.execute(ToolCall(name="save", arguments={"path": "c"})).value == "saved"
    failing = ToolExecutor([Save()], resources={Filesystem: files}, runtime={"fails": True})
    assert not failing.execute(ToolCall(name="save", arguments={"path": "x"})).success
    assert [file.path for file in files.list()] == ["c", "r"]


def test_an_error_may_be_given_back_as_well_as_raised():
    made = create_tool(
        ToolConfig(
            name="weather",
            description="Get weather.",
            input_schema={"type": "object"},
            execute=lambda _: ToolValidationError("Missing city"),
        )
    )
    result = ToolExecutor([made]).execute(ToolCall(name="weather"))
    assert result.failure.kind == "invalid_arguments"
    assert result.message.startswith("Missing city.")


def test_a_nested_call_of_another_executor_on_the_same_session_is_put_back_with_the_outer_one():
    """docs/rollback.md: also on another executor that was given the same Session and ResourceRegistry."""
    session, registry = Session(), ResourceRegistry({Filesystem: MemoryFilesystem()})

    @tool(effect="reversible")
    def inner(context: ToolContext) -> str:
        """Write."""
        write(context)
        return "done"

    other = ToolExecutor([inner], session=session, resources=registry)

    @tool(effect="reversible")
    def outer(context: ToolContext) -> str:
        """Have another agent write, and fail."""
        assert other.execute(ToolCall(name="inner")).success
        assert context.filesystem.exists("a")
        raise ValueError("after all, no")

    executor = ToolExecutor([outer], session=session, resources=registry)
    assert "after all, no" in executor.execute(ToolCall(name="outer")).message
    assert (session[Note].all(), registry.get(Filesystem).exists("a")) == ((), False)


def test_execute_takes_an_idempotency_key():
    """A caller's key makes a repeat return the recorded result and run nothing."""
    paid = []

    @tool
    def pay() -> int:
        """Pay."""
        paid.append(1)
        return len(paid)

    executor = ToolExecutor([pay])
    results = [executor.execute(ToolCall(name="pay"), idempotency_key="k").value for _ in range(2)]
    results.append(asyncio.run(executor.aexecute(ToolCall(name="pay"), idempotency_key="k")).value)
    assert (results, executor.execute(ToolCall(name="pay")).value) == ([1, 1, 1], 2)


@each_case(("answer", "value"), [("allow", 1), ("deny", None), (True, 1), (False, None)])
def test_an_approval_is_answered_with_allow_deny_or_a_boolean(answer, value):
    @tool
    def act() -> int:
        """Act."""
        return 1

    executor = ToolExecutor([act], policy=lambda _: "ask")
    assert executor.resume(executor.execute(ToolCall(name="act")).pending, answer).value == value


def test_a_resource_of_a_call_is_closed_on_the_thread_of_its_handler(caplog):
    opened = []

    class Line(sqlite3.Connection):  # refuses to be closed on another thread
        is_closed = False

        def close(self):
            super().close()
            self.is_closed = True

    def connect():
        opened.append(sqlite3.connect(":memory:", factory=Line))
        return opened[-1]

    def use(context):
        context.filesystem.write("note.txt", "a shared resource does not need the connection")
        return context.resources[sqlite3.Connection].execute("SELECT 1").fetchone()[0]

    @tool
    def ask(fails: bool, context: ToolContext) -> int:
        """Ask."""
        return use(context) // (not fails)

    @tool
    async def ask_on_loop(fails: bool, context: ToolContext) -> int:
        """Ask."""
        await asyncio.sleep(0)
        return use(context) // (not fails)

    @tool
    def ask_later(fails: bool, context: ToolContext):
        """Ask in a coroutine, on another thread than this."""
        return ask_on_loop(fails, context)

    resources = ResourceRegistry({Filesystem: MemoryFilesystem()})
    resources.provide(sqlite3.Connection, connect, scope="call")
    executor = ToolExecutor([ask, ask_on_loop, ask_later], resources=resources)
    calls = [
        ToolCall(name=name, arguments={"fails": fails})
        for name in ("ask", "ask_on_loop", "ask_later")
        for fails in (False, True)
    ]
    with caplog.at_level(logging.ERROR, "toolhaft"):
        for results in (executor.execute_all(calls), asyncio.run(executor.aexecute_all(calls))):
            assert [result.value for result in results] == [1, None] * 3
            assert all("could not be rolled back" not in result.message for result in results)
    assert len(opened) == 12
    assert all(line.is_closed for line in opened)
    assert all("could not be closed" not in record.message for record in caplog.records)


def test_what_a_commit_may_need_stays_open_until_the_call_has_ended():
    log = []

    class Wire:
        def close(self):
            log.append("close")

    class Orders(Grudging):
        def fork(self, *, read_only=False):
            return Orders()

        def commit(self):
            log.append("commit")

    @tool
    def buy(context: ToolContext) -> str:
        """Buy."""
        context.resources[Orders]
        return "bought"

    resources = ResourceRegistry()
    resources.provide(Wire, Wire, scope="call")

    def orders(given):
        given[Wire]
        return Orders()

    resources.provide(Orders, orders, scope="call")
    assert ToolExecutor([buy], resources=resources).execute(ToolCall(name="buy")).value == "bought"
    assert log == ["commit", "close"]
