"""Seed 003, Tool Runtime Specification: *Planning Tool Suite* and *Planning Strategies*, a test for each line.

Knows the page; what the page leaves open is tested where the suite is.
"""

from dataclasses import fields
from typing import get_args

import pytest

from tests.cases import each_case
from toolhaft import Session, ToolCall, ToolExecutor
from toolhaft.toolbox.planning import (
    AddStep,
    Plan,
    PlanningStrategy,
    PlanningToolsSection,
    PlanStatus,
    PlanStep,
    ReadPlan,
    SetupPlan,
    StepStatus,
    UpdateStep,
)


class Planner:
    """A session, its planning tools, and a way to call them."""

    def __init__(self, *events):
        self.session = Session()
        tools = PlanningToolsSection(session=self.session).tools
        self.executor = ToolExecutor(tools, session=self.session)
        for event in events:
            self.session.dispatch(event)

    def call(self, name, **arguments):
        return self.executor.execute(ToolCall(name=name, arguments=arguments))

    @property
    def plan(self):
        return self.session[Plan].latest()


def names_of(kind):
    return tuple(field.name for field in fields(kind))


# --- Data Model ---


@pytest.mark.parametrize(
    ("kind", "values"),
    [(StepStatus, ("pending", "in_progress", "done")), (PlanStatus, ("active", "completed"))],
)
def test_seed_003_statuses_have_the_values_of_the_table(kind, values):
    """Seed 003, *Data Model*: `StepStatus` and `PlanStatus`."""
    assert get_args(kind) == values


@pytest.mark.parametrize(
    ("kind", "names"),
    [(PlanStep, ("step_id", "title", "status")), (Plan, ("objective", "status", "steps"))],
)
def test_seed_003_plan_and_step_have_the_fields_of_the_table(kind, names):
    """Seed 003, *Data Model*: `PlanStep` and `Plan`."""
    assert names_of(kind) == names


# --- Tools ---


def test_seed_003_planning_setup_plan_creates_or_replaces_the_plan():
    """Seed 003, *Tools*: `planning_setup_plan`."""
    planner = Planner()
    created = planner.call("planning_setup_plan", objective="Go", initial_steps=["one"])
    assert created.value == planner.plan == Plan("Go", "active", (PlanStep(1, "one", "pending"),))
    replaced = planner.call("planning_setup_plan", objective="Stay")
    assert replaced.value == planner.plan == Plan("Stay", "active", ())


def test_seed_003_planning_add_step_appends_steps():
    """Seed 003, *Tools*: `planning_add_step`."""
    planner = Planner(SetupPlan("Go", ("one",)))
    result = planner.call("planning_add_step", steps=["two", "three"])
    assert result.value == planner.plan
    assert [step.title for step in planner.plan.steps] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"title": "first"}, PlanStep(1, "first", "pending")),
        ({"status": "in_progress"}, PlanStep(1, "one", "in_progress")),
        ({"title": "first", "status": "done"}, PlanStep(1, "first", "done")),
    ],
)
def test_seed_003_planning_update_step_modifies_title_and_status(changes, step):
    """Seed 003, *Tools*: `planning_update_step`."""
    planner = Planner(SetupPlan("Go", ("one", "two")))
    assert planner.call("planning_update_step", step_id=1, **changes).value == planner.plan
    assert planner.plan.steps == (step, PlanStep(2, "two", "pending"))


def test_seed_003_planning_read_plan_retrieves_the_current_state():
    """Seed 003, *Tools*: `planning_read_plan`."""
    planner = Planner(SetupPlan("Go", ("one",)))
    assert planner.call("planning_read_plan").value == Plan("Go", "active", (PlanStep(1, "one", "pending"),))


# --- Parameters ---


@pytest.mark.parametrize(
    ("event", "tool", "names"),
    [
        (SetupPlan, "planning_setup_plan", ("objective", "initial_steps")),
        (AddStep, "planning_add_step", ("steps",)),
        (UpdateStep, "planning_update_step", ("step_id", "title", "status")),
        (ReadPlan, "planning_read_plan", ()),
    ],
)
def test_seed_003_events_have_the_fields_of_the_table(event, tool, names):
    """Seed 003, *Parameters*: and they are the parameters of the tools."""
    assert names_of(event) == names
    made = Planner().executor.tools[tool]
    assert (made.params_type, made.result_type) == (event, Plan)
    assert tuple(made.input_schema["properties"]) == names


# --- Behavior ---


@pytest.mark.parametrize(
    ("tool", "arguments", "needs_plan"),
    [
        ("planning_setup_plan", {"objective": "Go"}, False),
        ("planning_add_step", {"steps": ["one"]}, True),
        ("planning_update_step", {"step_id": 1, "status": "done"}, True),
        ("planning_read_plan", {}, True),
    ],
)
def test_seed_003_setup_plan_creates_or_replaces_and_others_require_an_existing_plan(
    tool, arguments, needs_plan
):
    """Seed 003, *Behavior*, 1."""
    without = Planner().call(tool, **arguments)
    assert without.success is not needs_plan
    assert ("there is no plan yet" in without.message) is needs_plan
    assert Planner(SetupPlan("Before", ("one",))).call(tool, **arguments).success


