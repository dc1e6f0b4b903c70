"""Whole plans from the host: dispatched ones follow the rules, seeded and restored ones bypass them."""

import json

import pytest

from tests.cases import each_case
from tests.toolbox.planning.kit import SMALL, World
from toolhaft import Session
from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.toolbox.planning import AddStep, Plan, PlanStep, SetupPlan, UpdateStep

LAST_ID = 2**53 - 1
STATUSES = "'pending', 'in_progress' or 'done'"
NO_ID = "is not allowed here. Ids are increasing whole numbers: give {} or more."
EMPTY = "is empty. Give 1 to 500 characters"


def with_steps(*steps):
    return Plan("Go", steps=tuple(steps))


UNFIT = {
    "no objective": (Plan(" "), f"objective {EMPTY}."),
    "objective of another type": (Plan(None), "objective must be text, not NoneType."),
    "status unknown": (Plan("Go", "weird"), "status 'weird' is unknown. Give 'active' or 'completed'."),
    "no steps at all": (Plan("Go", steps=None), "steps must be a list of PlanStep, not NoneType."),
    "steps are titles": (with_steps("one"), "steps[0] must be a PlanStep, not str."),
    "no title": (with_steps(PlanStep(1, "")), f"steps[0].title {EMPTY}."),
    "nothing of a title shows": (
        with_steps(PlanStep(1, "\u200b")),
        "steps[0].title is empty. Give 1 to 500 visible characters.",
    ),
    "title too long": (
        with_steps(PlanStep(1, "x" * 501)),
        "steps[0].title has 501 characters, and at most 500 are allowed. Shorten it.",
    ),
    "status of a step unknown": (
        with_steps(PlanStep(1, "one", "weird")),
        f"steps[0].status 'weird' is unknown. Give {STATUSES}.",
    ),
    "status of a step is a list": (
        with_steps(PlanStep(1, "one", ["done"])),
        f"steps[0].status ['done'] is unknown. Give {STATUSES}.",
    ),
    "id 0": (with_steps(PlanStep(0, "one")), f"steps[0].step_id 0 {NO_ID.format(1)}"),
    "id is text": (with_steps(PlanStep("1", "one")), f"steps[0].step_id '1' {NO_ID.format(1)}"),
    "id is a truth": (with_steps(PlanStep(True, "one")), f"steps[0].step_id True {NO_ID.format(1)}"),
    "id too large": (
        with_steps(PlanStep(LAST_ID + 1, "one")),
        f"steps[0].step_id {LAST_ID + 1} {NO_ID.format(1)}",
    ),
    "id that cannot be written": (
        with_steps(PlanStep(10**5000, "one")),
        f"steps[0].step_id with too many digits {NO_ID.format(1)}",
    ),
    "id twice": (
        with_steps(PlanStep(3, "one"), PlanStep(3, "two")),
        f"steps[1].step_id 3 {NO_ID.format(4)}",
    ),
    "ids count down": (
        with_steps(PlanStep(2, "one"), PlanStep(1, "two")),
        f"steps[1].step_id 1 {NO_ID.format(3)}",
    ),
}
unfit = each_case(("plan", "words"), list(UNFIT.values()))
SETTLED = {
    "all done": (with_steps(PlanStep(1, "one", "done")), "completed"),
    "one open": (Plan("Go", "completed", (PlanStep(1, "one", "done"), PlanStep(2, "two"))), "active"),
    "no steps": (Plan("Go", "completed"), "active"),
}
settled = each_case(("plan", "status"), list(SETTLED.values()))


@unfit
@pytest.mark.parametrize("way", ["dispatch", "append"])
def test_dispatched_plan_that_breaks_the_rules_is_refused(plan, words, way):
    world = World(SMALL)
    before = world.plan
    give = world.session.dispatch if way == "dispatch" else world.session[Plan].append
    with pytest.raises(ToolValidationError) as caught:
        give(plan)
    assert str(caught.value) == words
    assert world.session[Plan].all() == (before,)


@settled
@pytest.mark.parametrize("way", ["dispatch", "append"])
def test_status_of_a_plan_follows_from_its_steps(plan, status, way):
    world = World()
    give = world.session.dispatch if way == "dispatch" else world.session[Plan].append
    give(plan)
    assert world.plan == Plan("Go", status, plan.steps)


