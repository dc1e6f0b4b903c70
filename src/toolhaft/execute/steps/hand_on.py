"""Hands a class tool's extras to the next call only: whatever that call is, they are gone after it.

Knows extras; does not know class tools.
"""

from __future__ import annotations

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.execute.run import Answer, Run, Step, then
from toolhaft.execute.setup import Setup


def compose(_: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where no class tool could have left any."""
    if not setup.has_class_tools:
        return inner

    def leave(run: Run, result: AnyResult) -> AnyResult:
        if result.success and run.left_extras:
            run.ledger.extras = run.left_extras
        return result

    inner = then(inner, leave)

    def hand_on(run: Run) -> Answer:
        run.extras, run.ledger.extras = run.ledger.extras, {}
        return inner(run)

    return hand_on
