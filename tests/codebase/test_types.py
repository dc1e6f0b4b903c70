"""Pyright, basedpyright and mypy, all strict, check README, docs and `tests/types`, code as users write it."""

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.codebase.test_snippets import pages, snippets

USER_CODE = "tests/types"
WRONG = "# wrong: "
# a page is one module: it defines names again, and some only to show how
NOT_FOR_PAGES = (
    "Redeclaration",
    "UnusedClass",
    "UnusedExpression",
    "UnusedFunction",
    "UnusedImport",
    "UnusedVariable",
)
PYRIGHT = {"typeCheckingMode": "strict"} | {f"report{rule}": False for rule in NOT_FOR_PAGES}
MYPY = ("--strict", "--allow-redefinition", "--disable-error-code=no-redef", "--output=json")


def module_of(page):
    """The snippets of a page in one module, each at its line."""
    lines = []
    for snippet in snippets(page.read_text(encoding="utf-8")):
        lines += snippet.split("\n")[len(lines) : -1]
    return "".join(f"{line}\n" for line in lines)


def write_modules(root, folder):
    """Write a module per page, and the users' code; return the file that each one was made from."""
    sources = {}
    for page in pages(root):
        name = page.relative_to(root).with_suffix("").as_posix().lower()
        module = folder / f"page_{re.sub('[^a-z]', '_', name)}.py"
        module.write_text(module_of(page), encoding="utf-8")
        sources[module.name] = page
    for path in (root / USER_CODE).glob("*.py"):
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        sources[path.name] = path
    return sources


def wrong_lines(sources):
    """The lines of the users' code that must be reported, as pairs of file and number."""
    for file, source in sources.items():
        if source.suffix == ".py":
            lines = source.read_text(encoding="utf-8").splitlines()
            yield from ((file, number) for number, line in enumerate(lines, 1) if WRONG in line)


def run(program, *options, folder):
    command = Path(sysconfig.get_path("scripts"), program)
    done = subprocess.run([command, *options], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return done.stdout


def pyright_reports(program, folder, _):
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT), encoding="utf-8")
    output = run(program, "--outputjson", "--pythonpath", sys.executable, folder=folder)
    for report in json.loads(output)["generalDiagnostics"]:
        yield Path(report["file"]).name, report["range"]["start"]["line"] + 1, report["message"]


def mypy_reports(program, folder, cache):
    modules = sorted(path.name for path in folder.glob("*.py"))
    # reads the clients of all providers: the first run takes several times as long as the next
    options = (*MYPY, "--cache-dir", cache, "--python-executable", sys.executable)
    output = run(program, *options, *modules, folder=folder)
    for line in output.splitlines():
        report = json.loads(line)
        if report["severity"] == "error":
            yield Path(report["file"]).name, report["line"], report["message"]


CHECKERS = {"pyright": pyright_reports, "basedpyright": pyright_reports, "mypy": mypy_reports}


def unexpected(reports, wrong, sources):
    """Each report that is not expected, and each line that should have been reported."""
    for file, line, message in reports:
        if (file, line) not in wrong:
            yield f"{sources[file]}:{line}: {message}"
    found = {(file, line) for file, line, _ in reports}
    yield from (f"{sources[file]}:{line}: not reported" for file, line in sorted(wrong - found))


# one test per checker, so that they run side by side
@pytest.mark.external
@pytest.mark.parametrize("checker", CHECKERS)
def test_the_checker_accepts_docs_and_user_code_and_reports_what_is_wrong(checker, pytestconfig, tmp_path):
    sources = write_modules(pytestconfig.rootpath, tmp_path)
    wrong = set(wrong_lines(sources))
    assert len(wrong) > 40
    found = list(CHECKERS[checker](checker, tmp_path, pytestconfig.cache.mkdir("mypy")))
    problems = list(unexpected(found, wrong, sources))
    assert not problems, "\n".join(problems)


def test_the_module_of_a_page_has_its_snippets_at_their_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("words\n```python\na = 1\n\n```\n- item\n  ```python\n  b = 2\n  ```\n", encoding="utf-8")
    assert module_of(page) == "\n\na = 1\n\n\n\n\nb = 2\n"
