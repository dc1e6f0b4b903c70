"""Handlers in processes: what goes in, what comes out, what surrounds them."""

import logging
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.backends import process_async_handlers as async_handlers
from tests.backends import process_handlers as handlers
from tests.backends.process_models import Order, total
from tests.backends.process_pools import open_pool, run
from toolhaft.backends.process import ProcessJob, ProcessKilledError
from toolhaft.backends.process_channel import JOB, RESULT, Channel
from toolhaft.backends.process_errors import WorkerError
from toolhaft.errors import DefinitionError, ToolExecutionError, ToolTimeoutError

pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def pool():
    with open_pool(max_workers=2, is_measured=True) as pool:
        yield pool


def test_a_value_comes_back(pool):
    assert run(pool, handlers.add, 1, b=2) == 3
    assert run(pool, handlers.echo, None, [1], key={"a": (1, 2)}) == ((None, [1]), {"key": {"a": (1, 2)}})


def test_dataclasses_are_sent_both_ways(pool):
    assert run(pool, handlers.shift, handlers.Point(1, 2), by=3) == handlers.Point(4, 2)


def test_pydantic_models_are_sent_both_ways(pool):
    order = Order(items=[1.5, 2.5], note="x")
    assert run(pool, total, order) == Order(items=[4.0], note="x")


def test_an_async_handler_runs_to_its_end(pool):
    assert run(pool, async_handlers.add_slowly, 1, 2) == 3


@pytest.mark.parametrize("handler", [handlers.count_to, async_handlers.count_slowly_to])
def test_a_generator_returns_a_list_and_sends_each_chunk(pool, handler):
    chunks = []
    job = ProcessJob(
        handler=pool.check(handler),
        args=(3,),
        timeout_s=30,
        serve=lambda path, args, kwargs: chunks.append((path, args)),
    )
    assert pool.run(job) == [0, 1, 2]
    assert chunks == [("chunk", (0,)), ("chunk", (1,)), ("chunk", (2,))]
    assert run(pool, handler, 2) == [0, 1]


def test_a_hundred_megabytes_come_back(pool):
    assert len(run(pool, handlers.give_bytes, 100_000_000)) == 100_000_000


def test_ten_megabytes_go_in(pool):
    args, _ = run(pool, handlers.echo, b"x" * 10_000_000)
    assert len(args[0]) == 10_000_000


def test_an_exception_is_the_same_exception_with_its_trace_as_a_note(pool):
    with pytest.raises(ValueError, match="no such value") as caught:
        run(pool, handlers.raise_error, "value")
    assert type(caught.value) is ValueError
    assert caught.value.args == ("no such value", 7)
    (note,) = caught.value.__notes__
    assert "process_handlers.py" in note
    assert "raise_error" in note


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("strange", "StrangeError: code 3: x"),
        ("shifting", "ShiftingError: code 3"),
        ("silent", "SilentError: its message cannot be read"),
        ("local", "LocalError: made on the spot"),
        ("exit", "the handler called sys.exit(3)"),
        ("interrupt", "KeyboardInterrupt"),
    ],
)
def test_an_exception_that_cannot_be_unpickled_is_an_error_with_its_text(pool, what, text):
    before = run(pool, handlers.pid)
    with pytest.raises(WorkerError) as caught:
        run(pool, handlers.raise_error, what)
    assert str(caught.value) == text
    assert "process_handlers.py" in caught.value.__notes__[0]
    assert run(pool, handlers.pid) == before  # the worker goes on


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("lambda", "a value of type builtins.function cannot be sent out of the process: .*Fix: return JSON"),
        ("lock", "a value of type _thread.lock cannot be sent out of the process: .*Fix: return JSON"),
        ("unreadable", "process_handlers.Unreadable is not data. Fix: return JSON"),
    ],
)
def test_the_error_names_a_value_that_is_not_data(pool, what, text):
    with pytest.raises(ToolExecutionError, match=text):
        run(pool, handlers.give, what)


def test_the_error_names_an_argument_that_cannot_be_pickled(pool):
    with pytest.raises(
        ToolExecutionError, match=r"arguments of the handler cannot be sent to a process: TypeError: .*lock"
    ):
        run(pool, handlers.echo, threading.Lock())


def test_an_argument_that_a_worker_cannot_unpickle_is_reported_and_nothing_runs(pool):
    job = ProcessJob(handler=pool.check(handlers.echo), args=(handlers.Unreadable(),), timeout_s=30)
    with pytest.raises(
        ToolExecutionError, match="cannot load the handler or its arguments: ValueError"
    ) as caught:
        pool.run(job)
    assert str(caught.value).endswith("The handler did not run")
    assert (job.ending, job.has_started) == ("not_run", False)


def test_the_environment_is_empty_and_nothing_is_inherited(pool, monkeypatch):
    """Threats, *telemetry*: child processes get an empty environment."""
    monkeypatch.setenv("API_KEY", "secret")
    held, other = os.pipe()
    os.set_inheritable(held, True)
    with open_pool(max_workers=1) as fresh:
        environment, of_child, handles, directory, stdin = run(fresh, handlers.surroundings)
    pipe = str(Path(f"/proc/self/fd/{held}").readlink())
    os.close(held)
    os.close(other)
    assert environment == {}
    assert of_child == ""
    assert pipe not in handles.values()
    assert handles[0] == "/dev/null"
    assert handles[1] == handles[2]
    others = sorted(re.sub(r"\d+", "N", kind) for fd, kind in handles.items() if fd > 2)
    assert others == ["/proc/N/task/N/children", "socket:[N]"]  # which only Python itself sees
    assert (directory, stdin) == (os.getcwd(), "")  # noqa: PTH109 -- a text