def test_a_plan_of_a_host_is_kept_like_any_other():
    world = World(SMALL, Plan(" Go\n", steps=[PlanStep(4, " four "), PlanStep(9, "nine", "in_progress")]))
    assert world.session[Plan].all() == (
        Plan("Go", steps=(PlanStep(4, "four"), PlanStep(9, "nine", "in_progress"))),
    )
    assert world.call("add_step", steps=["ten"]).value.steps[-1] == PlanStep(10, "ten")


def test_dispatched_plan_replaces_the_one_before():
    world = World(SMALL, Plan("Mine", steps=(PlanStep(4, "four"),)))
    assert world.session[Plan].all() == (Plan("Mine", steps=(PlanStep(4, "four"),)),)
    world.session[Plan].append(Plan("Another"))
    assert world.session[Plan].all() == (Plan("Another"),)


def test_ids_are_not_reused_after_a_host_removed_steps():
    world = World(Plan("Go", steps=(PlanStep(2, "two"), PlanStep(7, "seven"))))
    world.call("add_step", steps=["next"])
    assert [step.step_id for step in world.plan.steps] == [2, 7, 8]
    assert world.refusal("update_step", step_id=3, status="done") == (
        "invalid_arguments",
        "there is no step 3: the plan has steps 2, 7 to 8. Call planning_read_plan to see the plan.",
    )


def test_ids_that_a_host_removed_are_not_reused():
    world = World(SMALL, Plan("Go", steps=(PlanStep(1, "one"),)))
    assert world.call("add_step", steps=["three"]).value.steps[-1] == PlanStep(3, "three")
    world.session.dispatch(Plan("Go"))
    assert world.call("add_step", steps=["four"]).value.steps == (PlanStep(4, "four"),)


def test_a_plan_that_has_reached_the_last_id_is_not_extended():
    world = World(with_steps(PlanStep(LAST_ID - 1, "one")))
    assert world.refusal("add_step", steps=["two", "three"]) == (
        "invalid_arguments",
        "the session has no ids left for new steps: they need a new session.",
    )
    assert world.call("add_step", steps=["two"]).value.steps[-1] == PlanStep(LAST_ID, "two")


def test_an_update_of_an_id_that_cannot_be_written_is_refused():
    with pytest.raises(
        ToolValidationError, match=r"there is no step with too many digits: the plan has steps"
    ):
        World(SMALL, UpdateStep(10**5000, status="done"))


# --- past the rules ---


@unfit
def test_a_seeded_plan_that_breaks_the_rules_can_only_be_replaced(plan, words):
    world = World()
    world.session[Plan].seed(plan)
    told = (
        "the plan in the session breaks the rules of planning: "
        f"{words.partition('. ')[0].rstrip('.')}. Call planning_setup_plan to replace it."
    )
    for name, arguments in (
        ("read_plan", {}),
        ("add_step", {"steps": ["one"]}),
        ("update_step", {"step_id": 1, "status": "done"}),
    ):
        result = world.call(name, **arguments)
        assert (result.failure.kind, str(result.failure.error)) == ("failed", told)
        assert world.plan == plan
    for event in (AddStep(("one",)), UpdateStep(1, status="done")):
        with pytest.raises(ToolExecutionError) as caught:
            world.session.dispatch(event)
        assert str(caught.value) == told
    assert world.call("setup_plan", objective="Anew").value == world.plan == Plan("Anew")


@settled
def test_status_of_a_seeded_plan_follows_from_its_steps(plan, status):
    world = World()
    world.session[Plan].seed(plan)
    assert world.call("read_plan").value == Plan("Go", status, plan.steps)
    assert world.call("add_step", steps=["more"]).success is (status == "active")


def test_restored_plan_that_breaks_the_rules_can_only_be_replaced():
    stored = json.dumps(World(SetupPlan("Go", ("one", "two"))).session.snapshot())
    fresh = World(session=Session())
    fresh.session.restore(stored.replace('"step_id": 2', '"step_id": 1'))
    assert len(fresh.plan.steps) == 2
    kind, words = fresh.refusal("read_plan")
    assert (kind, "steps[1].step_id 1 is not allowed here. Call planning_setup_plan" in words) == (
        "failed",
        True,
    )
    assert fresh.call("setup_plan", objective="Anew").success


def test_latest_of_several_plans_is_continued():
    world = World()
    world.session[Plan].seed([Plan("old"), Plan("new")])
    world.call("add_step", steps=["one"])
    assert world.session[Plan].all() == (Plan("new", steps=(PlanStep(1, "one"),)),)
