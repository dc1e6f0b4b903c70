"""A failed `call` suggests the next command, also for tools that forward."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from tests.cases import in_case
from tests.cli.kit import run_lk, write_yaml
from toolhaft.cli import forwarding

pytestmark = pytest.mark.external

HEAD = "id: {id}\nname: {id}\ndescription: A tool\n"
TYPES = """\
parameters:
  - {name: deep, type: boolean, required: false, description: All of it}
  - {name: text, type: string, required: false, description: What}
run: {argv: [echo, "${text}"]}
"""
ANSWER = "returns:\n  - {name: said, type: string, description: What came}\n"


def tool(id: str, rest: str = "") -> str:
    return HEAD.format(id=id) + rest


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write_yaml(folder, "types", tool("types", TYPES))
    write_yaml(folder, "idle", tool("idle"))
    write_yaml(folder, "off", tool("off", "is_active: false\nrun: {argv: [date]}\n"))
    write_yaml(folder, "needs", tool("needs", "requires: [admin]\nrun: {argv: [date]}\n"))
    write_yaml(folder, "bad", "id: bad\nname: Bad\nnonsense: 1\nparameters: 5\n")
    return folder


def test_flag_error_suggests_the_help_of_the_tool(project):
    cases = [
        (["--deep", "true"], "--deep takes no value: write --deep or --no-deep"),
        (["--deep", "FALSE", "--text", "x"], "--deep takes no value: write --deep or --no-deep"),
        (["--deep=true"], "--deep takes no value: write --deep or --no-deep"),
        (["--no-deep=1"], "--deep takes no value: write --deep or --no-deep"),
        (["--text"], "'--text' requires an argument"),
        (["--txt", "x"], "Did you mean '--text'?"),
        (["[1]", "--deep"], "the JSON is not an object"),
        (['{"deep": true}', "--deep"], "deep: given twice"),
        (["--text", "a", "--text", "b"], "--text was given 2 times"),
        (["-"], "standard input is empty"),
        (['{"txt": "x"}'], "'text'"),
    ]
    for typed, told in cases:
        with in_case(typed, told):
            done = run_lk("call", "types", *typed, cwd=project)
            assert (done.exit, done.out) == (2, "")
            assert told in done.err
            assert done.err.endswith("  try: lk call types --help\n")


def test_flag_error_as_json_has_the_command_as_fix(project):
    done = run_lk("call", "types", "--deep=true", "--json", cwd=project)
    assert (done.exit, json.loads(done.err)["fix"]) == (2, "lk call types --help")


@pytest.mark.parametrize(
    ("id", "code", "told"),
    [
        ("idle", 1, "try: lk tool set idle --endpoint URL, or write `run:` into its file"),
        ("off", 1, "try: lk tool get off"),
        ("needs", 5, "try: lk tool show needs"),
        ("bad", 3, "lk tool check"),
    ],
)
def test_inactive_tool_error_says_what_to_do(project, id, code, told):
    done = run_lk("call", id, cwd=project)
    assert (done.exit, done.out) == (code, ""), done.err
    assert told in done.err
    assert "not known" not in done.err


def test_inactive_published_tool_error_says_what_to_do(tmp_path):
    write_yaml(tmp_path, "idle", tool("idle"))
    assert run_lk("tool", "set", "idle", cwd=tmp_path).exit == 0
    write_yaml(tmp_path, "front", tool("front", "endpoint: http://127.0.0.1:8420/v3/tool/idle\n"))
    assert "lk call idle --help" in run_lk("call", "idle", '{"x": 1}', cwd=tmp_path).err
    for id in ("idle", "front"):
        done = run_lk("call", id, cwd=tmp_path)
        assert (done.exit, done.out) == (1, "")
        assert "not active" in done.err
        assert "lk tool set idle --endpoint URL" in done.err
        assert "not known" not in done.err


class Echo(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"said": "hi"}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "how", ["endpoint: http://HOST/x\n", "run: {http: {method: POST, url: 'http://HOST/x'}}\n"]
)
def test_published_tool_still_reaches_local_servers(tmp_path, server, how):
    file = write_yaml(tmp_path, "say", tool("say", ANSWER + how.replace("HOST", server)))
    front = "endpoint: http://127.0.0.1:8420/v3/tool/say\n"
    write_yaml(tmp_path, "front", tool("front", ANSWER + front))
    assert run_lk("call", "say", cwd=tmp_path).exit == 0
    assert run_lk("tool", "set", "say", cwd=tmp_path).exit == 0
    for id in ("say", "front"):  # the file has the platform's address now
        done = run_lk("call", id, cwd=tmp_path)
        assert (done.exit, json.loads(done.out)) == (0, {"said": "hi"}), done.err
    file.unlink()
    done = run_lk("call", "say", cwd=tmp_path)
    assert (done.exit, json.loads(done.out)) == (0, {"said": "hi"}), done.err


def test_blocked_host_error_shows_the_setting_that_allows_it(tmp_path):
    write_yaml(tmp_path, "say", tool("say", "endpoint: http://10.255.255.1:9/x\n"))
    done = run_lk("call", "say", cwd=tmp_path)
    assert (done.exit, done.out) == (5, ""), done.err
    assert 'try: write http_allow = ["10.255.255.1:9"] into toolhaft.toml' in done.err


def test_json_result_reports_untrusted(tmp_path, server):
    write_yaml(tmp_path, "say", tool("say", ANSWER + f"endpoint: http://{server}/x\n"))
    told = json.loads(run_lk("call", "say", "--json", cwd=tmp_path).out)
    assert (told["success"], told["untrusted"]) == (True, True)
    own = json.loads(run_lk("call", "calculator", "--expression", "1", "--json", cwd=tmp_path).out)
    assert own["untrusted"] is False


def test_only_project_tools_reach_local_servers(monkeypatch):
    shell = SimpleNamespace(platform=SimpleNamespace(is_embedded=False))
    tool = SimpleNamespace(hosts=("127.0.0.1:9", "example.com:80"))
    for store, hosts in (("project", ["127.0.0.1:9"]), ("platform", []), ("", [])):
        monkeypatch.setattr(forwarding, "_store_of", lambda *_, store=store: store)
        assert (store, forwarding.local_hosts(shell, tool)) == (store, hosts)
