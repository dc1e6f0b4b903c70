"""Tells OpenTelemetry of every call, whatever happens: the handler runs inside a span of its own.

Knows whether the application has set a provider; does not know what a span says.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.execute.run import Run, Step, arrive
from toolhaft.execute.setup import Setup

_log: Final = logging.getLogger("toolhaft")


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where the application has set neither a tracer provider nor a meter provider."""
    return traced(tool, setup, inner)


def traced(tool: AnyTool | None, _: Setup, inner: Step) -> Step:
    """The step itself, absent as `compose` says; also around calls of tools that do not exist."""
    try:
        has_tracer = _is_set("opentelemetry.trace", "get_tracer_provider")
        has_meter = _is_set("opentelemetry.metrics", "get_meter_provider")
        if not has_tracer and not has_meter:
            return inner
        from toolhaft.execute.spans import Telemetry  # noqa: PLC0415 -- imports opentelemetry

        telemetry = Telemetry(tool, has_tracer=has_tracer, has_meter=has_meter)
    except Exception:  # noqa: BLE001 -- the application's own telemetry: it is told of, and changes no outcome
        _log.exception("calls of %s are not traced", "unknown tools" if tool is None else tool.name)
        return inner

    async def trace(run: Run) -> AnyResult:
        watch = telemetry.begin(run)
        result: AnyResult | None = None
        error: BaseException | None = None
        try:
            result = await arrive(inner(run))
        except BaseException as raised:
            error = raised
            raise
        else:
            return result
        finally:
            telemetry.end(run, watch, result, error)

    return trace


def _is_set(module: str, getter: str) -> bool:
    """True if there is a provider other than the API's own, which do nothing.

    An API that nobody has imported is not imported for this: nobody can have set a provider there.
    """
    get_provider = getattr(sys.modules.get(module), getter, None)
    return get_provider is not None and not type(get_provider()).__module__.startswith(module)
