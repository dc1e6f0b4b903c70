"""A real server in a process of its own: how it starts, and how it stops."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.serve.kit import ROOT, make_key, plain_tool, serving
from toolhaft.errors import ConfigError
from toolhaft.serve import Keys, Settings, run
from toolhaft.serve.server import listen
from toolhaft.storage import open_database


def python(name):
    return f'run: {{python: "tests.serve.served_tools:{name}"}}\n'


def _behind(server, id, text):
    """A call that runs while the test goes on."""
    got = []
    thread = threading.Thread(target=lambda: got.append(server.run(id, {"text": text})))
    thread.start()
    return thread, got


@pytest.mark.parametrize("function", ["nap", "nap_on_thread"])
def test_a_call_that_runs_when_it_is_told_to_stop_comes_to_its_end(function):
    with serving(allow_run=["python"], grace_s=10) as server:
        server.put("nap", plain_tool("nap", run=python(function)))
        thread, got = _behind(server, "nap", "1")
        time.sleep(0.4)
        began = time.monotonic()
        assert server.stop() == 0
        thread.join()
        assert (got[0].status, got[0].json) == (200, "slept")
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("function", ["nap", "nap_on_thread"])
def test_a_call_that_takes_longer_than_the_grace_is_cancelled_and_told_so(function):
    with serving(allow_run=["python"], grace_s=0.5) as server:
        server.put("nap", plain_tool("nap", run=python(function), more="timeout_s: 60\n"))
        thread, got = _behind(server, "nap", "50")
        time.sleep(0.4)
        began = time.monotonic()
        assert server.stop() == 0
        thread.join()
        assert time.monotonic() - began < 5
        assert got[0].status == 503
        assert got[0].is_problem
        assert (got[0].json["kind"], got[0].json["outcome"]) == ("cancelled", "unknown")


def test_what_a_cancelled_call_wrote_is_undone(tmp_path):
    with serving(allow_run=["python"], grace_s=0.3, files=str(tmp_path / "files")) as server:
        text = plain_tool("write", run=python("write_then_nap"), more="effect: reversible\ntimeout_s: 60\n")
        server.put("write", text)
        mark = tmp_path / "mark"
        thread, got = _behind(server, "write", str(mark))
        ends = time.monotonic() + 10
        while not mark.exists() and time.monotonic() < ends:
            time.sleep(0.02)
        assert server.stop() == 0
        thread.join()
        assert mark.with_suffix(".over").read_text() == "cancelled"
        assert (got[0].status, got[0].json["outcome"]) == (503, "rolled_back")
    assert list((tmp_path / "files").rglob("note.txt")) == []


def test_once_it_stops_nobody_new_is_let_in():
    with serving(allow_run=["python"], grace_s=5) as server:
        server.put("nap", plain_tool("nap", run=python("nap")))
        idle = server.connect()
        idle.connect()
        thread, got = _behind(server, "nap", "1.5")
        time.sleep(0.4)
        server.process.terminate()
        time.sleep(0.5)
        with pytest.raises(OSError, match=r"refused|reset"):
            server.ask("GET", "/healthz")
        assert idle.sock.recv(1) == b""
        idle.close()
        thread.join()
        assert got[0].status == 200
        assert server.process.wait(10) == 0


def test_a_client_that_never_ends_its_request_does_not_hold_it_up():
    with (
        serving(grace_s=0.5) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow,
    ):
        slow.sendall(
            f"PUT /v3/tools/a HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/yaml\r\n"
            f"Authorization: Bearer {server.key}\r\nContent-Length: 100\r\n\r\nid:".encode()
        )
        time.sleep(0.3)
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 3


def test_ctrl_c_ends_it_too():
    with serving() as server:
        server.process.send_signal(2)
        assert server.process.wait(10) == 0


def _refused(settings):
    """What a server that does not start says."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.serve.served", json.dumps(settings)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr.splitlines()[-1]


def test_a_port_that_is_taken_is_told_with_what_to_do():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert "give another --port" in _refused({"port": port})
        with pytest.raises(ConfigError, match="give another --port"):
            listen("127.0.0.1", port)


def test_it_runs_in_this_process_until_a_signal_comes():
    told = []

    def stop(started):
        told.append(started)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    run(Settings(port=0), on_start=stop)
    assert told[0].url.startswith("http://127.0.0.1:")
    assert told[0].key.startswith("th_once_")
    assert signal.getsignal(signal.SIGTERM) is before


def test_nothing_is_left_open_where_it_cannot_start(tmp_path):
    url = f"sqlite://{tmp_path}/p.db"
    with pytest.raises(ConfigError, match="no key is stored"):
        run(Settings(host="0.0.0.0", port=0, public_url="http://tools.example", database_url=url))  # noqa: S104 -- refused


def test_an_address_that_is_none_is_told():
    with pytest.raises(ConfigError, match="check --host"):
        run(Settings(host="no.such.host.invalid", port=0))


def test_off_loopback_it_refuses_to_start_without_a_key(tmp_path):
    settings = {
        "host": "0.0.0.0",  # noqa: S104 -- refused
        "port": 0,
        "public_url": "http://tools.example",
        "database_url": f"sqlite://{tmp_path}/p.db",
    }
    assert "toolhaft key new" in _refused(settings)


def test_a_key_that_another_process_makes_works_at_once_and_is_refused_once_revoked(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    with serving(database_url=url) as server:
        info, key = make_key(url, "ann")
        assert server.ask("GET", "/v3/tools", key=key).status == 200
        with open_database(url) as database:
            Keys(database).revoke(info.id)
        time.sleep(0.01)
        assert server.ask("GET", "/v3/tools", key=key).status == 401


@pytest.mark.parametrize("missing", ["uvicorn", "starlette"])
def test_without_its_extra_it_says_what_to_install(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from toolhaft.serve import run"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stderr.splitlines()[-1].endswith("pip install 'toolhaft[serve]'")
