"""What a model is told about planning: one text for all strategies, but for the mindset in it.

Knows no tools beyond their names.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class PlanningStrategy(StrEnum):
    """In which frame of mind a model should plan."""

    REACT = "react"
    """Alternate: think, call a tool, look at what came of it."""
    PLAN_ACT_REFLECT = "plan_act_reflect"
    """Outline the whole first, then carry it out and look back after each step."""
    GOAL_DECOMPOSE_ROUTE_SYNTHESISE = "goal_decompose_route_synthesise"
    """Say the goal anew, take it apart, give each part to what does it best, put the parts together."""


MINDSETS: Final[dict[PlanningStrategy, str]] = {
    PlanningStrategy.REACT: (
        "Work in short rounds. Think about what you know and what is missing, make the one tool call that "
        "helps most, then look at what came back before you decide on the next. Begin with the few steps "
        "that you can foresee; let each observation add a step, reword one or finish one. When an "
        "observation contradicts the plan, believe the observation and change the plan."
    ),
    PlanningStrategy.PLAN_ACT_REFLECT: (
        "Lay out the whole road before you set off: write down every step that you can name, in the order "
        "in which they must happen, and only then begin with the first. Carry the steps out one at a "
        "time. After each of them stop and reflect: did it give what it should, what have you learned, do "
        "the later steps still make sense? Put what you conclude into the plan, as new steps or better "
        "titles, and go on."
    ),
    PlanningStrategy.GOAL_DECOMPOSE_ROUTE_SYNTHESISE: (
        "First restate the goal in your own words, with what would count as reaching it; that is the "
        "objective. Then decompose it into parts that can be worked on separately, one step for each. "
        "Route every part to the tool or the kind of reasoning that suits it best, and say so in the "
        "title. Last, synthesise: make a final step that joins the parts, settles where they disagree, "
        "and checks the whole against the goal."
    ),
}

_TEXT: Final = """\
A plan lives beside this conversation: an objective and the steps to it. Keep it true, so that it always \
tells what is done and what comes next.

**Mindset**

{mindset}

**Tools**

- `planning_setup_plan` begins a plan: its objective and, where you know them, its first steps. It takes \
the place of any plan before it.
- `planning_add_step` adds one step or several at the end.
- `planning_update_step` changes one step, named by its id: its title, its status or both.
- `planning_read_plan` shows the plan as it stands.

**Rules**

- Ids count up from 1 in the order in which steps are added. A step keeps its id, and no other step of the \
plan ever gets it; a new plan starts at 1 again.
- A step is `pending`, `in_progress` or `done`; the checklist shows these as `[ ]`, `[~]` and `[x]`.
- When the last open step is done, the plan is completed by itself. A completed plan can be read and \
replaced, not changed, so add what is still missing before you finish that step.
- A title says in one short line what will be true when the step is done; it has 500 characters at most.
- A refused call changes nothing: its message says what was wrong and what to do next.

**When to plan**

- Plan what takes several steps, what may be interrupted, and what others want to follow.
- Mark a step `in_progress` when you begin it, and `done` only when its result is there.
- Do not plan what one answer or one tool call settles: do it right away."""


def text_of(strategy: PlanningStrategy) -> str:
    """The text of the planning section."""
    return _TEXT.format(mindset=MINDSETS[strategy])
