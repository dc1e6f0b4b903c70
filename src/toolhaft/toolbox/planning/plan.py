"""A plan and its steps, and how they are shown.

Knows no rules: what an event makes of a plan is said in `reducers.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from toolhaft.toolbox.outside import show_outside

StepStatus = Literal["pending", "in_progress", "done"]
"""How far a step has come."""
PlanStatus = Literal["active", "completed"]
"""A plan is completed once it has steps and all of them are done."""

MARKS: Final[dict[StepStatus, str]] = {"pending": "[ ]", "in_progress": "[~]", "done": "[x]"}
"""What a checklist shows for each status."""
_LONGEST_NAME: Final = 10  # a character that would not show is written as <U+10FFFF>

# Positional too, against the habit of the house: `PlanStep(1, "Look")` is read as it is shown.


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan."""

    step_id: int = field(metadata={"description": "Its number, which no other step of the plan has or had"})
    title: str = field(metadata={"description": "What is to be done"})
    status: StepStatus = field(default="pending", metadata={"description": "How far it has come"})


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be reached, and the steps to it, in their order."""

    objective: str = field(metadata={"description": "What is to be reached"})
    status: PlanStatus = field(
        default="active", metadata={"description": "Completed once all steps are done"}
    )
    steps: tuple[PlanStep, ...] = field(default=(), metadata={"description": "The steps, in their order"})

    def render(self) -> str:
        """The plan as a checklist in Markdown: every text on one line, all that is in it visible."""
        head = f"**Plan:** {one_line(self.objective)}\n\n{progress(self)}"
        listed = [f"- {MARKS[step.status]} {step.step_id}. {one_line(step.title)}" for step in self.steps]
        return "\n".join((head, "", *listed)) if listed else head

    def __rich__(self) -> object:
        from toolhaft.toolbox.planning.terminal import checklist  # noqa: PLC0415 -- rich, for those who have it

        return checklist(self)


def progress(plan: Plan) -> str:
    """How far a plan has come, in a line."""
    if not plan.steps:
        return f"Status: {plan.status}, no steps yet"
    done = sum(step.status == "done" for step in plan.steps)
    return f"Status: {plan.status}, {done} of {len(plan.steps)} steps done"


def one_line(text: str) -> str:
    """A text as a list shows it: with line breaks or controls in it, it could be more than one item."""
    joined = " ".join(text.split())
    return show_outside(joined, longest=len(joined) * _LONGEST_NAME).text