def test_what_a_handler_does_to_its_surroundings_is_undone_before_the_next(pool, monkeypatch, tmp_path):
    run(pool, handlers.set_variable)
    monkeypatch.chdir(tmp_path)
    environment, _, _, directory, _ = run(pool, handlers.surroundings)
    assert environment == {}
    assert directory == tmp_path.as_posix()


def test_prints_go_to_the_error_output_and_harm_nothing(capfd):
    with open_pool(max_workers=1) as fresh:
        assert run(fresh, handlers.speak, "hello") == 5
        assert run(fresh, handlers.add, 1, 2) == 3
    out, err = capfd.readouterr()
    assert out == ""
    assert [line for line in err.splitlines() if "hello" in line] == ["hello", "hello too", "hello raw"]


def test_memory_is_capped_and_the_pool_lives():
    with open_pool(max_workers=1, memory_bytes=200_000_000) as small:
        assert run(small, handlers.hog, 1_000_000) == 1_000_000
        with pytest.raises(MemoryError):
            run(small, handlers.hog, 10**10)
        with pytest.raises(MemoryError):  # the value fits, its way out does not
            run(small, handlers.give_bytes, 120_000_000)
        with pytest.raises(MemoryError):  # the arguments fit once, not thrice
            run(small, handlers.echo, b"x" * 80_000_000)
        assert run(small, handlers.hog, 1_000_000) == 1_000_000
        assert small.killed == 0


def test_without_memory_bytes_memory_is_not_limited():
    with open_pool(max_workers=1, memory_bytes=None) as free:
        assert run(free, handlers.hog, 1_000_000) == 1_000_000


def test_a_job_that_finds_no_worker_in_its_time_did_not_run():
    with open_pool(max_workers=1) as single:
        run(single, handlers.add, 1, 2)
        started = threading.Event()
        holding = ProcessJob(
            handler=single.check(handlers.wait_for_word),
            context_name="context",
            timeout_s=60,
            serve=lambda *_: started.set(),
        )
        thread = ThreadPoolExecutor(1)
        held = thread.submit(single.run, holding)
        assert started.wait(30)
        late = ProcessJob(handler=single.check(handlers.add), args=(1, 2), timeout_s=0.05)
        with pytest.raises(
            ToolTimeoutError, match=r"no worker process was free within 0.05 s; the handler did not run"
        ):
            single.run(late)
        assert (late.ending, late.has_started) == ("not_run", False)
        holding.kill()
        assert isinstance(held.exception(30), ProcessKilledError)
        thread.shutdown()
        assert holding.ending == "killed"
        assert run(single, handlers.add, 1, 2) == 3


@pytest.mark.parametrize(
    ("handler", "args", "value"),
    [
        (partial(handlers.add, 1), (2,), 3),
        (partial(handlers.double.function), (2,), 4),
        (handlers.double.function, (2,), 4),
        (handlers.double, (2,), 4),
        (handlers.Counter(5), (2,), 7),
        (handlers.Counter(5).count, (2,), 7),
        (len, ("abc",), 3),
    ],
    ids=[
        "partial",
        "partial of a tool's function",
        "a tool's function",
        "a tool",
        "object",
        "method",
        "builtin",
    ],
)
def test_a_handler_of_any_kind_is_found_again(pool, handler, args, value):
    assert run(pool, handler, *args) == value


def hidden():
    pass


replaced = hidden


def hidden():
    pass


def test_a_handler_that_cannot_be_pickled_is_a_definition_error(pool):
    number = 3

    def closure():
        return number

    cases = {
        "it has no importable name. Fix: define it with `def` at the top level": (lambda: 1, closure),
        "that name refers to something else. Fix: let a decorator set": (replaced,),
        "cannot be sent to a process: TypeError: cannot pickle '_thread.lock'.* Fix: make it a function": (
            handlers.Rooted(),
            logging.getLogger,
        )[:1],
    }
    for text, refused in cases.items():
        for handler in refused:
            with pytest.raises(DefinitionError, match=text):
                pool.check(handler)


def test_a_warm_call_is_one_message_each_way_and_a_small_one(monkeypatch):
    sent, received, send, receive = [], [], Channel.send, Channel.receive

    def count_sent(channel, kind, payload, wait=None):
        sent.append((kind, len(payload)))
        send(channel, kind, payload, wait)

    def count_received(channel, wait=None):
        kind, payload = receive(channel, wait)
        received.append((kind, len(payload)))
        return kind, payload

    with open_pool(max_workers=1) as single:
        job = {"handler": single.check(handlers.add), "args": (1, 2), "timeout_s": 60}
        single.run(ProcessJob(**job))
        monkeypatch.setattr(Channel, "send", count_sent)
        monkeypatch.setattr(Channel, "receive", count_received)
        single.run(ProcessJob(**job))
    assert [kind for kind, _ in sent] == [JOB]
    assert [kind for kind, _ in received] == [RESULT]
    assert sent[0][1] < 500, "the import settings are sent once"
