"""Calls that a handler makes on its own threads are part of its call, and of its rollback."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context

from tests.cases import in_case
from tests.execute.calls import call, kind_of
from tests.execute.state_kit import AFTER, BEFORE, state_of, world, write
from toolhaft import ToolContext, tool

PATIENCE_S = 30.0


def by_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE_S)


def by_thread_with_a_name_like_ours(work):
    thread = threading.Thread(target=work, name="toolhaft-handler")
    thread.start()
    thread.join(PATIENCE_S)


def by_subclass(work):
    class Worker(threading.Thread):
        def run(self):
            work()

    worker = Worker(daemon=True)
    worker.start()
    worker.join(PATIENCE_S)


def by_timer(work):
    timer = threading.Timer(0, work)
    timer.start()
    timer.join(PATIENCE_S)


def by_thread_of_a_thread(work):
    by_thread(lambda: by_thread(work))


def by_new_pool(work):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result(PATIENCE_S)


def by_map(work):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: work(), [1]))


def by_loop(work):
    async def main():
        await asyncio.get_running_loop().run_in_executor(None, work)

    asyncio.run(main())


def outer_with(by, *, fails, effect="reversible"):
    """An executor whose tool has another one write on a thread, and what the nested call returned."""
    results = []

    @tool(effect=effect)
    def outer(context: ToolContext) -> str:
        """Have another tool write."""
        by(lambda: results.append(executor.execute(call("write", text="inside"))))
        if fails:
            message = "too bad"
            raise ValueError(message)
        return "done"

    executor = world(outer, write)
    return executor, results


def test_a_call_on_a_thread_of_a_handler_is_rolled_back_with_it():
    early = ThreadPoolExecutor(1)
    early.submit(int).result(PATIENCE_S)  # its thread exists before the call

    def by_early_pool(work):
        early.submit(work).result(PATIENCE_S)

    ways = (
        by_thread,
        by_thread_with_a_name_like_ours,
        by_subclass,
        by_timer,
        by_thread_of_a_thread,
        by_new_pool,
        by_map,
        by_loop,
        by_early_pool,
    )
    for by in ways:
        for effect in ("reversible", "irreversible"):
            with in_case(by.__name__, effect):
                executor, results = outer_with(by, fails=True, effect=effect)
                assert not executor.execute(call("outer")).success
                assert [result.success for result in results] == [True]
                assert state_of(executor) == BEFORE
                executor, results = outer_with(by, fails=False, effect=effect)
                assert executor.execute(call("outer")).success
                assert state_of(executor) == AFTER
    early.shutdown()


def test_calls_of_a_reversible_tool_without_a_context_are_rolled_back_with_it():
    """Its result says so: it can change things only by the calls that it makes."""
    for by in (lambda work: work(), by_thread, by_new_pool):
        results = []

        @tool(effect="reversible")
        def outer(fails: bool) -> str:
            """Have another tool write."""
            by(lambda: results.append(executor.execute(call("write", text="inside"))))  # noqa: B023 -- called at once
            if fails:
                message = "too bad"
                raise ValueError(message)
            return "done"

        executor = world(outer, write)
        with in_case(by):
            assert "Rolled back" in executor.execute(call("outer", fails=True)).message
            assert state_of(executor) == BEFORE
            assert executor.execute(call("outer", fails=False)).success
            assert state_of(executor) == AFTER
            assert [result.success for result in results] == [True, True]


def test_a_call_on_a_thread_whose_handler_has_ended_is_refused():
    go, ended = threading.Event(), threading.Event()
    threads = []

    def later(work):
        def run():
            go.wait(PATIENCE_S)
            work()
            ended.set()

        threads.append(threading.Thread(target=run))
        threads[0].start()

    executor, results = outer_with(later, fails=True)
    executor.execute(call("outer"))
    go.set()
    assert ended.wait(PATIENCE_S)
    threads[0].join(PATIENCE_S)
    assert kind_of(results[0]) == "deadline"
    assert state_of(executor) == BEFORE


def test_threads_that_belong_to_no_handler_are_not_nested():
    """A server's other requests, the next task of a shared pool, and work in an empty context."""
    pool = ThreadPoolExecutor(1)
    outside = []

    def by_shared_pool(work):
        pool.submit(work).result(PATIENCE_S)  # starts the thread of the pool

    executor, _ = outer_with(by_shared_pool, fails=True)
    executor.execute(call("outer"))
    pool.submit(lambda: outside.append(executor.execute(call("write", text="inside")))).result(PATIENCE_S)
    pool.shutdown()
    assert [result.success for result in outside] == [True]
    assert state_of(executor) == AFTER

    threads = []

    def independently(work):
        threads.append(threading.Thread(target=Context().run, args=(work,)))
        threads[0].start()

    executor, results = outer_with(independently, fails=True)
    executor.execute(call("outer"))
    threads[0].join(PATIENCE_S)
    assert [result.success for result in results] == [True]
    assert state_of(executor) == AFTER
