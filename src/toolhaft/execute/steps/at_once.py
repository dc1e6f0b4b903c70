"""Answers a call that needs no waiting where its caller stands: without a thread, and without forks.

Knows the quicker sisters of handlers; does not know what they read.
"""

from __future__ import annotations

import logging
from itertools import count
from time import monotonic
from typing import Final

from toolhaft.core.at_once import AtOnce, quick_of
from toolhaft.core.effect import Effect
from toolhaft.core.result import ToolResult
from toolhaft.execute.aliases import AnyResult, AnyTool
from toolhaft.execute.outcomes import limit_of, overran
from toolhaft.execute.run import Answer, Run, Step
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps import verify

_LOG: Final = logging.getLogger("toolhaft")
_IN_A_ROW: Final = 50
_NOT_AT_ONCE: Final[AnyResult] = ToolResult(success=False)


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent for a handler that has no sister, and where the tool's owner says where it runs."""
    quick = quick_of(tool.handler)
    if quick is None or tool.effect is not Effect.READ or tool.isolation is not None:
        return inner
    checked = verify.compose(tool, setup, _asker(tool, setup, quick))
    turns = count(1)

    def answer(run: Run) -> Answer:
        # now and then the handler: whoever awaits one call after the other would never let its loop go on
        if run.port.is_loop and next(turns) % _IN_A_ROW == 0:
            return inner(run)
        result = checked(run)
        return inner(run) if result is _NOT_AT_ONCE else result

    return answer


def _asker(tool: AnyTool, setup: Setup, quick: AtOnce) -> Step:
    def ask(run: Run) -> AnyResult:
        if run.deadline is not None and run.deadline.has_passed:
            return _NOT_AT_ONCE
        began = monotonic()
        try:
            result = quick(run.params, run.scope.resources) or _NOT_AT_ONCE
        except Exception:  # noqa: BLE001 -- the handler meets whatever it is, where it can be told
            _LOG.exception("%s could not be answered at once, and is left to its handler", tool.name)
            return _NOT_AT_ONCE
        if monotonic() - began > limit_of(tool, run, began):
            return overran(tool, setup, run)
        return result

    return ask
