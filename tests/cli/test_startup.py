"""What the program costs before it does anything."""

import json
import subprocess
import sys
import time

from benchmarks.startup import startup_figures
from tests.cli.kit import ECHO, clean_environment, write_yaml

HEAVY = (
    "pydantic",
    "pydantic_core",
    "ruamel",
    "rich",
    "starlette",
    "asyncio",
    "jsonschema_rs",
    "importlib.metadata",
)
LOADED = (
    "import json, sys\nfrom toolhaft.cli.main import run\ncode = run(sys.argv[1:])\n"
    f"print(json.dumps([code, [name for name in {HEAVY!r} if name in sys.modules]]), file=sys.stderr)"
)


def loaded(folder, *words):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stderr.splitlines()[-1])


def test_a_list_from_a_warm_cache_loads_nothing_heavy(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    time.sleep(0.2)  # a file of this moment is read again
    loaded(tmp_path, "tool", "ls")
    assert loaded(tmp_path, "tool", "ls") == [0, []]
    assert loaded(tmp_path, "tool", "ls", "--json") == [0, []]
    assert loaded(tmp_path, "tool", "search", "echo") == [0, []]


def test_importing_the_program_loads_not_even_click(tmp_path):
    program = "import sys, toolhaft.cli\nprint('click' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_a_list_starts_and_prints_within_two_and_a_half_times_its_libraries():
    [figure] = startup_figures()
    assert figure.ratio <= figure.target, figure
