"""The parts of the process backend by themselves, where a whole worker would not show what they do."""

import errno
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.backends import process_handlers as handlers
from tests.backends.process_pools import Watch, run
from toolhaft.backends import process_handler, process_supervisor, process_tree, worker_handle
from toolhaft.backends.process import ProcessJob, ProcessKilledError, ProcessPool
from toolhaft.backends.process_channel import (
    RESULT,
    Channel,
    ChannelClosedError,
    describe_error,
    unpack_error,
)
from toolhaft.backends.process_data import decode_error, encode_error
from toolhaft.backends.worker_handle import WorkerDiedError, WorkerHandle, WorkerTimeoutError
from toolhaft.errors import DefinitionError, ToolExecutionError, ToolTimeoutError

pytestmark = pytest.mark.external


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    with one, other:
        yield Channel(one), Channel(other)


def test_messages_are_received_one_by_one(ends):
    ours, theirs = ends
    for n in (0, 1, 50_000):
        ours.send(n % 250, b"x" * n)
    assert [len(theirs.receive()[1]) for _ in range(3)] == [0, 1, 50_000]


def test_a_long_message_waits_for_its_reader(ends):
    ours, theirs = ends
    ours.socket.setblocking(False)
    waits = []

    def wait(events):
        waits.append(events)
        if events == select.POLLOUT and len(waits) == 1:
            reader.start()
        poll = select.poll()
        poll.register(ours.socket, events)
        poll.poll()

    got = []
    reader = threading.Thread(target=lambda: got.append(theirs.receive()))
    ours.send(RESULT, b"x" * 10_000_000, wait)
    reader.join(30)
    assert (got[0][0], len(got[0][1])) == (RESULT, 10_000_000)
    assert set(waits) == {select.POLLOUT}


def test_a_socket_that_would_block_with_nobody_to_wait_is_closed_for_the_sender(ends):
    ours, _ = ends
    ours.socket.setblocking(False)
    with pytest.raises(ChannelClosedError):
        ours.send(RESULT, b"x" * 10_000_000)


@pytest.mark.parametrize("sent", [b"", b"\x05\x00", b"\x05" + (10**6).to_bytes(8) + b"x" * 100])
def test_an_incomplete_message_is_an_error(ends, sent):
    ours, theirs = ends
    ours.socket.sendall(sent)
    ours.close()
    with pytest.raises(ChannelClosedError, match="end of file"):
        theirs.receive()
    with pytest.raises(ChannelClosedError):
        theirs.send(RESULT, b"x")


def test_reading_from_a_closed_socket_is_an_error(ends):
    ours, theirs = ends
    theirs.socket.sendall(b"\x05" + (10**6).to_bytes(8))
    with pytest.raises(ChannelClosedError):
        ours.receive(
            lambda _: ours.close() if ours.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) else None
        )
    with pytest.raises(ChannelClosedError):
        theirs.receive(lambda _: theirs.close())


def test_a_long_message_whose_socket_fails_is_an_error(ends):
    ours, theirs = ends
    theirs.socket.sendall(b"\x05" + (10**6).to_bytes(8) + b"x")
    calls = []

    def wait(_):
        calls.append(1)
        if len(calls) == 2:
            ours.close()

    with pytest.raises(ChannelClosedError):
        ours.receive(wait)


def test_an_error_of_an_unknown_type_is_replaced_by_one_with_its_text():
    packed = pickle.dumps((b"no pickle", "OddError: words"))
    error = unpack_error(packed)
    assert type(error) is ToolExecutionError
    assert (str(error), hasattr(error, "__notes__")) == ("OddError: words", False)


def test_an_error_whose_trace_cannot_be_formatted_is_sent_without_it(monkeypatch):
    def fail(_):
        raise MemoryError

    monkeypatch.setattr("traceback.format_exception", fail)
    error = decode_error(encode_error(KeyError("a"), with_trace=True), lambda _: None)
    assert (type(error), error.args, hasattr(error, "__notes__")) == (KeyError, ("a",), False)


def module(name="__main__", **attributes):
    made = ModuleType(name)
    made.__spec__ = None
    for key, value in attributes.items():
        setattr(made, key, value)
    return made


@pytest.mark.parametrize(
    ("main", "found"),
    [
        (module(), None),
        (module(__file__="<stdin>"), None),
        (module(__file__=__file__), ("file", __file__)),
        (module(__spec__=SimpleNamespace(name="shop.till")), ("module", "shop.till")),
        (module(__spec__=SimpleNamespace(name="shop.__main__")), None),
    ],
    ids=["interactive", "standard input", "script", "module", "package"],
)
def test_the_script_of_the_host_is_found_where_a_worker_could_load_it(monkeypatch, main, found):
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert process_handler.find_main() == found


def one():
    return 1


def test_a_function_of_an_interactive_session_is_a_definition_error(monkeypatch):
    main = module(one=one)
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr(one, "__module__", "__main__")
    with pytest.raises(
        DefinitionError, match="it is in '__main__', which is not a file that a worker can load"
    ):
        process_handler.pack_handler(one)
    main.__file__ = __file__
    assert b"__main__" in process_handler.pack_handler(one)


