"""Plans and sessions: forks, other sessions, several at once, and restored ones."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cases import each_case
from tests.toolbox.planning.kit import SMALL, World, call, each_way
from tests.toolbox.planning.process_planning import plan_elsewhere
from toolhaft import Session, ToolCall, ToolContext, ToolExecutor, execute_tool, tool
from toolhaft.errors import ToolExecutionError
from toolhaft.toolbox.planning import AddStep, Plan, PlanningToolsSection, PlanStep, SetupPlan, UpdateStep

FOREIGN = (
    "these planning tools belong to another session than the one of this call. Fix: give "
    "ToolExecutor(session=...) the session that their PlanningToolsSection was made for"
)
CALLS = {
    "planning_setup_plan": {"objective": "Go"},
    "planning_add_step": {"steps": ["one"]},
    "planning_update_step": {"step_id": 1, "status": "done"},
    "planning_read_plan": {},
}


@each_case("name", list(CALLS))
@each_case("has_plan", [True, False])
def test_call_in_another_session_is_refused_and_changes_nothing(name, has_plan):
    home, other = World(SMALL), Session()
    if has_plan:
        PlanningToolsSection(session=other)
        other.dispatch(SMALL)
    before = home.session.snapshot(), other.snapshot()
    executor = ToolExecutor(home.section.tools, session=other)
    result = executor.execute(ToolCall(name=name, arguments=CALLS[name]))
    assert (result.failure.kind, str(result.failure.error)) == ("failed", FOREIGN)
    assert (home.session.snapshot(), other.snapshot()) == before


def test_a_call_without_the_sections_session_is_refused():
    """`execute_tool` and an executor that is given no session work on new ones."""
    world = World(SMALL)
    assert str(execute_tool(world.section.tools[3], {}).failure.error) == FOREIGN
    with pytest.raises(ToolExecutionError, match="another session"):
        world.section.tools[0].handler(SetupPlan("Go"), context=ToolContext())


def test_clone_is_another_session():
    world = World(SMALL)
    twin = world.session.clone()
    refused = ToolExecutor(world.section.tools, session=twin).execute(call("read_plan"))
    assert str(refused.failure.error) == FOREIGN
    own = World(session=twin)
    own.call("update_step", step_id=1, status="done")
    assert own.plan.steps[0].status == "done"
    assert world.plan.steps[0].status == "pending"


def test_another_session_of_the_same_id_without_the_rules_is_refused():
    """It would take the events in, and make no plan of them."""
    world = World(SMALL, session=Session(id="ada"))
    impostor = Session(id="ada")
    result = ToolExecutor(world.section.tools, session=impostor).execute(call("setup_plan", objective="Go"))
    assert str(result.failure.error) == FOREIGN
    assert impostor[SetupPlan].all() == ()


def test_a_section_for_a_fork_plans_in_the_fork():
    world = World(SMALL)
    fork = world.session.fork()
    inside = World(session=fork)
    inside.call("add_step", steps=["three"])
    assert (len(inside.plan.steps), len(world.plan.steps)) == (3, 2)
    fork.commit()
    assert len(world.plan.steps) == 3


def test_many_sessions_are_planned_in_at_once_from_many_threads():
    worlds = [World() for _ in range(20)]

    def work(number):
        world, steps = worlds[number % 20], []
        if number < 20:
            world.call("setup_plan", objective=f"plan {number}")
            for step in range(5):
                result = world.call("add_step", steps=[f"{number}.{step}"])
                steps.append(result.value.steps[-1].step_id)
        return steps

    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(work, range(20)))
    assert given == [[1, 2, 3, 4, 5]] * 20
    for number, world in enumerate(worlds):
        steps = tuple(PlanStep(step + 1, f"{number}.{step}") for step in range(5))
        assert world.plan == Plan(f"plan {number}", steps=steps)


@pytest.mark.parametrize("executors", [1, 4])
def test_ids_are_given_once_where_many_threads_extend_one_plan(executors):
    session = Session()
    worlds = [World(session=session) for _ in range(executors)]
    session.dispatch(SetupPlan("Go"))
    with ThreadPoolExecutor(8) as threads:
        results = list(
            threads.map(
                lambda number: worlds[number % executors].call(
                    "add_step", steps=[f"a{number}", f"b{number}"]
                ),
                range(40),
            )
        )
    assert all(result.success for result in results)
    plan = session[Plan].latest()
    assert [step.step_id for step in plan.steps] == list(range(1, 81))
    titles = [step.title for step in plan.steps]
    assert sorted(titles) == sorted(f"{letter}{number}" for letter in "ab" for number in range(40))
    assert all(first[1:] == second[1:] for first, second in zip(titles[::2], titles[1::2], strict=True))


def test_calls_of_one_turn_are_done_in_the_models_order():
    calls = [
        call("setup_plan", objective="Go", initial_steps=["one"]),
        call("add_step", steps=["two"]),
        call("update_step", step_id=2, status="done"),
        call("update_step", step_id=9, status="done"),
        call("update_step", step_id=1, status="done"),
        call("add_step", steps=["three"]),
    ]
    sync, awaited = World(), World()
    results = sync.executor.execute_all(calls)
    others = asyncio.run(awaited.executor.aexecute_all(calls))
    for found in (results, others):
        assert [result.success for result in found] == [True, True, True, False, True, False]
    assert sync.plan == awaited.plan
    assert sync.plan == Plan("Go", "completed", (PlanStep(1, "one", "done"), PlanStep(2, "two", "done")))


@each_way
def test_plan_changes_of_a_failed_call_are_undone(way):
    @tool(effect="reversible", name="planning_and_failing")
    def fail(context: ToolContext) -> None:
        """Plan, and fail."""
        context.session.dispatch(AddStep(("three",)))
        assert len(context.session[Plan].latest().steps) == 3
        raise OSError("no")

    world = World(SMALL, more=[fail])
    assert getattr(world, way)("and_failing").failure.kind == "failed"
    assert world.plan == Plan("Go", steps=(PlanStep(1, "one"), PlanStep(2, "two")))
    assert world.call("add_step", steps=["three"]).value.steps[-1] == PlanStep(3, "three")


@pytest.mark.parametrize("fails", [True, False])
def test_planning_inside_a_handler_is_kept_or_lost_with_the_call_around_it(fails):
    @tool(effect="reversible")
    def outer(context: ToolContext) -> int:
        """Have a planning tool called."""
        world.call("update_step", step_id=1, status="done")
        refused = world.call("update_step", step_id=7, status="done")
        assert not refused.success
        if fails:
            raise ValueError("no")
        return len(context.session[Plan].latest().steps)

    world = World(SMALL, more=[outer])
    before = world.plan
    result = world.executor.execute(ToolCall(name="outer", arguments={}))
    assert result.success is not fails
    done = Plan("Go", steps=(PlanStep(1, "one", "done"), PlanStep(2, "two")))
    assert world.plan == (before if fails else done)


def test_subscribers_hear_of_an_event_once_its_call_has_succeeded():
    heard = []
    world = World(SMALL)
    world.session.dispatcher.subscribe(UpdateStep, heard.append)
    world.call("update_step", step_id=5, status="done")
    world.call("update_step", step_id=1, status="done")
    assert heard == [UpdateStep(1, status="done")]


def test_a_change_that_came_too_late_for_a_plan_fails_as_a_whole():
    """Another executor completed the plan while this call ran: it is told, and nothing is kept."""
    session = Session()
    first = World(SetupPlan("Go", ("one",)), session=session)

    @tool(effect="reversible", name="planning_slowly")
    def slowly(context: ToolContext) -> str:
        """Extend the plan, while another executor completes it."""
        context.session.dispatch(AddStep(("two",)))
        with ThreadPoolExecutor(1) as other:
            assert other.submit(first.call, "update_step", step_id=1, status="done").result().success
        return "added"

    second = World(session=session, more=[slowly])
    result = second.call("slowly")
    assert result.failure.kind == "failed"
    assert "what it wrote could not be kept: the plan is completed" in result.message
    assert session[Plan].latest() == Plan("Go", "completed", (PlanStep(1, "one", "done"),))


@pytest.mark.parametrize("section_first", [True, False])
def test_restored_plan_is_continued(section_first):
    world = World(SMALL, UpdateStep(1, title="a\nb", status="in_progress"), UpdateStep(2, status="done"))
    stored = json.dumps(world.session.snapshot())
    fresh = Session()
    if section_first:
        later = World(session=fresh)
        fresh.restore(stored)
    else:
        fresh.restore(stored, types=[Plan])
        later = World(session=fresh)
    assert later.plan == world.plan
    assert later.call("add_step", steps=["three"]).value.steps[-1] == PlanStep(3, "three")
    assert later.call("update_step", step_id=1, status="done").value.status == "active"
    assert later.call("update_step", step_id=3, status="done").value.status == "completed"
    assert world.plan.steps[0].status == "in_progress"


def test_restoring_a_snapshot_restores_the_plan():
    world = World(SMALL)
    stored = world.session.snapshot()
    world.call("update_step", step_id=1, status="done")
    world.session.restore(stored)
    assert world.plan == Plan("Go", steps=(PlanStep(1, "one"), PlanStep(2, "two")))


@pytest.mark.external
def test_handler_in_a_worker_process_follows_the_planning_rules():
    world = World(SMALL, more=[plan_elsewhere])
    with world.executor as executor:
        assert executor.execute(ToolCall(name="plan_elsewhere", arguments={"title": " three "})).value == 3
        refused = executor.execute(ToolCall(name="plan_elsewhere", arguments={"title": " "}))
    assert refused.failure.kind == "invalid_arguments"
    assert "steps[0] is empty. Give 1 to 500 characters." in refused.message
    assert world.plan == Plan(
        "Go", steps=(PlanStep(1, "one", "in_progress"), PlanStep(2, "two"), PlanStep(3, "three"))
    )
