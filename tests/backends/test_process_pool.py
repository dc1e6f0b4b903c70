"""Many jobs, few workers: who waits, who is kept, and that nothing is left when the pool closes."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.backends import process_handlers as handlers
from tests.backends.process_pools import Watch, open_pool, run
from toolhaft.backends.process import ProcessJob, ProcessKilledError, ProcessPool
from toolhaft.backends.process_tree import children
from toolhaft.errors import ToolExecutionError, ToolTimeoutError

pytestmark = pytest.mark.external


def wait_until(claim, within_s=20):
    """True as soon as the claim holds; what another thread does in the background has no event to wait for."""
    end = time.monotonic() + within_s
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def test_many_jobs_of_many_threads_all_get_their_own_answer():
    with open_pool(max_workers=3) as pool, ThreadPoolExecutor(16) as threads:
        answers = threads.map(lambda n: run(pool, handlers.add, n, 1), range(300))
        assert list(answers) == [n + 1 for n in range(300)]
        assert pool.workers <= 3


def test_the_same_worker_is_used_again_and_there_is_a_spare():
    with open_pool(max_workers=4) as pool:
        first = run(pool, handlers.pid)
        assert wait_until(lambda: pool.idle == 2)
        assert {run(pool, handlers.pid) for _ in range(20)} == {first}
        assert (pool.workers, pool.started) == (2, 2)


def test_a_killed_worker_is_replaced_by_its_supervisor():
    with open_pool(max_workers=1) as pool:
        for _ in range(3):
            before = run(pool, handlers.pid)
            with pytest.raises(ToolTimeoutError):
                run(pool, handlers.sleep, 600, timeout_s=0.1)
            assert run(pool, handlers.pid) != before
        assert (pool.killed, pool.started, pool.workers) == (3, 1, 1)


STILLBORN = """
from toolhaft.backends import process_supervisor

def fail(*_):
    raise SystemExit

