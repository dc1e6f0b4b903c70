"""Answers a call that needs no waiting where its caller stands: without a thread, and without forks.

Knows the quicker sisters of handlers; does not know what they read.
"""

from __future__ import annotations

from typing import Final

from toolhaft.core.at_once import quick_of
from toolhaft.core.effect import Effect
from toolhaft.core.result import ToolResult
from toolhaft.execute.aliases import AnyResult, AnyTool
from toolhaft.execute.run import Answer, Run, Step
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps import verify

_NOT_AT_ONCE: Final[AnyResult] = ToolResult(success=False)


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent for a handler that has no sister, and where the tool's owner says where it runs."""
    quick = quick_of(tool.handler)
    if quick is None or tool.effect is not Effect.READ or tool.isolation is not None:
        return inner

    def ask(run: Run) -> AnyResult:
        if run.deadline is not None and run.deadline.has_passed:
            return _NOT_AT_ONCE
        try:
            return quick(run.params, run.scope.resources) or _NOT_AT_ONCE
        except Exception:  # noqa: BLE001 -- whatever it is, the handler meets it where it can be told
            return _NOT_AT_ONCE

    checked = verify.compose(tool, setup, ask)

    def answer(run: Run) -> Answer:
        result = checked(run)
        return inner(run) if result is _NOT_AT_ONCE else result

    return answer
