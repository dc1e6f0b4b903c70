"""Spans and metrics in the words of OpenTelemetry's GenAI conventions."""

import contextlib
from typing import Annotated

import pytest
from opentelemetry import trace as trace_api
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from tests.execute.telemetry_kit import add, begin, fail, give_back_an_error, hang, log_in, run
from toolhaft import Secret, ToolCall, ToolExecutor, ToolInvoked, ToolResult, tool
from toolhaft.errors import PromptEvaluationError, ToolExecutionError
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.spans import CAPTURE, Telemetry

BUCKETS_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


@pytest.fixture
def collected(monkeypatch):
    return begin(monkeypatch)


# --- the conventions ---


def test_a_span_follows_the_genai_conventions(collected):
    assert run([add], "add", '{"a": 1, "b": 2}').value == 3
    span = collected.span
    assert (span.name, span.kind, span.status.status_code) == (
        "execute_tool add",
        SpanKind.INTERNAL,
        StatusCode.UNSET,
    )
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.description": "Add two numbers.",
        "toolhaft.effect": "read",
        "toolhaft.attempt": 1,
        "toolhaft.replay": False,
        "toolhaft.outcome": "done",
    }
    assert span.events == ()
    assert span.instrumentation_scope.name == "toolhaft"


def test_a_call_without_an_id_has_none_on_its_span(collected):
    ToolExecutor([add]).execute(ToolCall(name="add", arguments='{"a": 1, "b": 2}'))
    assert "gen_ai.tool.call.id" not in collected.span.attributes


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("fail", "{}", ("ZeroDivisionError", "failed", "unknown")),
        ("give_back_an_error", "{}", ("failed", "failed", "unknown")),
        ("add", '{"a": "x"}', ("invalid_arguments", "invalid_arguments", "nothing_happened")),
        ("add", "{", ("invalid_arguments", "invalid_arguments", "nothing_happened")),
        ("hang", "{}", ("timeout", "timeout", "nothing_happened")),
    ],
)
def test_a_failure_is_an_error_with_its_type(collected, name, arguments, told):
    assert not run([add, fail, give_back_an_error, hang], name, arguments).success
    span = collected.span
    why = "ZeroDivisionError: by nothing" if name == "fail" else None
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, why)
    keys = ("error.type", "toolhaft.failure.kind", "toolhaft.outcome")
    assert tuple(span.attributes[key] for key in keys) == told
    (point,) = collected.points
    assert point.attributes["error.type"] == told[0]


def test_an_unexpected_exception_is_recorded_with_its_traceback(collected):
    run([fail], "fail")
    (event,) = collected.span.events
    assert event.name == "exception"
    assert event.attributes["exception.type"] == "ZeroDivisionError"
    assert event.attributes["exception.message"] == "by nothing"
    assert "in fail\n" in event.attributes["exception.stacktrace"]
    assert event.attributes["exception.stacktrace"].endswith("ZeroDivisionError: by nothing\n")


def test_what_a_handler_tells_the_model_is_not_recorded_as_an_exception(collected):
    @tool(isolation="inline")
    def refuse() -> str:
        """Refuse."""
        raise ToolExecutionError("no such city")

    run([refuse], "refuse")
    run([give_back_an_error], "give_back_an_error")
    assert [span.events for span in collected.spans] == [(), ()]
    assert [span.status.description for span in collected.spans] == [None, None]


def test_a_recorded_exception_has_no_secret(collected):
    class OwnError(Exception):
        pass

    @tool(isolation="inline")
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        raise OwnError(f"cannot use {token}") from KeyError(token)

    ToolExecutor([login]).execute(ToolCall(name="login", arguments={"token": "hunter22-swordfish"}))
    (event,) = collected.span.events
    assert event.attributes["exception.type"] == "toolhaft.errors.ToolExecutionError"
    assert event.attributes["exception.message"] == "login failed: OwnError: cannot use ***"
    assert "OwnError: cannot use ***" in event.attributes["exception.stacktrace"]
    assert "hunter22" not in collected.span.to_json()


