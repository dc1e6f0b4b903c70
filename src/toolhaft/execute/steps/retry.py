"""The step `retry`: repeats a failed call automatically, if its effect and the RetryPolicy allow it."""

from __future__ import annotations

import logging
from math import inf
from random import random
from time import monotonic
from typing import Final

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.limits import RetryPolicy
from toolhaft.errors import FileBusyError, ToolTimeoutError
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.handlers import HandlerKind, handler_kind
from toolhaft.execute.pipeline import Step, resolve
from toolhaft.execute.setup import Setup
from toolhaft.schema.problems import ValidArguments

_LOG: Final = logging.getLogger("toolhaft")
_ONCE: Final = RetryPolicy(max_attempts=1)
_BUSY_S: Final = 0.003
_PART: Final = 0.9
"""Of the time limit, for which a busy file is waited for."""


def retry(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if repeating the tool does no harm, and there is a RetryPolicy or the handler is async.

    An async handler cannot wait for a busy file without blocking the event loop: it is rolled back, and
    repeated until shortly before its time limit.
    """
    policy = setup.limits.retry or _ONCE
    if tool.effect is Effect.IRREVERSIBLE or not tool.retryable:
        return inner
    if policy.max_attempts == 1 and not _may_meet_busy_files(tool):
        return inner

    async def step(active: ActiveCall) -> AnyResult:
        tried = 1
        busy_until = monotonic() + tool.timeout_s * _PART
        this = active
        while True:
            result = await _try(inner, active, this)
            error = _cause(result)
            # chunks that were streamed cannot be taken back
            if error is None or (this.stream is not None and this.stream.has_chunks):
                return result
            wait_s = _wait_s(policy, error, tried, busy_until)
            if wait_s == inf or (active.deadline is not None and active.deadline.remaining() <= wait_s):
                return result
            await active.waiter.wait(lambda _: None, wait_s)
            if not _is_busy(error):
                active.report = active.report._replace(repeats=(*active.report.repeats, result.message))
                tried += 1
            this = _again(tool, active)

    return step


def _may_meet_busy_files(tool: AnyTool) -> bool:
    if tool.context_name is None or tool.handler is None:
        return False
    return handler_kind(tool.handler) in (HandlerKind.ASYNC, HandlerKind.ASYNC_STREAM)


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, FileBusyError) and error.can_wait


def _wait_s(policy: RetryPolicy, error: BaseException, tried: int, busy_until: float) -> float:
    """Seconds until the next try; infinite if there is none."""
    if _is_busy(error):
        return _BUSY_S * (1 + 3 * random()) if monotonic() < busy_until else inf  # noqa: S311 -- spreads load
    return policy.wait_s(tried, error) if tried < policy.max_attempts and _covers(policy, error) else inf


def _again(tool: AnyTool, active: ActiveCall) -> ActiveCall:
    """The call for another try, with new parameters: the handler may have changed its own."""
    this = active.fresh_copy()
    verdict = tool.validate(active.call.arguments if active.given is None else active.given)
    if isinstance(verdict, ValidArguments):
        this.params = verdict.params
    return this


async def _try(inner: Step, active: ActiveCall, this: ActiveCall) -> AnyResult:
    """One try of a call; copies to `active` what the outer steps need from `this`."""
    try:
        return await resolve(inner(this))
    finally:
        active.is_over = this.is_over
        active.next_extras = this.next_extras


def _covers(policy: RetryPolicy, error: BaseException) -> bool:
    try:
        return policy.covers(error)
    except Exception:  # noqa: BLE001 -- a user's `retry_on` must not fail the call
        _LOG.exception("retry_on failed on %r: the call is not repeated", type(error).__name__)
        return False


def _cause(result: AnyResult) -> BaseException | None:
    failure = result.failure
    if result.success or failure is None or failure.kind not in ("failed", "timeout"):
        return None
    if failure.error is not None:
        return failure.error
    return ToolTimeoutError(result.message) if failure.kind == "timeout" else None
