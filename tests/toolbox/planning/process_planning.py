"""A tool that plans in a worker process; in a module that the worker can import."""

from toolhaft import ToolContext, tool
from toolhaft.toolbox.planning import AddStep, Plan, UpdateStep


@tool(effect="reversible", isolation="process", timeout_s=60)
def plan_elsewhere(title: str, context: ToolContext) -> int:
    """Add a step, and say how many there are."""
    context.session.dispatch(AddStep((title,)))
    context.session.dispatch(UpdateStep(1, status="in_progress"))
    return len(context.session[Plan].latest().steps)
