"""Makes the call known to the calls that its handler makes: they are bounded by it, and made by its caller.

Knows the current call; the forks of one that has a context are the business of `transact`.
"""

from __future__ import annotations

from time import monotonic

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import ToolInvoked
from toolhaft.execute.handlers import Kind, kind_of
from toolhaft.execute.run import CURRENT, Run, Step, arrive
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.turn import takes_turns


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where `transact` does it, and where there is nothing that a nested call would have to know."""
    if tool.context_name is not None or tool.handler is None:
        return inner
    is_bounded = (setup.principal, setup.deadline, setup.budget) != (None, None, None) or setup.has_callers
    # a thread may outlive its call, and then must not begin another
    is_apart = tool.isolation != "inline" and kind_of(tool.handler) not in (Kind.ASYNC, Kind.ASYNC_STREAM)
    # feedback is for the calls of the model alone
    is_watched = setup.session.hears(ToolInvoked) or bool(setup.feedback)
    if not (is_bounded or is_apart or takes_turns(tool) or is_watched):
        return inner

    async def nest(run: Run) -> AnyResult:
        run.began = monotonic()
        run.timeout_s = tool.timeout_s
        token = CURRENT.set(run)
        try:
            return await arrive(inner(run))
        finally:
            CURRENT.reset(token)

    return nest
