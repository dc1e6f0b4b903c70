"""Whatever a handler does, the executor lives, its siblings finish and state is as before."""

import pytest

from tests.cases import each_case
from tests.execute.fault_tools import (
    ECHOES,
    FAULTY,
    HANGING,
    ISOLATIONS,
    LIMITED,
    RAISING,
    RETURNING,
    Drastic,
    block_loop,
    bomb,
    huge,
    huge_process,
    linger_later,
)
from tests.execute.world import WAYS, World, call
from toolhaft.errors import ToolExecutionError

TURNS = ("execute_all", "aexecute_all")
KINDS = {
    **dict.fromkeys(RAISING, ("failed",)),
    **dict.fromkeys(RETURNING, ("invalid_output",)),
    "cancelled": ("cancelled", "failed"),
    "error result": ("failed",),
    "value without a class": ("failed", "invalid_output"),
    "message without a text": ("failed", "invalid_output"),
    # only data of a certain size and depth comes out of a process
    **dict.fromkeys(("no data", "aliasing bomb", "cycle", "deep"), ("invalid_output", "failed")),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    tools = [*ECHOES, *LIMITED, *FAULTY, *HANGING, block_loop, linger_later, bomb, huge, huge_process]
    with World(tmp_path_factory.mktemp("root"), tools, max_processes=2) as made:
        yield made


def siblings(first):
    return [call(tool.name, n=first + number) for number, tool in enumerate(ECHOES)]


def run_among_siblings(world, way, faulty):
    """The result of the faulty call; its siblings must have theirs, in their order."""
    before = siblings(1)
    results = world.run(way, *before, faulty, *siblings(10))
    assert [result.value for result in results if result.success] == [1, 2, 3, 4, 10, 11, 12, 13]
    assert len(world.events) == 9  # one ToolInvoked for every call
    return results[len(before)]


@each_case("way", TURNS)
@each_case("isolation", ISOLATIONS)
@each_case("fault", [*RAISING, *RETURNING])
def test_a_faulty_handler_harms_nobody(world, fault, isolation, way):
    state = world.state()
    result = run_among_siblings(world, way, call(f"faulty_{isolation}", fault=fault))
    assert not result.success
    assert result.failure.kind in KINDS[fault]
    assert result.failure.outcome == "rolled_back"
    assert world.state() == state
    assert len(result.render()) <= 2_500  # an error for a model is at most 2 KB


@each_case("isolation", ISOLATIONS)
def test_a_failed_result_names_the_tool_and_the_cause_for_the_model(world, isolation):
    (result,) = world.run("execute", call(f"faulty_{isolation}", fault="exception"))
    assert result.message.startswith(f"faulty_{isolation} failed: ValueError: no luck.")
    assert "Rolled back: nothing happened." in result.message
    assert isinstance(result.failure.error, ValueError)


@each_case("isolation", ["inline", "thread", "async"])
def test_a_failure_keeps_the_exception_itself_for_the_program(world, isolation):
    (result,) = world.run("execute", call(f"faulty_{isolation}", fault="base exception"))
    assert isinstance(result.failure.error, Drastic)


def test_an_error_that_cannot_be_pickled_arrives_with_its_text(world):
    (result,) = world.run("execute", call("faulty_process", fault="own error"))
    assert isinstance(result.failure.error, Exception)
    assert "7: no luck" in result.message
    (result,) = world.run("execute", call("faulty_process", fault="cannot travel"))
    assert isinstance(result.failure.error, ToolExecutionError)
    assert "stuck" in result.message


@each_case("way", WAYS)
@each_case("isolation", ["inline", "thread", "async"])
def test_an_interrupt_is_raised_to_the_caller_after_a_rollback(world, isolation, way):
    state = world.state()
    with pytest.raises(KeyboardInterrupt):
        world.run(way, call(f"faulty_{isolation}", fault="interrupt"))
    assert world.state() == state
    assert [(event.success, event.kind) for event in world.events] == [(False, "failed")]


@each_case("way", TURNS)
@each_case("isolation", ["inline", "thread", "async"])
def test_the_siblings_of_a_handler_that_raises_an_interrupt_finish_first(world, isolation, way):
    state = world.state()
    faulty = call(f"faulty_{isolation}", fault="interrupt")
    with pytest.raises(KeyboardInterrupt) as caught:
        world.run(way, *siblings(1), faulty, *siblings(10))
    results = caught.value.results
    assert [result.value for result in results] == [1, 2, 3, 4, None, 10, 11, 12, 13]
    assert (results[4].failure.kind, results[4].failure.outcome) == ("cancelled", "unknown")
    assert [result.call.name for result in results][4] == faulty.name
    assert len(world.events) == 9
    assert world.state() == state


@each_case("way", WAYS)
@each_case("isolation", ISOLATIONS)
def test_an_exit_is_a_failed_result_and_its_siblings_finish(world, isolation, way):
    """Never abort evaluation."""
    state = world.state()
    result = run_among_siblings(world, way, call(f"faulty_{isolation}", fault="exit"))
    assert result.failure.kind == "failed"
    assert result.failure.outcome == "rolled_back"
    assert result.message.startswith(f"faulty_{isolation} failed: the handler called sys.exit(3).")
    assert world.state() == state


@each_case("way", WAYS)
def test_an_interrupt_raised_in_a_process_is_a_failure_of_that_process(world, way):
    state = world.state()
    result = run_among_siblings(world, way, call("faulty_process", fault="interrupt"))
    assert result.failure.kind == "failed"
    assert world.state() == state


@each_case("way", TURNS)
@each_case("isolation", ISOLATIONS)
def test_a_handler_that_hangs_is_stopped_or_cut_off_at_its_limit(world, isolation, way):
    state = world.state()
    result = run_among_siblings(world, way, call(f"hanging_{isolation}"))
    assert result.failure.kind == "timeout"
    assert result.failure.outcome == "rolled_back"
    assert "time limit of 0." in result.message
    assert world.state() == state
    assert world.has_settled()
    assert world.state() == state


@each_case("way", TURNS)
def test_a_thread_that_returns_late_has_timed_out_even_if_its_caller_is_busy(world, way):
    state = world.state()
    overruns = world.executor.stats.overruns
    late, blocked = world.run(way, call("hanging_thread"), call("block_loop"))
    assert blocked.value == 1
    assert late.failure.kind == "timeout"
    assert late.failure.outcome == "rolled_back"
    assert world.executor.stats.overruns == overruns + 1
    assert world.state() == state


@each_case("way", TURNS)
@each_case("name", ["echo_limited", "echo_limited_async"])
def test_a_handler_that_returns_in_time_succeeds_even_if_its_caller_is_busy(world, name, way):
    done, blocked = world.run(way, call(name, n=5), call("block_loop"))
    assert (done.value, blocked.value) == (5, 1)


@each_case("way", WAYS)
def test_a_coroutine_that_a_thread_returns_has_a_time_limit(world, way):
    (result,) = world.run(way, call("linger_later"))
    assert result.failure.kind == "timeout"


def test_stats_count_handlers_that_could_not_be_stopped(world):
    before = world.executor.stats.to_dict()
    for isolation in ISOLATIONS:
        world.run("execute", call(f"hanging_{isolation}"))
    after = world.executor.stats.to_dict()
    grown = {
        name: after[name] - before[name] for name in ("overruns", "abandoned_threads", "killed_processes")
    }
    assert grown == {"overruns": 1, "abandoned_threads": 1, "killed_processes": 1}
    assert world.has_settled()


@each_case("name", ["huge", "huge_process"])
def test_100_mb_are_kept_whole_for_the_program_and_cut_for_the_model(world, name):
    """Output above a size limit is cut for the model at a clear mark and kept whole."""
    (result,) = world.run("execute", call(name, megabytes=100))
    assert len(result.value) == 100_000_000
    shown = result.render()
    assert len(shown) < 101_000
    assert shown.endswith("[cut: 100,000 of 100,000,000 characters shown]")


def test_the_message_about_a_huge_invalid_value_is_short(world):
    (result,) = world.run("execute", call("faulty_inline", fault="aliasing bomb"))
    assert result.failure.kind == "invalid_output"
    assert len(result.render()) <= 2_500


def test_an_aliasing_bomb_is_not_rendered(world):
    (result,) = world.run("execute", call("bomb"))
    assert len(result.render()) < 101_000