process_supervisor.work = fail
"""


def test_a_supervisor_ends_if_its_workers_keep_dying_immediately():
    """Else it would start one after the other for ever."""
    with open_pool(max_workers=1, is_measured=True, prelude=STILLBORN) as pool:

        def has_another_supervisor():
            with pytest.raises(
                ToolExecutionError, match=r"the process died|no worker process can be started"
            ):
                run(pool, handlers.add, 1, 2)
            return pool.started > 1

        assert wait_until(has_another_supervisor)


def test_idle_workers_beyond_one_end():
    with open_pool(max_workers=3, idle_s=0.1) as pool, ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda _: run(pool, handlers.sleep, 0.1), range(3)))
        assert wait_until(lambda: pool.workers == 1)
        assert run(pool, handlers.add, 1, 2) == 3


def test_a_pool_can_be_warmed_up_before_the_first_job():
    with open_pool(max_workers=2) as pool:
        pool.warm_up([pool.check(handlers.add), pool.check(handlers.pid)])
        assert wait_until(lambda: pool.idle == 1)
        assert run(pool, handlers.add, 1, 2) == 3
        pool.warm_up([])
        assert pool.workers <= 2


def test_a_handler_that_cannot_be_loaded_is_reported_by_its_job():
    with open_pool(max_workers=1) as pool:
        lost = pool.check(handlers.add).replace(b"add", b"sub")
        pool.warm_up([lost])
        job = ProcessJob(handler=lost, args=(1, 2), timeout_s=30)
        with pytest.raises(
            ToolExecutionError, match="cannot load the handler or its arguments: AttributeError"
        ):
            pool.run(job)
        assert run(pool, handlers.add, 1, 2) == 3


def test_only_the_most_recent_handlers_are_loaded_in_advance():
    pool = ProcessPool(max_workers=1)
    workers = pool._workers  # noqa: SLF001 -- what it knows shows nowhere else
    for n in range(100):
        workers.remember(b"%d" % n)
    assert len(workers._known) == 32  # noqa: SLF001 -- the same
    assert b"99" in workers._known  # noqa: SLF001 -- the same
    pool.close()


def test_close_kills_running_jobs_and_refuses_new_ones():
    with open_pool(max_workers=1) as pool:
        started = threading.Event()
        watch = Watch(then=started.set)
        running = ProcessJob(
            handler=pool.check(handlers.wait_for_word), context_name="context", serve=watch, timeout_s=60
        )
        waiting = ProcessJob(handler=pool.check(handlers.add), args=(1, 2), timeout_s=60)
        with ThreadPoolExecutor(2) as threads:
            first = threads.submit(pool.run, running)
            assert started.wait(30)
            second = threads.submit(pool.run, waiting)
            assert wait_until(lambda: len(pool._workers._waiting) == 1)  # noqa: SLF001 -- shows nowhere else
            pool.close()
            with pytest.raises(ProcessKilledError):
                first.result(30)
            with pytest.raises(
                ToolExecutionError, match="the process pool is closed; the handler did not run"
            ):
                second.result(30)
        assert watch.all_dead()
        with pytest.raises(ToolExecutionError, match="the process pool is closed; the handler did not run"):
            run(pool, handlers.add, 1, 2)
        pool.close()
        assert (pool.workers, pool.idle) == (0, 0)


def test_a_pool_that_is_dropped_ends_its_workers():
    pool = ProcessPool(max_workers=2)
    watch = Watch()
    watch.add(run(pool, handlers.pid))
    seen = weakref.ref(pool)
    del pool
    gc.collect()
    assert wait_until(lambda: seen() is None)
    assert watch.all_dead()


def state_of_this_process():
    return len([*Path("/proc/self/fd").iterdir()]), {*children(os.getpid())}, threading.active_count()


def nothing_added(before, after):
    """True if there is nothing more than before; what an earlier test left may have ended meanwhile."""
    return all(now <= then for now, then in zip(after, before, strict=True))


def test_many_jobs_with_kills_leak_nothing():
    before = state_of_this_process()
    with open_pool(max_workers=2) as pool:
        run(pool, handlers.add, 1, 2)
        assert wait_until(lambda: pool.idle == 2)
        during = state_of_this_process()
        for n in range(1000 if os.environ.get("TOOLHAFT_LONG") else 40):
            if n % 10 == 3:
                with pytest.raises(ToolTimeoutError):
                    run(pool, handlers.spin, timeout_s=0.05)
            elif n % 10 == 6:
                with pytest.raises(ToolExecutionError):
                    run(pool, handlers.die, "exit")
            else:
                assert run(pool, handlers.add, n, 1) == n + 1
        assert wait_until(lambda: pool.idle == 2)
        handles, _, threads = state_of_this_process()
        assert nothing_added((during[0], during[2]), (handles, threads))
    assert nothing_added(before, state_of_this_process())


def test_a_supervisor_that_cannot_be_started_is_an_error_of_the_call(monkeypatch):
    with open_pool(max_workers=1) as pool:
        monkeypatch.setattr(sys, "executable", "")
        with pytest.raises(
            ToolExecutionError, match=r"no worker process can be started: .*no Python interpreter"
        ):
            run(pool, handlers.add, 1, 2)
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(
            ToolExecutionError, match=r"no worker process can be started: .*the handler did not run"
        ):
            run(pool, handlers.add, 1, 2)
        assert pool.workers == 0
        pool.warm_up([])
        monkeypatch.undo()
        assert wait_until(lambda: pool.workers == 0)
        assert run(pool, handlers.add, 1, 2) == 3


HOST = """
import os, sys
from tests.backends import process_handlers as handlers
from toolhaft.backends.process import ProcessJob, ProcessPool

pool = ProcessPool(max_workers=2)

def run(handler, *args):
    return pool.run(ProcessJob(handler=pool.check(handler), args=args, timeout_s=60))
