"""Keeps secrets out of what a failed call says.

Knows masks; does not know why the call failed.
"""

from __future__ import annotations

from dataclasses import replace

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.execute.arguments import raw_arguments
from toolhaft.execute.failures import refused
from toolhaft.execute.masks import hide, mask_of
from toolhaft.execute.run import Run, Step, then
from toolhaft.execute.setup import Setup


def compose(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """Absent where the tool takes no secrets."""
    mask = mask_of(tool)
    if mask is None:
        return inner

    def conceal(run: Run, result: AnyResult) -> AnyResult:
        failure = result.failure
        if failure is None and not result.message and not run.repeats:
            return result
        given = raw_arguments(run)
        if not isinstance(given, dict):
            return refused("invalid_arguments", f"the arguments of {tool.name} are not a JSON object.")
        run.repeats = tuple(hide(text, given, mask) for text in run.repeats)
        if failure is None:
            told = result.with_rest()
            told.message = hide(result.message, given, mask)
            return told
        problems = tuple(hide(str(problem), given, mask) for problem in failure.problems)
        told = result.with_rest(failure=replace(failure, problems=problems, error=None))
        told.message = hide(result.message, given, mask)
        return told

    return then(inner, conceal)
