"""`doctor` finds every fault, and none in a healthy project."""

import json
import os
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.kit import ECHO, Done, run_lk, served, write_yaml
from toolhaft.cli.doctor_checks import server_at

pytestmark = pytest.mark.external

TOML, ENV, DATABASE = "toolhaft.toml", ".env", ".toolhaft/platform.db"


def tool(id: str, run: str, more: str = "") -> str:
    return f"id: {id}\nname: {id}\ndescription: A tool\n{run}{more}"


def doctor(folder: Path, env: dict[str, str] | None = None) -> tuple[Done, dict[str, list[dict]]]:
    done = run_lk("doctor", "--json", cwd=folder, env=env)
    told = json.loads(done.out)
    assert (told["exit"], told["ok"], "Traceback" in done.err) == (done.exit, done.exit == 0, False)
    by_state: dict[str, list[dict]] = {"ok": [], "warning": [], "problem": []}
    for finding in told["findings"]:
        by_state[finding["state"]].append(finding)
    return done, by_state


@pytest.fixture
def project(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    return tmp_path


def test_healthy_project_has_no_problems(project):
    done, found = doctor(project)
    assert (done.exit, found["problem"], found["warning"]) == (0, [], [])
    subjects = {one["about"] for one in found["ok"]}
    assert {"python", "toolhaft", "project", "config", "files", "installed", "platform"} <= subjects


@pytest.mark.external
def test_doctor_says_whether_the_platform_answers(project, tmp_path_factory):
    with served(tmp_path_factory.mktemp("platform")) as platform:
        environment = {"TOOLHAFT_PLATFORM_URL": platform.url, "TOOLHAFT_API_KEY": platform.key}
        remote = run_lk("doctor", cwd=project, env=environment)
        assert f"platform: {platform.url} answers and offers 10 tools" in remote.out
        assert server_at(platform.url).detail == f"{platform.url} answers"
    gone = server_at(platform.url)
    assert (gone.state, gone.detail.startswith(f"nothing answers at {platform.url}: ")) == ("ok", True)


def test_another_program_at_the_address_of_the_platform_is_a_warning():
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:  # answers every GET with 501
        Thread(target=other.handle_request).start()
        found = server_at(f"http://127.0.0.1:{other.server_port}")
    assert (found.state, found.detail.split(" at ")[0]) == ("warning", "another program answers")


def test_findings_are_printed_as_text(project):
    write_yaml(project, "bad", "id: [\n")
    done = run_lk("doctor", cwd=project)
    assert (done.exit, done.err) == (1, "1 problem\n")
    assert "PROBLEM files: " in done.out
    assert "try: lk tool check" in done.out


PLANTED = {
    "toml syntax": ({TOML: "platform_url ="}, {}, 3, TOML),
    "unknown setting": ({TOML: 'platform_ulr = "http://127.0.0.1:1"'}, {}, 3, "platform_url"),
    "no host": ({TOML: '# hosts\nhttp_allow = ["*"]'}, {}, 3, "toolhaft.toml:2"),
    "no address": ({TOML: 'platform_url = "ftp://x"'}, {}, 3, "http"),
    "env line": ({ENV: "A=1\nnonsense\n"}, {}, 3, ".env:2"),
    "env address": ({}, {"TOOLHAFT_PLATFORM_URL": "nowhere"}, 3, "TOOLHAFT_PLATFORM_URL"),
    "no key": ({TOML: 'platform_url = "http://127.0.0.1:9"'}, {}, 3, "lk login http://127.0.0.1:9"),
    "key of another address": (
        {TOML: 'platform_url = "http://127.0.0.1:9"'},
        {"TOOLHAFT_API_KEY": "th_x"},
        3,
        "TOOLHAFT_API_KEY is not sent to http://127.0.0.1:9",
    ),
    "dead platform": (
        {},
        {"TOOLHAFT_PLATFORM_URL": "http://127.0.0.1:9", "TOOLHAFT_API_KEY": "th_x"},
        4,
        "127.0.0.1:9",
    ),
    "bad file": ({"local-kit/tools/bad.yaml": "id: bad\nname: Bad\nnonsense: 1\n"}, {}, 1, "bad.yaml:3"),
    "id twice": ({"local-kit/tools/other.yaml": ECHO}, {}, 1, "'echo'"),
    "literal secret": (
        {
            "local-kit/tools/leak.yaml": tool(
                "leak",
                "run: {http: {method: POST, url: 'https://api.example.com', headers: {Authorization: 'Bearer abc'}}}\n",
            )
        },
        {},
        1,
        "leak.yaml:4",
    ),
    "no program": (
        {"local-kit/tools/gone.yaml": tool("gone", "run: {argv: [no-such-program-here]}\n")},
        {},
        1,
        "no-such-program-here",
    ),
    "no module": (
        {"local-kit/tools/gone.yaml": tool("gone", 'run: {python: "no_such_module:f"}\n')},
        {},
        1,
        "no_such_module",
    ),
    "no variable": (
        {
            "local-kit/tools/web.yaml": tool(
                "web",
                "effect: read\nrun: {http: {method: GET, url: 'https://api.example.com', headers: {X-Key: '${env:NO_SUCH_KEY}'}}}\n",
            )
        },
        {},
        1,
        "NO_SUCH_KEY",
    ),
    "no database": ({DATABASE: "this is no database " * 100}, {}, 1, "database"),
    "state is a file": ({".toolhaft": "a file"}, {}, 1, ".toolhaft"),
    "odd database": ({}, {"TOOLHAFT_DATABASE_URL": "mysql://u:hunter2@host/db"}, 3, "database"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_each_fault_is_found(project, fault):
    files, env, code, told = PLANTED[fault]
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    done, found = doctor(project, env)
    assert done.exit == code, done.out
    assert any(told in one["detail"] + one["fix"] for one in found["problem"]), found
    assert "hunter2" not in done.out


def test_one_fault_is_reported_once(project):
    (project / ENV).write_text("A=1\nnonsense\n", encoding="utf-8")
    done, found = doctor(project)
    assert (done.exit, [".env:2" in one["detail"] for one in found["problem"]]) == (3, [True])


def test_all_faults_are_reported_and_the_worst_sets_the_exit_code(project):
    write_yaml(project, "bad", "id: [\n")
    write_yaml(project, "gone", tool("gone", "run: {argv: [no-such-program-here]}\n"))
    (project / TOML).write_text('platform_url = "http://127.0.0.1:9"', encoding="utf-8")
    done, found = doctor(project)
    assert done.exit == 3
    told = json.dumps(found["problem"])
    assert all(word in told for word in ("bad.yaml", "no-such-program-here", "lk login", "127.0.0.1:9"))


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("local-kit/tools/calculator.yaml", ECHO.replace('"echo"', '"calculator"'), "hides"),
        ("local-kit/tools/idle.yaml", tool("idle", ""), "not active"),
        (ENV, "A=1\n", "other users"),
    ],
)
def test_suspicious_state_is_a_warning(project, name, text, told):
    (project / name).write_text(text, encoding="utf-8")
    (project / name).chmod(0o644)
    done, found = doctor(project)
    assert (done.exit, [one for one in found["warning"] if told in one["detail"]] != []) == (0, True), found


def test_changes_that_are_not_published_can_be_compared(project):
    file = write_yaml(project, "echo", ECHO)
    assert run_lk("tool", "set", "echo", cwd=project).exit == 0
    file.write_text(file.read_text(encoding="utf-8").replace("Says what", "Repeats what"), encoding="utf-8")
    _, found = doctor(project)
    (edited,) = [one for one in found["warning"] if one["about"] == "echo"]
    assert edited["fix"] == "lk tool diff echo"


def test_expired_key_is_a_warning(project):
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415 -- this test alone

    from toolhaft.serve.keys import Keys  # noqa: PLC0415 -- the same
    from toolhaft.storage import open_database  # noqa: PLC0415 -- the same

    (project / ".toolhaft").mkdir()
    database = open_database(f"sqlite:///{project}/{DATABASE}")
    Keys(database).create(owner="ann", expires_at=datetime.now(UTC) - timedelta(days=1))
    database.close()
    done, found = doctor(project)
    assert (done.exit, "expired" in found["warning"][0]["detail"]) == (0, True)


def test_variables_and_programs_of_the_project_are_found(project):
    (project / ENV).write_text("NO_SUCH_KEY=1\n", encoding="utf-8")
    (project / ENV).chmod(0o600)
    program = project / "do.sh"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    (project / "own.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    write_yaml(project, "own", tool("own", 'run: {python: "own:f"}\n'))
    write_yaml(project, "does", tool("does", "run: {argv: [./do.sh]}\n"))
    done, found = doctor(project)
    assert (done.exit, found["problem"]) == (0, []), found


@contextmanager
def installed(folder: Path):
    """A distribution whose tool cannot be loaded."""
    facts = folder / "broken_plugin-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n", encoding="utf-8"
    )
    (facts / "entry_points.txt").write_text(
        "[toolhaft.tools]\nbroken = broken_plugin:tool\n", encoding="utf-8"
    )
    (folder / "broken_plugin.py").write_text("raise RuntimeError('plugin is broken')\n", encoding="utf-8")
    yield {"PYTHONPATH": str(folder)}


def test_broken_distribution_is_reported(project, tmp_path_factory):
    with installed(tmp_path_factory.mktemp("site")) as env:
        done, found = doctor(project, env)
    assert done.exit == 1
    assert ["plugin is broken" in one["detail"] for one in found["problem"]] == [True], found
    assert "repair its entry point" in found["problem"][0]["fix"]


@pytest.mark.parametrize(
    ("text", "detail", "fix"),
    [
        (
            tool("idle", ""),
            "neither run nor endpoint",
            "write `run:` into local-kit/tools/idle.yaml, or lk tool set idle --endpoint URL",
        ),
        (
            tool("idle", "is_active: false\nrun: {argv: [date]}\n"),
            "switched off",
            "lk tool get idle",
        ),
    ],
)
def test_advice_for_an_inactive_tool_works(project, text, detail, fix):
    write_yaml(project, "idle", text)
    _, found = doctor(project)
    assert [(detail in one["detail"], one["fix"]) for one in found["warning"]] == [(True, fix)]


def test_inactive_published_tool_is_reported(project):
    write_yaml(project, "idle", tool("idle", ""))
    assert run_lk("tool", "set", "idle", cwd=project).exit == 0
    _, found = doctor(project)
    assert ["lk tool set idle --endpoint URL" in one["fix"] for one in found["warning"]] == [True], found


def test_json_fix_is_a_complete_command(project):
    write_yaml(project, "bad", "id: [\n")
    _, found = doctor(project)
    assert [one["fix"] for one in found["problem"]] == ["lk tool check"]


def test_key_refused_by_the_platform_exits_with_5(project, tmp_path_factory):
    with served(tmp_path_factory.mktemp("platform")) as platform:
        env = {"TOOLHAFT_PLATFORM_URL": platform.url, "TOOLHAFT_API_KEY": "th_00000000_" + "x" * 43}
        done, found = doctor(project, env)
        assert (done.exit, found["problem"] != []) == (5, True), found
        done, found = doctor(project, {**env, "TOOLHAFT_API_KEY": platform.key})
        assert (done.exit, found["problem"]) == (0, []), found


def test_folder_without_tools_is_a_warning(tmp_path):
    done, found = doctor(tmp_path)
    assert (done.exit, "lk" in sys.executable, os.sep in found["ok"][0]["detail"]) == (0, False, True)
    assert "no local-kit/tools" in found["warning"][0]["detail"]


def hide(monkeypatch, *names: str) -> None:
    """Have these distributions seem not to be installed."""

    def version(name):
        if name in names:
            raise metadata.PackageNotFoundError(name)
        return metadata.version(name)

    monkeypatch.setattr("toolhaft.cli.version.version", version)


def test_missing_extra_is_a_warning_with_the_install_command(project, monkeypatch):
    hide(monkeypatch, "uvicorn")
    done, found = doctor(project)
    assert done.exit == 0
    assert [one["fix"] for one in found["warning"]] == ["pip install 'toolhaft[serve]'"]
    told = json.loads(run_lk("version", "--json", cwd=project).out)
    assert told["extras"]["serve"]["uvicorn"] is None


def test_extra_missing_for_the_project_is_a_problem(project, monkeypatch):
    run = "effect: read\nrun: {http: {method: GET, url: 'https://api.example.com'}}\n"
    write_yaml(project, "web", tool("web", run))
    hide(monkeypatch, "httpcore2", "psycopg")
    _, found = doctor(project, {"TOOLHAFT_DATABASE_URL": "postgresql://u:hunter2@127.0.0.1:9/x"})
    fixes = [one["fix"] for one in found["problem"]]
    assert {"pip install 'toolhaft[web]'", "pip install 'toolhaft[postgres]'"} <= set(fixes)
    assert "hunter2" not in json.dumps(found)
