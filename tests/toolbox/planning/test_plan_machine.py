"""The planning tools through the executor against a plain model, failures and rollbacks included.

Keeps issue 5: "a Hypothesis state machine drives the four planning tools through the executor, failures and rollbacks
included, against a plain model". `TOOLHAFT_LONG=1` runs more histories, and longer ones.
"""

import asyncio
import copy
import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.execute.world import NEVER_OPEN
from tests.toolbox.planning.kit import EVENTS
from tests.toolbox.planning.plan_model import STATUSES, PlanModel, told_of
from tests.toolbox.planning.plan_scripts import MANY, SCRIPTS, Stage, call_of, kind_of, script_call
from toolhaft import Session, ToolExecutor
from toolhaft.errors import ToolValidationError
from toolhaft.toolbox.planning import AddStep, Plan, PlanningToolsSection, PlanStep, SetupPlan, UpdateStep

EXAMPLES, STEPS = (3_000, 40) if os.environ.get("TOOLHAFT_LONG") else (120, 25)

# by short names, for Hypothesis writes its strategies out
LONG = {"longest": "x" * 500, "padded": f"\t{'é' * 500} ", "too long": "x" * 501}


def spell(text):
    return LONG.get(text, text)


good = st.sampled_from(["look", " leap ", "a\nb", "longest", "padded"]).map(spell)
bad = st.sampled_from(["", " \n", "too long"]).map(spell)
texts = st.one_of(good, good, good, good, good, bad)
setups = st.fixed_dictionaries(
    {"objective": texts}, optional={"initial_steps": st.lists(texts, max_size=3)}
).map(lambda arguments: ["setup_plan", arguments])
adds = st.lists(texts, max_size=2).map(lambda titles: ["add_step", {"steps": titles}])
updates = st.fixed_dictionaries(
    {"step_id": st.integers(0, 6)},
    optional={"title": texts, "status": st.sampled_from([*STATUSES, "done", "done"])},
).map(lambda arguments: ["update_step", arguments])
reads = st.just(["read_plan", {}])
events = st.one_of(setups, adds, updates, updates)
misfits = st.sampled_from(
    [
        ["wrong:setup_plan", {}],
        ["wrong:setup_plan", {"objective": "look", "initial_steps": "leap"}],
        ["wrong:setup_plan", {"objective": ["look"]}],
        ["wrong:setup_plan", {"objective": "look", "colour": "red"}],
        ["wrong:add_step", {"steps": [{"title": "look"}]}],
        ["wrong:add_step", '{"steps": ["look"'],
        ["wrong:update_step", {"step_id": 1, "status": "finished"}],
        ["wrong:update_step", {"step_id": 1.5, "title": "look"}],
        ["wrong:update_step", {"status": "done"}],
        ["wrong:read_plan", {"step_id": 1}],
    ]
)
calls = st.one_of(events, events, reads, misfits)


@st.composite
def scripts(draw, depth=2):
    """A tool of the host with its script; one on a loop may hang, if nobody waits for it inside another."""
    tool = draw(
        st.sampled_from([made.name for made in SCRIPTS if depth == 2 or made.name != "script_hanging"])
    )
    part = st.one_of(
        events.map(lambda op: ["event", *op]),
        events.map(lambda op: ["tried", *op]),
        calls.map(lambda op: ["call", *op]),
        *([scripts(depth=depth - 1).map(lambda script: ["nest", script])] if depth else []),
    )
    ending = draw(st.sampled_from(["return", "return", "raise", "error"]))
    parts = draw(st.lists(part, max_size=3))
    if tool == "script_hanging":
        ending, parts = "hang", [part for part in parts if part[0] != "event"]  # it always gets to its end
    return {"tool": tool, "parts": parts, "ending": ending}


