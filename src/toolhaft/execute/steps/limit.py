"""The steps that limit calls: `limit`, `no_repeat`, `take_turns`, `max_repeats`, `rate`, `max_parallel`."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from typing import Final

from toolhaft.core.canonical_json import canonical_text
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.limits import BudgetTracker
from toolhaft.core.result import FailureKind, ToolResult
from toolhaft.errors import BudgetExceededError
from toolhaft.execute.active_call import ActiveCall, Report, final_arguments
from toolhaft.execute.attempts import moves_circuit
from toolhaft.execute.failures import is_a, refused
from toolhaft.execute.handler_errors import log_error
from toolhaft.execute.handlers import late_result
from toolhaft.execute.pipeline import Step, StepAnswer, resolve, then
from toolhaft.execute.setup import Setup
from toolhaft.execute.throttling import FairSemaphore, TokenBucket
from toolhaft.execute.tool_stats import ToolCounter

DEEPEST: Final = 32
"""How deep calls can be nested: each level holds a thread."""


def limit(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In the chain of every tool with a handler: deadline, budget, attempts and circuit."""
    if tool.handler is None:
        return inner
    budget = setup.limits.budget
    failing = setup.limits.circuits.failing  # a set, usually empty: then no failure is counted anywhere
    counted = count_outcome(tool, setup, inner)
    counter = setup.workers.stats.counter_of(tool.name)

    def step(active: ActiveCall) -> StepAnswer:
        if active.deadline is not None or budget is not None or failing:
            refusal = refusal_of(tool, budget, active)
            if refusal is not None:
                counter.count_failure(kind_of(refusal))
                return refusal
        return counted(active)

    return step