def test_an_exception_that_cannot_be_described_is_recorded_all_the_same(collected):
    class Speechless(BaseException):
        def __str__(self):
            raise SystemExit(3)

    @tool(isolation="inline")
    def act() -> str:
        """Fail."""
        raise Speechless

    assert run([act], "act").failure.kind == "failed"
    (event,) = collected.span.events
    assert event.attributes["exception.message"] == ""
    assert event.attributes["exception.type"].endswith("Speechless")


def test_an_exception_of_a_module_is_named_with_it(collected):
    @tool(isolation="inline")
    def decode() -> str:
        """Decode."""
        import json  # noqa: PLC0415 -- the module is what is tested

        return json.loads("{")

    run([decode], "decode")
    assert collected.span.attributes["error.type"] == "json.decoder.JSONDecodeError"


def test_a_failed_result_without_a_failure_is_an_error(collected):
    telemetry = Telemetry(None, has_tracer=True, has_meter=True)
    begun = ActiveCall(ToolCall(id="c1", name="x"))
    telemetry.end(begun, telemetry.begin(begun), ToolResult.error("no"), None)
    assert collected.span.attributes["error.type"] == "failed"
    assert collected.span.attributes["toolhaft.failure.kind"] == "failed"


def test_a_span_has_the_attempt(collected):
    executor = ToolExecutor([fail])
    for _ in range(3):
        executor.execute(ToolCall(id="c1", name="fail"))
    assert [span.attributes["toolhaft.attempt"] for span in collected.spans] == [1, 2, 3]


def test_a_span_marks_a_replay(collected):
    executor = ToolExecutor([add])
    call = ToolCall(id="c1", name="add", arguments='{"a": 1, "b": 2}', idempotency_key="k")
    executor.execute(call)
    executor.execute(call)
    assert [span.attributes["toolhaft.replay"] for span in collected.spans] == [False, True]


def test_a_span_names_the_event_of_its_call(collected):
    executor = ToolExecutor([add])
    events = []
    executor.session.dispatcher.subscribe(ToolInvoked, events.append)
    executor.execute(ToolCall(id="c1", name="add", arguments='{"a": 1, "b": 2}'))
    assert collected.span.attributes["toolhaft.event_id"] == events[0].event_id


def test_a_tool_that_does_not_exist_makes_neither_a_span_name_nor_a_time_series(collected):
    assert run([add], "x" * 1000).failure.kind == "unknown_tool"
    span = collected.span
    assert span.name == "execute_tool"
    assert span.attributes["gen_ai.tool.name"] == "x" * 128
    assert span.attributes["error.type"] == "unknown_tool"
    (point,) = collected.points
    assert dict(point.attributes) == {"gen_ai.tool.name": "_OTHER", "error.type": "unknown_tool"}


def test_the_duration_is_measured_in_the_advised_buckets_and_is_that_of_the_span(collected):
    run([add], "add", '{"a": 1, "b": 2}')
    (point,) = collected.points
    assert point.explicit_bounds == BUCKETS_S
    assert dict(point.attributes) == {"gen_ai.tool.name": "add", "gen_ai.tool.type": "function"}
    assert point.count == 1
    span = collected.span
    assert point.sum == pytest.approx((span.end_time - span.start_time) / 1e9, abs=1e-12)
    assert point.sum > 0


def test_the_measurement_names_its_span_as_an_exemplar(collected):
    run([add], "add", '{"a": 1, "b": 2}')
    (point,) = collected.points
    assert [exemplar.span_id for exemplar in point.exemplars] == [collected.span.context.span_id]


# --- content ---


CONTENT = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")


@pytest.mark.parametrize("mode", [None, "", "NO_CONTENT", "EVENT_ONLY", "false"])
def test_arguments_and_results_are_not_on_spans_unless_asked_for(collected, monkeypatch, mode):
    if mode is not None:
        monkeypatch.setenv(CAPTURE, mode)
    run([add], "add", '{"a": 1, "b": 2}')
    assert not set(CONTENT) & set(collected.span.attributes)


@pytest.mark.parametrize("mode", ["SPAN_ONLY", "span_and_event", "true"])
def test_arguments_and_results_are_on_spans_where_the_environment_asks_for_them(collected, monkeypatch, mode):
    monkeypatch.setenv(CAPTURE, mode)
    run([add], "add", '{"b": 2, "a": 1}')
    assert [collected.span.attributes[key] for key in CONTENT] == ['{"a":1,"b":2}', "3"]


