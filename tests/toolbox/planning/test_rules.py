"""Every planning rule and the message of its refusal, for calls and for dispatched events."""

import pytest

from tests.cases import each_case
from tests.toolbox.planning.kit import COMPLETED, EVENTS, NO_PLAN, SMALL, World, each_way
from toolhaft import Session
from toolhaft.errors import ToolValidationError
from toolhaft.session import append_all
from toolhaft.toolbox.planning import AddStep, Plan, PlanStep, SetupPlan, UpdateStep

LONGEST = "x" * 500


@each_way
def test_a_plan_is_set_up_extended_worked_through_and_read(way):
    world = World()
    do = getattr(world, way)
    result = do("setup_plan", objective="Go", initial_steps=["one"])
    assert (result.value, result.message) == (
        Plan("Go", "active", (PlanStep(1, "one"),)),
        "The plan is set up, with 1 step.",
    )
    result = do("add_step", steps=["two", "three"])
    assert (result.value, result.message) == (
        Plan("Go", "active", (PlanStep(1, "one"), PlanStep(2, "two"), PlanStep(3, "three"))),
        "Added steps 2 to 3.",
    )
    result = do("update_step", step_id=2, title="second", status="in_progress")
    assert (result.value.steps[1], result.message) == (
        PlanStep(2, "second", "in_progress"),
        "Changed the title and status of step 2.",
    )
    result = do("read_plan")
    assert (result.value, result.message) == (world.plan, "The current plan.")
    assert len(world.session[Plan]) == 1


@each_way
def test_a_plan_is_completed_when_its_last_step_is_done(way):
    world = World(SMALL)
    do = getattr(world, way)
    first, last = do("update_step", step_id=2, status="done"), do("update_step", step_id=1, status="done")
    assert (first.value.status, first.message) == ("active", "Changed the status of step 2.")
    assert (last.value.status, last.message) == (
        "completed",
        "Changed the status of step 1. All steps are done: the plan is completed.",
    )
    assert world.plan == Plan("Go", "completed", (PlanStep(1, "one", "done"), PlanStep(2, "two", "done")))


def test_a_plan_without_steps_is_active():
    world = World()
    result = world.call("setup_plan", objective="Go")
    assert (result.value, result.message) == (
        Plan("Go", "active", ()),
        "The plan is set up, without steps yet.",
    )
    assert world.call("add_step", steps=["one"]).message == "Added step 1."


def test_a_step_that_was_done_can_be_opened_again_while_another_is_open():
    world = World(SMALL, UpdateStep(1, status="done"))
    world.call("update_step", step_id=1, status="pending")
    world.call("update_step", step_id=2, status="done")
    assert world.plan == Plan("Go", "active", (PlanStep(1, "one"), PlanStep(2, "two", "done")))


def test_a_new_title_keeps_the_status_and_a_new_status_the_title():
    world = World(SMALL, UpdateStep(1, status="in_progress"))
    world.call("update_step", step_id=1, title="first")
    assert world.plan.steps[0] == PlanStep(1, "first", "in_progress")
    world.call("update_step", step_id=1, status="pending")
    assert world.plan.steps[0] == PlanStep(1, "first", "pending")


def test_ids_count_up_and_a_new_plan_counts_on():
    world = World(SMALL, AddStep(("three",)))
    assert [step.step_id for step in world.plan.steps] == [1, 2, 3]
    result = world.call("setup_plan", objective="Anew", initial_steps=["a", "b"])
    assert result.message == "The plan is set up, with 2 steps; it replaces the one before."
    assert world.plan == Plan("Anew", "active", (PlanStep(4, "a"), PlanStep(5, "b")))
    assert len(world.session[Plan]) == 1


def test_ids_are_not_reused_after_a_plan_without_steps():
    world = World(SMALL, SetupPlan("Think first"))
    assert world.call("add_step", steps=["three"]).value.steps == (PlanStep(3, "three"),)
    later = World(session=Session())
    later.session.restore(world.session.snapshot(), types=[Plan])
    assert later.call("setup_plan", objective="On", initial_steps=["four"]).value.steps == (
        PlanStep(4, "four"),
    )


def test_a_failed_call_uses_up_no_ids():
    world = World(SMALL)
    assert not world.call("add_step", steps=["three", ""]).success
    assert world.call("add_step", steps=["three"]).value.steps[-1] == PlanStep(3, "three")


