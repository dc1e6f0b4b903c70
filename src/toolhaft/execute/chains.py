"""Finds the chain of steps for a call: one a tool, composed once; a name that no tool has gets an answer.

Knows how steps are put together; does not know what they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import ToolInvoked
from toolhaft.core.principal import Principal
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Compose, Run, Step, arrive
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps import advise, record, remember, trace
from toolhaft.schema.nearest import nearest

_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 128


class Chains:
    """The chains of one executor for one prompt."""

    __slots__ = ("_changes", "_keyed", "_lock", "_setup", "_steps", "_tools", "plain")

    def __init__(self, tools: Mapping[str, AnyTool], setup: Setup, steps: tuple[Compose, ...]) -> None:
        self._tools = tools
        self._setup = setup
        self._steps = steps
        self._lock = Lock()
        self._changes = 0
        """How often the chains were cleared: one that was composed meanwhile is not kept."""
        self._keyed: dict[str, Step] = {}
        self.plain: dict[str, Step] = {}
        """The chains for calls without a key of their own that were composed already."""

    def clear(self) -> None:
        """Compose every chain anew when it is next needed."""
        with self._lock:
            self._changes += 1
            self.plain.clear()
            self._keyed.clear()

    def find(self, call: ToolCall) -> Step:
        """The chain for a call."""
        is_keyed = call.idempotency_key is not None
        chains = self._keyed if is_keyed else self.plain
        chain = chains.get(call.name)
        if chain is not None:
            return chain
        tool = self._tools.get(call.name)
        if tool is None:
            return self.watched(None, lambda run: self._setup.unknown(call.name, run.principal))
        changes = self._changes
        chain = self._composed(tool, is_keyed=is_keyed)  # without the lock: it may tell of a change itself
        with self._lock:
            if self._changes == changes:
                chains[call.name] = chain
        return chain

    def _composed(self, tool: AnyTool, *, is_keyed: bool) -> Step:
        chain: Step = _end_of_road
        for compose in reversed(self._steps):
            keyed = is_keyed and compose is remember.compose
            chain = (remember.compose_keyed if keyed else compose)(tool, self._setup, chain)
        return chain

    def watched(self, tool: AnyTool | None, step: Step) -> Step:
        """A step that is no tool's chain, traced, recorded and given feedback on like one."""
        step = advise.advised(tool, self._setup, step)
        if self._setup.session.hears(ToolInvoked):
            step = record.recorded(tool, self._setup, step)
        return trace.traced(tool, self._setup, step)


async def arrive_at(chains: Chains, run: Run) -> AnyResult:
    """One call of a turn; a place in the queue that it did not need is free as soon as it ends."""
    try:
        return await arrive(chains.find(run.call)(run))
    finally:
        leave_queue([run])


def leave_queue(runs: list[Run]) -> None:
    """A call that failed early, or never began, must not hold up the queue."""
    for run in runs:
        if run.ticket is not None:
            run.scope.lane.leave(run.ticket)


def _end_of_road(_: Run) -> AnyResult:
    raise AssertionError("invoke is the last step")  # pragma: no cover


def unknown_tool(tools: Iterable[str], name: str, principal: Principal | None) -> AnyResult:
    """The answer to a name that no tool has, or none that this principal may see."""
    sees = None if principal is None else principal.sees
    names = [known for known in tools if sees is None or known in sees]
    meant = nearest(name, names)
    if meant is not None and meant != name:
        advice = f"Did you mean {meant!r}?"
    else:
        shown = ", ".join(sorted(names)[:_MOST_NAMES])
        advice = f"The tools are: {shown}." if names else "There are no tools."
    return refused("unknown_tool", f"no tool is called {name[:_LONGEST_NAME]!r}.", advice=advice)
