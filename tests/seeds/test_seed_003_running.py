"""Seed 003, *Principles*, *ToolContext*, *Exception Handling* and *Handler Validation*: what calls and checkers do."""

import asyncio
from dataclasses import dataclass

import pytest

import toolhaft
from tests.cases import each_case
from tests.codebase.test_types import pyright_reports
from toolhaft import Deadline, Tool, ToolCall, ToolContext, ToolExecutor, ToolHandler, ToolResult, tool
from toolhaft.errors import DeadlineExceededError, PromptEvaluationError, VisibilityExpansionRequired


@dataclass
class Params:
    query: str


@dataclass
class Result:
    title: str
    score: float


@each_case("isolation", ["inline", "thread", "loop"])
@each_case(
    "error", [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), BaseException("odd")], ids=repr
)
def test_seed_003_nothing_that_a_handler_raises_aborts_the_evaluation(error, isolation):
    """Seed 003, *Principles*: never abort evaluation; *Exception Handling*: Other."""

    def leave() -> str:
        raise error

    async def leave_later() -> str:
        await asyncio.sleep(0)
        raise error

    @tool
    def stay() -> str:
        """Stay."""
        return "here"

    left = (
        tool(leave_later, name="leave", description="Leave.")
        if isolation == "loop"
        else tool(leave, description="Leave.", isolation=isolation)
    )
    calls = [ToolCall(name=name) for name in ("stay", "leave", "stay")]
    executor = ToolExecutor([left, stay])
    for results in (executor.execute_all(calls), asyncio.run(executor.aexecute_all(calls))):
        assert [result.value for result in results] == ["here", None, "here"]
        assert results[1].success is False
        assert results[1].failure.error is error


@each_case(
    "error",
    [VisibilityExpansionRequired("more"), PromptEvaluationError("no"), DeadlineExceededError("late")],
    ids=repr,
)
def test_seed_003_exceptions_that_are_raised_again_have_the_results_of_the_siblings(error):
    """Seed 003, *Exception Handling*: Re-raise, and Convert."""

    @tool
    def leave() -> str:
        """Leave."""
        raise error

    @tool
    def stay() -> str:
        """Stay."""
        return "here"

    converted = PromptEvaluationError if isinstance(error, DeadlineExceededError) else type(error)
    with pytest.raises(converted) as caught:
        ToolExecutor([leave, stay]).execute_all([ToolCall(name=name) for name in ("stay", "leave", "stay")])
    assert [result.value for result in caught.value.results] == ["here", None, "here"]


def run_lookup(handler, **options):
    made = Tool[Params, Result](name="lookup", description="Look up.", handler=handler)
    executor = ToolExecutor([made], **options)
    return executor, ToolCall(name="lookup", arguments={"query": "ada"})


def test_seed_003_context_deadline_is_optional():
    """Seed 003, *ToolContext*: `deadline` is an optional deadline; None where nobody set one."""
    seen = []

    def look(params: Params, *, context: ToolContext) -> ToolResult[Result]:
        seen.append(context.deadline)
        return ToolResult.ok(Result(title="Ada", score=1.0))

    executor, call = run_lookup(look)
    assert executor.execute(call).success
    own, whole = Deadline.after(60), Deadline.after(600)
    executor.execute(call, deadline=own)
    executor, call = run_lookup(look, deadline=whole)
    executor.execute(call)
    executor.execute(call, deadline=own)
    assert seen == [None, own, whole, own]


def test_seed_003_context_beat_is_a_heartbeat():
    """Seed 003, *ToolContext*: `beat()` is a heartbeat for long operations: the host sees it."""
    running = []

    def look(params: Params, *, context: ToolContext) -> ToolResult[Result]:
        running.extend(executor.running)
        context.beat()
        running.extend(executor.running)
        return ToolResult.ok(Result(title="Ada", score=1.0))

    executor, call = run_lookup(look)
    assert executor.execute(call).success
    before, after = running
    assert before.last_beat_at is None
    assert after.last_beat_at is not None
    assert executor.running == ()

    async def read():
        return [type(item).__name__ async for item in executor.astream(call)]

    assert asyncio.run(read()) == ["Beat", "ToolResult"]


def test_seed_003_tool_handler_is_a_public_type():
    """Seed 003, *Tool*: handler is a `ToolHandler[ParamsT, ResultT]`."""

    def look(params: Params, *, context: ToolContext) -> ToolResult[Result]:
        return ToolResult.ok(Result(title=params.query, score=1.0))

    handler: ToolHandler[Params, Result] = look
    assert "ToolHandler" in toolhaft.__all__
    assert Tool[Params, Result](name="look", description="Look.", handler=handler).handler is look


HANDLERS = """
from dataclasses import dataclass

from toolhaft import Tool, ToolContext, ToolHandler, ToolResult
from toolhaft.resources import Filesystem


@dataclass
class Params:
    path: str


@dataclass
class Result:
    text: str


def my_handler(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    fs = context.resources.get(Filesystem)
    if not fs.exists(params.path):
        return ToolResult.error("There is no such file.")
    return ToolResult.ok(Result(context.filesystem.read(params.path).content), "Read")


def other(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    return ToolResult.ok(params.path, "Read")  # wrong


def bare(params: Params) -> ToolResult[Result]:
    return ToolResult.ok(Result(params.path))


handler: ToolHandler[Params, Result] = my_handler
read = Tool[Params, Result](name="read", description="Read a file.", handler=my_handler)
swapped = Tool[Result, Params](name="read", description="Read a file.", handler=my_handler)  # wrong
no_context = Tool[Params, Result](name="read", description="Read a file.", handler=bare)  # wrong
"""


@pytest.mark.external
def test_seed_003_pyright_strict_catches_a_handler_that_does_not_match(tmp_path):
    """Seed 003, *Handler Validation*: in development, pyright strict mode catches mismatches."""
    (tmp_path / "handlers.py").write_text(HANDLERS, encoding="utf-8")
    reported = {line for _, line, _ in pyright_reports("pyright", tmp_path, None)}
    assert reported == {number for number, line in enumerate(HANDLERS.split("\n"), 1) if "# wrong" in line}
