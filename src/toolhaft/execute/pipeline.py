"""The call pipeline: what a step is, and how the chain of steps for each tool is composed.

`executor.py` has the order of the steps. A chain is composed on the first call of a tool, and again after a
subscriber, the prompt or the set of tools has changed. A tracer that was set later is used after `new_run()`.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from types import CoroutineType
from typing import Any, NamedTuple, TypeAlias

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.setup import Setup

StepAnswer: TypeAlias = "AnyResult | CoroutineType[Any, Any, AnyResult]"
Step: TypeAlias = "Callable[[ActiveCall], StepAnswer]"
"""Runs a call: returns its result, or a coroutine for it if something has to be waited for."""
DirectCall: TypeAlias = "Callable[[ToolCall, type[ActiveCall]], StepAnswer]"
"""Runs a call without a principal, deadline, key or parent call."""
Compose: TypeAlias = "Callable[[AnyTool, Setup, Step], Step]"
"""Wraps a step around the inner ones; returns the inner ones if it has nothing to do for this tool."""


class ToolStep(NamedTuple):
    """A step of the pipeline."""

    name: str
    compose: Compose
    compose_keyed: Compose | None = None
    """Replaces `compose` for calls that have an idempotency key."""


class Observer(NamedTuple):
    """A step that also wraps calls that reach no tool: unknown names, and approvals that are refused."""

    name: str
    compose: Callable[[AnyTool | None, Setup, Step], Step]
    compose_keyed: None = None


def then(
    inner: Step,
    finish: Callable[[ActiveCall, AnyResult], AnyResult],
    on_raise: Callable[[ActiveCall, BaseException], None] | None = None,
) -> Step:
    """The inner steps, followed by `finish`, whether they return a result or a coroutine.

    `on_raise` is called with an exception that the inner steps raise, which is then raised again.
    """

    async def later(active: ActiveCall, answer: CoroutineType[Any, Any, AnyResult]) -> AnyResult:
        try:
            result = await answer
        except BaseException as error:
            if on_raise is not None:
                on_raise(active, error)
            raise
        return finish(active, result)

    def step(active: ActiveCall) -> StepAnswer:
        try:
            answer = inner(active)
        except BaseException as error:
            if on_raise is not None:
                on_raise(active, error)
            raise
        return later(active, answer) if type(answer) is CoroutineType else finish(active, answer)

    return step


async def resolve(answer: StepAnswer) -> AnyResult:
    """The result, awaited if it is a coroutine: for steps that are async themselves."""
    return await answer if type(answer) is CoroutineType else answer


class Chains:
    """The chains of one executor, for its current tools and prompt."""

    __slots__ = ("_changes", "_compose_direct", "_keyed", "_lock", "_setup", "_steps", "direct", "plain")

    def __init__(
        self,
        setup: Setup,
        steps: tuple[Observer | ToolStep, ...],
        compose_direct: Callable[[AnyTool, Setup, tuple[str, ...]], DirectCall | None] | None = None,
    ) -> None:
        self._setup = setup
        self._steps = steps
        self._compose_direct = compose_direct
        self._lock = Lock()
        self._changes = 0
        """How often the chains were cleared; a chain whose composition began before a clear is not kept."""
        self._keyed: dict[str, Step] = {}
        self.plain: dict[str, Step] = {}
        """The chains for calls without an idempotency key, as far as they have been composed."""
        self.direct: dict[str, DirectCall] = {}
        """The functions that run plain calls without a chain, of those tools that have one."""

    def clear(self) -> None:
        """Compose every chain again when it is next needed."""
        with self._lock:
            self._changes += 1
            self.plain.clear()
            self.direct.clear()
            self._keyed.clear()

    def find(self, call: ToolCall) -> Step:
        """The chain for a call."""
        is_keyed = call.idempotency_key is not None
        chains = self._keyed if is_keyed else self.plain
        chain = chains.get(call.name)
        if chain is not None:
            return chain
        tool = self._setup.tools.by_name.get(call.name)
        if tool is None:
            return self.observed(None, lambda active: self._setup.tools.unknown(call.name, active.principal))
        changes = self._changes
        chain, names = self._compose(tool, is_keyed=is_keyed)  # without the lock: a step may clear the chains
        direct = None
        if self._compose_direct is not None and not is_keyed:
            direct = self._compose_direct(tool, self._setup, names)
        use = self._setup.tools.found.uses.get(call.name)
        if use is not None:
            chain, direct = use.track(chain), None if direct is None else use.track(direct)
        with self._lock:
            if self._changes == changes:
                chains[call.name] = chain
                if direct is not None:
                    self.direct[call.name] = direct
        return chain

    def names(self, tool: AnyTool) -> tuple[str, ...]:
        """The names of the steps in the chain of a tool, from the outside in."""
        return self._compose(tool, is_keyed=False)[1]

    def _compose(self, tool: AnyTool, *, is_keyed: bool) -> tuple[Step, tuple[str, ...]]:
        chain: Step = _end_of_chain
        names: list[str] = []
        for step in reversed(self._steps):
            compose = (step.compose_keyed if is_keyed else None) or step.compose
            outer = compose(tool, self._setup, chain)
            if outer is not chain:
                names.append(step.name)
            chain = outer
        return chain, tuple(reversed(names))

    def observed(self, tool: AnyTool | None, chain: Step) -> Step:
        """A chain for a call that reaches no tool, wrapped in the observers."""
        for step in reversed(self._steps):
            if isinstance(step, Observer):
                chain = step.compose(tool, self._setup, chain)
        return chain


def _end_of_chain(_: ActiveCall) -> AnyResult:
    raise AssertionError("invoke is the last step and calls no inner one")  # pragma: no cover
