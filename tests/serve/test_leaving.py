"""Clients that go away, signals that come twice, and functions that want to end the program."""

import http.client
import json
import signal
import socket
import threading
import time
from contextlib import suppress

import pytest

from tests.serve.kit import plain_tool, platform, serving, serving_here
from tests.serve.test_wire import head


def faulty(name):
    return f'run: {{python: "tests.serve.served_faults:{name}"}}\n'


def wait_for(path, seconds=10.0):
    """True once a file is there."""
    ends = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < ends:
        time.sleep(0.02)
    return path.exists()


@pytest.fixture
def slow(tmp_path):
    """A server with one seat, and the tool `slow` of any effect."""
    with serving_here(allow_run=["python"], files=str(tmp_path / "files"), max_parallel=1) as server:
        yield server


def _call_and_leave(server, mark):
    body = json.dumps({"text": str(mark)}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(
            head(server, "/v3/tool/slow", Content_Type="application/json", Content_Length=len(body)) + body
        )
        assert wait_for(mark)


@pytest.mark.parametrize("effect", ["read", "idempotent", "reversible"])
def test_a_call_whose_client_goes_away_is_cancelled_and_its_seat_is_free(slow, tmp_path, effect):
    slow.put("slow", plain_tool("slow", run=faulty("write_then_wait"), more=f"effect: {effect}\n"))
    mark = tmp_path / "mark"
    _call_and_leave(slow, mark)
    assert wait_for(mark.with_suffix(".cancelled"), 1.5)
    ends = time.monotonic() + 1.5
    while (answer := slow.run("calculator", {"expression": "1"})).status == 429 and time.monotonic() < ends:
        time.sleep(0.02)
    assert answer.status == 200
    assert not mark.with_suffix(".done").exists()
    if effect == "reversible":
        assert list((tmp_path / "files").rglob("note.txt")) == []


def test_a_call_that_cannot_be_undone_goes_on_without_its_client(slow, tmp_path):
    slow.put("slow", plain_tool("slow", run=faulty("write_then_wait")))
    mark = tmp_path / "mark"
    _call_and_leave(slow, mark)
    assert wait_for(mark.with_suffix(".done"))
    assert not mark.with_suffix(".cancelled").exists()


def test_a_client_that_stays_on_its_line_is_not_taken_for_gone(slow, tmp_path):
    slow.put("slow", plain_tool("slow", run=faulty("write_then_wait"), more="effect: read\n"))
    mark = tmp_path / "mark"
    assert slow.run("slow", {"text": str(mark)}).json == "kept"


def test_clients_that_go_away_are_no_failures_of_the_tool(slow, tmp_path):
    slow.put("slow", plain_tool("slow", run=faulty("write_then_wait"), more="effect: read\n"))
    for number in range(7):
        mark = tmp_path / f"mark{number}"
        _call_and_leave(slow, mark)
        assert wait_for(mark.with_suffix(".cancelled"), 1.5)
    assert slow.run("slow", {"text": str(tmp_path / "last")}).json == "kept"


@pytest.mark.parametrize(("effect", "is_answered"), [("read", False), ("irreversible", True)])
def test_a_server_that_keeps_no_lines_is_asked_whether_the_client_left(effect, is_answered):
    with platform(allow_run=["python"]) as near:
        run = 'run: {python: "tests.serve.served_tools:nap"}\n'
        near.put("nap", plain_tool("nap", run=run, more=f"effect: {effect}\n"))
        body, kind = json.dumps({"text": "0.6"}), "application/json"
        answer = near.ask("POST", "/v3/tool/nap", body, content_type=kind, leaves_after=0.2)
        assert (answer is not None) == is_answered
        assert near.run("nap", {"text": "0"}).json == "slept"


def test_what_will_not_end_is_left_soon_after_the_second_signal(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.server._LAST_ANSWERS_S", 0.0)
    with serving_here(allow_run=["python"], grace_s=20) as server:
        server.put("stay", plain_tool("stay", run=faulty("stay"), more="effect: read\n"))
        thread = threading.Thread(target=lambda: server.run("stay", {"text": "20"}))
        thread.start()
        time.sleep(0.4)
        server.server.handle_exit(2, None)
        server.server.handle_exit(2, None)
        ends = time.monotonic() + 5
        while not server.server.force_exit and time.monotonic() < ends:
            time.sleep(0.02)
        assert server.server.force_exit
        with suppress(OSError, http.client.HTTPException):
            thread.join()


@pytest.mark.parametrize("effect", ["read", "irreversible"])
def test_a_second_ctrl_c_ends_the_grace_and_the_client_is_told(effect):
    with serving(allow_run=["python"], grace_s=20) as server:
        run = 'run: {python: "tests.serve.served_tools:nap"}\n'
        server.put("nap", plain_tool("nap", run=run, more=f"timeout_s: 60\neffect: {effect}\n"))
        got = []
        thread = threading.Thread(target=lambda: got.append(server.run("nap", {"text": "50"})))
        thread.start()
        time.sleep(0.6)
        began = time.monotonic()
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.4)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(10) == 0
        assert time.monotonic() - began < 4
        thread.join()
        assert got[0].status == 503
        assert got[0].is_problem
        assert got[0].json["kind"] == "cancelled"


@pytest.mark.parametrize(
    "function",
    [
        "leave",
        "leave_on_loop",
        "interrupt",
        "interrupt_on_loop",
        "interrupt_with_context",
        "interrupt_on_loop_with_context",
    ],
)
def test_a_function_that_wants_to_end_the_program_fails_alone(function, tmp_path):
    with platform(allow_run=["python"], files=str(tmp_path)) as near:
        near.put("leave", plain_tool("leave", run=faulty(function)))
        answer = near.run("leave", {})
        assert (answer.status, answer.json["kind"]) == (424, "failed")
        assert answer.is_problem
        whole = near.run("leave", {}, accept="application/vnd.toolhaft.result+json")
        assert (whole.status, whole.json["success"]) == (200, False)
        assert near.run("calculator", {"expression": "2"}).json == {"result": 2}


@pytest.mark.parametrize("function", ["not_a_number", "an_object"])
def test_what_is_no_json_is_a_failed_result(function):
    with platform(allow_run=["python"]) as near:
        near.put("odd", plain_tool("odd", run=faulty(function)))
        answer = near.run("odd", {})
        assert (answer.status, answer.json["kind"]) == (424, "invalid_output")
        assert "JSON" in answer.json["detail"]
        whole = near.run("odd", {}, accept="application/vnd.toolhaft.result+json")
        assert (whole.status, whole.json["success"]) == (200, False)


def test_a_value_that_is_too_long_is_a_failed_result():
    with platform(allow_run=["python"]) as near:
        near.put("long", plain_tool("long", run=faulty("long_text")))
        answer = near.run("long", {})
        assert (answer.status, answer.json["kind"]) == (424, "invalid_output")
        assert "10,000,000" in answer.json["detail"]
