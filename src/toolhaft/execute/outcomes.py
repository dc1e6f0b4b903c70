"""How a handler's end becomes a result, wherever it ran.

Knows runs and failures; does not know threads, loops or processes.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.errors import ToolTimeoutError
from toolhaft.execute.failures import after_running, from_error, refused, reraised, text_of
from toolhaft.execute.run import Run
from toolhaft.execute.setup import Setup

_A_MOMENT_S: Final = 0.005  # a timer may ring a little early


def limit_of(tool: AnyTool, run: Run, since: float | None = None) -> float:
    """Seconds that the handler has, or had `since` it began: its own limit, or what the deadline leaves."""
    if run.deadline is None:
        return tool.timeout_s
    left = run.deadline.remaining()
    if since is not None:
        left += monotonic() - since
    return min(tool.timeout_s, left)


def too_late(tool: AnyTool) -> AnyResult:
    """A call whose deadline passed before its handler was begun."""
    return refused("deadline", f"the deadline has passed: {tool.name} was not run.")


def raised(tool: AnyTool, run: Run, error: BaseException) -> AnyResult:
    """What a handler raised, as a result.

    Raises:
        BaseException: what seed 003 re-raises, and exits.
    """
    run.is_over = True
    passing = reraised(error)
    if passing is None:
        return from_error(tool, error, _given(run))
    if passing is error:
        raise error
    raise passing from error


def timed_out(tool: AnyTool, run: Run, how: str) -> AnyResult:
    """A handler that was stopped at its limit, or came back after it."""
    run.is_over = True
    budget = run.scope.setup.budget
    left_s = None if budget is None else budget.remaining_s()
    if left_s is not None and left_s < _A_MOMENT_S:
        message = f"the budget of wall time was used up while {tool.name} ran ({how})"
        return after_running(tool, "budget", message)
    if run.deadline is not None and run.deadline.has_passed:
        return after_running(tool, "deadline", f"the deadline passed while {tool.name} ran ({how})")
    message = f"{tool.name} exceeded its time limit of {tool.timeout_s:g} s ({how})"
    return after_running(tool, "timeout", message, error=ToolTimeoutError(message))


def overran(tool: AnyTool, setup: Setup, run: Run) -> AnyResult:
    """A handler that came back after its limit, where nothing could stop it."""
    setup.stats.count("overruns")
    return timed_out(tool, run, "it could not be stopped")


def words_of(error: BaseException, run: Run) -> str:
    """What an exception says, as a model may read it."""
    return text_of(error, _given(run)) or type(error).__name__


def _given(run: Run) -> str:
    raw = run.call.arguments
    return raw if isinstance(raw, str) else str(raw)
