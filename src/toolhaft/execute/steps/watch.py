"""The steps `trace` and `record`: report every call to OpenTelemetry and to the session."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from typing import Final, NamedTuple, cast

from toolhaft.core.canonical_json import canonical_text
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import ToolInvoked
from toolhaft.core.masking import ArgumentMask, mask_text
from toolhaft.core.result import Failure
from toolhaft.execute.failures import AFTERMATH, clip
from toolhaft.execute.pipeline import Step, resolve
from toolhaft.execute.run import CallRun, raw_arguments
from toolhaft.execute.setup import Setup
from toolhaft.session import Session, keep_latest

MOST_LOGGED: Final = 1000
"""Calls that a session keeps in its log."""
_LOG: Final = logging.getLogger("toolhaft")
_LONGEST_ARGUMENTS: Final = 10_000


def trace(tool: AnyTool | None, _: Setup, inner: Step) -> Step:
    """In a chain if the application has set a tracer provider or a meter provider."""
    try:
        has_tracer = _has_provider("opentelemetry.trace", "get_tracer_provider")
        has_meter = _has_provider("opentelemetry.metrics", "get_meter_provider")
        if not has_tracer and not has_meter:
            return inner
        from toolhaft.execute.spans import Telemetry  # noqa: PLC0415 -- imports opentelemetry

        telemetry = Telemetry(tool, has_tracer=has_tracer, has_meter=has_meter)
    except Exception:  # noqa: BLE001 -- the application's telemetry must not fail a call
        _LOG.exception("calls of %s are not traced", "unknown tools" if tool is None else tool.name)
        return inner

    async def step(run: CallRun) -> AnyResult:
        span = telemetry.begin(run)
        result: AnyResult | None = None
        error: BaseException | None = None
        try:
            result = await resolve(inner(run))
        except BaseException as raised:
            error = raised
            raise
        else:
            return result
        finally:
            telemetry.end(run, span, result, error)

    return step


def _has_provider(module: str, getter: str) -> bool:
    """True if there is a provider other than the API's default, which does nothing.

    If the API was never imported, nobody can have set a provider, and it is not imported for this.
    """
    get_provider = getattr(sys.modules.get(module), getter, None)
    return get_provider is not None and not type(get_provider()).__module__.startswith(module)


def record(tool: AnyTool | None, setup: Setup, inner: Step) -> Step:
    """In a chain if the session has a subscriber or a reducer for ToolInvoked."""
    if not setup.session.hears(ToolInvoked):
        return inner
    keep_log(setup.session)
    mask = setup.tools.mask_for(tool)

    async def step(run: CallRun) -> AnyResult:
        run.report = run.report._replace(event_id=setup.ids.new_event())
        before = None if tool is None else run.attempts.last_arguments(tool.name)
        begun = _Begun(time.time(), time.monotonic(), before, mask)
        try:
            result = await resolve(inner(run))
        except BaseException as error:
            _dispatch(setup, _event(run, tool, setup, begun, error))
            raise
        _dispatch(setup, _event(run, tool, setup, begun, result))
        return result

    return step


def keep_log(session: Session) -> None:
    """Let a session keep its newest calls in a log, which is never rolled back, unless it does."""
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
    run: CallRun, tool: AnyTool | None, setup: Setup, begun: _Begun, end: AnyResult | BaseException
) -> ToolInvoked:
    if isinstance(end, BaseException):
        is_cancelled = isinstance(end, asyncio.CancelledError)
        # a call that was still in a queue has changed nothing
        outcome = AFTERMATH[tool.effect][0] if tool is not None and run.is_over else "nothing_happened"
        failure = Failure(kind="cancelled" if is_cancelled else "failed", outcome=outcome)
        success, message = False, type(end).__name__
    else:
        failure, success, message = end.failure, end.success, clip(end.message)
    arguments, changed = _arguments(run, begun.mask, begun.last_arguments)
    parent = run.nesting.parent
    return ToolInvoked(
        tool=run.call.name,
        call_id=run.call.id,
        version=None if tool is None else tool.version,
        effect=None if tool is None else tool.effect,
        success=success,
        kind=None if failure is None else failure.kind,
        message=message,
        outcome="done" if failure is None else failure.outcome,
        principal="" if run.principal is None else run.principal.id,
        arguments=arguments,
        changed=changed,
        attempt=run.report.attempt,
        repeats=run.report.repeats,
        is_replay=run.report.is_replay,
        started_at=begun.at,
        duration_s=time.monotonic() - begun.monotonic,
        event_id=run.report.event_id or "",
        run_id=setup.ids.run_id,
        session_id=setup.session.id,
        parent_id=None if parent is None else parent.report.event_id,
    )


def _arguments(
    run: CallRun, mask: ArgumentMask | None, before: object
) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    """The arguments as text, and how they differ from those of the attempt before; secrets masked."""
    given = raw_arguments(run)
    if mask is None:
        text = given if isinstance(given, str) else canonical_text(given)
        return _cut(text), () if before is None else _changed(before, given)
    if not isinstance(given, dict):
        return "not shown: no object, and it may hold secrets", ()
    secrets = cast("object", given)

    def masked(text: str) -> str:
        # by value: a secret may also be in an argument that is not marked as one
        return mask_text(mask_text(text, before, mask), secrets, mask)

    changed = _changed(mask(before), mask(given)) if isinstance(before, dict) else ()
    text = canonical_text(mask(given))[
        : 2 * _LONGEST_ARGUMENTS
    ]  # the rest is cut anyway, and masking is slow
    return _cut(mask_text(text, secrets, mask)), tuple(
        (name, masked(was), masked(now)) for name, was, now in changed
    )


def _changed(before: object, now: object) -> tuple[tuple[str, str, str], ...]:
    if not isinstance(before, dict) or not isinstance(now, dict):
        return ()
    was = {name: _cut(canonical_text(value)) for name, value in cast("dict[str, object]", before).items()}
    is_ = {name: _cut(canonical_text(value)) for name, value in cast("dict[str, object]", now).items()}
    return tuple(
        (name, was.get(name, ""), is_.get(name, ""))
        for name in {**was, **is_}
        if was.get(name) != is_.get(name)
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_ARGUMENTS else f"{text[:_LONGEST_ARGUMENTS]} [cut]"