class Planning(RuleBasedStateMachine):
    """Each rule does something to the plan, and asks the model for the same."""

    @initialize()
    def begin(self):
        self.session = Session()
        section = PlanningToolsSection(session=self.session)
        tools = [tool.replace(max_attempts=MANY) for tool in section.tools]
        self.executor = Stage.executor = ToolExecutor(
            [tools, SCRIPTS], session=self.session, breaker=NEVER_OPEN
        )
        self.strangers = ToolExecutor(section.tools, session=Session(), breaker=NEVER_OPEN)
        self.model = PlanModel()
        self.stored = (self.session.snapshot(), None)

    @rule(op=calls, way=st.sampled_from(["execute", "aexecute"]))
    def one_call(self, op, way):
        result = self.make(way, call_of(*op))
        assert kind_of(result) == self.model.call(*op), result.message
        if result.success:
            assert told_of(result.value) == self.model.told()

    @rule(ops=st.lists(calls, min_size=1, max_size=5), way=st.sampled_from(["execute_all", "aexecute_all"]))
    def several_calls(self, ops, way):
        """Changes are made in order; what is only read may be read at any moment between them."""
        results = self.make(way, [call_of(*op) for op in ops])
        moments, changes = [self.model.told()], []
        for op, result in zip(ops, results, strict=True):
            if op[0] != "read_plan":
                changes.append((result, self.model.call(*op), self.model.told()))
                moments.append(self.model.told())
        for result, kind, told in changes:
            assert kind_of(result) == kind, result.message
            assert not result.success or told_of(result.value) == told
        for op, result in zip(ops, results, strict=True):
            if op[0] == "read_plan":
                assert told_of(result.value) in moments
                assert kind_of(result) == ("ok" if result.value else "invalid_arguments")

    @rule(script=scripts(), way=st.sampled_from(["execute", "aexecute"]))
    def host_tool(self, script, way):
        result = self.make(way, script_call(script))
        kind, seen = self.model.run(script)
        assert kind_of(result) == kind, result.message
        assert (result.value if result.success else None) == seen

    @rule(op=events)
    def host_itself(self, op):
        name, arguments = op
        if self.model.call(name, arguments) == "ok":
            self.session.dispatch(EVENTS[name](**arguments))
        else:
            with pytest.raises(ToolValidationError):
                self.session.dispatch(EVENTS[name](**arguments))

    @rule()
    def every_step_is_done(self):
        steps = [] if self.model.plan is None else copy.deepcopy(self.model.plan["steps"])
        was_completed = bool(steps) and self.model.is_completed()
        for number, _, status in steps:
            if status != "done":
                op = ["update_step", {"step_id": number, "status": "done"}]
                assert (kind_of(self.make("execute", call_of(*op))), self.model.call(*op)) == ("ok", "ok")
        assert was_completed or not steps or self.session[Plan].latest().status == "completed"

    @rule(titles=st.lists(good.map(str.strip), max_size=3), objective=good.map(str.strip))
    def host_brings_a_plan(self, titles, objective):
        steps = tuple(PlanStep(number, title) for number, title in enumerate(titles, 1))
        self.session.dispatch(Plan(objective, steps=steps))
        self.model.setup_plan(objective, titles)

    @rule()
    def store(self):
        self.stored = (self.session.snapshot(), copy.deepcopy(self.model.plan))

    @rule()
    def restore(self):
        self.session.restore(self.stored[0])
        self.model.plan = copy.deepcopy(self.stored[1])

    @rule(op=st.one_of(events, reads))
    def stranger(self, op):
        result = self.strangers.execute(call_of(*op))
        assert kind_of(result) in ("failed", "attempts")
        assert self.strangers.session[Plan].all() == ()

    @invariant()
    def nothing_differs(self):
        plans = self.session[Plan].all()
        assert len(plans) <= 1
        assert told_of(plans[0] if plans else None) == self.model.told()
        assert [len(self.session[kind]) for kind in (SetupPlan, AddStep, UpdateStep)] == [0, 0, 0]

    def make(self, way, what):
        done = getattr(self.executor, way)(what)
        return asyncio.run(done) if way.startswith("a") else done

    def teardown(self):
        self.executor.close()
        self.strangers.close()


def test_the_planning_tools_do_to_a_session_what_a_plain_model_says():
    run_state_machine_as_test(
        Planning,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_model_itself_keeps_the_rules():
    model = PlanModel()
    assert model.call("add_step", {"steps": ["a"]}) == "invalid_arguments"
    assert model.call("setup_plan", {"objective": " go ", "initial_steps": ["a"]}) == "ok"
    script = {"tool": "script_inline", "parts": [["event", "add_step", {"steps": ["b"]}]], "ending": "raise"}
    assert model.run(script) == ("failed", None)
    assert model.told() == ("go", "active", [(1, "a", "pending")])
    assert model.run({**script, "ending": "return"}) == ("ok", ["done"])
    assert model.run({**script, "tool": "script_reading"}) == ("failed", None)
    for number in (1, 2):
        assert model.call("update_step", {"step_id": number, "status": "done"}) == "ok"
    assert model.told() == ("go", "completed", [(1, "a", "done"), (2, "b", "done")])
    assert model.call("update_step", {"step_id": 1, "status": "done"}) == "invalid_arguments"
