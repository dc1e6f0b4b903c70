"""Keeps a call within its limits: deadline, budget, attempts, circuit.

Knows counters; does not know what a handler does.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import Any, Final

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.limits import BudgetTracker
from toolhaft.core.result import ToolResult
from toolhaft.errors import BudgetExceededError
from toolhaft.execute.arguments import final_arguments, raw_arguments
from toolhaft.execute.failures import refused
from toolhaft.execute.ledger import tells_of_tool
from toolhaft.execute.outcomes import too_late
from toolhaft.execute.run import Answer, Run, Step
from toolhaft.execute.setup import Setup

DEEPEST: Final = 32
"""Calls that may be made from within each other: each holds a thread."""


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:  # noqa: C901 -- the quick road stands in line for speed
    """Every tool that could run has this step; it does nothing as long as nothing fails."""
    if tool.handler is None:
        return inner
    budget = setup.budget
    troubles = setup.circuits.troubles

    def count(run: Run, result: AnyResult) -> AnyResult:
        if not result.success:
            if not tells_of_tool(result):
                _give_back(tool, run)
            final = None if run.params is None or tool.retryable else final_arguments(run)
            return run.ledger.failed(tool, raw_arguments(run), final, result)
        run.ledger.succeeded(tool.name)
        return result

    async def count_later(run: Run, answer: CoroutineType[Any, Any, AnyResult]) -> AnyResult:
        try:
            result = await answer
        except BaseException:
            _give_back(tool, run)
            raise
        return result if result.success and not troubles else count(run, result)

    def limit(run: Run) -> Answer:
        if run.deadline is not None or budget is not None or troubles:
            refusal = _refusal(tool, budget, run)
            if refusal is not None:
                return refusal
        try:
            answer = inner(run)
        except BaseException:
            _give_back(tool, run)
            raise
        if type(answer) is CoroutineType:
            return count_later(run, answer)
        return answer if answer.success and not troubles else count(run, answer)

    return limit


def _refusal(tool: AnyTool, budget: BudgetTracker | None, run: Run) -> AnyResult | None:
    """Why this call may not run, if so; before parsing, since a deadline must also bound that."""
    if budget is not None and (refusal := _used_up(tool.name, budget.check)) is not None:
        return refusal
    if run.deadline is not None and run.deadline.has_passed:
        return too_late(tool)
    if run.orphan_of is not None:
        return refused("deadline", f"the call of {run.orphan_of} is over, and so {tool.name} was not run.")
    if run.depth > DEEPEST:
        return refused(
            "failed",
            f"calls are nested {DEEPEST} deep: {tool.name} was not run.",
            advice="A tool seems to call itself.",
        )
    if not run.ledger.circuits.troubles:
        return _spend(tool.name, budget)
    run.attempt = run.ledger.attempt_of(tool.name)
    admitted = run.ledger.admit(tool)
    if isinstance(admitted, ToolResult):
        return admitted
    run.trial = admitted
    refusal = _spend(tool.name, budget)
    if refusal is not None:
        _give_back(tool, run)
    return refusal


def _give_back(tool: AnyTool, run: Run) -> None:
    """Let another call be the trial of a circuit: this one tells nothing of the tool."""
    if run.trial:
        run.ledger.circuits.give_back(tool.name, run.trial)


def _spend(name: str, budget: BudgetTracker | None) -> AnyResult | None:
    """Take one call off the budget; only a call that nothing else refuses counts."""
    return None if budget is None else _used_up(name, budget.take_call)


def _used_up(name: str, look: Callable[[], None]) -> AnyResult | None:
    try:
        look()
    except BudgetExceededError as error:
        return refused(
            "budget", f"{error}: {name} was not run.", advice="Give your answer with what you have."
        )
    return None
