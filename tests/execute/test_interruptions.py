"""A caller that goes away in the middle of a call: state is as before, the call is recorded, the executor lives."""

import asyncio
import os
import signal

import pytest

from tests.execute.fault_tools import ECHOES
from tests.execute.interrupted_tools import INTERRUPTING, WAITING, latch
from tests.execute.world import Note, World, call, scribble, wait_until
from toolhaft import RetryPolicy, ToolContext, ToolExecutor, tool
from toolhaft.resources import Filesystem, MemoryFilesystem


@pytest.fixture(autouse=True)
def _interrupts_are_heard():
    """A process that was started in the background may have been told to ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    tools = [*ECHOES, *WAITING, *INTERRUPTING]
    with World(tmp_path_factory.mktemp("root"), tools, max_processes=1) as made:
        yield made


@pytest.fixture
def world(shared):
    latch.reset()
    shared.executor.new_run()
    shared.events.clear()
    yield shared
    latch.opened.set()
    assert shared.has_settled()


async def cancel_when(claim, coroutine):
    """Begin, cancel as soon as the claim holds, and wait for the end."""
    task = asyncio.ensure_future(coroutine)
    while not claim() and not task.done():  # noqa: ASYNC110 -- threads and processes tell too
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def endings(world):
    return [(event.tool, event.success, event.kind) for event in world.events]


def still_works(world):
    world.executor.new_run()
    names = [made.name for made in ECHOES]
    return [result.value for result in world.executor.execute_all(call(name, n=5) for name in names)] == [
        5
    ] * 4


@pytest.mark.parametrize("name", ["wait_thread", "wait_async", "clean_up", "swallow"])
def test_a_caller_cancelled_while_a_handler_runs_leaves_state_as_before(world, name):
    state = world.state()
    asyncio.run(cancel_when(latch.reached.is_set, world.executor.aexecute(call(name))))
    assert world.state() == state
    assert endings(world) == [(name, False, "cancelled")]
    assert world.events[0].outcome == "rolled_back"
    assert still_works(world)


def test_a_caller_cancelled_while_a_process_runs_leaves_state_as_before(world):
    state = world.state()
    killed = world.executor.stats.killed_processes
    has_begun = (world.root / "made" / "empty").is_dir
    asyncio.run(cancel_when(has_begun, world.executor.aexecute(call("wait_process"))))
    assert world.state() == state
    assert endings(world) == [("wait_process", False, "cancelled")]
    assert world.executor.stats.killed_processes == killed + 1
    assert still_works(world)


@pytest.mark.parametrize("name", ["wait_thread", "wait_async", "swallow"])
def test_all_calls_of_a_turn_are_cancelled_with_their_caller_and_each_is_recorded_once(world, name):
    state = world.state()
    calls = [call(name), call("echo", n=1), call(name), call("wait_idempotent", n=1)]
    has_begun = lambda: latch.reached.is_set() and len(world.events) == 1  # noqa: E731 -- one line
    asyncio.run(cancel_when(has_begun, world.executor.aexecute_all(calls)))
    assert world.state() == state
    assert sorted(endings(world)) == sorted(
        [
            ("echo", True, None),
            (name, False, "cancelled"),
            (name, False, "cancelled"),
            ("wait_idempotent", False, "cancelled"),
        ]
    )
    assert still_works(world)


def test_a_call_cancelled_while_it_waits_for_its_turn_did_not_happen_and_holds_nobody_up(world):
    async def main():
        first = asyncio.ensure_future(world.executor.aexecute(call("wait_async")))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(world.executor.aexecute(call("step_by_step")))
        third = asyncio.ensure_future(world.executor.aexecute(call("step_by_step")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        assert endings(world) == [("step_by_step", False, "cancelled")]
        assert world.events[0].outcome == "nothing_happened"
        first.cancel()
        assert (await third).value == 8

    notes = len(world.session[Note].all())
    asyncio.run(main())
    assert len(world.session[Note].all()) == notes + 8  # those of the third call alone


def test_a_call_cancelled_while_another_with_its_key_runs_holds_nobody_up(world):
    async def main():
        first = asyncio.ensure_future(world.executor.aexecute(call("wait_idempotent", n=1)))
        second = asyncio.ensure_future(world.executor.aexecute(call("wait_idempotent", n=1)))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        assert not first.done()
        first.cancel()
        await asyncio.wait([first])

    asyncio.run(main())
    assert endings(world) == [("wait_idempotent", False, "cancelled")] * 2


def test_a_call_cancelled_between_two_automatic_tries_is_recorded(world, tmp_path):
    (tmp_path / "root").mkdir()
    with World(tmp_path / "root", WAITING, retry=RetryPolicy(backoff_s=60)) as retrying:
        asyncio.run(cancel_when(latch.reached.is_set, retrying.executor.aexecute(call("fail_read"))))
        assert endings(retrying) == [("fail_read", False, "cancelled")]


def test_a_call_cancelled_during_its_policy_does_not_run(world, tmp_path):
    async def think(_):
        thinking.append(True)
        await asyncio.sleep(60)

    thinking = []
    (tmp_path / "root").mkdir()
    with World(tmp_path / "root", WAITING, policy=think) as ruled:
        state = ruled.state()
        asyncio.run(cancel_when(lambda: thinking, ruled.executor.aexecute(call("wait_async"))))
        assert ruled.state() == state
        assert endings(ruled) == [("wait_async", False, "cancelled")]
        assert ruled.events[0].outcome == "nothing_happened"
    assert not latch.reached.is_set()


@pytest.mark.parametrize("ticks", range(24))
def test_a_call_cancelled_at_any_moment_is_committed_completely_or_not_at_all(world, ticks):
    async def main():
        task = asyncio.ensure_future(world.executor.aexecute(call("step_by_step")))
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return not task.cancelled()

    for view in (world.host, world.memory):
        if view.exists("step"):
            view.delete("step", recursive=True)
    before = world.state()
    happened = asyncio.run(main())
    after = world.state()
    if happened:
        assert endings(world) == [("step_by_step", True, None)]
        assert len([path for path in after["host"] if path.startswith("step/")]) == 8
    else:
        assert after == before
        assert endings(world) in ([], [("step_by_step", False, "cancelled")])  # it may not have begun


def test_leaving_a_stream_early_cancels_its_call(world):
    async def main():
        stream = world.executor.astream(call("wait_async"))
        first = asyncio.ensure_future(anext(stream))
        while not latch.reached.is_set():  # noqa: ASYNC110 -- the handler tells
            await asyncio.sleep(0.001)
        first.cancel()
        await asyncio.wait([first])
        await stream.aclose()

    state = world.state()
    asyncio.run(main())
    assert world.state() == state
    assert endings(world) == [("wait_async", False, "cancelled")]


def test_a_second_cancellation_does_not_leave_calls_behind(world):
    async def main():
        calls = [call("swallow"), call("wait_idempotent", n=1)]
        task = asyncio.ensure_future(world.executor.aexecute_all(calls))
        while not latch.reached.is_set():  # noqa: ASYNC110 -- the handler tells
            await asyncio.sleep(0.001)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([task])
        assert task.cancelled()
        await asyncio.sleep(0.3)  # whoever was left behind has had its grace by now
        assert asyncio.all_tasks() == {asyncio.current_task()}

    state = world.state()
    asyncio.run(main())
    assert world.state() == state
    assert sorted(endings(world)) == [
        ("swallow", False, "cancelled"),
        ("wait_idempotent", False, "cancelled"),
    ]


@pytest.mark.parametrize("name", [made.name for made in INTERRUPTING])
def test_an_interrupt_while_a_sync_caller_waits_rolls_the_call_back(world, name):
    state = world.state()
    with pytest.raises(KeyboardInterrupt):
        world.executor.execute(call(name, host_pid=os.getpid()))
    assert world.state() == state
    assert [(event.kind, event.message, event.outcome) for event in world.events] == [
        ("failed", "KeyboardInterrupt", "rolled_back")
    ]
    assert still_works(world)


@pytest.mark.parametrize("name", [made.name for made in INTERRUPTING])
def test_an_interrupt_cuts_off_every_call_of_a_turn(world, name):
    state = world.state()
    calls = [call("wait_idempotent", n=1), call(name, host_pid=os.getpid()), call("wait_thread")]
    with pytest.raises(KeyboardInterrupt):
        world.executor.execute_all(calls)
    assert wait_until(lambda: world.state() == state)
    ends = {event.tool: (event.success, event.message) for event in world.events}
    assert len(ends) == len(world.events)
    assert set(ends.values()) == {(False, "KeyboardInterrupt")}
    assert {"wait_idempotent", name} <= set(ends)  # the last one may not have begun
    assert still_works(world)
    assert world.run("execute", call("step_by_step"))[0].value == 8  # nobody stands in the queue any more


def test_an_interrupt_of_a_turn_has_the_results_of_the_calls_that_have_ended(world):
    calls = [call("echo", n=7), call("interrupt_thread", host_pid=os.getpid()), call("wait_idempotent", n=1)]
    with pytest.raises(KeyboardInterrupt) as caught:
        world.executor.execute_all(calls)
    first, *others = caught.value.results
    assert [result.call for result in caught.value.results] == calls
    assert first.value == 7 or first.failure.kind == "cancelled"  # the interrupt may come before its end
    assert [(result.success, result.failure.kind) for result in others] == [(False, "cancelled")] * 2


def test_a_cancellation_of_a_turn_has_the_results_of_the_calls_that_have_ended(world):
    async def main():
        calls = [call("echo", n=7), call("wait_async"), call("step_by_step")]
        task = asyncio.ensure_future(world.executor.aexecute_all(calls))
        while not (latch.reached.is_set() and world.events):  # noqa: ASYNC110 -- the handlers tell
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return caught.value.results

    state = world.state()
    results = asyncio.run(main())
    assert world.state() == state
    assert [result.value for result in results] == [7, None, None]
    assert [result.failure and result.failure.kind for result in results] == [None, "cancelled", "cancelled"]
    # the last one waited for its turn
    assert [result.failure.outcome for result in results[1:]] == ["unknown", "nothing_happened"]


def test_an_interrupt_leaves_no_process_running(world):
    with pytest.raises(KeyboardInterrupt):
        world.executor.execute(call("interrupt_process", host_pid=os.getpid()))
    assert world.executor.execute(call("echo_process", n=1)).value == 1  # the only worker is free again


class Bell:
    """A resource that has the main thread interrupted in the middle of a commit or a rollback."""

    def __init__(self, moment):
        self.moment = moment
        self.ended = []

    def fork(self, *, read_only=False):
        return self

    def commit(self):
        self._ring("commit")

    def discard(self):
        self._ring("discard")

    def _ring(self, moment):
        if moment == self.moment:
            signal.raise_signal(signal.SIGINT)
        self.ended.append(moment)


@pytest.mark.parametrize("isolation", ["inline", "thread"])
@pytest.mark.parametrize("moment", ["commit", "discard"])
def test_an_interrupt_in_the_middle_of_a_commit_or_a_rollback_waits_for_its_end(tmp_path, moment, isolation):
    """Success commits; every failure path discards: all of it or nothing."""

    @tool(isolation=isolation, effect="reversible")
    def change(context: ToolContext) -> int:
        """Change files, ask for the bell, then change the rest."""
        context.filesystem.write("kept.txt", "new")
        context.resources.get(Bell)
        scribble(context, "new")
        if moment == "discard":
            raise ValueError("no luck")
        return 1

    with World(tmp_path, []) as world:
        bell, state = Bell(moment), world.state()
        resources = {Filesystem: world.host, Bell: bell, MemoryFilesystem: world.memory}
        executor = ToolExecutor([change], session=world.session, resources=resources)
        with pytest.raises(KeyboardInterrupt):
            executor.execute(call("change"))
        assert set(bell.ended) == {moment}
        if moment == "discard":
            assert world.state() == state
        else:
            assert world.session[Note].latest() == Note("new")
            assert world.host.read("kept.txt").content == world.memory.read("kept.txt").content == "new"
        assert ".toolhaft" not in world.state()["disk"]


def test_a_call_made_from_a_loop_that_is_cancelled_runs_on_for_its_sync_caller():
    """A sync call inside a coroutine blocks it, so that its cancellation comes afterwards."""

    async def main():
        task = asyncio.current_task()
        asyncio.get_running_loop().call_soon(task.cancel)
        result = executor.execute(call("echo", n=7))
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(60)
        return result.value

    executor = ToolExecutor(ECHOES)
    assert asyncio.run(main()) == 7
    executor.close()


async def _fail():
    await asyncio.sleep(0)
    raise ValueError("the part failed")


@tool
async def gather(is_caught: bool) -> str:
    """Wait for tasks, one of which fails; the group then cancels the task that waits for it."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_fail())
    except ExceptionGroup:
        if not is_caught:
            raise
    await asyncio.sleep(0)
    return "went on"


def test_a_failed_task_group_of_a_handler_is_not_a_cancellation_by_the_caller():
    executor = ToolExecutor([gather])
    calls = [call("gather", is_caught=is_caught) for is_caught in (True, False)]

    async def run():
        one_by_one = [await executor.aexecute(each) for each in calls]
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return one_by_one

    for results in ([executor.execute(each) for each in calls], asyncio.run(run())):
        caught, raised = results
        assert caught.value == "went on"
        assert raised.failure.kind == "failed"
        assert isinstance(raised.failure.error, ExceptionGroup)
        assert "(1 sub-exception): ValueError: the part failed" in raised.message


def test_a_caller_can_cancel_a_handler_that_waits_for_a_failed_task_group():
    reached = asyncio.Event()

    @tool
    async def clean_up() -> str:
        """Wait for a task that fails, and one that takes long to stop."""

        async def linger():
            try:
                await asyncio.Event().wait()
            finally:
                reached.set()
                await asyncio.Event().wait()

        async with asyncio.TaskGroup() as group:
            group.create_task(linger())
            group.create_task(_fail())
        return "done"

    async def run():
        task = asyncio.create_task(ToolExecutor([clean_up]).aexecute(call("clean_up")))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(run())