"""


def run_host(*arguments, **options):
    """The lines that a host of its own prints; it sees the same modules as this one."""
    path = os.pathsep.join(str(place) for place in sys.path)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


SCRIPT = (
    HOST
    + """
from dataclasses import dataclass

@dataclass
class Pair:
    left: int
    right: int

def swap(pair):
    assert __name__ != "__main__"
    return Pair(pair.right, pair.left)

def loaded():
    return sys.argv

if __name__ == "__main__":
    os.chdir("/")
    print(run(handlers.add, 1, 2), run(swap, Pair(1, 2)), run(loaded)[1:], run(handlers.echo, Pair(3, 4))[0][0].left)
"""
)


def test_handlers_of_a_script_are_found_although_it_changed_directory(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    assert run_host("script.py", "word", cwd=tmp_path) == ["3 Pair(left=2, right=1) ['word'] 3"]


def test_handlers_of_a_module_run_as_a_script_are_found(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "till.py").write_text("from . import __name__ as package\n" + SCRIPT)
    assert run_host("-m", "shop.till", "word", cwd=tmp_path) == ["3 Pair(left=2, right=1) ['word'] 3"]


def test_a_script_without_a_guard_does_not_start_workers_without_end(tmp_path):
    unguarded = HOST + "\ndef one():\n    return 1\n\nprint(run(one))"
    (tmp_path / "script.py").write_text(unguarded)
    with pytest.raises(AssertionError, match="put what the script does under `if __name__ == '__main__':`"):
        run_host("script.py", cwd=tmp_path)


@pytest.mark.parametrize("how", ["-c", "package"])
def test_handlers_that_are_not_in_a_file_are_a_definition_error(tmp_path, how):
    code = (
        HOST
        + "\ndef one():\n    return 1\n\ntry:\n    run(one)\nexcept ValueError as error:\n    print(error)"
    )
    if how == "package":
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "__main__.py").write_text(code)
    (line,) = run_host(*(("-c", code) if how == "-c" else ("-m", "shop")), cwd=tmp_path)
    assert (
        "it is in '__main__', which is not a file that a worker can load. Fix: define it in a module" in line
    )


def test_a_host_that_closed_its_standard_files_has_workers_all_the_same(tmp_path):
    code = "import os\nos.close(0)\nos.close(2)\n" + HOST + "print(run(handlers.speak, 'hello'))"
    assert run_host("-c", code, cwd=tmp_path) == ["5"]


FORK = (
    HOST
    + """
before = run(handlers.pid)
child = os.fork()
mine = run(handlers.pid)
if child:
    status = os.waitpid(child, 0)[1]
    print(mine == before, run(handlers.pid) == before, status)
else:
    assert mine != before
    pool.close()
    sys.exit(0)
"""
)


def test_a_fork_of_the_host_has_workers_of_its_own(tmp_path):
    assert run_host("-W", "ignore::DeprecationWarning", "-c", FORK, cwd=tmp_path) == ["True True 0"]


def test_the_end_of_the_interpreter_ends_the_workers(tmp_path):
    code = HOST + "print(run(handlers.pid))"
    (pid,) = run_host("-c", code, cwd=tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_relative_search_paths_mean_the_directory_of_the_host(tmp_path):
    (tmp_path / "nearby.py").write_text("def one():\n    return 1\n")
    code = (
        HOST
        + "sys.path.insert(0, '')\nimport nearby\nos.chdir('/')\nos.chdir(sys.argv[1])\nprint(run(nearby.one))"
    )
    assert run_host("-c", code, str(tmp_path), cwd=tmp_path) == ["1"]


def test_a_host_whose_directory_is_gone_still_runs_handlers(tmp_path):
    (tmp_path / "gone").mkdir()
    code = HOST + "os.rmdir(os.getcwd())\nprint(run(handlers.add, 1, 2))"
    assert run_host("-c", code, cwd=tmp_path / "gone") == ["3"]
