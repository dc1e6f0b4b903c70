"""The section of a prompt that brings planning: its text, its tools, and the rules in its session.

Does not know how a prompt is rendered, nor what the rules are.
"""

from __future__ import annotations

from typing import Final

from toolhaft.errors import PromptValidationError
from toolhaft.prompt.section import MarkdownSection
from toolhaft.session.session import Session
from toolhaft.toolbox.planning.reducers import register
from toolhaft.toolbox.planning.strategies import PlanningStrategy, text_of
from toolhaft.toolbox.planning.tools import planning_tools

_KEY: Final = "planning"


class PlanningToolsSection(MarkdownSection[None]):
    """Planning for one session: four tools, the text that explains them, and the reducers behind them.

    A plan that the session has already is gone on with. Make a section for each session: its tools refuse
    any other.

    Args:
        session: where the plan is kept; run the tools by `ToolExecutor(..., session=session)`.
        strategy: in which frame of mind the model should plan, or that strategy's value, such as 'react'.
        accepts_overrides: whether the words of the section and its tools may be replaced from outside.

    Raises:
        PromptValidationError: for what is no session, or no strategy.
    """

    def __init__(
        self,
        *,
        session: Session,
        strategy: PlanningStrategy | str = PlanningStrategy.REACT,
        accepts_overrides: bool = False,
    ) -> None:
        self.strategy = _checked_strategy(strategy)
        _check_session(session)
        super().__init__(
            title="Planning",
            key=_KEY,
            template=text_of(self.strategy),
            tools=planning_tools(session, accepts_overrides=accepts_overrides),
            accepts_overrides=accepts_overrides,
            session=session,
        )
        register(session)


def _checked_strategy(strategy: object) -> PlanningStrategy:
    try:
        return PlanningStrategy(strategy)
    except ValueError:
        known = ", ".join(repr(one.value) for one in PlanningStrategy)
        raise PromptValidationError(
            f"section {_KEY!r}: {strategy!r:.60} is no planning strategy. Fix: give one of {known}",
            section_path=(_KEY,),
        ) from None


def _check_session(session: object) -> None:
    if not isinstance(session, Session):
        raise PromptValidationError(
            f"section {_KEY!r}: a plan is kept in a session, and {session!r:.60} is none. "
            "Fix: PlanningToolsSection(session=Session())",
            section_path=(_KEY,),
        )
