"""A time limit that stops the work, and everything that the work has started."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from tests.backends import process_handlers as handlers
from tests.backends.process_pools import Watch, open_pool, run
from toolhaft.backends.process import ProcessJob, ProcessKilledError
from toolhaft.errors import ToolExecutionError, ToolTimeoutError

pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def pool():
    with open_pool(max_workers=2, is_measured=True) as pool:
        run(pool, handlers.add, 1, 2)
        yield pool


def job_with(pool, handler, serve, **kwargs):
    return ProcessJob(
        handler=pool.check(handler), kwargs=kwargs, context_name="context", serve=serve, timeout_s=60
    )


def run_and_kill(pool, handler):
    """Run a handler that tells its processes and hangs, and kill it as soon as it has told them."""
    watch = Watch()
    job = job_with(pool, handler, watch)
    watch.then = job.kill
    with pytest.raises(
        ProcessKilledError, match="stopped on request: killed with everything that it started"
    ):
        pool.run(job)
    assert (job.ending, job.has_started) == ("killed", True)
    return watch


@pytest.mark.parametrize(
    ("handler", "args"),
    [
        (handlers.spin, ()),
        (handlers.sleep, (600,)),
        (handlers.hold_the_gil, ()),
        (handlers.ignore_the_asking, ()),
    ],
    ids=["a loop", "a sleep", "C code that holds the GIL", "signals ignored"],
)
def test_a_handler_is_killed_when_its_time_is_up(pool, handler, args):
    """Threats, *timeouts*; how soon the answer comes is measured in benchmarks/."""
    run(pool, handlers.add, 1, 2)
    job = ProcessJob(handler=pool.check(handler), args=args, timeout_s=0.2)
    with pytest.raises(ToolTimeoutError, match=r"not done within 0.2 s: killed with everything"):
        pool.run(job)
    assert (job.ending, job.has_started) == ("timeout", True)
    assert run(pool, handlers.add, 1, 2) == 3


def test_a_handler_that_never_stops_sending_is_killed_in_time(pool):
    job = ProcessJob(handler=pool.check(handlers.count_without_end), timeout_s=0.3, serve=lambda *_: None)
    with pytest.raises(ToolTimeoutError):
        pool.run(job)
    assert job.ending == "timeout"


def test_a_killed_handler_is_dead_when_its_call_has_ended(pool):
    assert run_and_kill(pool, handlers.wait_for_word).all_dead()


def test_children_and_grandchildren_die_with_the_handler(pool):
    """Threats, *timeouts*: the whole tree dead."""
    watch = run_and_kill(pool, handlers.start_child)
    assert len(watch.pids) == 2
    assert watch.all_dead()


def test_a_daemon_that_left_its_parents_group_and_session_dies_too(pool):
    """Threats, *timeouts*: the whole tree dead."""
    assert run_and_kill(pool, handlers.start_daemon).all_dead()


def test_the_time_limit_kills_the_whole_tree(pool):
    watch = Watch()
    job = job_with(pool, handlers.start_daemon, watch)
    job.timeout_s = 1.0
    before = pool.killed
    with pytest.raises(ToolTimeoutError):
        pool.run(job)
    assert watch.all_dead()
    assert pool.killed == before + 1


@pytest.mark.parametrize("handler", [handlers.start_child, handlers.start_daemon])
def test_what_a_handler_leaves_behind_is_killed_before_its_value_is_given(pool, handler):
    watch = Watch()
    assert pool.run(job_with(pool, handler, watch, then="return")) == "done"
    assert watch.all_dead()
    assert run(pool, handlers.add, 1, 2) == 3


def test_a_worker_with_a_dead_child_goes_on(pool):
    first = run(pool, handlers.start_dead_child)
    assert run(pool, handlers.pid) == first


def test_a_worker_in_which_a_thread_still_runs_is_replaced(pool):
    watch = Watch()
    watch.add(run(pool, handlers.pid))
    assert run(pool, handlers.start_thread) == watch.pids[0]
    assert watch.all_dead()
    assert run(pool, handlers.add, 1, 2) == 3


def test_a_forked_child_that_returns_sends_no_second_result(pool):
    assert run(pool, handlers.fork_and_return) == "one answer"
    assert run(pool, handlers.add, 1, 2) == 3


def test_a_forked_child_cannot_use_the_connection_of_the_handler(pool):
    assert pool.run(job_with(pool, handlers.fork_and_speak, lambda *_: None)) == 7


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("exit", "the process died: it ended with exit code 3"),
        ("segfault", "the process died: killed by signal 11 (SIGSEGV)"),
        (int(signal.SIGKILL), "the process died: killed by signal 9 (SIGKILL)"),
        (int(signal.SIGRTMIN) + 1, f"the process died: killed by signal {signal.SIGRTMIN + 1}"),
        ("close", "the process died: it closed its connection to the host, or its supervisor was killed"),
    ],
)
def test_the_error_says_how_a_worker_died(pool, how, text):
    job = ProcessJob(handler=pool.check(handlers.die), args=(how,), timeout_s=30)
    with pytest.raises(ToolExecutionError) as caught:
        pool.run(job)
    assert str(caught.value) == text
    assert job.ending == "died"
    assert run(pool, handlers.add, 1, 2) == 3


def test_a_job_that_was_killed_before_it_began_does_not_run(pool):
    job = ProcessJob(handler=pool.check(handlers.add), args=(1, 2), timeout_s=30)
    job.kill()
    killed = pool.killed
    with pytest.raises(ProcessKilledError, match="stopped on request: the handler did not run"):
        pool.run(job)
    assert (job.ending, job.has_started, pool.killed) == ("not_run", False, killed)


def test_a_job_that_waits_for_a_worker_can_be_killed():
    with open_pool(max_workers=1) as single:
        killer = Watch(
            then=lambda: (waiting.start(), begun.wait(30), late.kill(), waiting.join(30), first.kill())
        )
        begun = threading.Event()
        late = ProcessJob(handler=single.check(handlers.add), args=(1, 2), timeout_s=60)
        outcome = []

        def wait():
            begun.set()
            with pytest.raises(ProcessKilledError, match="did not run") as caught:
                single.run(late)
            outcome.append(caught)

        waiting = threading.Thread(target=wait)
        first = job_with(single, handlers.wait_for_word, killer)
        with pytest.raises(ProcessKilledError):
            single.run(first)
        assert len(outcome) == 1


def test_an_interrupt_while_the_host_answers_kills_the_handler(pool):
    def interrupt():
        raise KeyboardInterrupt

    watch = Watch(then=interrupt)
    job = job_with(pool, handlers.wait_for_word, watch)
    with pytest.raises(KeyboardInterrupt):
        pool.run(job)
    assert watch.all_dead()
    assert job.ending == "killed"


def test_an_idle_worker_that_was_killed_from_outside_is_replaced(pool):
    watch = Watch()
    watch.add(run(pool, handlers.pid))
    os.kill(watch.pids[0], signal.SIGKILL)
    assert watch.all_dead()
    assert run(pool, handlers.pid) != watch.pids[0]


def supervisor_of(pool):
    """The pid of the only supervisor of a pool; other pools may start theirs at any time."""
    (pid,) = [handle._supervisor.pid for handle in pool._workers._handles]  # noqa: SLF001 -- nothing else names it
    return pid


def test_a_supervisor_that_was_killed_takes_its_worker_with_it_and_is_replaced():
    with open_pool(max_workers=1) as single:
        watch = Watch()
        watch.add(run(single, handlers.pid))
        os.kill(supervisor_of(single), signal.SIGKILL)
        assert watch.all_dead()
        assert run(single, handlers.add, 1, 2) == 3
        assert single.started == 2


def test_a_supervisor_that_dies_under_a_running_job_leaves_nothing():
    with open_pool(max_workers=1) as single:
        watch = Watch(then=lambda: os.kill(supervisor_of(single), signal.SIGKILL))
        run(single, handlers.add, 1, 2)
        with pytest.raises(ToolExecutionError, match="its supervisor was killed"):
            single.run(job_with(single, handlers.start_child, watch))
        assert run(single, handlers.add, 1, 2) == 3
        assert watch.all_dead()


def test_a_supervisor_that_is_stuck_is_ended_by_force(monkeypatch):
    monkeypatch.setattr("toolhaft.backends.worker_handle._SUPERVISOR_EXIT_S", 0.05)
    watch = Watch(then=lambda: os.kill(supervisor_of(single), signal.SIGSTOP))
    with open_pool(max_workers=1) as single:
        run(single, handlers.add, 1, 2)
        job = job_with(single, handlers.start_daemon, watch)
        job.timeout_s = 1.0
        with pytest.raises(ToolTimeoutError):
            single.run(job)
    assert watch.all_dead()


HOST = """
import os, sys
from functools import partial
from tests.backends import process_handlers as handlers
from toolhaft.backends.process import ProcessJob, ProcessPool

def told(path, args, kwargs):
    print(os.getpid(), *args, flush=True)

pool = ProcessPool(max_workers=1)
pool.run(ProcessJob(handler=pool.check(handlers.{handler}), context_name="context", serve=told, timeout_s=60))
"""


@pytest.mark.parametrize("handler", ["wait_for_word", "start_child", "start_daemon"])
def test_when_the_host_is_killed_everything_dies_with_it(handler, pytestconfig):
    """Threats, *timeouts*: the whole tree dead."""
    code = f"import sys; sys.path[:0] = {sys.path!r}\n" + HOST.format(handler=handler)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=pytestconfig.rootpath
    ) as host:
        watch = Watch()
        own, *pids = map(int, host.stdout.readline().split())
        for pid in pids:
            watch.add(pid)
        os.kill(own, signal.SIGKILL)
        assert watch.all_dead()
