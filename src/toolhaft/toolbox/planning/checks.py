"""What a plan may be made of: its texts, ids and statuses, whoever gives them.

Knows no events, and not where a plan is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast, get_args

from toolhaft.errors import ToolValidationError
from toolhaft.toolbox.outside import is_plain
from toolhaft.toolbox.planning.plan import Plan, PlanStatus, PlanStep, StepStatus

LONGEST_TEXT: Final = 500
"""Characters of a title, and of an objective."""
LARGEST_ID: Final = 2**53 - 1
"""The last whole number that every reader of JSON takes as it is."""

_STEP_STATUSES: Final[tuple[str, ...]] = get_args(StepStatus)
_PLAN_STATUSES: Final[tuple[str, ...]] = get_args(PlanStatus)
_EMPTY_CELL: Final = "\u2800"  # the pattern of Braille without a dot: a letter, and yet nothing is seen


def checked_plan(plan: Plan) -> Plan:
    """A plan that somebody made as a whole, its texts stripped and its status the one that its steps make.

    Raises:
        ToolValidationError: for what no events could have made.
    """
    objective = checked_text("objective", plan.objective)
    _check_known("status", plan.status, _PLAN_STATUSES)
    given = cast("object", plan.steps)
    if not isinstance(given, tuple | list):
        raise ToolValidationError(f"steps must be a list of PlanStep, not {type(given).__name__}.")
    steps: list[PlanStep] = []
    for place, step in enumerate(cast("tuple[object, ...]", given)):
        steps.append(_checked_step(f"steps[{place}]", step, above=steps[-1].step_id if steps else 0))
    return settled(replace(plan, objective=objective, steps=tuple(steps)))


def settled(plan: Plan) -> Plan:
    """The plan with the status that its steps make."""
    is_completed = bool(plan.steps) and all(step.status == "done" for step in plan.steps)
    return replace(plan, status="completed" if is_completed else "active")


def checked_titles(name: str, titles: object) -> tuple[str, ...]:
    """Titles without the white space around them.

    Raises:
        ToolValidationError: where they are no list, or one of them is no title.
    """
    # a text is a sequence too: a host's ("look") would be four steps
    if not isinstance(titles, tuple | list):
        raise ToolValidationError(f"{name} must be a list of titles, not {type(titles).__name__}.")
    listed = cast("tuple[object, ...]", titles)
    return tuple(checked_text(f"{name}[{place}]", title) for place, title in enumerate(listed))


def checked_text(name: str, text: object) -> str:
    """A title or an objective without the white space around it.

    Raises:
        ToolValidationError: where it is no text, too long, or nothing of it would show.
    """
    if not isinstance(text, str):
        raise ToolValidationError(f"{name} must be text, not {type(text).__name__}.")
    stripped = text.strip()
    if not any(map(_shows, stripped)):
        hint = " that show" if stripped else ""
        raise ToolValidationError(f"{name} is empty. Give 1 to {LONGEST_TEXT} characters{hint}.")
    if len(stripped) > LONGEST_TEXT:
        raise ToolValidationError(
            f"{name} has {len(stripped):,} characters, and at most {LONGEST_TEXT} are allowed. Shorten it."
        )
    return stripped


def checked_status(name: str, status: object) -> StepStatus:
    """The status of a step.

    Raises:
        ToolValidationError: where it is none.
    """
    _check_known(name, status, _STEP_STATUSES)
    return cast("StepStatus", status)


def quoted(value: object) -> str:
    """A value as it is written in code, cut where it is long."""
    try:
        return f"{value!r:.40}"
    except ValueError:  # a number of more digits than Python writes out
        return "of so many digits"


def _checked_step(name: str, step: object, *, above: int) -> PlanStep:
    if not isinstance(step, PlanStep):
        raise ToolValidationError(f"{name} must be a PlanStep, not {type(step).__name__}.")
    step_id = cast("object", step.step_id)
    if type(step_id) is not int or not above < step_id <= LARGEST_ID:  # True would be step 1
        raise ToolValidationError(
            f"{name}.step_id {quoted(step_id)} is no id here. Ids are whole numbers that count up from 1: "
            f"give {above + 1} or more."
        )
    checked_status(f"{name}.status", step.status)
    return replace(step, title=checked_text(f"{name}.title", step.title))


def _check_known(name: str, status: object, known: tuple[str, ...]) -> None:
    if isinstance(status, str) and status in known:
        return
    allowed = ", ".join(map(repr, known[:-1])) + f" or {known[-1]!r}"
    raise ToolValidationError(f"{name} {quoted(status)} is unknown. Give {allowed}.")


def _shows(character: str) -> bool:
    # twice, for a joiner counts as hidden only where it is not alone
    return not character.isspace() and character != _EMPTY_CELL and is_plain(character * 2)
