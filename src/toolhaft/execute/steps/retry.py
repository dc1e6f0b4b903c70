"""Repeats a failed call by itself, where its effect allows and a policy asks for it.

Knows effects and policies; does not know the model's own attempts.
"""

from __future__ import annotations

import logging
from typing import Final

from toolhaft.core.effect import Effect
from toolhaft.core.limits import RetryPolicy
from toolhaft.errors import ToolTimeoutError
from toolhaft.execute.aliases import AnyResult, AnyTool
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
        while True:
            result = await arrive(inner(run))
            error = _cause(result)
            if error is None or tried >= policy.max_attempts or not _covers(policy, error):
                return result
            wait_s = policy.wait_s(tried, error)
            if run.deadline is not None and run.deadline.remaining() <= wait_s:
                return result
            await run.port.wait(lambda _: None, wait_s)
            run.repeats = (*run.repeats, result.message)
            tried += 1
            run.is_over = False
            verdict = tool.validate(run.call.arguments)  # the handler may have changed what it was given
            if isinstance(verdict, ValidArguments):
                run.params = verdict.params

    return retry


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