def test_seed_003_step_ids_are_incrementing_integers_never_reused():
    """Seed 003, *Behavior*, 2: also not those of calls that came to nothing, and of steps that are done."""
    planner = Planner(SetupPlan("Go", ("one", "two")))
    planner.call("planning_update_step", step_id=2, status="done")
    assert not planner.call("planning_add_step", steps=["", "lost"]).success
    planner.call("planning_add_step", steps=["three"])
    planner.call("planning_add_step", steps=["four", "five"])
    ids = [step.step_id for step in planner.plan.steps]
    assert ids == [1, 2, 3, 4, 5]
    assert {type(step_id) for step_id in ids} == {int}


def test_seed_003_all_steps_done_makes_the_plan_completed():
    """Seed 003, *Behavior*, 3."""
    planner = Planner(SetupPlan("Go", ("one", "two")))
    assert planner.plan.status == "active"
    results = [planner.call("planning_update_step", step_id=step_id, status="done") for step_id in (2, 1)]
    assert [result.value.status for result in results] == ["active", "completed"]


@each_case(
    ("title", "fits"),
    [("x", True), ("x" * 500, True), ("", False), ("   ", False), ("x" * 501, False)],
    ids=["1", "500", "empty", "blank", "501"],
)
@each_case(
    ("tool", "arguments"),
    [
        ("planning_setup_plan", lambda title: {"objective": "Go", "initial_steps": [title]}),
        ("planning_add_step", lambda title: {"steps": [title]}),
        ("planning_update_step", lambda title: {"step_id": 1, "title": title}),
    ],
    ids=["setup", "add", "update"],
)
def test_seed_003_titles_are_non_empty_and_have_at_most_500_characters(tool, arguments, title, fits):
    """Seed 003, *Behavior*, 4."""
    planner = Planner(SetupPlan("Go", ("one",)))
    before = planner.plan
    assert planner.call(tool, **arguments(title)).success is fits
    assert (planner.plan == before) is not fits


# --- Session Integration ---


@pytest.mark.parametrize(
    ("event", "plan"),
    [
        (Plan("Mine"), Plan("Mine")),
        (SetupPlan("New"), Plan("New")),
        (AddStep(("two",)), Plan("Go", steps=(PlanStep(1, "one"), PlanStep(2, "two")))),
        (UpdateStep(1, status="done"), Plan("Go", "completed", (PlanStep(1, "one", "done"),))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_seed_003_the_section_registers_reducers(event, plan):
    """Seed 003, *Session Integration*: for `Plan`, `SetupPlan`, `AddStep`, `UpdateStep`."""
    session = Session()
    assert not session.has_listener(type(event))
    PlanningToolsSection(session=session)
    assert session.has_listener(type(event))
    session.dispatch(SetupPlan("Go", ("one",)))
    session.dispatch(event)
    assert session[Plan].all() == (plan,)


# --- Planning Strategies ---


def paragraphs(strategy):
    return PlanningToolsSection(session=Session(), strategy=strategy).template.split("\n\n")


def mindset(strategy):
    told = paragraphs(strategy)
    return told[told.index("**Mindset**") + 1]


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (PlanningStrategy.REACT, ("Think", "tool call", "observation")),
        (PlanningStrategy.PLAN_ACT_REFLECT, ("before you set off", "Carry the steps out", "reflect")),
        (
            PlanningStrategy.GOAL_DECOMPOSE_ROUTE_SYNTHESISE,
            ("restate the goal", "decompose", "Route", "synthesise"),
        ),
    ],
)
def test_seed_003_each_strategy_has_the_mindset_of_the_table(strategy, words):
    """Seed 003, *Planning Strategies*: the texts come in the table's order."""
    places = [mindset(strategy).find(word) for word in words]
    assert -1 not in places
    assert places == sorted(places)


def test_seed_003_there_are_three_strategies():
    """Seed 003, *Planning Strategies*: the enum."""
    assert [strategy.name for strategy in PlanningStrategy] == [
        "REACT",
        "PLAN_ACT_REFLECT",
        "GOAL_DECOMPOSE_ROUTE_SYNTHESISE",
    ]


def test_seed_003_strategies_differ_in_their_mindset_paragraph_alone():
    """Seed 003, *Planning Strategies*: Same markdown structure; only mindset paragraphs vary."""
    texts = [paragraphs(strategy) for strategy in PlanningStrategy]
    assert len({mindset(strategy) for strategy in PlanningStrategy}) == 3
    place = texts[0].index("**Mindset**") + 1
    assert len({tuple(text[:place] + text[place + 1 :]) for text in texts}) == 1
    assert all(len(text) == len(texts[0]) for text in texts)


def test_seed_003_step_ids_are_never_reused_by_a_new_plan():
    """Seed 003, *Planning Tool Suite*: step IDs are incrementing integers, never reused."""
    session = Session()
    PlanningToolsSection(session=session)
    ids = []
    for event in (
        SetupPlan("One", ("a", "b")),
        SetupPlan("Two"),
        AddStep(("c",)),
        SetupPlan("Three", ("d",)),
    ):
        session.dispatch(event)
        ids.append([step.step_id for step in session[Plan].latest().steps])
    assert ids == [[1, 2], [], [3], [4]]