def test_a_completed_plan_can_be_read_and_replaced():
    world = World(*COMPLETED)
    assert world.call("read_plan").value.status == "completed"
    assert world.call("setup_plan", objective="Go on").value == Plan("Go on")


def test_texts_are_stored_without_the_white_space_around_them():
    world = World()
    world.call("setup_plan", objective="\t Go \n", initial_steps=["  one ", "\ntwo"])
    world.call("add_step", steps=[" three  "])
    world.call("update_step", step_id=1, title=" first and  only ")
    assert world.plan == Plan(
        "Go", steps=(PlanStep(1, "first and  only"), PlanStep(2, "two"), PlanStep(3, "three"))
    )


@pytest.mark.parametrize("text", [LONGEST, f"  {LONGEST}\n", "x", "é" * 500, "😀" * 500], ids=len)
def test_texts_have_1_to_500_characters_after_stripping(text):
    world = World()
    assert world.call("setup_plan", objective=text, initial_steps=[text]).success
    assert world.call("add_step", steps=[text]).success
    assert world.call("update_step", step_id=1, title=text).success
    stripped = text.strip()
    assert world.plan == Plan(stripped, steps=(PlanStep(1, stripped), PlanStep(2, stripped)))


# --- what is refused ---

EMPTY = "{} is empty. Give 1 to 500 characters."
EMPTY_SHOWN = "{} is empty. Give 1 to 500 visible characters."
TOO_LONG = "{} has 501 characters, and at most 500 are allowed. Shorten it."
COMPLETED_WORDS = "the plan is completed: it can be read and replaced, not {}. Call planning_setup_plan if there is more to do."
REFUSED = {
    "add without a plan": ((), "add_step", {"steps": ["one"]}, NO_PLAN),
    "update without a plan": ((), "update_step", {"step_id": 1, "status": "done"}, NO_PLAN),
    "objective empty": ((), "setup_plan", {"objective": ""}, EMPTY.format("objective")),
    "objective blank": ((SMALL,), "setup_plan", {"objective": " \n\t"}, EMPTY.format("objective")),
    "objective too long": ((), "setup_plan", {"objective": LONGEST + "x"}, TOO_LONG.format("objective")),
    "objective shows nothing": (
        (),
        "setup_plan",
        {"objective": " \u200b\u2060 "},
        EMPTY_SHOWN.format("objective"),
    ),
    "initial step blank": (
        (SMALL,),
        "setup_plan",
        {"objective": "Go", "initial_steps": ["one", " "]},
        EMPTY.format("initial_steps[1]"),
    ),
    "initial step too long": (
        (),
        "setup_plan",
        {"objective": "Go", "initial_steps": [LONGEST + "x"]},
        TOO_LONG.format("initial_steps[0]"),
    ),
    "no titles": (
        (SMALL,),
        "add_step",
        {"steps": []},
        "steps is empty, so there is nothing to add. Give one title or more.",
    ),
    "new step blank": ((SMALL,), "add_step", {"steps": ["ok", "", "ok"]}, EMPTY.format("steps[1]")),
    "new step shows nothing": (
        (SMALL,),
        "add_step",
        {"steps": ["\x1b \ufe0f"]},
        EMPTY_SHOWN.format("steps[0]"),
    ),
    "new step too long": (
        (SMALL,),
        "add_step",
        {"steps": ["ok", f" {LONGEST}x "]},
        TOO_LONG.format("steps[1]"),
    ),
    "new title blank": ((SMALL,), "update_step", {"step_id": 1, "title": "\n"}, EMPTY.format("title")),
    "new title too long": (
        (SMALL,),
        "update_step",
        {"step_id": 1, "title": LONGEST + "x", "status": "done"},
        TOO_LONG.format("title"),
    ),
    "empty update": (
        (SMALL,),
        "update_step",
        {"step_id": 1},
        "the update of step 1 is empty. Give a title, a status or both.",
    ),
    "unknown id": (
        (SMALL,),
        "update_step",
        {"step_id": 3, "status": "done"},
        "there is no step 3: the plan has steps 1 to 2. Call planning_read_plan to see the plan.",
    ),
    "unknown id, one step": (
        (SetupPlan("Go", ("one",)),),
        "update_step",
        {"step_id": 0, "title": "x"},
        "there is no step 0: the plan has step 1. Call planning_read_plan to see the plan.",
    ),
    "unknown id, no steps": (
        (SetupPlan("Go"),),
        "update_step",
        {"step_id": 1, "status": "done"},
        "there is no step 1: the plan has no steps yet. Call planning_add_step first.",
    ),
    "completed, extended": (
        COMPLETED,
        "add_step",
        {"steps": ["two"]},
        COMPLETED_WORDS.format("extended"),
    ),
    "completed, changed": (
        COMPLETED,
        "update_step",
        {"step_id": 1, "status": "pending"},
        COMPLETED_WORDS.format("changed"),
    ),
}
refused = each_case(("before", "name", "arguments", "words"), list(REFUSED.values()))


