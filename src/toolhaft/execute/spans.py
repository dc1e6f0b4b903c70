"""The OpenTelemetry span and duration of a call, by the GenAI conventions.

Imported only if the application has set a provider.
"""

from __future__ import annotations

import logging
import os
from contextvars import Token
from time import perf_counter_ns, time_ns
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.masking import ArgumentMask, argument_mask
from toolhaft.core.result import Failure
from toolhaft.execute.active_call import (
    ActiveCall,
    arguments_text,
    cut_record,
    recorded_arguments,
    secrets_of,
)
from toolhaft.execute.failures import clip, is_unexpected, text_of
from toolhaft.execute.handler_errors import LONGEST_TRACE, trace_of

CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable that puts arguments, results and messages on spans."""

# `true` comes from older versions of the conventions
_ON_SPANS: Final = frozenset(("span_only", "span_and_event", "true"))
_OPERATION: Final = "execute_tool"
_TOOL: Final = "gen_ai.tool.name"
_TYPE: Final = "gen_ai.tool.type"
_ERROR: Final = "error.type"
_DURATION: Final = "gen_ai.execute_tool.duration"
_BUCKETS_S: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_OTHER: Final = "_OTHER"
_LONGEST_NAME: Final = 128

_log: Final = logging.getLogger("toolhaft")

AttributeValue = str | bool | int | float


class OpenSpan:
    """The span of a running call, and when it started."""

    __slots__ = ("began_ns", "span", "started_ns", "token")

    def __init__(self) -> None:
        self.span: Span | None = None
        self.token: Token[Context] | None = None
        self.started_ns = time_ns()
        self.began_ns = perf_counter_ns()


class Telemetry:
    """Traces and measures the calls of one tool, or of unknown tools; its own failures change no call."""

    __slots__ = (
        "_attributes",
        "_duration",
        "_labels",
        "_mask",
        "_shows_content",
        "_span_name",
        "_tool",
        "_tracer",
    )

    def __init__(self, tool: AnyTool | None, *, has_tracer: bool, has_meter: bool) -> None:
        self._tool = tool
        self._tracer: Tracer | None = trace.get_tracer("toolhaft") if has_tracer else None
        self._duration: Histogram | None = _duration() if has_meter else None
        # arguments of an unknown tool are never shown: no schema marks which of them are secret
        self._shows_content = tool is not None and os.environ.get(CAPTURE, "").strip().lower() in _ON_SPANS
        self._mask: ArgumentMask | None = None if tool is None else argument_mask(tool)
        # a model can invent any number of names: they must not become span names or time series
        self._span_name = _OPERATION if tool is None else f"{_OPERATION} {tool.name}"
        self._labels = {_TOOL: _OTHER} if tool is None else {_TOOL: tool.name, _TYPE: "function"}
        self._attributes: dict[str, AttributeValue] = {"gen_ai.operation.name": _OPERATION, **self._labels}
        if tool is not None:
            self._attributes["gen_ai.tool.description"] = tool.description
            self._attributes["toolhaft.effect"] = tool.effect.value

    def begin(self, active: ActiveCall) -> OpenSpan:
        """Start a span and make it current, so that the handler's spans become its children."""
        open_span = OpenSpan()
        if self._tracer is not None:
            with _Isolated(active):
                open_span.span = self._tracer.start_span(
                    self._span_name,
                    kind=SpanKind.INTERNAL,
                    attributes=self._attributes_of(active),
                    start_time=open_span.started_ns,
                )
                open_span.token = otel_context.attach(trace.set_span_in_context(open_span.span))
        return open_span

    def end(
        self, active: ActiveCall, open_span: OpenSpan, result: AnyResult | None, error: BaseException | None
    ) -> None:
        """Measure the call and end its span; either `result` or `error` is given."""
        took_ns = perf_counter_ns() - open_span.began_ns
        problem = _problem(result, error)
        if self._duration is not None:
            labels = self._labels if problem is None else {**self._labels, _ERROR: problem}
            with _Isolated(active):  # while the span is current: exemplars refer to it
                self._duration.record(took_ns / 1e9, labels)
        if open_span.token is not None:
            otel_context.detach(open_span.token)
        if open_span.span is not None:
            with _Isolated(active):
                if open_span.span.is_recording():
                    self._describe(open_span.span, active, result, error, problem)
            with _Isolated(active):
                open_span.span.end(end_time=open_span.started_ns + took_ns)

    def _attributes_of(self, active: ActiveCall) -> dict[str, AttributeValue]:
        attributes = dict(self._attributes)
        if self._tool is None:
            attributes[_TOOL] = _clean(str(active.call.name)[:_LONGEST_NAME])
        if active.call.id:
            attributes["gen_ai.tool.call.id"] = _clean(str(active.call.id))
        return attributes

    def _describe(
        self,
        span: Span,
        active: ActiveCall,
        result: AnyResult | None,
        error: BaseException | None,
        problem: str | None,
    ) -> None:
        failure = None if result is None else result.failure
        span.set_attribute("toolhaft.attempt", active.report.attempt)
        span.set_attribute("toolhaft.replay", active.report.is_replay)
        if active.report.event_id is not None:
            span.set_attribute("toolhaft.event_id", active.report.event_id)
        if problem is None:
            span.set_attribute("toolhaft.outcome", "done")
        else:
            span.set_attribute(_ERROR, problem)
            span.set_attribute("toolhaft.failure.kind", _kind(result, error))
            span.set_attribute("toolhaft.outcome", "unknown" if failure is None else failure.outcome)
            span.set_status(Status(StatusCode.ERROR))
        if failure is not None and active.has_raised:
            _record_exception(span, active, failure)
        if self._shows_content:
            self._show(span, active, result, error)

    def _show(
        self, span: Span, active: ActiveCall, result: AnyResult | None, error: BaseException | None
    ) -> None:
        """Put the content on the span, secrets masked."""
        mask, tool = self._mask, self._tool
        secrets = None if mask is None else secrets_of(tool, active, mask)
        shown = arguments_text(recorded_arguments(tool, active), mask)
        span.set_attribute("gen_ai.tool.call.arguments", _clean(shown))
        if mask is not None and secrets is None:  # the result may quote what cannot be masked
            return

        def masked(text: str) -> str:
            return text if secrets is None else secrets.text(text)

        if result is None:
            text = "" if error is None else text_of(error, "")
            span.set_status(Status(StatusCode.ERROR, _clean(clip(masked(text)))))
        elif result.success:
            span.set_attribute("gen_ai.tool.call.result", _clean(cut_record(masked(result.render()))))
        else:
            span.set_status(Status(StatusCode.ERROR, _clean(clip(masked(result.message)))))


