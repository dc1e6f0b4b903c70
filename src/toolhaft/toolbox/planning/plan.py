"""A plan and its steps, the events that change it, and how it is printed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Final, Literal, TextIO

from toolhaft.toolbox.untrusted_text import show_untrusted

StepStatus = Literal["pending", "in_progress", "done"]
"""The progress of a step."""
PlanStatus = Literal["active", "completed"]
"""A plan is completed once it has steps and all of them are done."""

MARKS: Final[dict[StepStatus, str]] = {"pending": "[ ]", "in_progress": "[~]", "done": "[x]"}
"""The checkbox for each status."""
_LONGEST_NAME: Final = 10  # a hidden character is written as <U+10FFFF>

# Not keyword-only, unlike other data classes: PlanStep(1, "Look") and AddStep(("Look",)) are easy to read.


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan."""

    step_id: int = field(
        metadata={"description": "Its number, which no other step of the session has or had"}
    )
    title: str = field(metadata={"description": "What is to be done"})
    status: StepStatus = field(default="pending", metadata={"description": "How far it has come"})


class StepNumbering:
    """The highest id that a step of the session has had: kept with a plan, but no field of it."""

    __slots__ = ("last_step_id",)
    last_step_id: int


@dataclass(frozen=True, slots=True)
class Plan(StepNumbering):
    """What is to be reached, and the steps to it, in their order."""

    objective: str = field(metadata={"description": "What is to be reached"})
    status: PlanStatus = field(
        default="active", metadata={"description": "Completed once all steps are done"}
    )
    steps: tuple[PlanStep, ...] = field(default=(), metadata={"description": "The steps, in their order"})

    def render(self) -> str:
        """The plan as a Markdown checklist: each text on one line, with hidden characters made visible."""
        head = f"**Plan:** {one_line(self.objective)}\n\n{progress(self)}"
        listed = [f"- {MARKS[step.status]} {step.step_id}. {one_line(step.title)}" for step in self.steps]
        return "\n".join((head, "", *listed)) if listed else head

    def __rich__(self) -> object:
        from toolhaft.toolbox.planning.terminal import checklist  # noqa: PLC0415 -- rich is optional

        return checklist(self)


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """Begin a plan, which replaces the one before."""

    objective: str = field(metadata={"description": "What is to be reached, in 1 to 500 characters"})
    initial_steps: tuple[str, ...] = field(
        default=(),
        metadata={"description": "Titles of the first steps, in order, each of 1 to 500 characters"},
    )


@dataclass(frozen=True, slots=True)
class AddStep:
    """Add steps at the end of the plan."""

    steps: tuple[str, ...] = field(
        metadata={
            "description": "Titles of the new steps, in order: one or more, each of 1 to 500 characters"
        }
    )


@dataclass(frozen=True, slots=True)
class UpdateStep:
    """Change one step; a field that is None stays as it is."""

    step_id: int = field(metadata={"description": "The number of the step"})
    title: str | None = field(
        default=None,
        metadata={"description": "Its new title, of 1 to 500 characters; leave out to keep the old one"},
    )
    status: StepStatus | None = field(
        default=None, metadata={"description": "Its new status; leave out to keep the old one"}
    )


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Read the plan."""


def progress(plan: Plan) -> str:
    """The progress of a plan in one line."""
    if not plan.steps:
        return f"Status: {plan.status}, no steps yet"
    done = sum(step.status == "done" for step in plan.steps)
    return f"Status: {plan.status}, {done} of {len(plan.steps)} steps done"


def one_line(text: str) -> str:
    """A text on one line; line breaks and control characters could make it look like several list items."""
    joined = " ".join(text.split())
    return show_untrusted(joined, longest=len(joined) * _LONGEST_NAME).text


def print_plan(plan: Plan, file: TextIO | None = None) -> None:
    """Print a plan to a file, the standard output by default.

    A terminal gets colours if rich is installed (`pip install 'toolhaft[cli]'`); anything else gets Markdown.
    """
    out = sys.stdout if file is None else file
    if out.isatty():
        try:
            from toolhaft.toolbox.planning.terminal import Console  # noqa: PLC0415 -- rich is optional
        except ImportError:
            pass
        else:
            Console(file=out).print(plan)
            return
    out.write(f"{plan.render()}\n")
