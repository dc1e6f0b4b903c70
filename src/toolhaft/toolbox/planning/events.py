"""What can happen to a plan: the parameters of the tools, and the events that they dispatch.

Knows no plan; what is wrong with an event is found where it is reduced.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from toolhaft.toolbox.planning.plan import StepStatus

# Positional too, against the habit of the house: they are verbs with an object, and are read as such.


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """Begin a plan, in the place of any before it."""

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
    """Change one step; what is None stays as it is."""

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
    """See the plan as it stands."""
