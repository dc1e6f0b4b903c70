"""One at a time, in the model's order, where the effect says so; by key for idempotent tools.

Knows queues; does not know forks.
"""

from __future__ import annotations

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Run, Step, arrive
from toolhaft.execute.setup import Setup


def takes_turns(tool: AnyTool) -> bool:
    """True if two calls of such tools never run at once."""
    if tool.effect is Effect.REVERSIBLE:
        return True
    return tool.effect is Effect.IRREVERSIBLE and tool.context_name is not None


def compose(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """Absent where the tool may run beside anything."""
    if not takes_turns(tool):
        return inner

    async def take_turn(run: Run) -> AnyResult:
        lane = run.scope.lane
        ticket = run.ticket or lane.ask()
        try:
            if not await lane.enter(ticket, run.port, run.left_s()):
                return refused(
                    "deadline", f"the deadline passed before {tool.name} had its turn: it was not run."
                )
            return await arrive(inner(run))
        finally:
            lane.leave(ticket)

    return take_turn
