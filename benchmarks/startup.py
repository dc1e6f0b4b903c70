"""Measures the start of `lk tool ls`, compared with a process that only loads click and rich."""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Figure

_ROUNDS = 15
_TARGET = 2.5
_LIMIT = (sys.executable, "-c", "import click, rich")
_PAGE = """\
id: "greet"
name: "Greet"
description: "Says hello"
parameters:
  - {name: "who", type: "string", description: "Whom to greet"}
"""


def startup_figures() -> list[Figure]:
    """`lk tool ls` into a pipe, in a project with one tool and a warm cache."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "local-kit", "tools", "greet.yaml")
        file.parent.mkdir(parents=True)
        file.write_text(_PAGE, encoding="utf-8")
        time.sleep(0.2)  # a file that was written just now would be read again
        subject = (str(Path(sys.executable).with_name("lk")), "tool", "ls")
        listed = _run(subject, folder)[1]
        assert b"greet" in listed, listed
        assert b"calculator" in listed, listed
        best = {subject: float("inf"), _LIMIT: float("inf")}
        for _ in range(_ROUNDS):
            for command in random.sample([*best], k=2):
                best[command] = min(best[command], _run(command, folder)[0])
    took, limit = best[subject] * 1e6, best[_LIMIT] * 1e6
    return [Figure("lk tool ls", took, limit, took / limit, _TARGET)]


def _run(command: tuple[str, ...], folder: str) -> tuple[float, bytes]:
    environment = {**os.environ, "HOME": folder, "XDG_CACHE_HOME": f"{folder}/cache"}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)  # noqa: S603 -- the two commands above
    return time.perf_counter() - start, done.stdout
