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


def functions(source: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{node.name} (line {node.lineno})", (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_over_500_lines(sources):
    lengths = {path: len(text.splitlines()) for path, text in sources.items()}
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_function_is_over_60_lines(sources):
    lengths = {f"{path}: {name}": lines for path, text in sources.items() for name, lines in functions(text)}
    assert {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES} == {}


def test_this_file_is_among_the_checked_files(sources):
    assert Path(__file__).read_text(encoding="utf-8") in sources.values()
