"""Clients that disconnect, repeated signals, and tools that raise exit exceptions."""

import http.client
import json
import signal
import socket
import threading
import time
from contextlib import suppress

import pytest

from tests.serve.kit import plain_tool, platform, serving, serving_here, wait_for
from tests.serve.test_connections import head

pytestmark = pytest.mark.external


def faulty(name):
    return f'run: {{python: "tests.serve.served_faults:{name}"}}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder for the files of the server's tools."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def slow(folder):
    """A server that runs one call at a time, for the tool `slow` of any effect."""
    with serving_here(allow_run=["python"], files=str(folder), max_parallel=1) as server:
        yield server


def _publish(server, effect=""):
    text = plain_tool("slow", run=faulty("write_then_wait"), more=effect and f"effect: {effect}\n")
    server.put("slow", text, If_Match="*") if server.ask(
        "GET", "/v3/tools/slow"
    ).status == 200 else server.put("slow", text)


def _call_and_leave(server, mark):
    body = json.dumps({"text": str(mark)}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(
            head(server, "/v3/tool/slow", Content_Type="application/json", Content_Length=len(body)) + body
        )
        assert wait_for(mark)


def _run_when_free(server, id, arguments):
    """The answer of a call, once the call before has ended."""
    ends = time.monotonic() + 60
    while (answer := server.run(id, arguments)).status == 429 and time.monotonic() < ends:
        time.sleep(0.02)
    return answer


@pytest.mark.parametrize("effect", ["read", "idempotent", "reversible"])
def test_disconnect_cancels_the_call_and_frees_its_slot(slow, folder, tmp_path, effect):
    for kept in folder.rglob("note.txt"):
        kept.unlink()  # of a call that was not rolled back
    _publish(slow, effect)
    mark = tmp_path / "mark"
    _call_and_leave(slow, mark)
    assert wait_for(mark.with_suffix(".cancelled"))
    assert _run_when_free(slow, "calculator", {"expression": "1"}).status == 200
    assert not mark.with_suffix(".done").exists()
    if effect == "reversible":
        assert list(folder.rglob("note.txt")) == []


def test_irreversible_call_continues_after_a_disconnect(slow, tmp_path):
    _publish(slow)
    mark = tmp_path / "mark"
    _call_and_leave(slow, mark)
    mark.with_suffix(".go").touch()
    assert wait_for(mark.with_suffix(".done"))
    assert not mark.with_suffix(".cancelled").exists()


def test_disconnects_do_not_count_as_tool_failures(slow, tmp_path):
    _publish(slow, "read")
    for number in range(7):
        mark = tmp_path / f"mark{number}"
        _call_and_leave(slow, mark)
        assert wait_for(mark.with_suffix(".cancelled"))
        _run_when_free(slow, "calculator", {"expression": "1"})
    (tmp_path / "last.go").touch()
    # a client that stays connected is not taken for gone
    assert _run_when_free(slow, "slow", {"text": str(tmp_path / "last")}).json == "kept"


@pytest.mark.parametrize(("effect", "is_answered"), [("read", False), ("irreversible", True)])
def test_other_asgi_servers_report_a_disconnect_through_receive(effect, is_answered):
    with platform(allow_run=["python"]) as near:
        run = 'run: {python: "tests.serve.served_tools:nap"}\n'
        near.put("nap", plain_tool("nap", run=run, more=f"effect: {effect}\n"))
        body, kind = json.dumps({"text": "0.6"}), "application/json"
        answer = near.ask("POST", "/v3/tool/nap", body, content_type=kind, leaves_after=0.2)
        assert (answer is not None) == is_answered
        assert near.run("nap", {"text": "0"}).json == "slept"


def test_second_signal_ends_the_server_despite_hanging_calls(monkeypatch, tmp_path):
    monkeypatch.setattr("toolhaft.serve.server._LAST_RESPONSES_S", 0.0)
    with serving_here(allow_run=["python"], grace_s=20) as server:
        server.put("stay", plain_tool("stay", run=faulty("stay"), more="effect: read\n"))
        mark = tmp_path / "mark"
        thread = threading.Thread(target=_ignore_end, args=[server, "stay", {"text": str(mark)}])
        thread.start()
        assert wait_for(mark)
        server.server.handle_exit(2, None)
        server.server.handle_exit(2, None)
        ends = time.monotonic() + 60
        while not server.server.force_exit and time.monotonic() < ends:
            time.sleep(0.02)
        assert server.server.force_exit
        thread.join()


def _stops_listening(server):
    """True once new connections are refused."""
    for _ in range(10_000):
        try:
            server.ask("GET", "/healthz", key=None)
        except OSError:
            return True
    return False


def _ignore_end(server, id, arguments):
    with suppress(OSError, http.client.HTTPException):
        server.run(id, arguments)


def test_second_ctrl_c_skips_the_grace_period_and_answers_clients(tmp_path):
    with serving(allow_run=["python"], grace_s=600) as server:
        run = 'run: {python: "tests.serve.served_tools:mark_and_wait"}\n'
        calls = []
        for effect in ("read", "irreversible"):
            server.put(effect, plain_tool(effect, run=run, more=f"timeout_s: 60\neffect: {effect}\n"))
            mark, got = tmp_path / effect, []
            thread = threading.Thread(
                target=lambda effect=effect, mark=mark, got=got: got.append(
                    server.run(effect, {"text": str(mark)})
                )
            )
            thread.start()
            calls.append((thread, got))
            assert wait_for(mark)
        server.process.send_signal(signal.SIGINT)
        assert _stops_listening(server)  # it has taken note of the first
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0
        for thread, got in calls:
            thread.join()
            assert got[0].status == 503
            assert got[0].is_problem
            assert got[0].json["kind"] == "cancelled"


def test_function_that_raises_system_exit_fails_only_its_call(tmp_path):
    with platform(allow_run=["python"], files=str(tmp_path)) as near:
        for function in (
            "leave",
            "leave_on_loop",
            "interrupt",
            "interrupt_on_loop",
            "interrupt_with_context",
            "interrupt_on_loop_with_context",
        ):
            near.put(function, plain_tool(function, run=faulty(function)))
            answer = near.run(function, {})
            assert (function, answer.status, answer.json["kind"]) == (function, 424, "failed")
            assert answer.is_problem, function
            whole = near.run(function, {}, accept="application/vnd.toolhaft.result+json")
            assert (function, whole.status, whole.json["success"]) == (function, 200, False)
            assert near.run("calculator", {"expression": "2"}).json == {"result": 2}, function


@pytest.mark.parametrize("function", ["not_a_number", "an_object"])
def test_non_json_value_is_a_failed_result(function):
    with platform(allow_run=["python"]) as near:
        near.put("odd", plain_tool("odd", run=faulty(function)))
        answer = near.run("odd", {})
        assert (answer.status, answer.json["kind"]) == (424, "invalid_output")
        assert "JSON" in answer.json["detail"]
        whole = near.run("odd", {}, accept="application/vnd.toolhaft.result+json")
        assert (whole.status, whole.json["success"]) == (200, False)


def test_too_long_value_is_a_failed_result():
    with platform(allow_run=["python"]) as near:
        near.put("long", plain_tool("long", run=faulty("long_text")))
        answer = near.run("long", {})
        assert (answer.status, answer.json["kind"]) == (424, "invalid_output")
        assert "10,000,000" in answer.json["detail"]
