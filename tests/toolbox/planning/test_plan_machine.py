"""The planning tools through the executor against a plain model, failures and rollbacks included."""

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

EXAMPLES, STEPS = (3_000, 40) if os.environ.get("TOOLHAFT_LONG") else (20, 25)

# by short names, for Hypothesis writes its strategies out
LONG = {"longest": "x" * 500, "padded": f"\t{'é' * 500} ", "too long": "x" * 501}


def spell(text):
    return LONG.get(text, text)


good = st.sampled_from(["look", " leap ", "a\nb", "longest", "padded"]).map(spell)
bad = st.sampled_from(["", " \n", "\u200b \x1b", "too long"]).map(spell)
texts = st.one_of(good, good, good, good, good, bad)
setups = st.fixed_dictionaries(
    {"objective": texts}, optional={"initial_steps": st.lists(texts, max_size=3)}
).map(lambda arguments: ["setup_plan", arguments])
adds = st.lists(texts, max_size=2).map(lambda titles: ["add_step", {"steps": titles}])
updates = st.fixed_dictionaries(
    {"step_id": st.integers(0, 4)},
    optional={"title": texts, "status": st.sampled_from([*STATUSES, "done", "done"])},
).map(lambda arguments: ["update_step", arguments])
reads = st.just(["read_plan", {}])
ways = st.sampled_from(["execute", "aexecute", "event"])
more = st.lists(good, min_size=1, max_size=2).map(lambda titles: ["add_step", {"steps": titles}])
# of a step that every plan with steps has, but for those that a host has brought
first_steps = st.fixed_dictionaries({"title": good}, optional={"status": st.sampled_from(STATUSES)}).map(
    lambda changes: ["update_step", {"step_id": 1, **changes}]
)
brought = st.tuples(
    texts,
    st.sampled_from(["active", "active", "completed", "completed", "weird"]),
    st.lists(
        st.tuples(st.integers(0, 9), good, st.sampled_from([*STATUSES, *STATUSES, "weird"])), max_size=3
    ).flatmap(lambda steps: st.sampled_from([sorted(steps), steps])),
)
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

    @initialize(titles=st.one_of(st.none(), *[st.lists(good, max_size=3)] * 4))
    def begin(self, titles):
        self.session = Session()
        section = PlanningToolsSection(session=self.session)
        tools = [tool.replace(max_attempts=MANY) for tool in section.tools]
        self.executor = Stage.executor = ToolExecutor(
            [tools, SCRIPTS], session=self.session, breaker=NEVER_OPEN
        )
        self.strangers = ToolExecutor(section.tools, session=Session(), breaker=NEVER_OPEN)
        self.model = PlanModel()
        if titles is not None:
            self.done("execute", ["setup_plan", {"objective": "look", "initial_steps": titles}])
        self.store()

    @rule(op=calls, way=st.sampled_from(["execute", "aexecute"]))
    def one_call(self, op, way):
        self.same(way, op)

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
        self.same("event", op)

    @rule(ops=st.lists(st.one_of(more, first_steps), min_size=1, max_size=2), way=ways)
    def a_completed_plan_stays_as_it_is(self, ops, way):
        if self.model.plan is None or not self.model.is_completed():
            self.have_steps(1)
        for number, _, status in copy.deepcopy(self.model.plan["steps"]):
            if status != "done":
                self.done("execute", ["update_step", {"step_id": number, "status": "done"}])
        told = self.model.told()
        assert told[1] == "completed"
        for op in ops:
            assert self.same(way, op) == "invalid_arguments"
        assert self.model.told() == told

    @rule(op=more, way=ways, is_open=st.sampled_from(["pending", "in_progress"]))
    def an_id_is_not_given_again(self, op, way, is_open):
        """The last step is done and another is not, so that the plan may grow."""
        self.have_steps(2)
        first, *_, last = [number for number, _, _ in self.model.plan["steps"]]
        self.done("execute", ["update_step", {"step_id": first, "status": is_open}])
        self.done("execute", ["update_step", {"step_id": last, "status": "done"}])
        self.done(way, op)
        assert self.model.plan["steps"][-1][0] == last + len(op[1]["steps"])

    @rule(brought=brought)
    def host_brings_a_plan(self, brought):
        objective, status, steps = brought
        plan = Plan(objective, status, tuple(PlanStep(*step) for step in steps))
        if self.model.bring(objective, status, steps) == "ok":
            self.session.dispatch(plan)
        else:
            with pytest.raises(ToolValidationError):
                self.session.dispatch(plan)

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

    def same(self, way, op):
        """Make a change, by a call or as a host's event; what came of it, which is what the model says."""
        kind = self.model.call(*op)
        if way != "event":
            result = self.make(way, call_of(*op))
            assert kind_of(result) == kind, result.message
            assert not result.success or told_of(result.value) == self.model.told()
        elif kind == "ok":
            self.session.dispatch(EVENTS[op[0]](**op[1]))
        else:
            with pytest.raises(ToolValidationError):
                self.session.dispatch(EVENTS[op[0]](**op[1]))
        return kind

    def done(self, way, op):
        assert self.same(way, op) == "ok"

    def have_steps(self, count):
        """See to it that there is a plan that can be changed, with so many steps or more."""
        if self.model.plan is None or self.model.is_completed():
            self.done("execute", ["setup_plan", {"objective": "look"}])
        missing = count - len(self.model.plan["steps"])
        if missing > 0:
            self.done("execute", ["add_step", {"steps": ["leap"] * missing}])

    def make(self, way, what):
        done = getattr(self.executor, way)(what)
        return asyncio.run(done) if way.startswith("a") else done

    def teardown(self):
        self.executor.close()
        self.strangers.close()


def test_planning_tools_agree_with_a_plain_model():
    run_state_machine_as_test(
        Planning,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            report_multiple_bugs=False,  # one mistake shows in many rules, and each is shrunk for minutes
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_plain_model_follows_the_rules():
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
    assert model.bring("go", "completed", [(2, " b ", "done"), (5, "e", "pending")]) == "ok"
    assert model.call("add_step", {"steps": ["f"]}) == "ok"
    assert model.told() == ("go", "active", [(2, "b", "done"), (5, "e", "pending"), (6, "f", "pending")])
    for steps in ([(0, "a", "done")], [(1, "a", "done")] * 2, [(1, "a", "weird")], [(1, "\u200b", "done")]):
        assert model.bring("go", "active", steps) == "invalid_arguments"
