"""The section of a prompt that brings planning: its text, its tools, and the rules in its session.

Does not know how a prompt is rendered, nor what the rules are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict, Unpack

from toolhaft.core.tool_policy import ToolPolicy
from toolhaft.prompt.section import Enabled, MarkdownSection, Section, Visible
from toolhaft.prompt.troubles import invalid
from toolhaft.resources import ResourceRegistry
from toolhaft.session.session import Session
from toolhaft.toolbox.planning.reducers import register
from toolhaft.toolbox.planning.strategies import PlanningStrategy, text_of
from toolhaft.toolbox.planning.tools import planning_tools

_KEY: Final = "planning"


class PlanningOptions(TypedDict, total=False):
    """What a planning section takes like any other; its text and its tools are its own."""

    children: Iterable[Section[Any]]
    enabled: Enabled[None]
    visibility: Visible[None]
    summary: str | None
    policies: Iterable[ToolPolicy]
    resources: Mapping[type, object] | ResourceRegistry | None


class PlanningToolsSection(MarkdownSection[None]):
    """Planning for one session: four tools, the text that explains them, and the reducers behind them.

    A plan that the session has already is gone on with. Make a section for each session: its tools refuse
    any other.

    Args:
        session: where the plan is kept; run the tools by `ToolExecutor(..., session=session)`.
        strategy: in which frame of mind the model should plan, or that strategy's value, such as 'react'.
        accepts_overrides: whether the words of the section and its tools may be replaced from outside.
        title: what its heading says.
        key: what it is known by among its siblings.
        options: those of Section: children, enabled, visibility, summary, policies, resources.

    Raises:
        PromptValidationError: for what is no session, or no strategy, or a part that is not what it must be.
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
        problem = f"{strategy!r:.60} is no planning strategy"
        raise invalid(problem, path=(str(key),), fix=f"give one of {known}") from None


def _check_session(session: object, key: str) -> None:
    if not isinstance(session, Session):
        problem = f"a plan is kept in a session, and {session!r:.60} is none"
        raise invalid(problem, path=(str(key),), fix="PlanningToolsSection(session=Session())")
