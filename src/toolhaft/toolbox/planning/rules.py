"""The rules of planning: what a plan may contain, and what each event does to the plan in a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, cast, get_args

from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.session.operations import Replace, SliceReader
from toolhaft.session.reducers import reducer
from toolhaft.session.session import Session
from toolhaft.toolbox.planning.plan import (
    AddStep,
    Plan,
    PlanStatus,
    PlanStep,
    SetupPlan,
    StepStatus,
    UpdateStep,
)
from toolhaft.toolbox.untrusted_text import is_visible

NO_PLAN: Final = "there is no plan yet. Call planning_setup_plan first."
LONGEST_TEXT: Final = 500
"""Characters of a title or an objective."""
LARGEST_ID: Final = 2**53 - 1
"""The largest whole number that every JSON parser reads exactly."""

_STEP_STATUSES: Final[tuple[str, ...]] = get_args(StepStatus)
_PLAN_STATUSES: Final[tuple[str, ...]] = get_args(PlanStatus)
_EMPTY_CELL: Final = "\u2800"  # the Braille pattern without dots: counts as a letter, but is blank


def register(session: Session) -> None:
    """Register these rules in a session, which then keeps one plan."""
    session[Plan].register(take_plan, set_up_plan, add_steps, update_step)


def plan_in(plans: SliceReader[Plan]) -> Plan:
    """The plan of a session, with the status that follows from its steps.

    Raises:
        ToolValidationError: if there is none.
        ToolExecutionError: if it breaks the rules, because it was seeded or restored without them.
    """
    plan = plans.latest()
    if plan is None:
        raise ToolValidationError(NO_PLAN)
    try:
        return checked_plan(plan)
    except ToolValidationError as error:
        what = str(error).partition(". ")[0].rstrip(".")  # without the advice for the author of the plan
        raise ToolExecutionError(
            f"the plan in the session breaks the rules of planning: {what}. "
            "Call planning_setup_plan to replace it."
        ) from error


@reducer(on=Plan)
def take_plan(plans: SliceReader[Plan], plan: Plan) -> Replace:
    """A plan that the host program made replaces the one before."""
    return Replace((_numbered(checked_plan(plan), _last_id(plans.latest())),))


@reducer(on=SetupPlan)
def set_up_plan(plans: SliceReader[Plan], event: SetupPlan) -> Replace:
    """A new plan replaces the one before; its steps are numbered on."""
    objective = checked_text("objective", event.objective)
    titles = checked_titles("initial_steps", event.initial_steps)
    return Replace((_with_steps(Plan(objective), titles, after=_last_id(plans.latest())),))


@reducer(on=AddStep)
def add_steps(plans: SliceReader[Plan], event: AddStep) -> Replace:
    """Add steps at the end of the plan."""
    plan = _open_plan(plans, "extended")
    titles = checked_titles("steps", event.steps)
    if not titles:
        raise ToolValidationError("steps is empty, so there is nothing to add. Give one title or more.")
    return Replace((_with_steps(plan, titles, after=_last_id(plans.latest())),))


@reducer(on=UpdateStep)
def update_step(plans: SliceReader[Plan], event: UpdateStep) -> Replace:
    """Change one step of the plan."""
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
    return Replace((_numbered(with_status(replace(plan, steps=steps)), _last_id(plans.latest())),))


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as ranges: '1 to 3, 7'."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join(" to ".join(map(str, run)) for run in runs)


def _with_steps(plan: Plan, titles: tuple[str, ...], *, after: int) -> Plan:
    """The plan with new steps at its end, numbered on."""
    last = after + len(titles)
    if last > LARGEST_ID:
        raise ToolValidationError("the session has no ids left for new steps: they need a new session.")
    new = tuple(PlanStep(number, title) for number, title in enumerate(titles, start=after + 1))
    return _numbered(with_status(replace(plan, steps=(*plan.steps, *new))), last)


def _numbered(plan: Plan, last: int) -> Plan:
    """The plan, with the highest id that a step of the session has had."""
    object.__setattr__(plan, "last_step_id", max(last, _last_id(plan)))
    return plan


def _last_id(plan: Plan | None) -> int:
    """The highest id that a step of the session has had, as far as its plan shows."""
    if plan is None:
        return 0
    known: int = getattr(plan, "last_step_id", 0)  # a plan that was made elsewhere, or restored, has none
    try:
        return max([known, *(step.step_id for step in checked_plan(plan).steps)])
    except ToolValidationError:
        return known


def _open_plan(plans: SliceReader[Plan], what: str) -> Plan:
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


def checked_plan(plan: Plan) -> Plan:
    """A plan with its texts stripped and the status that follows from its steps.

    Raises:
        ToolValidationError: for a plan that breaks the rules.
    """
    objective = checked_text("objective", plan.objective)
    _check_known("status", plan.status, _PLAN_STATUSES)
    given = cast("object", plan.steps)
    if not isinstance(given, tuple | list):
        raise ToolValidationError(f"steps must be a list of PlanStep, not {type(given).__name__}.")
    steps: list[PlanStep] = []
    for place, step in enumerate(cast("tuple[object, ...]", given)):
        steps.append(_checked_step(f"steps[{place}]", step, above=steps[-1].step_id if steps else 0))
    return with_status(replace(plan, objective=objective, steps=tuple(steps)))


def with_status(plan: Plan) -> Plan:
    """The plan with the status that follows from its steps."""
    is_completed = bool(plan.steps) and all(step.status == "done" for step in plan.steps)
    return replace(plan, status="completed" if is_completed else "active")


def checked_titles(name: str, titles: object) -> tuple[str, ...]:
    """Titles without surrounding white space.

    Raises:
        ToolValidationError: if they are not a list, or one of them is not a valid title.
    """
    # not any sequence: the text "look" would be four steps
    if not isinstance(titles, tuple | list):
        raise ToolValidationError(f"{name} must be a list of titles, not {type(titles).__name__}.")
    listed = cast("tuple[object, ...]", titles)
    return tuple(checked_text(f"{name}[{place}]", title) for place, title in enumerate(listed))


def checked_text(name: str, text: object) -> str:
    """A title or an objective without surrounding white space.

    Raises:
        ToolValidationError: if it is not text, is too long, or has no visible character.
    """
    if not isinstance(text, str):
        raise ToolValidationError(f"{name} must be text, not {type(text).__name__}.")
    stripped = text.strip()
    if not any(map(_is_visible, stripped)):
        characters = "visible characters" if stripped else "characters"
        raise ToolValidationError(f"{name} is empty. Give 1 to {LONGEST_TEXT} {characters}.")
    if len(stripped) > LONGEST_TEXT:
        raise ToolValidationError(
            f"{name} has {len(stripped):,} characters, and at most {LONGEST_TEXT} are allowed. Shorten it."
        )
    return stripped


def checked_status(name: str, status: object) -> StepStatus:
    """The status of a step.

    Raises:
        ToolValidationError: if it is unknown.
    """
    _check_known(name, status, _STEP_STATUSES)
    return cast("StepStatus", status)


def quoted(value: object) -> str:
    """The start of a value's repr."""
    try:
        return f"{value!r:.40}"
    except ValueError:  # a number with more digits than Python converts to text
        return "with too many digits"


def _checked_step(name: str, step: object, *, above: int) -> PlanStep:
    if not isinstance(step, PlanStep):
        raise ToolValidationError(f"{name} must be a PlanStep, not {type(step).__name__}.")
    step_id = cast("object", step.step_id)
    if type(step_id) is not int or not above < step_id <= LARGEST_ID:  # True would be step 1
        raise ToolValidationError(
            f"{name}.step_id {quoted(step_id)} is not allowed here. Ids are increasing whole numbers: "
            f"give {above + 1} or more."
        )
    checked_status(f"{name}.status", step.status)
    return replace(step, title=checked_text(f"{name}.title", step.title))


def _check_known(name: str, status: object, known: tuple[str, ...]) -> None:
    if isinstance(status, str) and status in known:
        return
    allowed = ", ".join(map(repr, known[:-1])) + f" or {known[-1]!r}"
    raise ToolValidationError(f"{name} {quoted(status)} is unknown. Give {allowed}.")


def _is_visible(character: str) -> bool:
    # twice, because a joiner counts as hidden only next to another
    return not character.isspace() and character != _EMPTY_CELL and is_visible(character * 2)
