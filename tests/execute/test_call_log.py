"""Calls as JSON lines in one line of set-up."""

import gc
import io
import json
import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import pytest

from toolhaft import Secret, Session, ToolCall, ToolExecutor, ToolInvoked, tool
from toolhaft.execute.call_log import log_calls


@tool(isolation="inline")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(isolation="inline")
def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


@tool(isolation="inline")
def log_in(user: str, password: Annotated[str, Secret]) -> str:
    """Log in."""
    raise ValueError(f"{password} is wrong")


ADD = ToolCall(id="c1", name="add", arguments='{"a": 1, "b": 2}')


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def executor():
    return ToolExecutor([add, fail, log_in])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "calls.jsonl"


def test_every_call_is_one_line_failures_included(executor, path):
    with log_calls(executor, path):
        executor.execute(ADD)
        executor.execute(ToolCall(id="c2", name="fail"))
        executor.execute(ToolCall(id="c3", name="nobody"))
        executor.execute(ToolCall(id="c4", name="add", arguments="{"))
        told = [(line["call_id"], line["tool"], line["success"], line["kind"]) for line in read(path)]
    assert told == [
        ("c1", "add", True, None),
        ("c2", "fail", False, "failed"),
        ("c3", "nobody", False, "unknown_tool"),
        ("c4", "add", False, "invalid_arguments"),
    ]


def test_a_line_is_the_event_in_compact_json(executor, path):
    events = []
    executor.session.dispatcher.subscribe(ToolInvoked, events.append)
    with log_calls(executor, str(path)):
        executor.execute(ADD)
    expected = json.dumps(events[0].to_dict(), separators=(",", ":")) + "\n"
    assert path.read_text() == expected


def test_a_log_on_a_session_has_the_calls_of_all_its_executors(path):
    session = Session()
    with log_calls(session, path):
        ToolExecutor([add], session=session).execute(ADD)
        ToolExecutor([add], session=session).execute(ADD)
    assert len(read(path)) == 2


def test_secrets_are_masked(executor, path):
    with log_calls(executor, path):
        executor.execute(ToolCall(id="c1", name="log_in", arguments={"user": "me", "password": "hunter2"}))
        executor.execute(ToolCall(id="c2", name="log_in", arguments={"user": "me", "password": "swordfish"}))
    text = path.read_text()
    assert "hunter2" not in text
    assert "swordfish" not in text
    assert [line["arguments"] for line in read(path)] == ['{"password":"***","user":"me"}'] * 2


def test_a_line_is_ascii_and_one_line_whatever_a_model_says(executor, path):
    name = "\u2028\u0085\x1b[31m\u202e\ud800"
    with log_calls(executor, path):
        executor.execute(ToolCall(id="c1", name=name))
    assert path.read_bytes().isascii()
    assert b"\x1b" not in path.read_bytes()
    assert read(path)[0]["tool"] == name


def test_a_file_is_appended_to_and_made_for_its_owner_alone(executor, path):
    for _ in range(2):
        with log_calls(executor, path):
            executor.execute(ADD)
    assert len(read(path)) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_closing_stops_it(executor, path):
    log = log_calls(executor, path)
    executor.execute(ADD)
    log.close()
    log.close()
    executor.execute(ADD)
    assert len(read(path)) == 1
    assert not executor.session.dispatcher.has_listener(ToolInvoked)


def test_an_event_during_close_is_dropped(path):
    class Dispatcher:
        def subscribe(self, event_type, subscriber):
            self.subscriber = subscriber
            return lambda: None

    class Told:
        dispatcher = Dispatcher()

    log = log_calls(Told, path)
    log.close()
    Told.dispatcher.subscriber(ToolInvoked(tool="late", call_id="c1", success=True))
    assert path.read_text() == ""
    assert log.lost == 0


def test_a_file_that_nobody_closes_is_closed_with_its_session(path):
    executor = ToolExecutor([add])
    log_calls(executor, path)
    executor.execute(ADD)
    descriptors = open_descriptors(path)
    del executor
    gc.collect()
    assert (descriptors, open_descriptors(path)) == (1, 0)


def open_descriptors(path):
    """How many handles of this process are open on the file."""
    if not os.path.isdir("/proc/self/fd"):  # noqa: PTH112 -- not a path of the test's
        pytest.skip("only Linux tells which files are open")
    found = 0
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 -- names alone
        try:
            found += os.readlink(f"/proc/self/fd/{name}") == str(path)  # noqa: PTH115 -- names alone
        except OSError:  # the handle of the listing itself
            continue
    return found


