"""The four planning tools of one session."""

from __future__ import annotations

from typing import Any, Final

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.errors import ToolExecutionError
from toolhaft.session.session import Session
from toolhaft.toolbox.planning.plan import AddStep, Plan, PlanStep, ReadPlan, SetupPlan, UpdateStep
from toolhaft.toolbox.planning.rules import plan_in, ranges
from toolhaft.toolbox.untrusted_text import counted

_SHORT: Final = Plan("Publish the report", steps=(PlanStep(1, "Gather the figures"),))
_LONGER: Final = Plan(_SHORT.objective, steps=(*_SHORT.steps, PlanStep(2, "Write the summary")))
_BEGUN: Final = Plan(
    _SHORT.objective, steps=(PlanStep(1, "Gather the figures", "done"), PlanStep(2, "Write the summary"))
)
_TAGS: Final = ("planning",)

# Checked and compiled once; each session only replaces the handlers.

_SETUP: Final = Tool[SetupPlan, Plan](
    name="planning_setup_plan",
    title="Set up plan",
    description="Begin a plan: its objective and, if known, its first steps. It replaces any plan before.",
    when_to_use="Before work that takes several steps, or when the plan that is there no longer fits.",
    effect="reversible",
    isolation="inline",
    tags=_TAGS,
    examples=[
        ToolExample(
            description="A plan with one step so far",
            input=SetupPlan(_SHORT.objective, ("Gather the figures",)),
            output=_SHORT,
        )
    ],
)
_ADD: Final = Tool[AddStep, Plan](
    name="planning_add_step",
    title="Add steps",
    description="Add one or more steps at the end of the plan; each gets the next free id.",
    when_to_use="When something must be done that is not a step of the plan yet.",
    effect="reversible",
    isolation="inline",
    tags=_TAGS,
    examples=[
        ToolExample(description="One more step", input=AddStep(("Write the summary",)), output=_LONGER)
    ],
)
_UPDATE: Final = Tool[UpdateStep, Plan](
    name="planning_update_step",
    title="Update step",
    description="Change the title, the status or both of one step. When all are done, the plan is completed.",
    when_to_use="When a step is begun or done, or its title no longer fits.",
    effect="reversible",
    isolation="inline",
    tags=_TAGS,
    examples=[ToolExample(description="A step is done", input=UpdateStep(1, status="done"), output=_BEGUN)],
)
_READ: Final = Tool[ReadPlan, Plan](
    name="planning_read_plan",
    title="Read plan",
    description="Read the current plan: its objective, its status and its steps with their ids.",
    when_to_use="To find out what is done, what comes next and which id a step has.",
    effect="read",
    isolation="inline",
    tags=_TAGS,
    examples=[ToolExample(description="The plan so far", input=ReadPlan(), output=_BEGUN)],
)


class PlanningHandlers:
    """The handlers of the planning tools, for one session and its forks.

    They write through the fork of the call, so a failed call leaves no trace.
    """

    __slots__ = ("_session_id",)

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id

    def set_up(self, params: SetupPlan, *, context: ToolContext) -> ToolResult[Plan]:
        """Begin a plan."""
        is_new = self._session_of(context)[Plan].latest() is None
        plan = self._apply(params, context)
        with_steps = f"with {counted(len(plan.steps), 'step')}" if plan.steps else "without steps yet"
        ending = "." if is_new else "; it replaces the one before."
        return ToolResult(value=plan, message=f"The plan is set up, {with_steps}{ending}")

    def add(self, params: AddStep, *, context: ToolContext) -> ToolResult[Plan]:
        """Add steps at the end."""
        plan = self._apply(params, context)
        new = [step.step_id for step in plan.steps[-len(params.steps) :]]
        return ToolResult(value=plan, message=f"Added step{'s' if len(new) > 1 else ''} {ranges(new)}.")

    def update(self, params: UpdateStep, *, context: ToolContext) -> ToolResult[Plan]:
        """Change one step."""
        plan = self._apply(params, context)
        changed = {"title": params.title, "status": params.status}
        names = " and ".join(name for name, value in changed.items() if value is not None)
        message = f"Changed the {names} of step {params.step_id}."
        if plan.status == "completed":
            message += " All steps are done: the plan is completed."
        return ToolResult(value=plan, message=message)

    def read(self, params: ReadPlan, *, context: ToolContext) -> ToolResult[Plan]:  # noqa: ARG002 -- the signature of a handler
        """Read the plan."""
        plan = plan_in(self._session_of(context)[Plan])
        return ToolResult(value=plan, message="The current plan.")

    def _apply(self, event: SetupPlan | AddStep | UpdateStep, context: ToolContext) -> Plan:
        session = self._session_of(context)
        session.dispatch(event)
        return plan_in(session[Plan])

    def _session_of(self, context: ToolContext) -> Session:
        session = context.session
        # a session with the same id but without the reducers would only append the events
        if (
            isinstance(session, Session)
            and session.id == self._session_id
            and session.has_listener(SetupPlan)
        ):
            return session
        raise ToolExecutionError(
            "these planning tools belong to another session than the one of this call. Fix: give "
            "ToolExecutor(session=...) the session that their PlanningToolsSection was made for"
        )


def planning_tools(session: Session, *, accepts_overrides: bool) -> tuple[Tool[Any, Plan], ...]:
    """The tools for one session, in the order of the section's text."""
    handlers = PlanningHandlers(session.id)
    pairs = (
        (_SETUP, handlers.set_up),
        (_ADD, handlers.add),
        (_UPDATE, handlers.update),
        (_READ, handlers.read),
    )
    return tuple(
        tool.replace(handler=handler, accepts_overrides=accepts_overrides) for tool, handler in pairs
    )
