"""Exit codes and messages of every kind of error."""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import click
import pexpect
import pytest

from tests.cases import in_case
from tests.cli.kit import BIN, ECHO, clean_environment, run_lk, write_yaml
from toolhaft import errors
from toolhaft.cli.errors import CommandError, Exit, describe_error
from toolhaft.cli.main import run, wants_json

PIP = "pip install 'toolhaft[yaml]'"


def test_exit_codes_have_stable_numbers():
    assert {code.name: code.value for code in Exit} == {
        "OK": 0,
        "FAILED": 1,
        "USAGE": 2,
        "CONFIGURATION": 3,
        "NETWORK": 4,
        "PERMISSION": 5,
        "INTERRUPTED": 130,
    }


def test_every_error_has_an_exit_code_and_a_next_step():
    cases = [
        (CommandError("x", next="tool ls"), 2, "tool ls"),
        (CommandError("x", exit=Exit.FAILED), 1, ""),
        (click.UsageError("x"), 2, "--help"),
        (click.BadParameter("x"), 2, "--help"),
        (errors.ConfigError("x", place="toolhaft.toml:1", fix="mend it"), 3, "mend it"),
        (errors.DefinitionError("x", place="a.yaml:1", fix="mend it"), 3, "mend it"),
        (ImportError("YAML tools need ruamel.yaml: pip install 'toolhaft[yaml]'"), 3, PIP),
        (
            ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn"),
            3,
            "pip install 'toolhaft[serve]'",
        ),
        (
            ModuleNotFoundError("No module named 'ruamel'", name="ruamel.yaml"),
            3,
            PIP,
        ),
        (
            ModuleNotFoundError("No module named 'psycopg'", name="psycopg"),
            3,
            "pip install 'toolhaft[postgres]'",
        ),
        (errors.PlatformError("x"), 4, "doctor"),
        (errors.HttpError("x"), 4, "doctor"),
        (errors.HttpTimeoutError("x"), 4, "doctor"),
        (errors.HttpRefusedError("x"), 5, "doctor"),
        (errors.ForbiddenError("x"), 5, "ask the operator of the platform for a key that may do this"),
        (errors.ToolAuthorizationError("x"), 5, "doctor"),
        (errors.FileDeniedError("x"), 5, "doctor"),
        (PermissionError(13, "Permission denied", "file"), 5, "doctor"),
        (errors.ConflictError("x"), 1, "tool ls"),
        (errors.UnknownToolError("x"), 1, "tool ls"),
        (errors.ToolExecutionError("x"), 1, "doctor"),
        (errors.StorageError("x"), 1, "doctor"),
        (errors.StorageBusyError("x"), 1, "doctor"),
        (errors.StorageAddressError("x"), 3, "doctor"),
        (errors.StorageUnreachableError("x"), 4, "doctor"),
        (errors.WireError("x"), 1, "doctor"),
        (OSError(28, "No space left on device", "file"), 1, "doctor"),
    ]
    for error, code, fix in cases:
        with in_case(error, code, fix):
            told = describe_error(error)
            assert told is not None
            assert (told.exit, told.fix) == (code, fix)
            assert told.error


@pytest.mark.parametrize("error", [TypeError("x"), ModuleNotFoundError("No module named 'x'", name="x")])
def test_bug_is_not_reported_as_a_user_error(error):
    assert describe_error(error) is None


def test_error_with_place_and_fix_prints_both():
    told = describe_error(errors.DefinitionError("the id is bad", place="a.yaml:3", fix="mend it"))
    assert (told.error, told.fix) == ("a.yaml:3: the id is bad", "mend it")


def test_os_error_names_the_file():
    assert (
        describe_error(OSError(28, "No space left on device", "a.yaml")).error
        == "a.yaml: No space left on device"
    )


def test_run_returns_the_exit_code(capsys):
    assert run(["tol"]) == 2
    assert capsys.readouterr().err.startswith("error: no verb 'tol'")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("platform_url = 3\n", "toolhaft.toml:1: "),
        ("platfrom_url = 'http://x'\n", "platform_url"),
        ("x = [\n", "toolhaft.toml"),
    ],
)
def test_invalid_toml_is_a_configuration_error(tmp_path, text, said):
    (tmp_path / "toolhaft.toml").write_text(text, encoding="utf-8")
    done = run_lk("tool", "ls", cwd=tmp_path)
    assert (done.exit, done.out) == (3, "")
    assert done.err.startswith("error: toolhaft.toml")
    assert said in done.err
    told = json.loads(run_lk("tool", "ls", "--json", cwd=tmp_path).err)
    assert told["exit"] == 3
    assert told["fix"]


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_unreachable_platform_exits_with_4_and_the_rest_is_listed(tmp_path):
    env = {"TOOLHAFT_PLATFORM_URL": f"http://127.0.0.1:{closed_port()}"}
    done = run_lk("tool", "ls", cwd=tmp_path, env=env)
    assert done.exit == 4
    assert "calculator" in done.out
    assert done.err.startswith("warning: ")
    for words in (["tool", "get", "calculator"], ["tool", "show", "nowhere"], ["tool", "set", "echo"]):
        write_yaml(tmp_path, "echo", ECHO)
        done = run_lk(*words, cwd=tmp_path, env=env)
        assert (done.exit, done.out) == (4, ""), words
        assert done.err.startswith("error: "), words
        assert done.err.endswith("  try: lk doctor\n"), words
    assert not (tmp_path / "local-kit/tools/calculator.yaml").exists()


