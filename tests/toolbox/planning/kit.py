"""Short ways to plan in tests."""

import asyncio

import pytest

from toolhaft import Session, ToolCall, ToolExecutor
from toolhaft.toolbox.planning import AddStep, Plan, PlanningToolsSection, SetupPlan, UpdateStep

NO_PLAN = "there is no plan yet. Call planning_setup_plan first."


class World:
    """A session with a planning section and an executor for it."""

    def __init__(self, *events, session=None, more=(), **options):
        self.session = Session() if session is None else session
        self.section = PlanningToolsSection(session=self.session)
        self.executor = ToolExecutor([self.section.tools, *more], session=self.session, **options)
        for event in events:
            self.session.dispatch(event)

    @property
    def plan(self):
        return self.session[Plan].latest()

    def call(self, name, **arguments):
        """The result of one call of a planning tool."""
        return self.executor.execute(call(name, **arguments))

    def acall(self, name, **arguments):
        """The same, from an event loop."""
        return asyncio.run(self.executor.aexecute(call(name, **arguments)))

    def refusal(self, name, **arguments):
        """Kind and words of the error of a call that fails, and changes nothing."""
        before = self.session.snapshot()
        result = self.call(name, **arguments)
        assert not result.success, result.message
        assert len(result.render().encode()) <= 2048
        assert self.session.snapshot() == before
        return result.failure.kind, str(result.failure.error)


def call(name, **arguments):
    return ToolCall(name=f"planning_{name}", arguments=arguments)


EVENTS = {"setup_plan": SetupPlan, "add_step": AddStep, "update_step": UpdateStep}

each_way = pytest.mark.parametrize("way", ["call", "acall"])
SMALL = SetupPlan("Go", ("one", "two"))
"""A plan with two steps."""
COMPLETED = (SetupPlan("Go", ("one",)), UpdateStep(1, status="done"))
