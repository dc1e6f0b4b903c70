"""`call` on a real terminal: progress, Ctrl-C, control characters."""

import json
import os
import re
import signal
import time
from pathlib import Path

import pexpect
import pytest

from tests.cli.kit import BIN, clean_environment, run_lk, start_lk, write_yaml

pytestmark = pytest.mark.external

WORK = '''
"""Functions that tools of the tests run."""
import time
from pathlib import Path


def slow(context, steps=4):
    for step in range(steps):
        context.progress(step, steps, f"step {step} \\x1b]0;owned\\x07")
        time.sleep(0.25)
    return {"done": steps}


def hang(context):
    context.filesystem.write("made.txt", "half")
    Path("started").write_text("yes")
    while True:
        context.beat()
        time.sleep(0.02)


def stuck():
    Path("started").write_text("yes")
    time.sleep(600)


def red():
    return "\\x1b[31mred\\x1b]0;owned\\x07 and \\u202ereversed"
'''
SLEEPER = """\
id: sleeper
name: Sleeper
description: Sleeps, with a child that leaves its session
timeout_s: 600
run:
  argv: ["sh", "-c", "setsid sleep 700 & echo $! > child; echo yes > started; sleep 701"]
"""


def python_tool(id: str, function: str, parameters: str = "[]", effect: str = "reversible") -> str:
    return (
        f"id: {id}\nname: {id}\ndescription: A tool\ntimeout_s: 600\neffect: {effect}\n"
        f'parameters: {parameters}\nrun: {{python: "work:{function}"}}\n'
    )


@pytest.fixture
def project(tmp_path):
    (tmp_path / "work.py").write_text(WORK, encoding="utf-8")
    steps = "[{name: steps, type: integer, required: false, default: 4, description: How many}]"
    write_yaml(tmp_path, "slow", python_tool("slow", "slow", steps))
    write_yaml(tmp_path, "hang", python_tool("hang", "hang"))
    write_yaml(tmp_path, "stuck", python_tool("stuck", "stuck", effect="idempotent"))
    write_yaml(tmp_path, "red", python_tool("red", "red"))
    write_yaml(tmp_path, "sleeper", SLEEPER)
    return tmp_path


def at_terminal(folder: Path, *args: str, **env: str) -> pexpect.spawn:
    return pexpect.spawn(
        str(BIN / "lk"),
        [*args],
        cwd=str(folder),
        env=clean_environment(TERM="xterm-256color", **env),
        encoding="utf-8",
        timeout=60,
        dimensions=(24, 100),
    )


def wait_for(file: Path) -> None:
    until = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < until, f"{file.name} did not appear"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_progress_is_shown_on_a_terminal_with_escaped_text(project):
    lk = at_terminal(project, "call", "slow")
    lk.expect("slow: step 1")
    seen = lk.before
    lk.expect("2/4")
    seen += lk.before
    lk.expect('"done": 4')
    seen += lk.before
    lk.expect(pexpect.EOF)
    lk.close()
    assert lk.exitstatus == 0
    assert "\x1b]0;owned" not in seen
    assert "\\x1b]0;owned" in seen


def test_no_color_disables_colors(project):
    lk = at_terminal(project, "--no-color", "call", "slow", "--steps", "2")
    lk.expect(pexpect.EOF)
    assert re.search(r"\x1b\[[0-9;]*3[0-7][0-9;]*m", lk.before) is None


def test_progress_is_not_shown_without_a_terminal(project):
    done = run_lk("call", "slow", "--steps", "2", cwd=project)
    assert (json.loads(done.out), done.err) == ({"done": 2}, "")


def test_control_characters_are_escaped_on_a_terminal(project):
    lk = at_terminal(project, "call", "red")
    lk.expect(pexpect.EOF)
    assert "\x1b[31m" not in lk.before
    assert "\\x1b[31mred" in lk.before
    assert "\u202e" not in lk.before


@pytest.mark.parametrize(
    ("id", "told"), [("hang", "nothing was changed"), ("stuck", "may be repeated safely")]
)
def test_ctrl_c_cancels_the_call_and_restores_files(project, id, told):
    lk = at_terminal(project, "call", id)
    wait_for(project / "started")
    lk.sendintr()
    lk.expect(f"cancelled: .*{told}")
    lk.expect(pexpect.EOF)
    lk.close()
    assert lk.exitstatus == 130
    assert not (project / "made.txt").exists()
    assert "Traceback" not in lk.before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_ends_the_tool_program_and_its_children(project, number, code):
    process = start_lk("call", "sleeper", cwd=project)
    wait_for(project / "started")
    child = int((project / "child").read_text(encoding="utf-8"))
    assert is_running(child)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "cancelled" in err
    until = time.monotonic() + 60
    while is_running(child):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_next_call_restores_files_of_a_killed_call(project):
    process = start_lk("call", "hang", cwd=project)
    wait_for(project / "started")
    process.kill()
    process.communicate(timeout=60)
    assert (project / "made.txt").exists()
    assert run_lk("call", "red", cwd=project).exit == 0
    assert not (project / "made.txt").exists()


def test_timeout_ends_the_tool_program(project):
    done = run_lk("call", "sleeper", "--timeout", "1.5", cwd=project)
    assert done.exit == 1
    assert "deadline" in done.err or "time" in done.err
    child = int((project / "child").read_text(encoding="utf-8"))
    assert not is_running(child)
