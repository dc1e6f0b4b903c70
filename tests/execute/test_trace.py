"""Calls run inside a span where the application traces, and nothing is on the path otherwise."""

import asyncio
import subprocess
import sys

import pytest
from opentelemetry import trace as trace_api
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NoOpTracerProvider, StatusCode

from tests.cases import each_case
from tests.execute.telemetry_kit import add, begin, fail, log_in, run, set_providers
from toolhaft import ToolCall, ToolContext, ToolExecutor, ToolResult, tool
from toolhaft.errors import PromptEvaluationError
from toolhaft.execute.steps import watch


@pytest.fixture
def collected(monkeypatch):
    return begin(monkeypatch)


# --- inside the span ---


def own_span(name):
    with trace_api.get_tracer("handler").start_as_current_span(name):
        pass
    return name


@tool(isolation="inline")
def inline(name: str) -> str:
    """Work inline."""
    return own_span(name)


@tool(isolation="thread")
def on_thread(name: str) -> str:
    """Work on a thread."""
    return own_span(name)


@tool
async def on_loop(name: str) -> str:
    """Work on the loop."""
    await asyncio.sleep(0)
    return own_span(name)


@tool
def in_chunks(name: str) -> str:
    """Work in chunks."""
    yield own_span(name)


@tool
def with_context(name: str, context: ToolContext) -> str:
    """Work in a transaction."""
    return own_span(name)


HANDLERS = [inline, on_thread, on_loop, in_chunks, with_context]
NAMES = [handler.name for handler in HANDLERS]


def parents(collected, prefix="own"):
    """The parent of each span that a handler began, by name."""
    by_id = {span.context.span_id: span.name for span in collected.spans}
    return {
        span.name: by_id.get(span.parent.span_id) if span.parent else None
        for span in collected.spans
        if span.name.startswith(prefix)
    }


def calls_of_all():
    return [ToolCall(id=name, name=name, arguments={"name": f"own {name}"}) for name in NAMES]


EXPECTED = {f"own {name}": f"execute_tool {name}" for name in NAMES}


def test_the_spans_of_a_handler_are_children_of_its_call(collected):
    executor = ToolExecutor(HANDLERS)
    for call in calls_of_all():
        assert executor.execute(call).success
    assert parents(collected) == EXPECTED


def test_the_spans_of_a_handler_are_children_of_its_call_for_async_callers(collected):
    async def main():
        executor = ToolExecutor(HANDLERS)
        for call in calls_of_all():
            assert (await executor.aexecute(call)).success

    asyncio.run(main())
    assert parents(collected) == EXPECTED


def test_each_call_of_a_turn_has_its_own_span(collected):
    assert all(result.success for result in ToolExecutor(HANDLERS).execute_all(calls_of_all()))
    assert parents(collected) == EXPECTED
    assert set(parents(collected, "execute_tool").values()) == {None}


def test_each_call_of_a_turn_has_its_own_span_for_async_callers(collected):
    with trace_api.get_tracer("test").start_as_current_span("turn"):
        results = asyncio.run(ToolExecutor(HANDLERS).aexecute_all(calls_of_all()))
    assert all(result.success for result in results)
    assert parents(collected) == EXPECTED
    assert set(parents(collected, "execute_tool").values()) == {"turn"}


def test_a_streamed_call_has_one_span(collected):
    async def main():
        call = ToolCall(id="c1", name="in_chunks", arguments={"name": "own in_chunks"})
        return [item async for item in ToolExecutor([in_chunks]).astream(call)]

    assert len(asyncio.run(main())) == 2
    assert parents(collected) == {"own in_chunks": "execute_tool in_chunks"}


def test_a_call_made_by_a_handler_is_a_child_of_the_call_around_it(collected):
    @tool(isolation="inline")
    def outer() -> int:
        """Call another tool."""
        return executor.execute(ToolCall(id="c2", name="add", arguments='{"a": 1, "b": 2}')).value

    executor = ToolExecutor([add, outer])
    assert executor.execute(ToolCall(id="c1", name="outer")).value == 3
    assert parents(collected, "execute_tool") == {
        "execute_tool add": "execute_tool outer",
        "execute_tool outer": None,
    }


