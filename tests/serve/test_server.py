"""Start and shutdown of a real server."""

import importlib
import os
import signal
import socket
import sys
import threading
import time

import pytest

from tests.serve.kit import make_key, plain_tool, serving, wait_for
from toolhaft.errors import ConfigError
from toolhaft.serve import Keys, Settings, run
from toolhaft.serve.server import listen
from toolhaft.storage import open_database

pytestmark = pytest.mark.external


def python(name):
    return f'run: {{python: "tests.serve.served_tools:{name}"}}\n'


def _behind(server, id, text):
    """A call that runs while the test goes on."""
    got = []
    thread = threading.Thread(target=lambda: got.append(server.run(id, {"text": text})))
    thread.start()
    return thread, got


def test_running_calls_finish_and_new_requests_are_refused_on_shutdown(tmp_path):
    with serving(allow_run=["python"], grace_s=60) as server:
        calls = []
        for function in ("mark_and_wait", "mark_and_wait_on_thread"):
            server.put(function, plain_tool(function, run=python(function), more="timeout_s: 60\n"))
            calls.append(_behind(server, function, str(tmp_path / function)))
            assert wait_for(tmp_path / function)
        idle = server.connect()
        idle.connect()
        server.process.terminate()
        assert idle.sock.recv(1) == b""  # the listener is closed before idle connections are
        idle.close()
        with pytest.raises(OSError, match=r"refused|reset"):
            server.ask("GET", "/healthz")
        for function in ("mark_and_wait", "mark_and_wait_on_thread"):
            (tmp_path / f"{function}.go").touch()
        for thread, got in calls:
            thread.join()
            assert (got[0].status, got[0].json) == (200, "waited")
        assert server.process.wait(60) == 0


def test_calls_beyond_the_grace_period_are_cancelled_rolled_back_and_answered(tmp_path):
    with serving(allow_run=["python"], grace_s=0.3, files=str(tmp_path / "files")) as server:
        calls = []
        for function, more in (
            ("mark_and_wait", ""),
            ("mark_and_wait_on_thread", ""),
            ("write_then_nap", "effect: reversible\n"),
        ):
            text = plain_tool(function, run=python(function), more=f"{more}timeout_s: 60\n")
            server.put(function, text)
            calls.append(_behind(server, function, str(tmp_path / function)))
            assert wait_for(tmp_path / function)
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow:
            slow.sendall(  # a client that never ends its request does not delay it either
                f"PUT /v3/tools/a HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/yaml\r\n"
                f"Authorization: Bearer {server.key}\r\nContent-Length: 100\r\n\r\nid:".encode()
            )
            assert server.stop(60) == 0
        outcomes = []
        for thread, got in calls:
            thread.join()
            assert got[0].status == 503
            assert got[0].is_problem
            assert got[0].json["kind"] == "cancelled"
            outcomes.append(got[0].json["outcome"])
        assert outcomes == ["unknown", "unknown", "rolled_back"]
        assert (tmp_path / "write_then_nap.over").read_text() == "cancelled"
    assert list((tmp_path / "files").rglob("note.txt")) == []


def test_keys_of_other_processes_work_until_revoked_and_ctrl_c_stops_the_server(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    with serving(database_url=url) as server:
        info, key = make_key(url, "ann")
        assert server.ask("GET", "/v3/tools", key=key).status == 200
        with open_database(url) as database:
            Keys(database).revoke(info.id)
        time.sleep(0.01)
        assert server.ask("GET", "/v3/tools", key=key).status == 401
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0


def test_port_in_use_is_reported_with_a_fix():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        for start in (lambda: run(Settings(port=port)), lambda: listen("127.0.0.1", port)):
            with pytest.raises(ConfigError, match="choose another --port"):
                start()


def test_run_serves_until_a_signal():
    told = []

    def stop(started):
        told.append(started)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    run(Settings(port=0), on_start=stop)
    assert told[0].url.startswith("http://127.0.0.1:")
    assert told[0].key.startswith("th_once_")
    assert signal.getsignal(signal.SIGTERM) is before


def test_refused_start_off_loopback_closes_its_socket(tmp_path):
    url = f"sqlite://{tmp_path}/p.db"
    settings = Settings(host="0.0.0.0", port=0, public_url="http://tools.example", database_url=url)  # noqa: S104 -- refused
    with pytest.raises(ConfigError, match=r"no key is stored.*toolhaft key new"):
        run(settings)


def test_invalid_host_is_reported():
    with pytest.raises(ConfigError, match="check --host"):
        run(Settings(host="no.such.host.invalid", port=0))


@pytest.mark.parametrize(
    ("missing", "module"),
    [("uvicorn", "server"), ("uvicorn.protocols.http", "protocol"), ("starlette", "app")],
)
def test_missing_extra_error_names_what_to_install(monkeypatch, missing, module):
    for name in [name for name in sys.modules if name == missing or name.startswith(f"{missing}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, f"toolhaft.serve.{module}")
    with pytest.raises(ImportError, match=r"pip install 'toolhaft\[serve\]'$"):
        importlib.import_module(f"toolhaft.serve.{module}")
