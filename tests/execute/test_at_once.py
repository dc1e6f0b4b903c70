"""Calls that are answered where their caller stands: without a thread, without forks, and otherwise like any other."""

import asyncio
import threading
import time
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


def test_what_cannot_be_answered_at_once_is_the_handlers(caplog):
    assert by_of(ToolExecutor([make(lambda *_: None)])) == "handler"
    assert caplog.records == []
    assert by_of(ToolExecutor([make(lambda *_: 1 / 0)])) == "handler"
    assert caplog.records[0].getMessage() == "echo could not be answered at once, and is left to its handler"


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
    assert [event.success for event in events] == [False, False, True, False]


def test_a_deadline_that_passes_on_the_way_leaves_it_to_the_handler():
    asked = []

    def pause(_):
        time.sleep(0.03)
        return "allow"

    def quick(given, _):
        asked.append(given)

    executor = ToolExecutor([make(quick)], policy=pause)
    late = executor.execute(call("echo", word="a"), deadline=Deadline.after(0.01))
    assert kind_of(late) == "deadline"
    assert asked == []


def test_one_that_takes_too_long_after_all_is_told_as_such():
    def slow(given, resources):
        time.sleep(0.03)
        return say(given, resources)

    executor = ToolExecutor([make(slow, timeout_s=0.01)])
    assert kind_of(executor.execute(call("echo", word="a"))) == "timeout"
    assert executor.stats.overruns == 1


def test_whoever_awaits_one_after_the_other_lets_the_loop_go_on():
    def take_a_while(given, resources):
        time.sleep(0.001)
        return say(given, resources)

    executor = ToolExecutor([make(take_a_while)])
    beats = []

    async def beat():
        while True:
            await asyncio.sleep(0)
            beats.append(1)

    async def read():
        beating = asyncio.create_task(beat())
        for _ in range(30):
            await executor.aexecute(call("echo", word="a"))
        beating.cancel()

    asyncio.run(read())
    assert len(beats) >= 4


class Answering:
    """Has every attribute that anybody asks for, as the stub of a remote procedure."""

    def __call__(self, given: dict, context: ToolContext):
        return {"word": given["word"], "by": "stub"}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Answering()


def test_a_handler_that_is_no_function_has_no_sister():
    stub = Answering()
    config = ToolConfig(name="echo", description="Say it.", input_schema=SCHEMA, execute=stub, effect="read")
    assert by_of(ToolExecutor([create_tool(config)])) == "stub"


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


def test_a_call_within_a_call_pins_what_that_one_sees():
    """Else what somebody else wrote between its reading and its writing would be lost unnoticed."""
    fs = MemoryFilesystem({"n": "1"})

    @tool(effect="reversible")
    def add(context: ToolContext) -> str:
        """Read, be overtaken, and write."""
        read = executor.execute(call("read_file", path="n")).value["content"]
        fs.write("n", "41")
        context.filesystem.write("n", str(int(read) + 1))
        return read

    executor = ToolExecutor([add, read_file], resources={Filesystem: fs})
    result = executor.execute(call("add"))
    assert "could not be kept" in result.message
    assert fs.read("n").content == "41"


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
