"""Hands a class tool's extras to the next call only: whatever that call is, they are gone after it.

Knows extras; does not know class tools.
"""

from __future__ import annotations

from toolhaft.execute.aliases import AnyTool
from toolhaft.execute.run import Answer, Run, Step
from toolhaft.execute.setup import Setup


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where no class tool could have left any, and for those that take them."""
    if tool.takes == "runtime" or not setup.has_class_tools:
        return inner

    def hand_on(run: Run) -> Answer:
        setup.extras = {}
        return inner(run)

    return hand_on
