"""Repeats a failed call by itself, where its effect allows and a policy asks for it.

Knows effects and policies; does not know the model's own attempts.
"""

from __future__ import annotations

import logging
from math import inf
from typing import Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.limits import RetryPolicy
from toolhaft.errors import ToolTimeoutError
from toolhaft.execute.run import Run, Step, arrive
from toolhaft.execute.setup import Setup
from toolhaft.schema.problems import ValidArguments

_LOG: Final = logging.getLogger("toolhaft")


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent without a policy, and where a repeat could do harm."""
    policy = setup.retry
    if policy is None or policy.max_attempts == 1:
        return inner
    if tool.effect is Effect.IRREVERSIBLE or not tool.retryable:
        return inner

    async def retry(run: Run) -> AnyResult:
        tried = 1
        this = run
        while True:
            result = await _try(inner, run, this)
            error = _cause(result)
            # what was streamed cannot be taken back
            is_done = error is None or tried >= policy.max_attempts or this.has_emitted
            if is_done or not _covers(policy, cast("BaseException", error)):
                return result
            wait_s = policy.wait_s(tried, error)
            if wait_s == inf or (run.deadline is not None and run.deadline.remaining() <= wait_s):
                return result
            await run.port.wait(lambda _: None, wait_s)
            run.repeats = (*run.repeats, result.message)
            tried += 1
            this = run.again()
            verdict = tool.validate(run.call.arguments)  # the handler may have changed what it was given
            if isinstance(verdict, ValidArguments):
                this.params = verdict.params

    return retry


async def _try(inner: Step, run: Run, this: Run) -> AnyResult:
    """One try of a call; what it found out is the call's."""
    try:
        return await arrive(inner(this))
    finally:
        run.is_over = this.is_over
        run.left_extras = this.left_extras


def _covers(policy: RetryPolicy, error: BaseException) -> bool:
    try:
        return policy.covers(error)
    except Exception:  # noqa: BLE001 -- a policy's own function must not end the call
        _LOG.exception("retry_on failed on %r: the call is not repeated", type(error).__name__)
        return False


def _cause(result: AnyResult) -> BaseException | None:
    failure = result.failure
    if result.success or failure is None or failure.kind not in ("failed", "timeout"):
        return None
    if failure.error is not None:
        return failure.error
    return ToolTimeoutError(result.message) if failure.kind == "timeout" else None