@refused
def test_a_call_is_refused_and_changes_nothing(before, name, arguments, words):
    assert World(*before).refusal(name, **arguments) == ("invalid_arguments", words)


@refused
def test_dispatched_event_follows_the_same_rules(before, name, arguments, words):
    world = World(*before)
    stored = world.session.snapshot()
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
    with pytest.raises(ToolValidationError) as caught:
        world.session.dispatch(EVENTS[name](**given))
    assert str(caught.value) == words
    assert world.session.snapshot() == stored


def test_reading_needs_a_plan():
    assert World().refusal("read_plan") == ("invalid_arguments", NO_PLAN)


@each_case(
    ("event", "words"),
    [
        (SetupPlan(5), "objective must be text, not int."),
        (SetupPlan("Go", "one"), "initial_steps must be a list of titles, not str."),
        (SetupPlan("Go", ("one", None)), "initial_steps[1] must be text, not NoneType."),
        (AddStep("one"), "steps must be a list of titles, not str."),
        (AddStep(({"title": "one"},)), "steps[0] must be text, not dict."),
        (UpdateStep(1, title=5), "title must be text, not int."),
        (
            UpdateStep(1, status="finished"),
            "status 'finished' is unknown. Give 'pending', 'in_progress' or 'done'.",
        ),
        (
            UpdateStep(1, status=["done"]),
            "status ['done'] is unknown. Give 'pending', 'in_progress' or 'done'.",
        ),
        (
            UpdateStep(True, status="done"),
            "there is no step True: the plan has steps 1 to 2. Call planning_read_plan to see the plan.",
        ),
        (
            UpdateStep("1", status="done"),
            "there is no step '1': the plan has steps 1 to 2. Call planning_read_plan to see the plan.",
        ),
    ],
)
def test_dispatched_event_of_wrong_types_is_refused(event, words):
    """A host's code may not check types; a model's arguments are checked before."""
    world = World(SMALL)
    before = world.plan
    with pytest.raises(ToolValidationError) as caught:
        world.session.dispatch(event)
    assert str(caught.value) == words
    assert world.plan == before


@each_case(
    ("name", "arguments"),
    [
        ("setup_plan", {}),
        ("setup_plan", {"objective": 5}),
        ("setup_plan", {"objective": "Go", "initial_steps": "one"}),
        ("setup_plan", {"objective": "Go", "steps": []}),
        ("add_step", {}),
        ("add_step", {"steps": [5]}),
        ("update_step", {"status": "done"}),
        ("update_step", {"step_id": 1, "status": "finished"}),
        ("update_step", {"step_id": 1.5, "status": "done"}),
        ("read_plan", {"step_id": 1}),
    ],
)
def test_arguments_of_the_wrong_shape_never_reach_the_plan(name, arguments):
    world = World(SMALL)
    before = world.session.snapshot()
    result = world.call(name, **arguments)
    assert result.failure.kind == "invalid_arguments"
    assert result.message.startswith("The arguments are not valid.")
    assert world.session.snapshot() == before


def test_a_host_may_give_titles_as_a_list():
    world = World(SetupPlan("Go", ["one"]), AddStep(["two"]))
    assert world.plan == Plan("Go", steps=(PlanStep(1, "one"), PlanStep(2, "two")))


def test_other_slices_receive_the_planning_events():
    world = World()
    world.session[SetupPlan].register(append_all)
    world.call("setup_plan", objective="Go")
    world.call("setup_plan", objective=" ")
    assert world.session[SetupPlan].all() == (SetupPlan("Go"),)
    assert world.plan == Plan("Go")
