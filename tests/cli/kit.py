"""Runs the program as a person or a script does: in a process of its own, in a folder of its own."""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import coverage

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
"""Where `lk` and `toolhaft` are installed."""


class Done(NamedTuple):
    """How a run ended."""

    exit: int
    out: str
    err: str


@cache
def home() -> str:
    """A home folder that all tests of this process share, so that caches in it are warm."""
    folder = tempfile.mkdtemp(prefix="toolhaft-home-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def clean_environment(**more: str) -> dict[str, str]:
    """The environment of a program under test: nothing of whoever runs the tests, but for coverage."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("COV")}
    return {
        **kept,
        "PATH": f"{BIN}:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "HOME": home(),
        "LANG": "C.UTF-8",
        "PYTHONWARNINGS": "error",
        **more,
    }


def command(program: str = "lk") -> list[str]:
    """How the program is started: as it is, or under coverage where the tests are."""
    script = str(BIN / program)
    if coverage.Coverage.current() is None:
        return [script]
    measured = [f"--rcfile={ROOT / 'pyproject.toml'}", f"--data-file={ROOT / '.coverage'}"]
    return [sys.executable, "-m", "coverage", "run", "--parallel-mode", *measured, script]


def run_lk(
    *args: str,
    cwd: str | Path,
    env: dict[str, str] | None = None,
    stdin: str | None = None,
    program: str = "lk",
    timeout_s: float = 30,
) -> Done:
    """Run `lk` with these arguments to its end; its standard input is empty unless given."""
    done = subprocess.run(
        [*command(program), *args],
        cwd=cwd,
        env=clean_environment(**(env or {})),
        input=stdin or "",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout_s,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def start_lk(*args: str, cwd: str | Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `lk` and go on; whoever starts it waits for it."""
    return subprocess.Popen(
        [*command(), *args],
        cwd=cwd,
        env=clean_environment(**(env or {})),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def interrupt(process: subprocess.Popen[str]) -> None:
    """What Ctrl-C does."""
    process.send_signal(signal.SIGINT)


def write_yaml(folder: Path, id: str, text: str) -> Path:
    """A tool's file in a project, which is made if it is not there."""
    file = folder / "local-kit" / "tools" / f"{id}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


ECHO = """\
id: "echo"
name: "Echo"
description: "Says what it is told"
parameters:
  - name: "text"
    type: "string"
    description: "What to say"
returns:
  - name: "said"
    type: "string"
    description: "The same"
run:
  argv: ["printf", "--", "%s", "${text}"]
"""
"""A tool that runs anywhere."""
