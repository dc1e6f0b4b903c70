"""The pool of threads: bounded, the last idle one first, stuck ones replaced, never starved by nested calls."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from contextvars import ContextVar, copy_context

import pytest

from tests.execute.calls import call, kind_of
from toolhaft import ToolContext, ToolExecutor, tool
from toolhaft.backends.threads import Job, ThreadPool, current_thread_pool, shared_pool

PATIENCE_S = 5.0


class Waiting:
    """A job and the moment of its end."""

    def __init__(self, pool, function):
        self.ended = threading.Event()
        self.job = Job(function, copy_context())
        self.job.wake = self.ended.set
        pool.submit(self.job)

    def value(self):
        assert self.ended.wait(PATIENCE_S)
        if self.job.error is not None:
            raise self.job.error
        return self.job.value


@pytest.fixture
def pool():
    pool = ThreadPool(2)
    yield pool
    pool.close()


def wait_until(is_so):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.002)


# --- jobs ---


def test_a_job_has_its_value(pool):
    assert Waiting(pool, lambda: 5).value() == 5


@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(1), StopIteration(1), type("Own", (BaseException,), {})()]
)
def test_a_job_has_the_exception_of_its_function_and_the_thread_continues(pool, error):
    def fail():
        raise error

    with pytest.raises(type(error)):
        Waiting(pool, fail).value()
    assert Waiting(pool, lambda: 5).value() == 5


def test_a_job_runs_in_its_own_context(pool):
    colour = ContextVar("colour", default="none")
    colour.set("red")
    waiting = Waiting(pool, lambda: (colour.get(), colour.set("blue"))[0])
    assert waiting.value() == "red"
    assert colour.get() == "red"


def test_a_job_ends_once_by_its_outcome(pool):
    waiting = Waiting(pool, lambda: 5)
    assert waiting.value() == 5
    assert waiting.job.abandon() is False
    assert pool.stuck == 0


def test_a_job_that_was_abandoned_wakes_nobody(pool):
    began, over = threading.Event(), threading.Event()
    waiting = Waiting(pool, lambda: (began.set(), over.wait(PATIENCE_S)))
    assert began.wait(PATIENCE_S)
    assert waiting.job.abandon() is True
    over.set()
    wait_until(lambda: pool.stuck == 0)
    assert not waiting.ended.is_set()
    assert waiting.job.abandon() is False


def test_a_job_that_was_abandoned_in_the_queue_never_runs(pool):
    over, ran = threading.Event(), []
    holders = [Waiting(pool, lambda: over.wait(PATIENCE_S)) for _ in range(2)]
    queued = Waiting(pool, lambda: ran.append(1))
    assert queued.job.abandon() is True
    assert queued.job.was_dropped
    assert pool.stuck == 0
    over.set()
    for holder in holders:
        holder.value()
    assert Waiting(pool, lambda: "next").value() == "next"
    assert ran == []


# --- bounds ---


def test_no_more_threads_than_allowed_work_at_once():
    pool, lock, inside, peak = ThreadPool(3), threading.Lock(), [0], [0]

    def work():
        with lock:
            inside[0] += 1
            peak[0] = max(peak[0], inside[0])
        time.sleep(0.002)
        with lock:
            inside[0] -= 1

    for waiting in [Waiting(pool, work) for _ in range(40)]:
        waiting.value()
    assert peak == [3]
    assert pool.threads <= 3
    pool.close()


def test_the_thread_that_was_idle_last_works_first(pool):
    barrier = threading.Barrier(2, timeout=PATIENCE_S)
    for waiting in [Waiting(pool, barrier.wait) for _ in range(2)]:
        waiting.value()
    wait_until(lambda: pool.idle == 2)
    first = Waiting(pool, threading.get_ident).value()
    for _ in range(10):
        assert Waiting(pool, threading.get_ident).value() == first


def test_a_thread_is_made_only_where_none_is_idle(pool):
    for _ in range(20):
        Waiting(pool, lambda: None).value()
    assert pool.threads == 1


def test_jobs_that_wait_run_in_the_order_in_which_they_came():
    pool, over, order = ThreadPool(1), threading.Event(), []
    holder = Waiting(pool, lambda: over.wait(PATIENCE_S))
    queued = [Waiting(pool, lambda n=n: order.append(n)) for n in range(10)]
    over.set()
    holder.value()
    for waiting in queued:
        waiting.value()
    assert order == list(range(10))
    pool.close()


def test_idle_threads_end_after_a_while(monkeypatch):
    monkeypatch.setattr("toolhaft.backends.threads._IDLE_S", 0.02)
    pool = ThreadPool(2)
    Waiting(pool, lambda: None).value()
    wait_until(lambda: pool.threads == 0)
    assert pool.idle == 0
    assert Waiting(pool, lambda: 5).value() == 5


def test_a_job_that_comes_as_a_thread_ends_is_run(monkeypatch):
    """The last moment: either the thread takes the job, or another does; none is lost."""
    monkeypatch.setattr("toolhaft.backends.threads._IDLE_S", 0.0005)
    pool = ThreadPool(2)
    for n in range(300):
        assert Waiting(pool, lambda n=n: n).value() == n


def test_an_idle_thread_keeps_nothing_alive(pool):
    """A soak must leak no memory: what a job held is gone when it has ended."""

    class Big:
        pass

    big = Big()
    seen = weakref.ref(big)
    waiting = Waiting(pool, lambda big=big: None)
    waiting.value()
    wait_until(lambda: pool.idle == 1)
    del big, waiting
    gc.collect()
    wait_until(lambda: seen() is None)


def test_closing_ends_the_threads_and_the_next_job_starts_another(pool):
    assert Waiting(pool, lambda: 1).value() == 1
    wait_until(lambda: pool.idle == 1)
    pool.close()
    assert pool.threads == 0
    assert Waiting(pool, lambda: 2).value() == 2
    wait_until(lambda: pool.threads == 0)


def test_closing_while_threads_work_lets_them_finish():
    pool, over = ThreadPool(1), threading.Event()
    working = Waiting(pool, lambda: over.wait(PATIENCE_S))
    queued = Waiting(pool, lambda: "queued")
    pool.close()
    over.set()
    assert working.value() is True
    assert queued.value() == "queued"
    wait_until(lambda: pool.threads == 0)


def test_a_system_without_threads_refuses_the_job(monkeypatch):
    """The executor lives: the call fails with the system's own words."""

    class NoThread(threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr("toolhaft.backends.threads.threading.Thread", NoThread)
    pool = ThreadPool(1)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        Waiting(pool, lambda: 1).value()
    assert pool.threads == 0


# --- stuck threads ---


def test_stuck_threads_are_replaced():
    """A bounded pool that never deadlocks when its threads are stuck."""
    pool, over = ThreadPool(2), threading.Event()
    stuck = [Waiting(pool, lambda: over.wait(PATIENCE_S)) for _ in range(2)]
    wait_until(lambda: pool.threads == 2)
    for waiting in stuck:
        assert waiting.job.abandon()
    assert (pool.stuck, pool.threads) == (2, 0)
    over.set()
    wait_until(lambda: pool.stuck == 0)
    assert Waiting(pool, lambda: 5).value() == 5
    pool.close()


def test_a_queued_job_runs_as_soon_as_a_stuck_thread_is_replaced():
    pool, over = ThreadPool(2), threading.Event()
    stuck = [Waiting(pool, lambda: over.wait(PATIENCE_S)) for _ in range(2)]
    queued = Waiting(pool, lambda: 5)
    assert stuck[0].job.abandon()
    assert queued.value() == 5
    over.set()
    pool.close()


def test_stuck_threads_are_bounded_too():
    """Up to as many again: a tool that always hangs cannot make threads without end."""
    pool, over = ThreadPool(2), threading.Event()
    for _ in range(2):
        waiting = Waiting(pool, lambda: over.wait(PATIENCE_S))
        assert waiting.job.abandon()
    wait_until(lambda: pool.stuck == 2)
    refused = Waiting(pool, lambda: 5)
    assert not refused.ended.wait(0.05)
    over.set()
    assert refused.value() == 5
    pool.close()


def test_every_call_is_answered_when_all_threads_are_stuck():
    """Never deadlocks when its threads are stuck; the model is told that nothing was run."""
    over = threading.Event()

    @tool(timeout_s=0.05, effect="read", max_attempts=99)
    def hang() -> None:
        """Hang."""
        over.wait(PATIENCE_S)

    @tool(timeout_s=0.05)
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    executor = ToolExecutor([hang, add], max_threads=2)
    results = executor.execute_all([call("hang") for _ in range(6)])
    assert [kind_of(result) for result in results] == ["timeout"] * 6
    refused = executor.execute(call("add", a=1))
    assert kind_of(refused) == "timeout"
    assert "no thread was free for add" in refused.message
    assert "it was not run" in refused.message
    assert refused.failure.outcome == "nothing_happened"
    assert 2 <= executor.stats.stuck_threads <= 4, "stuck ones are replaced, up to as many again"
    over.set()
    wait_until(lambda: executor.stats.stuck_threads == 0)
    assert executor.execute(call("add", a=1)).value == 2
    executor.close()


# --- nested calls ---


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("takes_context", [False, True])
def test_a_chain_of_nested_calls_does_not_block_itself(most, takes_context):
    """Nested calls never deadlock; a thread that waits for a nested call does not count."""

    @tool(effect="read", name="dive")
    def bare(depth: int) -> int:
        """Call itself."""
        return 0 if depth == 0 else executor.execute(call("dive", depth=depth - 1)).value + 1

    @tool(effect="read", name="dive")
    def dive(depth: int, context: ToolContext) -> int:
        """Call itself."""
        return 0 if depth == 0 else executor.execute(call("dive", depth=depth - 1)).value + 1

    executor = ToolExecutor([dive if takes_context else bare], max_threads=most)
    assert executor.execute(call("dive", depth=12)).value == 12
    wait_until(lambda: executor.stats.threads <= most)
    executor.close()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_tree_of_nested_calls_does_not_block_itself(is_async):
    @tool(effect="read")
    def tree(depth: int) -> int:
        """Call itself twice."""
        if depth == 0:
            return 1
        return sum(result.value for result in executor.execute_all([call("tree", depth=depth - 1)] * 2))

    executor = ToolExecutor([tree], max_threads=2)
    if is_async:
        assert asyncio.run(executor.aexecute(call("tree", depth=5))).value == 32
    else:
        assert executor.execute(call("tree", depth=5)).value == 32
    wait_until(lambda: executor.stats.threads <= 2)
    executor.close()


def test_nested_calls_through_asyncio_run_do_not_starve_the_pool_for_good():
    """A handler that blocks its thread in a loop of its own still leaves the call bounded by its time."""

    @tool(effect="read", timeout_s=0.5)
    def outer(a: int) -> int:
        """Run a loop on the handler's thread."""
        return asyncio.run(executor.aexecute(call("inner", a=a))).value

    @tool(effect="read", timeout_s=0.1)
    def inner(a: int) -> int:
        """Add one."""
        return a + 1

    executor = ToolExecutor([outer, inner], max_threads=2)
    assert executor.execute(call("outer", a=1)).value == 2
    executor.close()


def test_the_count_of_threads_is_never_negative():
    """`executor.stats`: counted in the open, also where a call that waits for a nested one is cut off."""
    over = threading.Event()

    @tool
    async def inner() -> None:
        """Take a while."""
        await asyncio.to_thread(over.wait, PATIENCE_S)

    @tool(timeout_s=0.05)
    def outer() -> None:
        """Wait for a nested call."""
        executor.execute(call("inner"))

    executor = ToolExecutor([outer, inner], max_threads=2)
    assert kind_of(executor.execute(call("outer"))) == "timeout"
    threads = executor.stats.threads
    over.set()
    assert threads >= 0
    wait_until(lambda: executor.stats.stuck_threads == 0)
    assert executor.stats.threads >= 0
    executor.close()


def test_a_thread_knows_its_pool(pool):
    assert current_thread_pool() is None
    assert Waiting(pool, current_thread_pool).value() is pool


def test_executors_share_one_pool_unless_they_say_how_many():
    @tool
    def look() -> int:
        """Where am I."""
        return id(current_thread_pool())

    assert ToolExecutor([look]).execute(call("look")).value == id(shared_pool())
    own = ToolExecutor([look], max_threads=1)
    assert own.execute(call("look")).value != id(shared_pool())
    own.close()


HUNG = """
import asyncio, sys, threading, time
from toolhaft import ToolCall, ToolExecutor, tool

@tool(timeout_s=0.05)
def hang() -> None:
    "Hang."
    time.sleep(600)

@tool(timeout_s=0.05)
async def ahang() -> None:
    "Hang."
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass

executor = ToolExecutor([hang, ahang])
results = executor.execute_all([ToolCall(name="hang"), ToolCall(name="ahang")])
results += asyncio.run(executor.aexecute_all([ToolCall(name="hang"), ToolCall(name="ahang")]))
print([result.failure.kind for result in results])
"""


@pytest.mark.external
def test_a_program_ends_although_its_handlers_hang():
    done = subprocess.run(
        [sys.executable, "-c", HUNG], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str(["timeout"] * 4), "")


FORKED = """
import asyncio, os, sys, warnings
warnings.simplefilter("ignore")
from toolhaft import ToolCall, ToolExecutor, tool

@tool(timeout_s=2)
def add(a: int) -> int:
    "Add one."
    return a + 1

@tool(timeout_s=2)
async def aadd(a: int) -> int:
    "Add one."
    await asyncio.sleep(0)
    return a + 1

executor = ToolExecutor([add, aadd])
calls = [ToolCall(name=name, arguments={"a": 1}) for name in ("add", "aadd")]
before = [result.value for result in executor.execute_all(calls)]
child = os.fork()
if child == 0:
    after = [result.value for result in executor.execute_all(calls)]
    os._exit(0 if before == after == [2, 2] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.external
def test_a_forked_process_has_threads_and_a_loop_of_its_own():
    """Threads and loops of the parent do not live on in a child."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