def _record_exception(span: Span, active: ActiveCall, failure: Failure) -> None:
    """Record an exception that the handler did not raise on purpose, secrets masked."""
    error, trace = failure.error, active.masked_trace
    if not trace:
        if not is_unexpected(error):
            return
        trace = trace_of(error)[:LONGEST_TRACE]
    name, text = _type_name(error), _clean(clip(text_of(error, "")))
    span.add_event(
        "exception",
        {"exception.type": name, "exception.message": text, "exception.stacktrace": _clean(trace)},
    )
    span.set_status(Status(StatusCode.ERROR, f"{name}: {text}" if text else name))


class _Isolated:
    """Logs an exception of the application's sampler, processor or value, so that the call goes on."""

    __slots__ = ("_name",)

    def __init__(self, active: ActiveCall) -> None:
        self._name = active.call.name

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if not isinstance(error, Exception):
            return False
        _log.error("telemetry failed on a call of %.128s", self._name, exc_info=error)
        return True


def _duration() -> Histogram:
    return metrics.get_meter("toolhaft").create_histogram(
        _DURATION,
        unit="s",
        description="How long a call of a tool took.",
        explicit_bucket_boundaries_advisory=_BUCKETS_S,
    )


def _problem(result: AnyResult | None, error: BaseException | None) -> str | None:
    """The `error.type`: the type of the handler's exception, else the kind of failure; None for a success."""
    if result is not None and result.success:
        return None
    failure = None if result is None else result.failure
    if failure is not None and failure.kind == "failed":
        error = failure.cause
    return _kind(result, error) if error is None else _type_name(error)


def _kind(result: AnyResult | None, error: BaseException | None) -> str:
    if result is None:
        return "cancelled" if type(error).__name__ == "CancelledError" else "failed"
    return "failed" if result.failure is None else result.failure.kind


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _clean(text: str) -> str:
    """The text without lone surrogates, which would make an exporter lose a whole batch of spans."""
    return text.encode("utf-8", "backslashreplace").decode()
