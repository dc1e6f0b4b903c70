"""Draws a plan in a terminal with rich; markup in its texts is not interpreted."""

from __future__ import annotations

from typing import Final

from toolhaft.toolbox.planning.plan import MARKS, Plan, StepStatus, one_line, progress

try:
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    raise ImportError("drawing a plan in a terminal needs rich: pip install 'toolhaft[cli]'") from error

_STYLES: Final[dict[StepStatus, str]] = {"pending": "", "in_progress": "bold yellow", "done": "dim"}


def checklist(plan: Plan) -> Group:
    """The plan as a renderable for rich."""
    steps = Table.grid(padding=(0, 1))
    steps.add_column(no_wrap=True)
    steps.add_column(justify="right", no_wrap=True)
    steps.add_column(overflow="fold")
    for step in plan.steps:
        style = _STYLES[step.status]
        cells = (MARKS[step.status], f"{step.step_id}.", one_line(step.title))
        steps.add_row(*(Text(cell, style=style) for cell in cells))
    colour = "green" if plan.status == "completed" else "cyan"
    return Group(Text(one_line(plan.objective), style="bold"), Text(progress(plan), style=colour), steps)


__all__ = ["Console", "checklist"]
