"""Tells the session of every call, whatever happens: one ToolInvoked each, secrets masked.

Knows events; does not know who listens.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final, NamedTuple, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import ToolInvoked
from toolhaft.core.failure import Failure
from toolhaft.execute.arguments import raw_arguments
from toolhaft.execute.canonical import canonical_text
from toolhaft.execute.failures import AFTERMATH, clip
from toolhaft.execute.masks import Mask, hide, mask_of
from toolhaft.execute.run import Run, Step, arrive
from toolhaft.execute.setup import Setup
from toolhaft.session import Session, keep_latest

_LOG: Final = logging.getLogger("toolhaft")
MOST_LOGGED: Final = 1000
"""Calls that a session remembers by itself."""
_LONGEST_ARGUMENTS: Final = 10_000


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where nobody hears of it."""
    if not setup.session.hears(ToolInvoked):
        return inner
    keep_log(setup.session)
    return recorded(tool, setup, inner)


def keep_log(session: Session) -> None:
    """Have a session keep its newest calls, as a log that no rollback touches, unless it does so already."""
    if not session.reduces(ToolInvoked):
        session[ToolInvoked].register(keep_latest(MOST_LOGGED), log=True)


def recorded(tool: AnyTool | None, setup: Setup, inner: Step) -> Step:
    """The step itself; also around calls of tools that do not exist."""
    mask = setup.mask_unknown() if tool is None else mask_of(tool)

    async def record(run: Run) -> AnyResult:
        run.event_id = setup.new_id()
        before = None if tool is None else run.ledger.last_arguments(tool.name)
        begun = _Begun(time.time(), time.monotonic(), before, mask)
        try:
            result = await arrive(inner(run))
        except BaseException as error:
            _tell(setup, _event(run, tool, setup, begun, error))
            raise
        _tell(setup, _event(run, tool, setup, begun, result))
        return result

    return record


def _tell(setup: Setup, event: ToolInvoked) -> None:
    try:
        setup.session.dispatch(event)
    except Exception:  # noqa: BLE001 -- a reducer of the user's changes no outcome
        _LOG.exception("the call of %s could not be recorded", event.tool)


class _Begun(NamedTuple):
    at: float
    monotonic: float
    last_arguments: object
    mask: Mask | None


def _event(
    run: Run, tool: AnyTool | None, setup: Setup, begun: _Begun, end: AnyResult | BaseException
) -> ToolInvoked:
    if isinstance(end, BaseException):
        is_cancelled = isinstance(end, asyncio.CancelledError)
        # a call that still waited for its turn has left nothing behind
        outcome = AFTERMATH[tool.effect][0] if tool is not None and run.is_over else "nothing_happened"
        failure = Failure(kind="cancelled" if is_cancelled else "failed", outcome=outcome)
        success, message = False, type(end).__name__
    else:
        failure, success, message = end.failure, end.success, clip(end.message)
    arguments, changed = _arguments(run, begun.mask, begun.last_arguments)
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
        attempt=run.attempt,
        repeats=run.repeats,
        is_replay=run.is_replay,
        started_at=begun.at,
        duration_s=time.monotonic() - begun.monotonic,
        event_id=run.event_id or "",
        run_id=setup.run_id,
        session_id=setup.session.id,
        parent_id=run.parent_id,
    )


def _arguments(run: Run, mask: Mask | None, before: object) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    given = raw_arguments(run)
    if mask is None:
        text = given if isinstance(given, str) else canonical_text(given)
        return _cut(text), () if before is None else _changed(before, given)
    if not isinstance(given, dict):
        return "not shown: no object, and it may hold secrets", ()
    secrets = cast("object", given)
    changed = _changed(mask(before), mask(given)) if isinstance(before, dict) else ()
    # a secret may stand a second time under a name that is none
    hidden = tuple(
        (name, hide(hide(was, before, mask), secrets, mask), hide(hide(now, before, mask), secrets, mask))
        for name, was, now in changed
    )
    text = canonical_text(mask(given))[: 2 * _LONGEST_ARGUMENTS]  # more is cut anyway, and hiding takes time
    return _cut(hide(text, secrets, mask)), hidden


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
