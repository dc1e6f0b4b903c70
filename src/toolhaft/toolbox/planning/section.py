"""The prompt section for planning: its text, its tools, and the planning rules in its session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, TypedDict, Unpack

from toolhaft.core.prompt_hooks import ToolPolicy
from toolhaft.prompt.problems import invalid
from toolhaft.prompt.section import MarkdownSection, Section
from toolhaft.prompt.visibility import EnabledOption, VisibilityOption
from toolhaft.resources import ResourceRegistry
from toolhaft.session.session import Session
from toolhaft.toolbox.planning.rules import register
from toolhaft.toolbox.planning.tools import planning_tools

_KEY: Final = "planning"


class PlanningStrategy(StrEnum):
    """How a model should plan."""

    REACT = "react"
    """Alternate: think, call a tool, look at the result."""
    PLAN_ACT_REFLECT = "plan_act_reflect"
    """Outline all steps first, then carry them out and reflect after each."""
    GOAL_DECOMPOSE_ROUTE_SYNTHESISE = "goal_decompose_route_synthesise"
    """Restate the goal, split it into parts, route each to the best tool, and combine the results."""


MINDSETS: Final[dict[PlanningStrategy, str]] = {
    PlanningStrategy.REACT: (
        "Work in short rounds. Think about what you know and what is missing, make the one tool call that "
        "helps most, then look at what came back before you decide on the next. Begin with the few steps "
        "that you can foresee; let each observation add a step, reword one or finish one. When an "
        "observation contradicts the plan, believe the observation and change the plan."
    ),
    PlanningStrategy.PLAN_ACT_REFLECT: (
        "Plan the whole way before you set off: write down every step that you can name, in the order "
        "in which they must happen, and only then begin with the first. Carry the steps out one at a "
        "time. After each of them stop and reflect: did it give what it should, what have you learned, do "
        "the later steps still make sense? Put what you conclude into the plan, as new steps or better "
        "titles, and go on."
    ),
    PlanningStrategy.GOAL_DECOMPOSE_ROUTE_SYNTHESISE: (
        "First restate the goal in your own words, with what would count as reaching it; that is the "
        "objective. Then decompose it into parts that can be worked on separately, one step for each. "
        "Route every part to the tool or the kind of reasoning that suits it best, and say so in the "
        "title. Last, synthesise: make a final step that joins the parts, resolves contradictions, "
        "and checks the whole against the goal."
    ),
}

_TEXT: Final = """\
A plan is kept next to this conversation: an objective and the steps to it. Keep it up to date, so that \
it always shows what is done and what comes next.

**Mindset**

{mindset}

**Tools**

- `planning_setup_plan` begins a plan: its objective and, if you know them, its first steps. It replaces \
any plan before it.
- `planning_add_step` adds one step or several at the end.
- `planning_update_step` changes one step, named by its id: its title, its status or both.
- `planning_read_plan` shows the current plan.

**Rules**

- Ids count up from 1 in the order in which steps are added. A step keeps its id, and no other step ever \
gets it; a new plan counts on.
- A step is `pending`, `in_progress` or `done`; the checklist shows these as `[ ]`, `[~]` and `[x]`.
- When the last open step is done, the plan is completed automatically. A completed plan can be read and \
replaced, not changed, so add what is still missing before you finish that step.
- A title says in one short line what will be true when the step is done; it has 500 characters at most.
- A refused call changes nothing: its message says what was wrong and what to do next.

**When to plan**

- Plan what takes several steps, what may be interrupted, and what others want to follow.
- Mark a step `in_progress` when you begin it, and `done` only when its result is there.
- Do not plan what takes one answer or one tool call: do it right away."""


def text_of(strategy: PlanningStrategy) -> str:
    """The text of the planning section."""
    return _TEXT.format(mindset=MINDSETS[strategy])


class PlanningOptions(TypedDict, total=False):
    """The options that a planning section shares with other sections."""

    children: Iterable[Section[Any]]
    enabled: EnabledOption[None]
    visibility: VisibilityOption[None]
    summary: str | None
    policies: Iterable[ToolPolicy]
    resources: Mapping[type[Any], object] | ResourceRegistry | None


class PlanningToolsSection(MarkdownSection[None]):
    """Planning for one session: four tools, the text that explains them, and the reducers behind them.

    If the session already has a plan, it continues. Create one section per session: the tools refuse to work
    on another one.

    Args:
        session: holds the plan; run the tools with `ToolExecutor(..., session=session)`.
        strategy: how the model should plan, as a member or its value, such as 'react'.
        accepts_overrides: whether overrides may replace the texts of the section and its tools.
        title: the text of its heading.
        key: identifies it among its siblings.
        options: those of Section: children, enabled, visibility, summary, policies, resources.

    Raises:
        PromptValidationError: for an invalid session, strategy or option.
    """

    def __init__(
        self,
        *,
        session: Session,
        strategy: PlanningStrategy | str = PlanningStrategy.REACT,
        accepts_overrides: bool = False,
        title: str = "Planning",
        key: str = _KEY,
        **options: Unpack[PlanningOptions],
    ) -> None:
        self.strategy = _checked_strategy(strategy, key)
        _check_session(session, key)
        super().__init__(
            title=title,
            key=key,
            template=text_of(self.strategy),
            tools=planning_tools(session, accepts_overrides=accepts_overrides),
            accepts_overrides=accepts_overrides,
            session=session,
            **options,
        )
        register(session)


def _checked_strategy(strategy: object, key: str) -> PlanningStrategy:
    try:
        return PlanningStrategy(strategy)
    except ValueError:
        known = ", ".join(repr(one.value) for one in PlanningStrategy)
        problem = f"{strategy!r:.60} is not a planning strategy"
        raise invalid(problem, path=(str(key),), fix=f"give one of {known}") from None


def _check_session(session: object, key: str) -> None:
    if not isinstance(session, Session):
        problem = f"a plan is kept in a Session, not in {session!r:.60}"
        raise invalid(problem, path=(str(key),), fix="PlanningToolsSection(session=Session())")
