"""Code of a project is imported only when one of its `run: python` tools is called, or a module is named."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import in_case
from tests.cli.kit import BIN, clean_environment, run_lk, start_lk, write_yaml
from tests.serve.kit import platform

COUNT = """\
id: count
name: Count
description: Counts the words of a text.
effect: read
share: public
parameters:
  - {name: text, type: string, description: The text.}
returns:
  - {name: words, type: integer, description: How many.}
run: {python: "counting_words:count"}
"""
COUNTING = """\
with open(__file__.replace("counting_words.py", "ran.txt"), "a") as file:
    file.write("counting_words ")

def count(text):
    import counting_sibling  # while the tool runs, its project can be imported from
    return counting_sibling.count(text)
"""
PLANTED = (
    # of the standard library, imported by the program or by what it uses
    *("email", "unicodedata", "json", "ssl", "shutil", "secrets", "tempfile", "http", "random", "platform"),
    # installed, and optional ones that are not
    *("click", "pydantic", "rich", "idna", "uvicorn", "uvloop", "brotli", "orjson", "colorama", "dotenv"),
    # imported by Python or by tools when they start
    *("sitecustomize", "usercustomize", "conftest", "site_tools"),
)


@pytest.fixture
def project(tmp_path):
    """A project whose every planted module would report that it was run."""
    for number, name in enumerate(PLANTED):
        file = tmp_path / f"{name}.py"
        if number % 2:
            file = tmp_path / name / "__init__.py"
            file.parent.mkdir()
        file.write_text(f"open({str(tmp_path / 'ran.txt')!r}, 'a').write('{name} ')\n", encoding="utf-8")
    facts = tmp_path / "planted-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text("[toolhaft.tools]\nplanted = site_tools:x\n", encoding="utf-8")
    (tmp_path / "planted.pth").write_text("import site_tools\n", encoding="utf-8")
    (tmp_path / "counting_words.py").write_text(COUNTING, encoding="utf-8")
    (tmp_path / "counting_sibling.py").write_text("def count(text):\n    return len(text.split())\n")
    write_yaml(tmp_path, "count", COUNT)
    return tmp_path


def ran(project: Path) -> list[str]:
    """The modules of the project that were run since the last time."""
    file = project / "ran.txt"
    found = file.read_text(encoding="utf-8").split() if file.exists() else []
    file.unlink(missing_ok=True)
    return found


def run_program(*command: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.external
def test_no_verb_runs_a_file_of_the_project(project):
    lk, python = str(BIN / "lk"), sys.executable
    words = {"COMP_WORDS": "lk call count --", "COMP_CWORD": "3", "_LK_COMPLETE": "bash_complete"}
    for command, env in (
        ([lk, "call", "calculator", "--help"], {}),
        ([lk, "call", "calculator", "--expression", "6 * 7"], {}),
        ([lk, "call", "count", "--help"], {}),
        ([lk, "call", "count", "--dry-run", "--text", "a b"], {}),
        ([lk], words),
        ([lk, "tool", "ls"], {}),
        ([lk, "doctor"], {}),
        ([lk, "export", "--all", "--format", "mcp"], {}),
        ([python, "-m", "toolhaft", "tool", "ls"], {}),
        ([python, "-m", "toolhaft", "call", "count", "--help"], {}),
        ([lk, "-C", str(project), "call", "web_scraper", "--help"], {}),
    ):
        with in_case(command, env):
            done = run_program(*command, cwd=project, **env)
            assert (done.returncode, ran(project)) == (0, []), done.stderr


@pytest.mark.external
def test_a_called_python_tool_runs_its_module_and_no_planted_one(project):
    for isolation in ("thread", "process"):
        write_yaml(project, "count", f"{COUNT}isolation: {isolation}\n")
        done = run_program(str(BIN / "lk"), "call", "count", "--text", "a b c", cwd=project)
        assert (done.returncode, ran(project)) == (0, ["counting_words"]), done.stderr
        assert '"words": 3' in done.stdout


@pytest.mark.external
@pytest.mark.parametrize("more", [[], ["--allow-run", "python"]])
def test_serving_runs_no_file_of_the_project(project, more):
    # not `coverage run`, which itself imports from the current folder
    server = start_lk("serve", "--port", "0", "--json", *more, cwd=project, program=[str(BIN / "lk")])
    try:
        assert "url" in server.stderr.readline()
    finally:
        server.terminate()
        server.communicate(timeout=30)
    assert ran(project) == []


def test_the_platform_imports_a_module_only_for_a_call_that_the_operator_allows(project):
    for allowed, status, modules in ([], 403, []), (["python"], 200, ["counting_words"]):
        with in_case(allowed), platform(allow_run=allowed, module_folder=project) as near:
            assert near.put("count", COUNT).status == 201
            assert near.ask("GET", "/openapi.json").status == 200
            assert near.run("search_tools", {"query": "counts words"}).status == 200
            assert ran(project) == []
            answer = near.run("count", {"text": "a b"})
            assert (answer.status, ran(project)) == (status, modules), answer.json
            assert str(project) not in sys.path
    for name in ("counting_words", "counting_sibling"):
        sys.modules.pop(name)


def test_an_error_says_that_an_installed_module_hides_that_of_the_project(project):
    for module in ("email", "json.tool", "pydantic", "sys"):
        (project / "sys.py").write_text("def count(text): return 1\n", encoding="utf-8")
        write_yaml(project, "count", COUNT.replace("counting_words", module))
        with in_case(module):
            done = run_lk("call", "count", "--text", "a", cwd=project)
            first = module.partition(".")[0]
            assert f"the project's module {first!r} is not used" in done.err
            assert "rename the project's module" in done.err
            done = run_lk("prompt", "show", f"{module}:count", cwd=project)
            assert (done.exit, f"the project's module {first!r} is not used" in done.err) == (3, True)
            done = run_lk("doctor", cwd=project)
            assert f"the project's module {first!r} is not used" in done.out
    assert ran(project) == []
