"""`serve` and `key` with a real server."""

import http.client
import json
import re
import signal
import socket
import threading
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, served, start_lk, write_yaml
from tests.postgres import new_url
from tests.serve.kit import Served
from toolhaft.cli.serve import print_started
from toolhaft.cli.shell import Shell
from toolhaft.serve import Started

pytestmark = pytest.mark.external

GREET = """\
id: greet
name: Greet
description: Greets with what the environment says
effect: read
parameters: []
run: {argv: ["sh", "-c", "printf hello"]}
"""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: object


def ask(platform: Served | str, path: str, *, key: str | None = None, send: object = None) -> Answer:
    parts = urlsplit(platform if isinstance(platform, str) else platform.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if send is not None:
        headers["Content-Type"] = "application/json"
    body = None if send is None else json.dumps(send)
    connection.request("GET" if send is None else "POST", path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return Answer(answer.status, json.loads(text) if text else None)


def test_address_and_key_are_printed_to_standard_error(tmp_path):
    process = start_lk("serve", "--port", "0", cwd=tmp_path)
    told = ""
    while "Ctrl-C" not in told:
        line = process.stderr.readline()
        assert line, told
        told += line
    url = re.search(r"serving on (http://127\.0\.0\.1:\d+)\n", told)[1]
    key = re.search(r"shown once: (\S+)\n", told)[1]
    assert told.count(key) == 1
    assert ask(url, "/healthz").status == 200
    assert ask(url, "/v3/tools").status == 401
    assert ask(url, "/v3/tool/calculator", key=key, send={"expression": "6*7"}) == (200, {"result": 42})
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_published_tools_of_the_project_are_served(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    with served(tmp_path) as platform:
        refused = ask(platform, "/v3/tool/echo", key=platform.key, send={"text": "hi"})
        assert refused.status == 403
        assert "--allow-run argv" in json.dumps(refused.body)
    with served(tmp_path, "--allow-run", "argv") as platform:
        assert ask(platform, "/v3/tool/echo", key=platform.key, send={"text": "hi"}) == (200, {"said": "hi"})


def test_python_tool_of_the_project_runs_if_allowed(tmp_path, monkeypatch):
    # a name that no other test uses: the module stays imported
    (tmp_path / "greetings.py").write_text("def greet():\n    return 'hello'\n", encoding="utf-8")
    write_yaml(
        tmp_path,
        "greet",
        GREET.replace('{argv: ["sh", "-c", "printf hello"]}', '{python: "greetings:greet"}'),
    )
    assert run_lk("tool", "set", "greet", cwd=tmp_path).exit == 0
    monkeypatch.syspath_prepend(tmp_path)  # as `lk serve` does for the process
    with served(tmp_path, "--allow-run", "python", "--allow-run", "argv") as platform:
        assert ask(platform, "/v3/tool/greet", key=platform.key, send={}) == (200, "hello")


def test_stored_key_works_within_its_scopes_until_revoked(tmp_path):
    write_yaml(tmp_path, "echo", ECHO + "share: public\n")
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    reader = run_lk("key", "new", "--owner", "ann", "--scope", "tools:read", cwd=tmp_path).out.strip()
    made = run_lk("key", "new", "--owner", "bob", "--org", "acme", "--days", "2", "--json", cwd=tmp_path)
    runner = json.loads(made.out)
    with served(tmp_path, "--allow-run", "argv") as platform:
        assert ask(platform, "/v3/tools", key=reader).status == 200
        assert ask(platform, "/v3/tool/echo", key=reader, send={"text": "1"}).status == 403
        assert ask(platform, "/v3/tool/echo", key=runner["key"], send={"text": "1"}) == (200, {"said": "1"})
        done = run_lk("key", "rm", runner["id"], "--yes", cwd=tmp_path)
        assert (done.exit, done.out) == (0, "")
        assert ask(platform, "/v3/tools", key=runner["key"]).status == 401


def test_port_in_use_exits_with_3_and_a_fix(tmp_path):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        done = run_lk("serve", "--port", str(held.getsockname()[1]), cwd=tmp_path)
    assert (done.exit, done.out) == (3, "")
    assert "--port" in done.err
    assert "Traceback" not in done.err


def test_invalid_serve_options_are_usage_errors(tmp_path):
    cases = [
        (["--port", "x"], 2, "--port"),
        (["--port", "99999"], 2, "--port: 99999 is not a port"),
        (["--allow-run", "shell"], 2, "--allow-run: 'shell'"),
        (["--rate", "often"], 2, "600/min"),
        (["--host", "0.0.0.0"], 2, "--public-url"),  # noqa: S104 -- refused
        (["--host", "0.0.0.0", "--public-url", "https://tools.example.com", "--port", "0"], 3, "key new"),  # noqa: S104 -- refused
        (["--grace", "-1"], 2, "--grace: "),
        (["--database-url", "mysql://x"], 2, "sqlite"),
        (["--port=0", "--files", "nowhere"], 2, "nowhere"),
    ]
    for typed, code, told in cases:
        with in_case(typed, code, told):
            done = run_lk("serve", *typed, cwd=tmp_path)
            assert (done.exit, done.out) == (code, ""), done.err
            assert told in done.err
            assert "Traceback" not in done.err


def test_database_url_variable_is_used(tmp_path):
    elsewhere = tmp_path / "elsewhere.db"
    env = {"TOOLHAFT_DATABASE_URL": f"sqlite:///{elsewhere}"}
    key = run_lk("key", "new", "--owner", "ann", cwd=tmp_path, env=env).out.strip()
    assert elsewhere.exists()
    assert not (tmp_path / ".toolhaft").exists()
    with served(tmp_path, env=env) as platform:
        assert ask(platform, "/v3/tools", key=key).status == 200
    with served(tmp_path, "--database-url", f"sqlite:///{tmp_path / 'other.db'}", env=env) as platform:
        assert ask(platform, "/v3/tools", key=key).status == 401


def test_postgresql_database_can_be_served(tmp_path):
    env = {"TOOLHAFT_DATABASE_URL": new_url("postgresql", tmp_path)}
    key = run_lk("key", "new", "--owner", "ann", cwd=tmp_path, env=env).out.strip()
    write_yaml(tmp_path, "echo", ECHO + "share: public\n")
    assert run_lk("tool", "set", "echo", cwd=tmp_path, env=env).exit == 0
    with served(tmp_path, "--allow-run", "argv", env=env) as platform:
        assert ask(platform, "/v3/tool/echo", key=key, send={"text": "hi"}) == (200, {"said": "hi"})


def test_unreachable_database_is_reported_without_its_password(tmp_path):
    done = run_lk(
        "serve", "--database-url", "postgresql://ann:hunter2@127.0.0.1:9/x", "--port=0", cwd=tmp_path
    )
    assert (done.exit in {1, 3, 4}, done.out) == (True, "")
    assert not any(word in done.err for word in ("hunter2", "Traceback", "a bug in lk"))


def test_limit_flags_apply(tmp_path):
    stored = run_lk("key", "new", "--owner", "ann", cwd=tmp_path).out.strip()
    with served(tmp_path, "--body-bytes", "100", "--rate", "3/h", "--max-parallel", "4") as platform:
        large = ask(platform, "/v3/tool/calculator", key=stored, send={"expression": "1" * 200})
        assert large.status == 413
        statuses = [ask(platform, "/v3/tools", key=stored).status for _ in range(4)]
        assert statuses == [200, 200, 429, 429]
    with served(tmp_path, "--rate", "none") as platform:
        assert {ask(platform, "/v3/tools", key=stored).status for _ in range(5)} == {200}


@pytest.mark.parametrize("has_key", [False, True])
def test_no_key_is_printed_once_a_key_is_stored_or_with_a_public_address(tmp_path, has_key):
    if has_key:
        run_lk("key", "new", "--owner", "ann", cwd=tmp_path)
    typed = [] if has_key else ["--public-url", "https://tools.example.com"]
    process = start_lk("serve", "--port", "0", *typed, cwd=tmp_path)
    told = ""
    while "Ctrl-C" not in told:
        line = process.stderr.readline()
        assert line, told
        told += line
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert "th_once_" not in told + out + err
    assert "callers need a stored key" in told
    assert "key new --owner" in told


def test_files_flag_sets_the_files_folder(tmp_path):
    (tmp_path / "shared").mkdir()
    with served(tmp_path, "--files", str(tmp_path / "shared")) as platform:
        sent = {"path": "note.txt", "content": "hi"}
        written = ask(platform, "/v3/tool/write_file", key=platform.key, send=sent)
        assert written.status == 200, written.body
    assert [file.name for file in (tmp_path / "shared").rglob("*.txt")] == ["note.txt"]


def test_off_loopback_start_message_names_stored_keys(capsys):
    print_started(Shell(), Started(url="https://tools.example.com", key=None), as_json=False)
    told = capsys.readouterr()
    assert (told.out, "serving on https://tools.example.com" in told.err) == ("", True)
    assert "callers need a stored key" in told.err


@pytest.mark.parametrize(("typed", "status"), [([], 200), (["--built-in", "operator"], 404)])
def test_built_in_flag_decides_who_sees_built_in_tools(tmp_path, typed, status):
    key = run_lk("key", "new", "--owner", "ann", cwd=tmp_path).out.strip()
    with served(tmp_path, *typed) as platform:
        given = {"expression": "6*7"}
        assert ask(platform, "/v3/tool/calculator", key=key, send=given).status == status
        assert ask(platform, "/v3/tool/calculator", key=platform.key, send=given) == (200, {"result": 42})
    done = run_lk("serve", "--built-in", "some", cwd=tmp_path)
    assert (done.exit, "public" in done.err) == (2, True)


def test_built_in_none_serves_only_published_tools(tmp_path):
    with served(tmp_path, "--built-in", "none") as platform:
        assert ask(platform, "/v3/tools", key=platform.key) == (
            200,
            {"tools": [], "total": 0, "next": None},
        )


def test_allowed_variables_come_from_the_project_env_file(tmp_path):
    (tmp_path / ".env").write_text("PARROT=Bearer from-the-file\nOTHER=secret\n", encoding="utf-8")
    with (
        socket.create_server(("127.0.0.1", 0)) as far,
        served(
            tmp_path, "--http-allow", f"127.0.0.1:{far.getsockname()[1]}", "--allow-env", "PARROT=127.0.0.1"
        ) as platform,
    ):
        url = f"http://127.0.0.1:{far.getsockname()[1]}/"
        headers = '{Authorization: "${env:PARROT}"}'
        write_yaml(
            tmp_path,
            "parrot",
            GREET.replace("greet", "parrot").replace(
                '{argv: ["sh", "-c", "printf hello"]}',
                f'{{http: {{method: GET, url: "{url}", headers: {headers}}}}}',
            ),
        )
        assert run_lk("tool", "set", "parrot", cwd=tmp_path).exit == 0
        heard = []
        thread = threading.Thread(target=hear, args=[far, heard])
        thread.start()
        answer = ask(platform, "/v3/tool/parrot", key=platform.key, send={})
        thread.join()
    assert answer == (200, "heard")
    assert "authorization: bearer from-the-file" in heard[0].lower()


def hear(listener: socket.socket, heard: list[str]) -> None:
    """Take one request, and answer it."""
    connection, _ = listener.accept()
    with connection:
        heard.append(connection.recv(65_536).decode())
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nheard")
