"""Answers a call that needs no waiting where its caller stands: without a thread, and without forks.

Knows the quicker sisters of handlers; does not know what they read.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import Final

from toolhaft.core.at_once import quick_of
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.result import ToolResult
from toolhaft.execute.outcomes import limit_of, overran
from toolhaft.execute.run import Answer, Run, Step
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps import verify

_LOG: Final = logging.getLogger("toolhaft")
_TURN_S: Final = 0.005
"""How long an event loop is held up by calls that are awaited one after the other."""
_NOT_AT_ONCE: Final[AnyResult] = ToolResult(success=False)


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent for a handler that has no sister, and where the tool's owner says where it runs."""
    quick = quick_of(tool.handler)
    if quick is None or tool.effect is not Effect.READ or tool.isolation is not None:
        return inner

    def ask(run: Run) -> AnyResult:
        if run.deadline is not None and run.deadline.has_passed:
            return _NOT_AT_ONCE
        began = monotonic()
        try:
            result = quick(run.params, run.scope.resources) or _NOT_AT_ONCE
        except Exception:  # noqa: BLE001 -- the handler meets whatever it is, where it can be told
            _LOG.exception("%s could not be answered at once, and is left to its handler", tool.name)
            return _NOT_AT_ONCE
        took_s = monotonic() - began
        if run.port.is_loop:
            setup.held_up_s += took_s
        return overran(tool, setup, run) if took_s > limit_of(tool, run, began) else result

    checked = verify.compose(tool, setup, ask)

    def answer(run: Run) -> Answer:
        # now and then the handler, which is waited for: else other tasks would never have their turn
        if setup.held_up_s > _TURN_S and run.port.is_loop:
            setup.held_up_s = 0.0
            return inner(run)
        result = checked(run)
        return inner(run) if result is _NOT_AT_ONCE else result

    return answer