def count_outcome(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """The inner steps; their outcome counts for the attempts, the circuit and the statistics of the tool."""
    failing = setup.limits.circuits.failing
    counter = setup.workers.stats.counter_of(tool.name)
    count_call, add_duration = counter.count_call, counter.add_duration

    def finish(active: ActiveCall, result: AnyResult) -> AnyResult:
        if active.took_s:
            add_duration(active.took_s)
        if result.success:
            count_call()
            if failing:
                active.attempts.succeeded(tool.name)
            return result
        if active.has_raised:
            _log_cause(tool, active, result)
        counter.count_failure(kind_of(result))
        if not moves_circuit(result):
            give_trial_back(tool, active)
        # the step `no_repeat` has made the JSON, unless the arguments are not valid
        final = None if tool.retryable else active.json_arguments
        return active.attempts.failed(tool, active.call.arguments, final, result, active.earlier)

    return then(inner, finish, _count_raised(tool, counter))


def _count_raised(tool: AnyTool, counter: ToolCounter) -> Callable[[ActiveCall, BaseException], None]:
    def on_raise(active: ActiveCall, error: BaseException) -> None:
        if active.took_s:
            counter.add_duration(active.took_s)
        counter.count_failure("cancelled" if is_a(error, CancelledError) else "failed")
        give_trial_back(tool, active)

    return on_raise


def _log_cause(tool: AnyTool, active: ActiveCall, result: AnyResult) -> None:
    """Log the exception of the handler, if the result has it."""
    failure = result.failure
    if failure is not None and failure.cause is not None:
        log_error(tool, active, failure.cause)


def kind_of(result: AnyResult) -> FailureKind:
    """The kind of a failed result."""
    return "failed" if result.failure is None else result.failure.kind


def refusal_of(tool: AnyTool, budget: BudgetTracker | None, active: ActiveCall) -> AnyResult | None:
    """The refusal of this call, if any; before parsing, because a deadline must also bound parsing."""
    if budget is not None and (refusal := _budget_refusal(tool.name, budget.check)) is not None:
        return refusal
    if active.deadline is not None and active.deadline.has_passed:
        return late_result(tool, active)
    parent, depth, parent_ended = active.nesting
    if parent is not None and parent_ended:
        return refused("deadline", f"the call of {parent.call.name} is over, and so {tool.name} was not run.")
    if depth > DEEPEST:
        return refused(
            "failed",
            f"calls are nested {DEEPEST} deep: {tool.name} was not run.",
            advice="A tool seems to call itself.",
        )
    if not active.attempts.circuits.failing:
        return _take_call(tool.name, budget)
    _, failures = active.earlier = active.attempts.earlier_failures(tool.name, active.earlier)
    report, attempt = active.report, failures + 1
    active.report = Report(attempt) if report is ActiveCall.report else report._replace(attempt=attempt)
    admitted = active.attempts.admit(tool, failures)
    if isinstance(admitted, ToolResult):
        return admitted
    active.trial = admitted
    refusal = _take_call(tool.name, budget)
    if refusal is not None:
        give_trial_back(tool, active)
    return refusal


def give_trial_back(tool: AnyTool, active: ActiveCall) -> None:
    """Let another call be the trial call: this one did not test the tool."""
    if active.trial:
        active.attempts.circuits.give_back(tool.name, active.trial)


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

    def step(active: ActiveCall) -> StepAnswer:
        if active.attempts.has_failed_with(tool.name, final_arguments(tool, active)):
            return refused(
                "attempts",
                f"{tool.name} failed with these arguments and cannot be retried.",
                advice="Change the arguments, or use another tool.",
            )
        return inner(active)

    return step


def takes_turns(tool: AnyTool) -> bool:
    """True if calls of this tool and of others like it run one at a time."""
    if tool.effect is Effect.REVERSIBLE:
        return True
    return tool.effect is Effect.IRREVERSIBLE and tool.context_name is not None


def take_turns(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """In a chain if the effect requires that calls run one at a time, in the model's order."""
    if not takes_turns(tool):
        return inner

    async def step(active: ActiveCall) -> AnyResult:
        queue = active.scope.queue
        ticket = active.ticket or queue.join()
        try:
            if not await queue.enter(ticket, active.waiter, active.left_s()):
                return refused(
                    "deadline", f"the deadline passed before {tool.name} had its turn: it was not run."
                )
            return await resolve(inner(active))
        finally:
            queue.leave(ticket)

    return step


def max_repeats(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In every chain if the executor has `max_repeats`: refuses the same call made too often in a row."""
    most = setup.limits.max_repeats
    if most is None:
        return inner

    def step(active: ActiveCall) -> StepAnswer:
        this = f"{tool.name}{canonical_text(final_arguments(tool, active))}"
        before, count = active.attempts.last_call
        active.attempts.last_call = (this, count + 1 if this == before else 1)
        if active.attempts.last_call[1] > most:
            return refused(
                "circuit_open",
                f"the same call of {tool.name} was made {count} times in a row and is not run again.",
                advice="Use its earlier result, or change the arguments.",
            )
        return inner(active)

    return step


def rate(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the tool has a `rate`."""
    if tool.rate is None:
        return inner
    # by its rate too: another prompt may have another tool of this name
    bucket = setup.limits.rates.setdefault(f"{tool.name} {tool.rate}", TokenBucket(tool.rate))

    def step(active: ActiveCall) -> StepAnswer:
        wait_s = bucket.take()
        if wait_s:
            return refused(
                "rate",
                f"{tool.name} may be called at most {tool.rate} and was not run.",
                advice=f"Try again in {wait_s:.1f} s.",
            )
        return inner(active)

    return step


def max_parallel(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the tool has `max_parallel`."""
    most = tool.max_parallel
    if most is None:
        return inner
    semaphore = setup.limits.parallel.setdefault(f"{tool.name} {most}", FairSemaphore(most))

    async def step(active: ActiveCall) -> AnyResult:
        ticket = semaphore.join()
        try:
            if not await semaphore.enter(ticket, active.waiter, active.queue_limit_s(tool)):
                return refused("rate", f"{most} other calls of {tool.name} still run: this one was not run.")
            return await resolve(inner(active))
        finally:
            semaphore.leave(ticket)

    return step
