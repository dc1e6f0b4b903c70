"""`call` and the network: local, unreachable and slow servers, and refused hosts."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from tests.cli.kit import ECHO, run_lk, served, write_yaml

pytestmark = pytest.mark.external

WEATHER = """\
id: weather
name: Weather
description: The weather of a city
effect: read
parameters:
  - {{name: city, type: string, description: Where}}
returns:
  - {{name: city, type: string, description: Where}}
  - {{name: key, type: string, description: The header that came}}
run:
  http:
    method: GET
    url: "{base}/now/${{city}}"
    headers: {{X-Key: "${{env:WEATHER_KEY}}"}}
"""


class Handler(BaseHTTPRequestHandler):
    release = threading.Event()
    keys: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        if "slow" in self.path:
            self.release.wait(20)
            return
        self.keys.append(self.headers["X-Key"])
        kind, body = "application/json", {"city": self.path, "key": self.headers["X-Key"]}
        data = b"<html>hello</html>" if "html" in self.path else json.dumps(body).encode()
        self.send_response(500 if "broken" in self.path else 200)
        self.send_header("Content-Type", "text/html" if "html" in self.path else kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        Handler.release.set()
        served.shutdown()
        thread.join()


@pytest.fixture
def project(tmp_path, server):
    write_yaml(tmp_path, "weather", WEATHER.format(base=server))
    (tmp_path / ".env").write_text("WEATHER_KEY=from-the-file\n", encoding="utf-8")
    return tmp_path


def test_local_server_named_in_a_project_file_is_reachable(project):
    done = run_lk("call", "weather", "--city", "a b/c", cwd=project)
    assert (done.exit, json.loads(done.out)["city"]) == (0, "/now/a%20b%2Fc"), done.err
    assert Handler.keys[-1] == "from-the-file"
    assert "from-the-file" not in done.out + done.err  # the server said it, and still


def test_environment_overrides_the_env_file(project):
    assert run_lk("tool", "agree", "weather", "--yes", cwd=project).exit == 0
    done = run_lk("call", "weather", "--city", "x", cwd=project, env={"WEATHER_KEY": "from-outside"})
    assert (done.exit, Handler.keys[-1]) == (0, "from-outside")


def test_missing_variable_error_says_where_to_set_it(project):
    (project / ".env").unlink()
    done = run_lk("call", "weather", "--city", "x", cwd=project)
    assert done.exit == 3
    assert "WEATHER_KEY" in done.err
    assert ".env" in done.err


@pytest.mark.parametrize(("city", "told"), [("broken", "500"), ("html", "text/html")])
def test_invalid_response_is_a_failure_without_the_key(project, city, told):
    done = run_lk("call", "weather", "--city", city, cwd=project)
    assert (done.exit in {1, 4}, done.out) == (True, "")
    assert told in done.err
    assert "from-the-file" not in done.err


def test_slow_server_times_out(project):
    done = run_lk("call", "weather", "--city", "slow", "--timeout", "0.5", cwd=project)
    assert (done.exit in {1, 4}, done.out) == (True, "")


def test_unreachable_server_exits_with_4(tmp_path):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, and nobody listens
        base = f"http://127.0.0.1:{held.getsockname()[1]}"
        write_yaml(tmp_path, "weather", WEATHER.format(base=base))
        (tmp_path / ".env").write_text("WEATHER_KEY=k\n", encoding="utf-8")
        done = run_lk("call", "weather", "--city", "x", cwd=tmp_path)
    assert (done.exit, done.out) == (4, ""), done.err


def test_private_host_is_refused_unless_allowed_by_the_project(tmp_path):
    write_yaml(tmp_path, "weather", WEATHER.format(base="http://10.255.255.1:9"))
    (tmp_path / ".env").write_text("WEATHER_KEY=k\n", encoding="utf-8")
    done = run_lk("call", "weather", "--city", "x", cwd=tmp_path)
    assert (done.exit, done.out) == (5, ""), done.err
    assert "http_allow" in done.err


@pytest.fixture(scope="module")
def platform(tmp_path_factory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("platform")
    write_yaml(folder, "echo", ECHO)
    assert run_lk("tool", "set", "echo", cwd=folder).exit == 0
    with served(folder, "--allow-run", "argv") as server:
        yield {"url": server.url, "key": server.key}


def test_remote_platform_tool_runs_there(platform, tmp_path):
    (tmp_path / "toolhaft.toml").write_text(f'platform_url = "{platform["url"]}"\n', encoding="utf-8")
    assert run_lk("login", platform["url"], cwd=tmp_path, stdin=platform["key"]).exit == 0
    done = run_lk("call", "echo", "--text", "hi", cwd=tmp_path)
    assert (done.exit, json.loads(done.out)) == (0, {"said": "hi"}), done.err
    wrong = run_lk("call", "echo", cwd=tmp_path)
    assert (wrong.exit, "text" in wrong.err) == (2, True)


def test_local_server_named_by_a_remote_tool_is_refused(platform, project, tmp_path_factory):
    env = {"TOOLHAFT_PLATFORM_URL": platform["url"], "TOOLHAFT_API_KEY": platform["key"], "WEATHER_KEY": "k"}
    assert run_lk("tool", "set", "weather", cwd=project, env=env).exit == 0
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = run_lk("call", "weather", "--city", "x", cwd=elsewhere, env=env)
    assert (done.exit != 0, done.out) == (True, ""), done.err


def test_refused_key_exits_with_5(platform, tmp_path):
    env = {"TOOLHAFT_PLATFORM_URL": platform["url"], "TOOLHAFT_API_KEY": "th_00000000_" + "x" * 43}
    done = run_lk("call", "echo", "--text", "hi", cwd=tmp_path, env=env)
    assert (done.exit, done.out) == (5, ""), done.err
    assert "x" * 43 not in done.err


def test_unreachable_platform_exits_with_4_and_local_tools_run(tmp_path):
    env = {"TOOLHAFT_PLATFORM_URL": "http://127.0.0.1:9", "TOOLHAFT_API_KEY": "th_x"}
    done = run_lk("call", "echo", "--text", "hi", cwd=tmp_path, env=env)
    assert (done.exit, done.out) == (4, ""), done.err
    assert run_lk("call", "calculator", "--expression", "1", cwd=tmp_path, env=env).exit == 0
