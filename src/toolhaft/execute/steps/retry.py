"""The step `retry`: repeats a failed call automatically, if its effect and the RetryPolicy allow it."""

from __future__ import annotations

import logging
from math import inf
from typing import Final

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.limits import RetryPolicy
from toolhaft.errors import ToolTimeoutError
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.pipeline import Step, resolve
from toolhaft.execute.setup import Setup
from toolhaft.schema.problems import ValidArguments

_LOG: Final = logging.getLogger("toolhaft")


def retry(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the executor has a RetryPolicy and repeating the tool does no harm."""
    policy = setup.limits.retry
    if policy is None or policy.max_attempts == 1:
        return inner
    if tool.effect is Effect.IRREVERSIBLE or not tool.retryable:
        return inner

    async def step(active: ActiveCall) -> AnyResult:
        tried = 1
        this = active
        while True:
            result = await _try(inner, active, this)
            error = _cause(result)
            # chunks that were streamed cannot be taken back
            has_chunks = this.stream is not None and this.stream.has_chunks
            if error is None or tried >= policy.max_attempts or has_chunks:
                return result
            wait_s = _wait_s(policy, tried, error)
            if wait_s == inf or (active.deadline is not None and active.deadline.remaining() <= wait_s):
                return result
            await active.waiter.wait(lambda _: None, wait_s)
            active.report = active.report._replace(repeats=(*active.report.repeats, result.message))
            tried += 1
            this = active.fresh_copy()
            # again, because the handler may have changed its parameters
            verdict = tool.validate(active.call.arguments if active.given is None else active.given)
            if isinstance(verdict, ValidArguments):
                this.params = verdict.params

    return step


async def _try(inner: Step, active: ActiveCall, this: ActiveCall) -> AnyResult:
    """One try of a call; copies to `active` what the outer steps need from `this`."""
    try:
        return await resolve(inner(this))
    finally:
        active.is_over = this.is_over
        active.has_raised = this.has_raised
        active.took_s += 0.0 if this is active else this.took_s
        active.next_extras = this.next_extras


def _wait_s(policy: RetryPolicy, tried: int, error: BaseException) -> float:
    """Seconds to wait before the next try; infinite if there is none."""
    try:
        return policy.wait_s(tried, error) if policy.covers(error) else inf
    except Exception:  # noqa: BLE001 -- a user's `retry_on` or `retry_after` must not fail the call
        _LOG.exception("retry_on or retry_after failed on %r: the call is not repeated", type(error).__name__)
        return inf


def _cause(result: AnyResult) -> BaseException | None:
    failure = result.failure
    if result.success or failure is None or failure.kind not in ("failed", "timeout"):
        return None
    if failure.outcome == "unknown":  # it could not be rolled back
        return None
    if failure.cause is not None:
        return failure.cause
    return ToolTimeoutError(result.message) if failure.kind == "timeout" else None
