"""An application with OpenTelemetry's real SDK, and tools whose calls it is told of."""

import asyncio
import sys
from typing import Annotated

from opentelemetry import trace as trace_api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolhaft import Effect, Secret, ToolCall, ToolExecutor, ToolResult, tool
from toolhaft.errors import PromptEvaluationError
from toolhaft.execute.spans import CAPTURE


class Collected:
    """What the application's providers were told."""

    def __init__(self, sampler=None):
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)

    @property
    def spans(self):
        return self.exporter.get_finished_spans()

    @property
    def span(self):
        (span,) = self.spans
        return span

    @property
    def points(self):
        data = self.reader.get_metrics_data()
        (metric,) = data.resource_metrics[0].scope_metrics[0].metrics
        assert (metric.name, metric.unit) == ("gen_ai.execute_tool.duration", "s")
        return list(metric.data.data_points)


def set_providers(monkeypatch, tracers, meters):
    monkeypatch.setattr(trace_api, "_TRACER_PROVIDER", tracers)
    monkeypatch.setattr(sys.modules["opentelemetry.metrics._internal"], "_METER_PROVIDER", meters)


def begin(monkeypatch, **options):
    """Set providers for one test."""
    collected = Collected(**options)
    monkeypatch.delenv(CAPTURE, raising=False)
    set_providers(monkeypatch, collected.tracers, collected.meters)
    return collected


@tool(isolation="inline", effect=Effect.READ)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(isolation="inline")
def fail() -> str:
    """Fail."""
    raise ZeroDivisionError("by nothing")


@tool(isolation="inline")
def give_back_an_error() -> ToolResult[None]:
    """Say that it failed."""
    return ToolResult.error("no")


@tool(timeout_s=0.01, effect=Effect.READ)
async def hang() -> str:
    """Never end."""
    await asyncio.Event().wait()
    return ""


@tool(isolation="inline")
def log_in(user: str, password: Annotated[str, Secret]) -> str:
    """Log in."""
    if user == "nobody":
        raise PromptEvaluationError(f"{password} opens nothing")
    if user == "root":
        raise ValueError(f"{password} is no password of root's")
    return f"{user} knows {password}"


def run(tools, name, arguments="{}", **options):
    return ToolExecutor(tools, **options).execute(ToolCall(id="c1", name=name, arguments=arguments))
