"""Calls that are answered where their caller stands: without a thread, without forks, and otherwise like any other."""

import asyncio
import threading
from functools import wraps

import pytest

from tests.execute.calls import PATIENCE_S, call, hear, kind_of
from toolhaft import (
    Deadline,
    Principal,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolResult,
    create_tool,
    execute_tool,
    tool,
)
from toolhaft.core.at_once import at_once
from toolhaft.resources import Filesystem, MemoryFilesystem, ResourceRegistry
from toolhaft.toolbox import read_file

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def make(quick, **options):
    """A tool that says where it ran; `quick` answers for its handler."""

    @at_once(quick)
    def run(given: dict, context: ToolContext):
        return {"word": given["word"], "by": "handler"}

    config = {"effect": "read", "output_schema": SCHEMA, **options}
    return create_tool(
        ToolConfig(name="echo", description="Say it.", input_schema=SCHEMA, execute=run, **config)
    )


def say(given, _):
    return ToolResult(value={"word": given["word"], "by": threading.current_thread().name})


def by_of(executor, word="a", **bounds):
    return executor.execute(call("echo", word=word), **bounds).value["by"]


def test_it_runs_where_the_caller_stands():
    executor = ToolExecutor([make(say)])
    assert by_of(executor) == threading.current_thread().name
    assert asyncio.run(executor.aexecute(call("echo", word="a"))).value["by"] == "MainThread"
    (result,) = executor.execute_all([call("echo", word="a")])
    assert result.value["by"] == "MainThread"
    assert result.call.name == "echo"


@pytest.mark.parametrize("quick", [lambda *_: None, lambda *_: 1 / 0, lambda *_: {}[0]])
def test_what_cannot_be_answered_at_once_is_the_handlers(quick):
    assert by_of(ToolExecutor([make(quick)])) == "handler"


@pytest.mark.parametrize(
    "options", [{"effect": "reversible"}, {"isolation": "thread"}, {"isolation": "inline"}]
)
def test_a_tool_that_writes_or_says_where_it_runs_has_its_handler_run(options):
    assert by_of(ToolExecutor([make(say, **options)])) == "handler"


def test_a_handler_that_wraps_another_is_not_passed_by():
    inner = make(say).handler

    @wraps(inner)
    def run(given: dict, context: ToolContext):
        return {**inner(given, context), "by": "wrapper"}

    config = ToolConfig(name="echo", description="Say it.", input_schema=SCHEMA, execute=run, effect="read")
    assert by_of(ToolExecutor([create_tool(config)])) == "wrapper"


def test_it_is_checked_permitted_and_recorded_like_any_call():
    executor = ToolExecutor([make(say)], policy=lambda request: "deny" if "bad" in str(request) else "allow")
    events = hear(executor)
    assert kind_of(executor.execute(call("echo", word=3))) == "invalid_arguments"
    assert kind_of(executor.execute(call("echo", word="bad"))) == "not_allowed"
    assert by_of(executor) == "MainThread"
    stranger = Principal(id="stranger", allow=[])
    assert not executor.execute(call("echo", word="a"), principal=stranger).success
    late = executor.execute(call("echo", word="a"), deadline=Deadline.after(-1))
    assert kind_of(late) in ("deadline", "timeout")
    assert [event.success for event in events] == [False, False, True, False, False]


def test_what_it_answers_is_held_against_the_output_schema():
    result = ToolExecutor([make(lambda *_: ToolResult(value={"word": 3}))]).execute(call("echo", word="a"))
    assert kind_of(result) == "invalid_output"


def test_files_at_hand_are_read_while_every_thread_is_busy():
    begun, may_end = threading.Event(), threading.Event()

    @tool(effect="read")
    def wait() -> str:
        """Hold the only thread."""
        begun.set()
        may_end.wait(PATIENCE_S)
        return "done"

    files = {Filesystem: MemoryFilesystem({"a": "text"})}
    with ToolExecutor([wait, read_file], resources=files, max_threads=1) as executor:
        waiting = threading.Thread(target=executor.execute, args=(call("wait"),))
        waiting.start()
        begun.wait(PATIENCE_S)
        try:
            assert executor.execute(call("read_file", path="a")).value["content"] == "text"
        finally:
            may_end.set()
            waiting.join(PATIENCE_S)


def test_a_call_within_a_call_reads_what_that_one_wrote_and_nobody_else_does():
    fs = MemoryFilesystem({"a": "old"})
    seen = []

    @tool(effect="reversible")
    def write_and_fail(context: ToolContext) -> str:
        """Write, have it read, and fail."""
        context.filesystem.write("a", "new")
        seen.append(executor.execute(call("read_file", path="a")).value["content"])
        raise ValueError("no")

    executor = ToolExecutor([write_and_fail, read_file], resources={Filesystem: fs})
    assert not executor.execute(call("write_and_fail")).success
    assert seen == ["new"]
    assert executor.execute(call("read_file", path="a")).value["content"] == "old"


def test_somebody_elses_filesystem_is_made_and_read_on_a_thread():
    threads = []

    class Slow(MemoryFilesystem):
        def read(self, path, **options):
            threads.append(threading.current_thread())
            return super().read(path, **options)

    def slowly():
        threads.append(threading.current_thread())
        return Slow({"a": "text"})

    registry = ResourceRegistry()
    registry.provide(Filesystem, slowly)
    for _ in range(2):
        result = execute_tool(read_file, {"path": "a"}, resources=registry)
        assert result.value["content"] == "text"
    assert len(threads) == 3
    assert threading.current_thread() not in threads
