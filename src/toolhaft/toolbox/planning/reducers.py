"""The rules of planning: what each event makes of the plan in a session, and which events are refused.

Knows no tools: an event that a host dispatches itself meets the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, cast, get_args

from toolhaft.errors import ToolValidationError
from toolhaft.session.operations import Replace
from toolhaft.session.reducers import reducer, replace_latest
from toolhaft.session.session import Session
from toolhaft.session.views import SliceView
from toolhaft.toolbox.planning.events import AddStep, SetupPlan, UpdateStep
from toolhaft.toolbox.planning.plan import Plan, PlanStep, StepStatus

LONGEST_TEXT: Final = 500
"""Characters of a title, and of an objective."""
NO_PLAN: Final = "there is no plan yet. Call planning_setup_plan first."

_STATUSES: Final[tuple[str, ...]] = get_args(StepStatus)


def register(session: Session) -> None:
    """Have a session keep one plan, by these rules."""
    session[Plan].register(replace_latest, set_up_plan, add_steps, update_step)


@reducer(on=SetupPlan)
def set_up_plan(_: SliceView[Plan], event: SetupPlan) -> Replace:
    """A new plan, whatever was there before."""
    objective = _checked_text("objective", event.objective)
    titles = _checked_titles("initial_steps", event.initial_steps)
    return Replace((_settled(Plan(objective, steps=_numbered(titles, first=1))),))


@reducer(on=AddStep)
def add_steps(plans: SliceView[Plan], event: AddStep) -> Replace:
    """The plan with more steps."""
    plan = _open_plan(plans, "extended")
    titles = _checked_titles("steps", event.steps)
    if not titles:
        raise ToolValidationError("steps is empty, so there is nothing to add. Give one title or more.")
    first = 1 + max((step.step_id for step in plan.steps), default=0)
    return Replace((_settled(replace(plan, steps=(*plan.steps, *_numbered(titles, first=first)))),))


@reducer(on=UpdateStep)
def update_step(plans: SliceView[Plan], event: UpdateStep) -> Replace:
    """The plan with one step changed."""
    plan = _open_plan(plans, "changed")
    title = None if event.title is None else _checked_text("title", event.title)
    status = None if event.status is None else _checked_status(event.status)
    if title is None and status is None:
        raise ToolValidationError(
            f"the update of step {event.step_id!r:.40} is empty. Give a title, a status or both."
        )
    _check_id(plan, event.step_id)
    steps = tuple(
        PlanStep(step.step_id, title or step.title, status or step.status)
        if step.step_id == event.step_id
        else step
        for step in plan.steps
    )
    return Replace((_settled(replace(plan, steps=steps)),))


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


def _settled(plan: Plan) -> Plan:
    """The plan with the status that its steps make."""
    is_completed = bool(plan.steps) and all(step.status == "done" for step in plan.steps)
    return replace(plan, status="completed" if is_completed else "active")


def _open_plan(plans: SliceView[Plan], what: str) -> Plan:
    plan = plans.latest()
    if plan is None:
        raise ToolValidationError(NO_PLAN)
    if plan.status == "completed":
        raise ToolValidationError(
            f"the plan is completed: it can be read and replaced, not {what}. "
            "Call planning_setup_plan if there is more to do."
        )
    return plan


def _checked_titles(name: str, titles: object) -> tuple[str, ...]:
    # a text is a sequence too: a host's ("look") would be four steps
    if not isinstance(titles, tuple | list):
        raise ToolValidationError(f"{name} must be a list of titles, not {type(titles).__name__}.")
    listed = cast("tuple[object, ...]", titles)
    return tuple(_checked_text(f"{name}[{place}]", title) for place, title in enumerate(listed))


def _checked_text(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ToolValidationError(f"{name} must be text, not {type(text).__name__}.")
    stripped = text.strip()
    if not stripped:
        raise ToolValidationError(f"{name} is empty. Give 1 to {LONGEST_TEXT} characters.")
    if len(stripped) > LONGEST_TEXT:
        raise ToolValidationError(
            f"{name} has {len(stripped):,} characters, and at most {LONGEST_TEXT} are allowed. Shorten it."
        )
    return stripped


def _checked_status(status: object) -> StepStatus:
    if isinstance(status, str) and status in _STATUSES:
        return cast("StepStatus", status)
    allowed = ", ".join(map(repr, _STATUSES[:-1])) + f" or {_STATUSES[-1]!r}"
    raise ToolValidationError(f"status {status!r:.40} is unknown. Give {allowed}.")


def _check_id(plan: Plan, step_id: object) -> None:
    known = [step.step_id for step in plan.steps]
    if type(step_id) is int and step_id in known:  # True would be step 1
        return
    if not known:
        raise ToolValidationError(
            f"there is no step {step_id!r:.40}: the plan has no steps yet. Call planning_add_step first."
        )
    noun = "step" if len(known) == 1 else "steps"
    raise ToolValidationError(
        f"there is no step {step_id!r:.40}: the plan has {noun} {ranges(known)}. "
        "Call planning_read_plan to see the plan."
    )
