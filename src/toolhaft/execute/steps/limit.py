"""The steps that limit calls: `limit`, `no_repeat`, `take_turns`, `max_repeats`, `rate`, `max_parallel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolhaft.core.canonical_json import canonical_text
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.limits import BudgetTracker
from toolhaft.core.result import ToolResult
from toolhaft.errors import BudgetExceededError
from toolhaft.execute.attempts import moves_circuit
from toolhaft.execute.failures import refused
from toolhaft.execute.handlers import too_late
from toolhaft.execute.pipeline import Step, StepAnswer, resolve, then
from toolhaft.execute.run import CallRun, final_arguments, raw_arguments
from toolhaft.execute.setup import Setup
from toolhaft.execute.throttling import FairSemaphore, TokenBucket

DEEPEST: Final = 32
"""How deep calls can be nested: each level holds a thread."""


def limit(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In the chain of every tool with a handler: deadline, budget, attempts and circuit."""
    if tool.handler is None:
        return inner
    budget = setup.limits.budget
    failing = setup.limits.circuits.failing

    def finish(run: CallRun, result: AnyResult) -> AnyResult:
        if result.success and not failing:
            return result
        if result.success:
            run.attempts.succeeded(tool.name)
            return result
        if not moves_circuit(result):
            _give_trial_back(tool, run)
        final = None if run.params is None or tool.retryable else final_arguments(run)
        return run.attempts.failed(tool, raw_arguments(run), final, result)

    counted = then(inner, finish, lambda run, _: _give_trial_back(tool, run))

    def step(run: CallRun) -> StepAnswer:
        if run.deadline is not None or budget is not None or failing:
            return _refusal(tool, budget, run) or counted(run)
        return counted(run)

    return step


def _refusal(tool: AnyTool, budget: BudgetTracker | None, run: CallRun) -> AnyResult | None:
    """The refusal of this call, if any; before parsing, because a deadline must also bound parsing."""
    if budget is not None and (refusal := _budget_refusal(tool.name, budget.check)) is not None:
        return refusal
    if run.deadline is not None and run.deadline.has_passed:
        return too_late(tool)
    parent, depth, parent_ended = run.nesting
    if parent is not None and parent_ended:
        return refused("deadline", f"the call of {parent.call.name} is over, and so {tool.name} was not run.")
    if depth > DEEPEST:
        return refused(
            "failed",
            f"calls are nested {DEEPEST} deep: {tool.name} was not run.",
            advice="A tool seems to call itself.",
        )
    if not run.attempts.circuits.failing:
        return _take_call(tool.name, budget)
    run.report = run.report._replace(attempt=run.attempts.attempt_of(tool.name))
    admitted = run.attempts.admit(tool)
    if isinstance(admitted, ToolResult):
        return admitted
    run.trial = admitted
    refusal = _take_call(tool.name, budget)
    if refusal is not None:
        _give_trial_back(tool, run)
    return refusal


def _give_trial_back(tool: AnyTool, run: CallRun) -> None:
    """Let another call probe the half-open circuit: this one did not test the tool."""
    if run.trial:
        run.attempts.circuits.give_back(tool.name, run.trial)


def _take_call(name: str, budget: BudgetTracker | None) -> AnyResult | None:
    """Take one call from the budget; a call that is refused for another reason does not count."""
    return None if budget is None else _budget_refusal(name, budget.take_call)


def _budget_refusal(name: str, check: Callable[[], None]) -> AnyResult | None:
    try:
        check()
    except BudgetExceededError as error:
        return refused(
            "budget", f"{error}: {name} was not run.", advice="Give your answer with what you have."
        )
    return None


def no_repeat(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """In the chain of a tool that is not retryable: refuses the arguments with which it failed."""
    if tool.retryable:
        return inner

    def step(run: CallRun) -> StepAnswer:
        if run.attempts.has_failed_with(tool.name, final_arguments(run)):
            return refused(
                "attempts",
                f"{tool.name} failed with these arguments and cannot be retried.",
                advice="Change the arguments, or use another tool.",
            )
        return inner(run)

    return step


def takes_turns(tool: AnyTool) -> bool:
    """True if calls of such tools run one at a time."""
    if tool.effect is Effect.REVERSIBLE:
        return True
    return tool.effect is Effect.IRREVERSIBLE and tool.context_name is not None


def take_turns(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """In a chain if the effect requires that calls run one at a time, in the model's order."""
    if not takes_turns(tool):
        return inner

    async def step(run: CallRun) -> AnyResult:
        queue = run.scope.queue
        ticket = run.ticket or queue.join()
        try:
            if not await queue.enter(ticket, run.waiter, run.left_s()):
                return refused(
                    "deadline", f"the deadline passed before {tool.name} had its turn: it was not run."
                )
            return await resolve(inner(run))
        finally:
            queue.leave(ticket)

    return step


def max_repeats(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In every chain if the executor has `max_repeats`: refuses the same call made too often in a row."""
    most = setup.limits.max_repeats
    if most is None:
        return inner

    def step(run: CallRun) -> StepAnswer:
        this = f"{tool.name}{canonical_text(final_arguments(run))}"
        before, count = run.attempts.last_call
        run.attempts.last_call = (this, count + 1 if this == before else 1)
        if run.attempts.last_call[1] > most:
            return refused(
                "circuit_open",
                f"the same call of {tool.name} was made {count} times in a row and is not run again.",
                advice="Use what it gave back, or change the arguments.",
            )
        return inner(run)

    return step


def rate(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the tool has a `rate`."""
    if tool.rate is None:
        return inner
    # by its rate too: another prompt may have another tool of this name
    bucket = setup.limits.rates.setdefault(f"{tool.name} {tool.rate}", TokenBucket(tool.rate))

    def step(run: CallRun) -> StepAnswer:
        wait_s = bucket.take()
        if wait_s:
            return refused(
                "rate",
                f"{tool.name} may be called at most {tool.rate} and was not run.",
                advice=f"Try again in {wait_s:.1f} s.",
            )
        return inner(run)

    return step


def max_parallel(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the tool has `max_parallel`."""
    most = tool.max_parallel
    if most is None:
        return inner
    semaphore = setup.limits.parallel.setdefault(f"{tool.name} {most}", FairSemaphore(most))

    async def step(run: CallRun) -> AnyResult:
        ticket = semaphore.join()
        try:
            if not await semaphore.enter(ticket, run.waiter, run.patience_s(tool)):
                return refused("rate", f"{most} other calls of {tool.name} did not end: it was not run.")
            return await resolve(inner(run))
        finally:
            semaphore.leave(ticket)

    return step