@pytest.mark.parametrize("name", ["add", "fail", "nobody"])
def test_afterwards_the_callers_span_is_current_again(collected, name):
    with trace_api.get_tracer("test").start_as_current_span("caller") as caller:
        run([add, fail], name, '{"a": 1, "b": 2}')
        assert trace_api.get_current_span() is caller


# --- what passes through ---


def test_prompt_exceptions_end_the_span_with_an_error(collected):
    with pytest.raises(PromptEvaluationError):
        run([log_in], "log_in", {"user": "nobody", "password": "hunter2"})
    span = collected.span
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert span.attributes["error.type"] == "toolhaft.errors.PromptEvaluationError"
    assert span.attributes["toolhaft.failure.kind"] == "failed"
    assert span.attributes["toolhaft.outcome"] == "unknown"
    assert not trace_api.get_current_span().get_span_context().is_valid


def test_a_cancelled_caller_ends_the_span_with_an_error(collected):
    async def main():
        started = asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            started.set()
            await asyncio.Event().wait()
            return ""

        task = asyncio.create_task(ToolExecutor([wait]).aexecute(ToolCall(id="c1", name="wait")))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert collected.span.status.status_code is StatusCode.ERROR
    assert collected.span.attributes["toolhaft.failure.kind"] == "cancelled"
    assert collected.span.attributes["error.type"] == "asyncio.exceptions.CancelledError"


def test_an_interruption_ends_the_span_with_an_error(collected):
    @tool(isolation="inline")
    def interrupt() -> str:
        """Interrupt."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([interrupt], "interrupt")
    assert collected.span.attributes["error.type"] == "KeyboardInterrupt"


# --- where there is nothing to do ---


def inner(run):
    return ToolResult.ok(1)


@each_case(
    ("tracers", "meters"), [(None, None), (NoOpTracerProvider(), NoOpMeterProvider())], ids=["unset", "no-op"]
)
def test_without_a_provider_there_is_no_trace_step(monkeypatch, tracers, meters):
    set_providers(monkeypatch, tracers, meters)
    assert watch.trace(add, None, inner) is inner
    assert watch.trace(None, None, inner) is inner


@pytest.mark.external
def test_opentelemetry_is_not_imported_by_toolhaft_itself(monkeypatch):
    script = """
import sys
from toolhaft import ToolCall, ToolExecutor, tool

@tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

assert ToolExecutor([add]).execute(ToolCall(name="add", arguments='{"a": 1, "b": 2}')).value == 3
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_without_a_meter_there_are_only_spans(collected, monkeypatch):
    set_providers(monkeypatch, collected.tracers, None)
    run([add], "add", '{"a": 1, "b": 2}')
    assert collected.span.name == "execute_tool add"
    assert collected.reader.get_metrics_data() is None


def test_without_a_tracer_there_are_only_measurements(collected, monkeypatch):
    set_providers(monkeypatch, None, collected.meters)
    run([add], "add", '{"a": 1, "b": 2}')
    assert collected.spans == ()
    assert len(collected.points) == 1


def test_a_provider_that_fails_leaves_calls_untraced(monkeypatch, caplog):
    class BrokenProvider(TracerProvider):
        def get_tracer(self, *args, **kwargs):
            raise OSError("broken")

    set_providers(monkeypatch, BrokenProvider(shutdown_on_exit=False), None)
    assert run([add], "add", '{"a": 1, "b": 2}').value == 3
    assert not run([], "add").success
    assert [record.message for record in caplog.records] == [
        "calls of add are not traced",
        "calls of unknown tools are not traced",
    ]
    assert {record.levelname for record in caplog.records} == {"ERROR"}
