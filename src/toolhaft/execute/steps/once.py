"""Refuses a tool that cannot be retried where it failed with the very same arguments.

Knows the ledger; does not know why the tool failed.
"""

from __future__ import annotations

from toolhaft.core.conversion import AnyTool
from toolhaft.execute.arguments import final_arguments
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Answer, Run, Step
from toolhaft.execute.setup import Setup


def compose(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """Absent where the tool may be retried."""
    if tool.retryable:
        return inner

    def once(run: Run) -> Answer:
        if run.ledger.has_failed_with(tool.name, final_arguments(run)):
            return refused(
                "attempts",
                f"{tool.name} failed with these arguments and cannot be retried.",
                advice="Change the arguments, or use another tool.",
            )
        return inner(run)

    return once
