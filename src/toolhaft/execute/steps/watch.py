"""The steps `trace` and `record`: report every call to OpenTelemetry and to the session."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from toolhaft.core.canonical_json import canonical_text
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import ToolInvoked
from toolhaft.core.masking import ArgumentMask, mask_text
from toolhaft.core.result import Failure
from toolhaft.execute.active_call import (
    ActiveCall,
    arguments_text,
    cut_record,
    raw_arguments,
    read_arguments,
    recorded_arguments,
)
from toolhaft.execute.failures import OUTCOME_BY_EFFECT, clip
from toolhaft.execute.pipeline import Step, resolve
from toolhaft.execute.setup import Setup
from toolhaft.session import Session, keep_latest

MOST_LOGGED: Final = 1000
"""Calls that a session keeps in its log."""
_LOG: Final = logging.getLogger("toolhaft")


def trace(tool: AnyTool | None, _: Setup, inner: Step) -> Step:
    """In a chain if the application has set a tracer provider or a meter provider."""
    try:
        has_tracer, has_meter = _has_providers()
        if not has_tracer and not has_meter:
            return inner
        from toolhaft.execute.spans import Telemetry  # noqa: PLC0415 -- imports opentelemetry

        telemetry = Telemetry(tool, has_tracer=has_tracer, has_meter=has_meter)
    except Exception:  # noqa: BLE001 -- the application's telemetry must not fail a call
        _LOG.exception("calls of %s are not traced", "unknown tools" if tool is None else tool.name)
        return inner

    async def step(active: ActiveCall) -> AnyResult:
        span = telemetry.begin(active)
        result: AnyResult | None = None
        error: BaseException | None = None
        try:
            result = await resolve(inner(active))
        except BaseException as raised:
            error = raised
            raise
        else:
            return result
        finally:
            telemetry.end(active, span, result, error)

    return step


def has_telemetry() -> bool:
    """True if the application has set a tracer provider or a meter provider."""
    try:
        return any(_has_providers())
    except Exception:  # noqa: BLE001 -- as above
        return False


def _has_providers() -> list[bool]:
    """Whether there is a tracer provider and a meter provider other than the API's, which do nothing.

    If the API was never imported, nobody can have set a provider, and it is not imported for this.
    """
    found: list[bool] = []
    for kind, getter in (("trace", "get_tracer_provider"), ("metrics", "get_meter_provider")):
        module = f"opentelemetry.{kind}"
        get_provider = getattr(sys.modules.get(module), getter, None)
        found.append(get_provider is not None and not type(get_provider()).__module__.startswith(module))
    return found


def record(tool: AnyTool | None, setup: Setup, inner: Step) -> Step:
    """In a chain if the session has a subscriber or a reducer for ToolInvoked."""
    if not setup.session.has_listener(ToolInvoked):
        return inner
    keep_log(setup.session)
    mask = setup.tools.mask_for(tool)

    async def step(active: ActiveCall) -> AnyResult:
        active.report = active.report._replace(event_id=setup.ids.new_event())
        before = None if tool is None else read_arguments(active.attempts.last_arguments(tool.name))
        begun = _Begun(time.time(), time.monotonic(), before, mask)
        try:
            result = await resolve(inner(active))
        except BaseException as error:
            _dispatch(setup, _event(active, tool, setup, begun, error))
            raise
        _dispatch(setup, _event(active, tool, setup, begun, result))
        return result

    return step


def keep_log(session: Session) -> None:
    """Register the log of the newest calls in a session, unless it has one; it is never rolled back."""
    if not session.reduces(ToolInvoked):
        session[ToolInvoked].register(keep_latest(MOST_LOGGED), log=True)


def _dispatch(setup: Setup, event: ToolInvoked) -> None:
    try:
        setup.session.dispatch(event)
    except Exception:  # noqa: BLE001 -- a user's reducer must not change the outcome
        _LOG.exception("the call of %s could not be recorded", event.tool)


class _Begun(NamedTuple):
    at: float
    monotonic: float
    last_arguments: object
    mask: ArgumentMask | None


def _event(
    active: ActiveCall, tool: AnyTool | None, setup: Setup, begun: _Begun, end: AnyResult | BaseException
) -> ToolInvoked:
    if isinstance(end, BaseException):
        is_cancelled = isinstance(end, asyncio.CancelledError)
        # a call that was still in a queue has changed nothing
        outcome = (
            OUTCOME_BY_EFFECT[tool.effect][0] if tool is not None and active.is_over else "nothing_happened"
        )
        failure = Failure(kind="cancelled" if is_cancelled else "failed", outcome=outcome)
        success, message = False, type(end).__name__
    else:
        failure, success, message = end.failure, end.success, clip(end.message)
    given = raw_arguments(active)
    parent = active.nesting.parent
    return ToolInvoked(
        tool=active.call.name,
        call_id=active.call.id,
        version=None if tool is None else tool.version,
        effect=None if tool is None else tool.effect,
        success=success,
        kind=None if failure is None else failure.kind,
        message=message,
        outcome="done" if failure is None else failure.outcome,
        principal="" if active.principal is None else active.principal.id,
        arguments=arguments_text(recorded_arguments(tool, active), begun.mask),
        changed=_changed(given, begun.last_arguments, begun.mask),
        attempt=active.report.attempt,
        repeats=active.report.repeats,
        is_replay=active.report.is_replay,
        started_at=begun.at,
        duration_s=time.monotonic() - begun.monotonic,
        event_id=active.report.event_id or "",
        run_id=setup.ids.run_id,
        session_id=setup.session.id,
        parent_id=None if parent is None else parent.report.event_id,
    )


def _changed(given: object, before: object, mask: ArgumentMask | None) -> tuple[tuple[str, str, str], ...]:
    """How the arguments differ from those of the previous attempt; secrets masked."""
    if not isinstance(before, dict) or not isinstance(given, dict):
        return ()
    arguments, attempted = cast("dict[str, object]", given), cast("dict[str, object]", before)
    if mask is None:
        return _differences(attempted, arguments)

    def masked(text: str) -> str:
        # by value: a secret may also be in an argument that is not marked as one
        return mask_text(mask_text(text, attempted, mask), arguments, mask)

    differences = _differences(mask(attempted), mask(arguments))
    return tuple((name, masked(was), masked(now)) for name, was, now in differences)


def _differences(before: Mapping[str, object], now: Mapping[str, object]) -> tuple[tuple[str, str, str], ...]:
    was = {name: cut_record(canonical_text(value)) for name, value in before.items()}
    is_ = {name: cut_record(canonical_text(value)) for name, value in now.items()}
    return tuple(
        (name, was.get(name, ""), is_.get(name, ""))
        for name in {**was, **is_}
        if was.get(name) != is_.get(name)
    )