@contextmanager
def platform_that_answers(status):
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'{"title": "no", "detail": "no such key", "status": %d}' % status
            self.send_response(status)
            self.send_header("Content-Type", "application/problem+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_GET  # noqa: N815 -- the name that the server asks for

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(("status", "code"), [(401, 5), (403, 5), (500, 4), (200, 4)])
def test_exit_code_follows_the_platform_response(tmp_path, status, code):
    with platform_that_answers(status) as url:
        done = run_lk("tool", "get", "calculator", cwd=tmp_path, env={"TOOLHAFT_PLATFORM_URL": url})
    assert (done.exit, done.out) == (code, "")
    assert done.err.startswith("error: ")


@pytest.mark.external
def test_closed_pipe_is_not_a_failure(tmp_path):
    script = f"{BIN}/lk tool ls --json | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("[\n0\n", "")


@pytest.mark.external
def test_immediately_closed_pipe_is_not_a_failure(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [BIN / "lk", "tool", "ls"],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.external
def test_full_disk_is_reported(tmp_path):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 -- a device
        done = subprocess.run(
            [BIN / "lk", "tool", "ls"],
            cwd=tmp_path,
            env=clean_environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"error: the output cannot be written: No space left on device\n"


@pytest.mark.external
def test_closed_stdout_is_not_a_failure(tmp_path):
    script = f"{BIN}/lk tool ls >&-; echo $?; {BIN}/lk tol 2>&-; echo $?"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("0\n2\n", "")


@pytest.mark.external
def test_unencodable_characters_are_escaped(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.replace("Says what", "Sagt… was"))
    done = run_lk("tool", "show", "echo", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert done.exit == 0
    assert "Sagt\\u2026 was" in done.out
    done = run_lk("tool", "show", "echo", "--json", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(done.out)["description"].startswith("Sagt… was")


@pytest.mark.external
def test_ctrl_c_at_a_question_exits_with_130(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    child = pexpect.spawn(
        str(BIN / "lk"), ["tool", "rm", "echo"], cwd=str(tmp_path), env=clean_environment(), timeout=60
    )
    child.expect("y/N")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert b"Traceback" not in child.before
    assert (tmp_path / "local-kit/tools/echo.yaml").exists()


def test_end_of_input_at_a_question_exits_with_130(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    done = run_lk("tool", "rm", "echo", cwd=tmp_path, at_terminal=True)
    assert (done.exit, "y/N" in done.err) == (130, True)
    assert (tmp_path / "local-kit/tools/echo.yaml").exists()


def shadow(folder, name, text):
    """A folder whose module takes the place of an installed one."""
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return {"PYTHONPATH": str(folder)}


@pytest.mark.external
@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [("click", ["tool", "ls"], "cli"), ("ruamel", ["tool", "show", "echo"], "yaml")],
)
def test_missing_extra_is_reported_with_the_install_command(tmp_path, package, words, extra):
    write_yaml(tmp_path, "echo", ECHO)
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    env = shadow(blocked, package, f"raise ModuleNotFoundError({package!r}, name={package!r})\n")
    done = run_lk(*words, cwd=tmp_path, env=env)
    assert (done.exit, done.out) == (3, "")
    assert f"pip install 'toolhaft[{extra}]'" in done.err
    assert "Traceback" not in done.err


FAULT = (
    "import sys\nsys.argv = ['lk', 'tool', 'ls']\nfrom toolhaft.cli import main, program\n"
    "def fail(*_): raise TypeError('odd')\nprogram.PROGRAM.invoke = fail\nmain()\n"
)


@pytest.mark.external
def test_bug_is_one_line_unless_a_traceback_is_requested(tmp_path):
    def fault(**more):
        return subprocess.run(
            [sys.executable, "-c", FAULT],
            cwd=tmp_path,
            env=clean_environment(**more),
            capture_output=True,
            text=True,
            check=False,
        )

    done = fault()
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "error: a bug in lk: TypeError: odd"
    assert "Traceback" not in done.stderr
    assert "Traceback" in fault(TOOLHAFT_TRACEBACK="1").stderr


def test_json_after_two_dashes_is_an_argument():
    assert wants_json(["tool", "ls", "--json"])
    assert not wants_json(["tool", "search", "--", "--json"])