@pytest.fixture
def content(collected, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    return collected


def test_a_failure_says_why_where_content_is_asked_for(content):
    run([fail], "fail")
    assert content.span.status.description.startswith("fail failed: ZeroDivisionError: by nothing")
    assert "gen_ai.tool.call.result" not in content.span.attributes


def test_secrets_are_masked_in_arguments_and_in_what_came_of_them(content):
    assert run([log_in], "log_in", {"user": "me", "password": "hunter2"}).value == "me knows hunter2"
    assert [content.span.attributes[key] for key in CONTENT] == [
        '{"password":"***","user":"me"}',
        "me knows ***",
    ]


@pytest.mark.parametrize("user", ["nobody", "root"])
def test_secrets_are_masked_in_errors(content, user):
    with contextlib.suppress(PromptEvaluationError):
        run([log_in], "log_in", {"user": user, "password": "hunter2"})
    span = content.span
    assert span.status.description.startswith(("*** opens nothing", "log_in failed: ValueError: *** is no"))
    assert "hunter2" not in span.to_json()


def test_what_cannot_be_masked_is_not_shown(content):
    run([log_in], "log_in", '{"user": "me", "password": "hunter2"')
    span = content.span
    assert (
        span.attributes["gen_ai.tool.call.arguments"]
        == "not shown: not a JSON object, and it may contain secrets"
    )
    assert "hunter2" not in span.to_json()


def test_arguments_that_are_not_json_are_shown_as_they_came(content):
    run([add], "add", "{")
    assert content.span.attributes["gen_ai.tool.call.arguments"] == "{"


def test_arguments_of_a_tool_that_does_not_exist_are_never_shown(content):
    run([log_in], "logn", {"user": "me", "password": "hunter2"})
    assert "hunter2" not in content.span.to_json()


def test_long_content_is_cut_at_a_mark(content):
    @tool(isolation="inline")
    def repeat(text: str) -> str:
        """Repeat."""
        return text

    run([repeat], "repeat", {"text": "x" * 100_000})
    for key in CONTENT:
        assert content.span.attributes[key].endswith("x [cut]")
        assert len(content.span.attributes[key]) < 10_100


def test_lone_surrogates_reach_no_exporter(content):
    @tool(isolation="inline")
    def give():
        """Give back half a character."""
        return "\ud800"

    executor = ToolExecutor([give])
    executor.execute(ToolCall(id="\ud800", name="give"))
    executor.execute(ToolCall(id="c2", name="\ud800"))
    for span in content.spans:
        for value in span.attributes.values():
            assert str(value).encode()


def test_a_span_that_is_not_sampled_costs_no_description(monkeypatch):
    begin(monkeypatch, sampler=ALWAYS_OFF)
    monkeypatch.setattr(Telemetry, "_describe", lambda *_: pytest.fail("it was described"))
    assert run([add], "add", '{"a": 1, "b": 2}').value == 3


# --- telemetry that fails ---


class Broken(SpanProcessor):
    def __init__(self, where):
        self.where = where

    def on_start(self, span, parent_context=None):
        if self.where == "start":
            raise OSError("broken")

    def on_end(self, span):
        if self.where == "end":
            raise OSError("broken")


@pytest.mark.parametrize("where", ["start", "end"])
def test_a_processor_that_fails_changes_no_outcome(collected, caplog, where):
    collected.tracers.add_span_processor(Broken(where))
    assert run([add], "add", '{"a": 1, "b": 2}').value == 3
    (record,) = caplog.records
    assert record.message == "telemetry failed on a call of add"
    assert "broken" in record.exc_text
    assert not trace_api.get_current_span().get_span_context().is_valid


def test_a_value_that_cannot_be_shown_changes_no_outcome(content, caplog):
    class Shy:
        def render(self):
            raise OSError("broken")

    @tool(isolation="inline")
    def give():
        """Give back what cannot be shown."""
        return Shy()

    assert run([give], "give").success
    assert content.span.end_time is not None
    assert caplog.records == []


def test_an_interruption_of_telemetry_itself_reaches_the_caller(collected, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Telemetry, "_describe", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run([add], "add", '{"a": 1, "b": 2}')
