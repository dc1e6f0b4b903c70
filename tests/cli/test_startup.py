"""What the program imports before it does anything."""

import json
import subprocess
import sys

import pytest

from tests.catalog.kit import age
from tests.cli.kit import ECHO, clean_environment, write_yaml

pytestmark = pytest.mark.external

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
    "import json, sys\nfrom toolhaft.cli.main import run\n"
    "try:\n    code = run(sys.argv[1:])\nexcept SystemExit as left:\n    code = left.code\n"
    f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
    "print(json.dumps([code, heavy, len(sys.modules)]), file=sys.stderr)"
)
MOST_MODULES = 160  # 135 when this was written, the interpreter's own and click's among them


def loaded(folder, *words, **env):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words],
        cwd=folder,
        env=clean_environment(**env),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stderr.splitlines()[-1])


def test_list_from_a_warm_cache_imports_nothing_heavy(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    age(file)  # a file that was written just now is read again
    loaded(tmp_path, "tool", "ls")
    completing = {"COMP_WORDS": "lk call ec", "COMP_CWORD": "2", "_LK_COMPLETE": "bash_complete"}
    for words, env in (
        (["tool", "ls"], {}),
        (["tool", "ls", "--json"], {}),
        (["tool", "search", "echo"], {}),
        ([], completing),
    ):
        code, heavy, count = loaded(tmp_path, *words, **env)
        assert (words, code, heavy) == (words, 0, [])
        assert count < MOST_MODULES, words


def test_importing_the_program_does_not_import_click(tmp_path):
    program = "import sys, toolhaft.cli\nprint('click' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
