"""Async handlers that harm the loop, or will not leave it: the executor lives, siblings finish, state is as before."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.execute.fault_tools import ECHOES
from tests.execute.loop_tools import LOOP_TOOLS, latch
from tests.execute.world import WAYS, World, call, wait_until

SYNC = ("execute", "execute_all")
TURNS = ("execute_all", "aexecute_all")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with World(tmp_path_factory.mktemp("root"), [*ECHOES, *LOOP_TOOLS]) as made:
        yield made


def run_among_siblings(world, way, name):
    """The result of the faulty call; its siblings must have theirs."""
    state = world.state()
    first, result, *others = world.run(
        way, call("echo", n=1), call(name), call("echo_async", n=2), call("echo", n=3)
    )
    assert [other.value for other in (first, *others)] == [1, 2, 3]
    assert world.state() == state
    return result


@each_case("way", WAYS)
def test_a_handler_cannot_close_the_loop_that_runs_it(world, way):
    result = run_among_siblings(world, way, "close_loop")
    assert result.failure.kind == "failed"
    assert "Cannot close a running event loop" in result.message


@each_case("way", SYNC)
def test_a_handler_that_stops_the_loop_of_sync_callers_harms_nobody(world, way):
    result = run_among_siblings(world, way, "stop_loop")
    assert "ValueError: stopped" in result.message


@each_case("way", SYNC)
def test_an_exit_in_a_task_of_a_handler_does_not_end_the_loop_of_sync_callers(world, way):
    result = run_among_siblings(world, way, "exit_in_a_task")
    assert result.message.startswith("exit_in_a_task failed: the handler called sys.exit(3).")


def test_a_handler_that_stops_the_loop_of_its_async_caller_leaves_state_as_before(world):
    state = world.state()
    with pytest.raises(RuntimeError, match="stopped before Future completed"):
        world.run("aexecute_all", call("stop_loop"), call("echo_async", n=1))
    assert world.state() == state
    assert world.run("aexecute", call("echo_async", n=2))[0].value == 2


@each_case("way", TURNS)
@each_case("name", ["swallow", "swallow_and_answer", "spin"])
def test_a_handler_that_swallows_its_cancellation_has_timed_out_all_the_same(world, name, way):
    assert run_among_siblings(world, way, name).failure.kind == "timeout"


@each_case("way", TURNS)
def test_a_handler_that_ignores_every_cancellation_is_abandoned_and_counted(world, way):
    before = world.executor.stats.abandoned_tasks
    run_among_siblings(world, way, "swallow")
    run_among_siblings(world, way, "swallow_and_answer")
    assert world.executor.stats.abandoned_tasks == before + 1


UNDYING = """
import asyncio
from toolhaft import ToolCall, ToolExecutor, tool

@tool(timeout_s=0.1)
async def undying() -> int:
    "Go on through everything."
    while True:
        try:
            await asyncio.sleep(60)
        except BaseException:
            pass

@tool
def echo() -> int:
    "Answer."
    return 1

executor = ToolExecutor([undying, echo])
calls = [ToolCall(name="undying"), ToolCall(name="echo")]
for results in (executor.execute_all(calls), asyncio.run(executor.aexecute_all(calls))):
    print([result.success for result in results])
print(executor.stats.abandoned_tasks)
"""


def test_a_handler_with_a_bare_except_cannot_keep_the_program_from_ending():
    run = subprocess.run(
        [sys.executable, "-c", UNDYING], capture_output=True, text=True, timeout=30, check=False
    )
    assert (run.stdout.split("\n"), run.returncode) == (["[False, True]", "[False, True]", "2", ""], 0)


@each_case("way", ["execute", "execute_all", "aexecute_all"])
def test_a_handler_that_cancels_itself_has_a_result_like_any_other(world, way):
    """Each call yields exactly one ToolResult, in order, whatever happens to its siblings."""
    assert run_among_siblings(world, way, "cancel_itself").failure.kind == "cancelled"


@each_case("way", WAYS)
def test_a_handler_that_blocks_its_loop_past_the_limit_has_timed_out(world, way):
    assert run_among_siblings(world, way, "block_briefly").failure.kind == "timeout"


def count_loops():
    return sum(thread.name == "toolhaft-loop" for thread in threading.enumerate())


def count_polls():
    """The event loops' own handles; those of worker processes come and go beside them."""
    found = 0
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += "eventpoll" in str(handle.readlink())
    return found


def test_a_blocked_loop_is_abandoned_and_ends_with_its_handler(world):
    world.run("execute", call("echo_async", n=1))
    loops, polls, state = count_loops(), count_polls(), world.state()
    latch.reset()
    try:
        results = world.run("execute_all", call("block"), call("echo", n=1), call("echo_async", n=2))
        assert results[0].failure.kind == "timeout"
        assert [result.value for result in results[1:]] == [1, 2]
        assert world.run("execute", call("echo_async", n=3))[0].value == 3
    finally:
        latch.opened.set()
    assert world.state() == state
    assert wait_until(lambda: count_loops() <= loops)
    assert wait_until(lambda: count_polls() <= polls)


def test_loops_of_async_callers_are_not_kept(world):
    async def use():
        calls = [call(name, n=1) for name in ("echo", "echo_async", "echo_process")]
        await world.executor.aexecute_all(calls)
        return weakref.ref(asyncio.get_running_loop())

    loops = [asyncio.run(use()) for _ in range(3)]
    gc.collect()
    assert [loop() for loop in loops] == [None] * 3
