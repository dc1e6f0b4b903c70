"""Files have at most 500 lines and functions at most 60, without exceptions."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDERS = ("src", "tests", "benchmarks", "examples", "tools")
FILE_LINES = 500
FUNCTION_LINES = 60


@pytest.fixture
def sources(pytestconfig):
    root = pytestconfig.rootpath
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
    }


def functions(statements: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield every function in these statements, however nested, with its number of lines."""
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{node.name} (line {node.lineno})", (node.end_lineno or node.lineno) - node.lineno + 1
        for inner in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from functions(getattr(node, inner, []))


def test_no_file_is_over_500_lines(sources):
    lengths = {path: len(text.splitlines()) for path, text in sources.items()}
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_function_is_over_60_lines(sources):
    lengths = {
        f"{path}: {name}": lines
        for path, text in sources.items()
        if text.count("\n") > FUNCTION_LINES
        for name, lines in functions(ast.parse(text).body)
    }
    assert {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES} == {}
    assert len(lengths) > 1_000


def test_functions_are_found_wherever_they_are():
    text = (
        "class A:\n    def a(self):\n        def b(): ...\nif x:\n    pass\nelse:\n    async def c(): ...\n"
        "try:\n    pass\nexcept E:\n    def d():\n        return 1\nfinally:\n    def e(): ...\n"
        "match x:\n    case 1:\n        def f(): ...\n"
    )
    found = {name[0]: lines for name, lines in functions(ast.parse(text).body)}
    assert found == {"a": 2, "b": 1, "c": 1, "d": 2, "e": 1, "f": 1}


def test_this_file_is_among_the_checked_files(sources):
    assert Path(__file__).read_text(encoding="utf-8") in sources.values()
