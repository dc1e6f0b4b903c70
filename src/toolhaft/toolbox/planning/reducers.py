"""The rules of planning: what each event makes of the plan in a session, and which events are refused.

Knows no tools: an event that a host dispatches itself meets the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.session.operations import Replace
from toolhaft.session.reducers import reducer
from toolhaft.session.session import Session
from toolhaft.session.views import Items
from toolhaft.toolbox.planning.checks import (
    LARGEST_ID,
    checked_plan,
    checked_status,
    checked_text,
    checked_titles,
    quoted,
    settled,
)
from toolhaft.toolbox.planning.events import AddStep, SetupPlan, UpdateStep
from toolhaft.toolbox.planning.plan import Plan, PlanStep

NO_PLAN: Final = "there is no plan yet. Call planning_setup_plan first."


def register(session: Session) -> None:
    """Have a session keep one plan, by these rules."""
    session[Plan].register(take_plan, set_up_plan, add_steps, update_step)


def plan_in(plans: Items[Plan]) -> Plan:
    """The plan of a session, with the status that its steps make.

    Raises:
        ToolValidationError: where there is none.
        ToolExecutionError: where it was put there past the rules, and breaks them.
    """
    plan = plans.latest()
    if plan is None:
        raise ToolValidationError(NO_PLAN)
    try:
        return checked_plan(plan)
    except ToolValidationError as error:
        what = str(error).partition(". ")[0].rstrip(".")  # what to give instead is for whoever made the plan
        raise ToolExecutionError(
            f"the plan in the session breaks the rules of planning: {what}. "
            "Call planning_setup_plan to replace it."
        ) from error


@reducer(on=Plan)
def take_plan(_: Items[Plan], plan: Plan) -> Replace:
    """A plan that a host made, whatever was there before."""
    return Replace((checked_plan(plan),))


@reducer(on=SetupPlan)
def set_up_plan(_: Items[Plan], event: SetupPlan) -> Replace:
    """A new plan, whatever was there before."""
    objective = checked_text("objective", event.objective)
    titles = checked_titles("initial_steps", event.initial_steps)
    return Replace((settled(Plan(objective, steps=_numbered(titles, first=1))),))


@reducer(on=AddStep)
def add_steps(plans: Items[Plan], event: AddStep) -> Replace:
    """The plan with more steps."""
    plan = _open_plan(plans, "extended")
    titles = checked_titles("steps", event.steps)
    if not titles:
        raise ToolValidationError("steps is empty, so there is nothing to add. Give one title or more.")
    first = 1 + max((step.step_id for step in plan.steps), default=0)
    if first + len(titles) - 1 > LARGEST_ID:
        raise ToolValidationError(
            "the plan has no ids left for new steps. Call planning_setup_plan for a new one."
        )
    return Replace((settled(replace(plan, steps=(*plan.steps, *_numbered(titles, first=first)))),))


@reducer(on=UpdateStep)
def update_step(plans: Items[Plan], event: UpdateStep) -> Replace:
    """The plan with one step changed."""
    plan = _open_plan(plans, "changed")
    title = None if event.title is None else checked_text("title", event.title)
    status = None if event.status is None else checked_status("status", event.status)
    if title is None and status is None:
        raise ToolValidationError(
            f"the update of step {quoted(event.step_id)} is empty. Give a title, a status or both."
        )
    _check_id(plan, event.step_id)
    steps = tuple(
        PlanStep(step.step_id, title or step.title, status or step.status)
        if step.step_id == event.step_id
        else step
        for step in plan.steps
    )
    return Replace((settled(replace(plan, steps=steps)),))


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in few words: '1 to 3, 7'."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join(" to ".join(map(str, run)) for run in runs)


def _numbered(titles: Iterable[str], *, first: int) -> tuple[PlanStep, ...]:
    return tuple(PlanStep(number, title) for number, title in enumerate(titles, start=first))


def _open_plan(plans: Items[Plan], what: str) -> Plan:
    plan = plan_in(plans)
    if plan.status == "completed":
        raise ToolValidationError(
            f"the plan is completed: it can be read and replaced, not {what}. "
            "Call planning_setup_plan if there is more to do."
        )
    return plan


def _check_id(plan: Plan, step_id: object) -> None:
    known = [step.step_id for step in plan.steps]
    if type(step_id) is int and step_id in known:  # True would be step 1
        return
    if not known:
        raise ToolValidationError(
            f"there is no step {quoted(step_id)}: the plan has no steps yet. Call planning_add_step first."
        )
    noun = "step" if len(known) == 1 else "steps"
    raise ToolValidationError(
        f"there is no step {quoted(step_id)}: the plan has {noun} {ranges(known)}. "
        "Call planning_read_plan to see the plan."
    )