@pytest.mark.parametrize("kind", ["file", "module"])
def test_a_script_is_loaded_under_another_name(monkeypatch, tmp_path, kind):
    (tmp_path / "till.py").write_text(
        "from toolhaft.backends import process_handler\nstate = process_handler.is_loading_main\nname = __name__\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("__main__", "__mp_main__"):
        monkeypatch.setitem(sys.modules, name, sys.modules["__main__"])
    process_handler.load_main((kind, str(tmp_path / "till.py") if kind == "file" else "till"))
    loaded = sys.modules["__main__"]
    assert (loaded.name, loaded.state) == ("__mp_main__", True)
    assert loaded is sys.modules["__mp_main__"]
    assert loaded.__file__ == str(tmp_path / "till.py")
    assert not process_handler.is_loading_main


def test_a_script_that_is_gone_cannot_be_loaded():
    with pytest.raises(ImportError, match="the script no_such_module cannot be loaded"):
        process_handler.load_main(("module", "no_such_module"))


def test_no_job_runs_while_a_script_is_loaded(monkeypatch):
    monkeypatch.setattr(process_handler, "is_loading_main", True)
    pool = ProcessPool()
    with pytest.raises(
        DefinitionError, match="Fix: put what the script does under `if __name__ == '__main__':`"
    ):
        run(pool, handlers.add, 1, 2)
    pool.close()


def test_a_function_that_is_wrapped_differently_is_not_found():
    found = process_handler.find_function(handlers.__name__, "double", 1)
    assert found is handlers.double.function
    with pytest.raises(AttributeError, match="wrapped differently than in the host"):
        process_handler.find_function(handlers.__name__, "double", 2)


def test_wrappers_in_a_cycle_are_followed_only_20_times():
    ring = SimpleNamespace()
    ring.__wrapped__ = ring
    assert len(list(process_handler.unwrap(ring))) == 20


def test_a_removed_directory_is_left_out_of_the_search_path(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", "/somewhere"])

    def gone():
        raise FileNotFoundError(errno.ENOENT, "gone")

    monkeypatch.setattr(os, "getcwd", gone)
    assert process_handler.import_settings()[0] == ["/somewhere"]


def test_the_interpreter_is_started_as_the_host_was(monkeypatch):
    names = ("optimize", "dev_mode", "utf8_mode", "isolated", "ignore_environment", "no_user_site", "no_site")
    plain = dict.fromkeys(names, 0)
    monkeypatch.setattr(
        sys, "flags", SimpleNamespace(**{**plain, "optimize": 2, "no_user_site": 1, "dev_mode": 1})
    )
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", "/cache")
    monkeypatch.setattr(sys, "warnoptions", ["error"])
    flags = ["-u", "-P", "-B", "-O", "-O", "-Xdev", "-Xpycache_prefix=/cache", "-s", "-Werror"]
    assert worker_handle._flags() == flags  # noqa: SLF001 -- shows nowhere else


def test_a_connection_never_has_the_number_of_a_standard_file():
    above = worker_handle._above_standard  # noqa: SLF001 -- a host without standard files is in test_process_pool
    one, other = socket.socketpair()
    with other:
        assert above(one) is one
        number = one.fileno() + 5
        with above(one, number) as same:
            assert same.fileno() >= number
            assert not same.get_inheritable()
            assert one.fileno() == -1
            other.sendall(b"x")
            assert same.recv(1) == b"x"


def test_a_supervisor_that_cannot_be_started_leaves_no_handle(monkeypatch):
    before = len([*Path("/proc/self/fd").iterdir()])
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(ToolExecutionError, match="no worker process can be started: FileNotFoundError"):
        WorkerHandle(None)
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_closed_error_output_is_not_inherited(monkeypatch):
    def closed(_):
        raise OSError(errno.EBADF, "closed")

    assert worker_handle._error_output() == 2  # noqa: SLF001 -- shows nowhere else
    monkeypatch.setattr(os, "fstat", closed)
    assert worker_handle._error_output() == subprocess.DEVNULL  # noqa: SLF001 -- the same


def test_systems_without_linux_calls_are_left_alone(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    assert process_supervisor._open_pidfd(os.getpid()) == -1  # noqa: SLF001 -- shows nowhere else
    monkeypatch.setattr(sys, "platform", "darwin")
    process_supervisor._prctl(-1, 0)  # noqa: SLF001 -- the same


def test_children_are_found_without_the_kernels_list(monkeypatch):
    with subprocess.Popen(["sleep", "600"]) as child:
        read = Path.read_text

        def no_list(path, *args, **kwargs):
            if path.name == "children":
                raise FileNotFoundError(path)
            return read(path, *args, **kwargs)

        assert child.pid in process_tree.children(os.getpid())
        monkeypatch.setattr(Path, "read_text", no_list)
        assert child.pid in process_tree.children(os.getpid())
        monkeypatch.undo()
        process_tree.kill(child.pid)
        assert child.wait(30) == -signal.SIGKILL
        assert process_tree.children(child.pid) == []
        process_tree.kill_group(child.pid)


def test_waiting_for_a_worker_that_does_not_start_in_time_raises():
    handle = WorkerHandle(None)
    with pytest.raises(WorkerTimeoutError):
        handle.wait_for_worker(time.monotonic())
    handle.wait_for_worker(time.monotonic() + 30)
    handle.disconnect()
    with pytest.raises(WorkerDiedError):
        handle.wait_for_worker(time.monotonic() + 30)
    handle.close_connections()
    handle.disconnect()
    handle.stop()


def test_a_worker_whose_socket_does_not_arrive_counts_as_dead(monkeypatch):
    """As where the host has as many files open as it may."""
    handle = WorkerHandle(None)
    monkeypatch.setattr(
        socket,
        "recv_fds",
        lambda *_: (process_supervisor.REPORT.pack(process_supervisor.WORKER_STARTED, 1, 1), [], 0, None),
    )
    with pytest.raises(WorkerDiedError):
        handle.wait_for_worker(time.monotonic() + 30)
    handle.close_connections()
    handle.stop()


def test_a_job_has_priority_over_handlers_loaded_in_advance(ends):
    ours, theirs = ends
    assert not theirs.has_more()
    ours.send(RESULT, b"one")
    ours.send(RESULT, b"two")
    assert theirs.has_more()
    theirs.receive()
    assert theirs.has_more()
    theirs.receive()
    assert not theirs.has_more()


def test_a_pool_without_workers_is_refused():
    with pytest.raises(ValueError, match="max_workers is at least 1, not 0"):
        ProcessPool(max_workers=0)


def test_a_forked_process_has_an_empty_pool():
    """As `os.fork` does it; the real one has a host of its own in test_process_pool."""
    pool = ProcessPool(max_workers=1)
    watch = Watch()
    watch.add(run(pool, handlers.pid))
    (supervisor,) = [
        child for child in process_tree.children(os.getpid()) if watch.pids[0] in process_tree.children(child)
    ]
    pool._workers.forget()  # noqa: SLF001 -- what the hook for forks calls
    assert pool.workers == 0
    assert watch.all_dead()  # here nobody else holds their handles
    os.waitpid(supervisor, 0)
    assert run(pool, handlers.add, 1, 2) == 3
    pool.close()


def test_an_interrupt_while_a_job_waits_leaves_no_waiter(monkeypatch):
    pool = ProcessPool(max_workers=1)
    workers = pool._workers  # noqa: SLF001 -- who waits shows nowhere else
    job = ProcessJob(handler=pool.check(handlers.add), args=(1, 2), timeout_s=30)
    handle = workers.acquire(time.monotonic() + 30, job)

    todo = [lambda: None, lambda: workers.release(handle)]

    def interrupt(waiter, _):
        todo.pop(0)()
        raise KeyboardInterrupt

    monkeypatch.setattr("toolhaft.backends.worker_pool._Waiter.wait", interrupt)
    while todo:
        with pytest.raises(KeyboardInterrupt):
            pool.run(job)
        assert not workers._waiting  # noqa: SLF001 -- the same
    monkeypatch.undo()
    assert pool.idle == 1
    assert pool.run(job) == 3
    pool.close()


def test_a_kill_that_comes_with_the_answer_still_counts(monkeypatch):
    """Whoever kills a job gets no value from it, however late."""
    pool = ProcessPool(max_workers=1)
    job = ProcessJob(handler=pool.check(handlers.add), args=(1, 2), timeout_s=30)
    do = WorkerHandle.run

    def run_then_kill(*args, **kwargs):
        outcome = do(*args, **kwargs)
        job.kill()
        return outcome

    monkeypatch.setattr(WorkerHandle, "run", run_then_kill)
    with pytest.raises(ProcessKilledError, match="killed with everything that it started"):
        pool.run(job)
    assert job.ending == "killed"
    monkeypatch.undo()
    assert run(pool, handlers.add, 1, 2) == 3
    pool.close()


def test_a_job_whose_time_is_up_before_its_worker_has_started_did_not_run():
    pool = ProcessPool(max_workers=1)
    job = ProcessJob(handler=pool.check(handlers.add), args=(1, 2), timeout_s=0.001)
    with pytest.raises(
        ToolTimeoutError, match=r"no worker process was free within 0.001 s; the handler did not"
    ):
        pool.run(job)
    assert (job.ending, job.has_started) == ("not_run", False)
    assert run(pool, handlers.add, 1, 2) == 3
    assert pool.started == 1
    pool.close()


def test_a_job_without_a_limit_waits_as_long_as_it_takes():
    pool = ProcessPool()
    assert pool.run(ProcessJob(handler=pool.check(handlers.sleep), args=(0.01,))) == "woke up"
    pool.close()


def test_long_messages_and_traces_of_errors_are_cut():
    assert len(describe_error(ValueError("x" * 100_000))) == 2000
    with pytest.raises(ValueError, match="x") as caught:
        raise ValueError("x" * 100_000)
    (note,) = decode_error(encode_error(caught.value, with_trace=True), lambda _: None).__notes__
    assert note.startswith("In the worker process:\n")
    assert len(note) < 20_100