# --- several at once ---


def test_threads_write_whole_lines(executor, path):
    long = "x" * 5000
    with log_calls(executor, path), ThreadPoolExecutor(8) as pool:
        for number in range(400):
            pool.submit(executor.execute, ToolCall(id=str(number), name="nobody", arguments={"text": long}))
    assert sorted(int(line["call_id"]) for line in read(path)) == list(range(400))


def test_two_threads_are_never_inside_a_writer_together(executor):
    class Narrow:
        def __init__(self):
            self.inside = 0
            self.most = 0
            self.count = 0

        def write(self, text):
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.count += 1
            time.sleep(0.001)  # where a second thread would come in
            self.inside -= 1

    narrow = Narrow()
    with log_calls(executor, narrow), ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            pool.submit(executor.execute, ADD)
    assert (narrow.most, narrow.count) == (1, 20)


@pytest.mark.external
def test_processes_append_whole_lines(path):
    script = """
import sys
from toolhaft import ToolCall, ToolExecutor
from toolhaft.execute.call_log import log_calls

executor = ToolExecutor()
log = log_calls(executor, sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(200):
    executor.execute(ToolCall(id=f"{sys.argv[2]}-{number}", name="nobody", arguments={"text": "x" * 5000}))
assert log.lost == 0
"""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path), str(child)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for child in range(3)
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=60)
        assert child.returncode == 0
    told = {line["call_id"] for line in read(path)}
    assert told == {f"{child}-{number}" for child in range(3) for number in range(200)}


# --- other targets ---


def test_an_open_text_file_is_written_to_and_stays_open(executor, path):
    with path.open("w", encoding="utf-8") as file:
        with log_calls(executor, file):
            executor.execute(ADD)
            assert len(read(path)) == 1  # flushed
        assert not file.closed


def test_any_object_with_a_write_method_is_a_target(executor):
    class Lines:
        def __init__(self):
            self.lines = []

        def write(self, text):
            self.lines.append(text)

    lines = Lines()
    with log_calls(executor, lines):
        executor.execute(ADD)
    (line,) = lines.lines
    assert json.loads(line)["call_id"] == "c1"


def test_an_invalid_target_is_refused(executor):
    with pytest.raises(TypeError, match="an open text file, not to int"):
        log_calls(executor, 3)


def test_an_invalid_source_is_refused(path):
    with pytest.raises(TypeError, match="an executor or a session, not str"):
        log_calls("executor", path)


def test_a_file_that_cannot_be_opened_raises_immediately(executor, tmp_path):
    with pytest.raises(FileNotFoundError):
        log_calls(executor, tmp_path / "nowhere" / "calls.jsonl")
    assert not executor.session.dispatcher.has_listener(ToolInvoked)


# --- a disk that is full ---


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk that is always full")  # noqa: PTH110 -- before any fixture
def test_a_full_disk_breaks_no_call_and_is_reported_once(executor, caplog):
    with log_calls(executor, "/dev/full") as log:
        assert [executor.execute(ADD).value for _ in range(3)] == [3, 3, 3]
    assert log.lost == 3
    (record,) = caplog.records
    assert record.name == "toolhaft"
    assert record.message == "the log of calls has lost a line; further ones are only counted"
    assert "No space left" in record.exc_text


def test_a_file_object_that_fails_breaks_no_call(executor, caplog):
    class Broken(io.StringIO):
        def flush(self):
            raise RuntimeError("broken")

    with log_calls(executor, Broken()) as log:
        assert executor.execute(ADD).value == 3
    assert log.lost == 1
    assert "broken" in caplog.records[0].exc_text


def test_a_partly_written_line_does_not_damage_the_next_line(executor, path, monkeypatch):
    write = os.write
    lengths = iter([None, 10, 5, None])

    def cut_short(descriptor, data):
        length = next(lengths)
        return write(descriptor, data if length is None else data[:length])

    with log_calls(executor, path) as log:
        monkeypatch.setattr(os, "write", cut_short)
        for number in range(4):
            executor.execute(ToolCall(id=str(number), name="add", arguments='{"a": 1, "b": 2}'))
        monkeypatch.undo()
    assert log.lost == 2
    lines = path.read_text().splitlines()
    assert [json.loads(lines[place])["call_id"] for place in (0, -1)] == ["0", "3"]
    assert [len(line) for line in lines[1:-1]] == [10, 4]
