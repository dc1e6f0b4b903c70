"""Runs the program in this process, with its own folder, environment and streams, or as a real process."""

import atexit
import importlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import coverage

from tests.serve.kit import Served, serving_settings
from toolhaft.cli import main
from toolhaft.serve import Settings

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
"""Where `lk` and `toolhaft` are installed."""


_REPLACED = ("argv", "excepthook", "path", "stderr", "stdin", "stdout")
"""The attributes of `sys` that a run in this process changes."""


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
    stdin: str | bytes = "",
    program: str = "lk",
    at_terminal: bool = False,
) -> Done:
    """Run `lk` with these arguments in this process; `at_terminal` has its three streams be a terminal."""
    if any(name.startswith("PYTHON") for name in env or ()):  # read only when an interpreter starts
        return run_process(*args, cwd=cwd, env=env, program=program)
    given = stdin.encode() if isinstance(stdin, str) else stdin
    streams = [_Stream(data, is_terminal=at_terminal) for data in (given, b"", b"")]
    before = {name: getattr(sys, name) for name in _REPLACED}
    modules = set(sys.modules)
    folder = Path.cwd()
    with mock.patch.dict(os.environ, clean_environment(**(env or {})), clear=True):
        os.chdir(cwd)
        sys.argv, sys.path = [program, *args], [*sys.path]
        sys.stdin, sys.stdout, sys.stderr = streams
        importlib.invalidate_caches()
        try:
            main()
        except SystemExit as left:
            code = left.code
        finally:
            os.chdir(folder)
            vars(sys).update(before)
            _forget_modules(set(sys.modules) - modules)
    return Done(code, streams[1].written(), streams[2].written())


class _Stream(io.TextIOWrapper):
    """Standard input, output or error of a run in this process."""

    def __init__(self, data: bytes, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def written(self) -> str:
        """All that was written to it."""
        self.flush()
        return self.buffer.getvalue().decode()


def _forget_modules(names: set[str]) -> None:
    """Unload what a project's own Python files defined: the next project may use the same names."""
    for name in names:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(tempfile.gettempdir()) and not file.startswith(str(ROOT)):
            del sys.modules[name]


def run_process(
    *args: str,
    cwd: str | Path,
    env: dict[str, str] | None = None,
    program: str = "lk",
) -> Done:
    """The same in a process of its own, for what only a process has: signals, pipes, the script itself."""
    done = subprocess.run(
        [*command(program), *args],
        cwd=cwd,
        env=clean_environment(**(env or {})),
        input="",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@contextmanager
def served(folder: str | Path, *args: str, env: dict[str, str] | None = None) -> Iterator[Served]:
    """A platform on a thread of this process, with the settings that `lk serve` makes of its arguments."""
    settings: list[Settings] = []
    with mock.patch("toolhaft.serve.run", lambda made, on_start: settings.append(made)):
        done = run_lk("serve", "--port", "0", *args, cwd=folder, env=env)
    assert done == (0, "", "")
    with serving_settings(settings[0]) as server:
        yield server


def start_lk(
    *args: str, cwd: str | Path, env: dict[str, str] | None = None, program: Sequence[str] = ()
) -> subprocess.Popen[str]:
    """Start `lk`, or another program, and go on; whoever starts it waits for it."""
    return subprocess.Popen(
        [*(program or command()), *args],
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
