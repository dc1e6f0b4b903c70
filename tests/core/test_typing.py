"""The typed door in the eyes of a type checker: a handler whose types do not match is rejected."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
from dataclasses import dataclass
from toolhaft import Tool, ToolContext, ToolResult, tool

@dataclass
class Params:
    query: str

@dataclass
class Other:
    name: int

@dataclass
class Result:
    hits: list[str]
"""
GOOD = """
def handle(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    return ToolResult.ok(Result([params.query]))

async def ahandle(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    return ToolResult.ok(Result([params.query]))

made = Tool[Params, Result](name="search", description="Search.", handler=handle)
amade = Tool[Params, Result](name="search", description="Search.", handler=ahandle)
wrapped: Tool[Params, Result] = Tool.wrap(handle)

@tool(effect="read", timeout_s=3)
def add(a: int, b: int = 2) -> int:
    return a + b

total: int = add(1, b=2)
"""
WRONG_PARAMS = """
def handle(params: Other, *, context: ToolContext) -> ToolResult[Result]:
    return ToolResult.ok(Result([]))

made = Tool[Params, Result](name="search", description="Search.", handler=handle)
"""
WRONG_RESULT = """
def handle(params: Params, *, context: ToolContext) -> ToolResult[Other]:
    return ToolResult.ok(Other(1))

made = Tool[Params, Result](name="search", description="Search.", handler=handle)
"""
NO_CONTEXT = """
def handle(params: Params) -> ToolResult[Result]:
    return ToolResult.ok(Result([]))

made = Tool[Params, Result](name="search", description="Search.", handler=handle)
"""
WRONG_CALL = """
@tool
def add(a: int, b: int) -> int:
    return a + b

add("1", 2)
"""
WRONG_OPTION = """
@tool(timeot_s=3)
def add(a: int, b: int) -> int:
    return a + b
"""


def _errors(tmp_path: Path, code: str) -> list[str]:
    path = tmp_path / "typed.py"
    path.write_text(HEAD + code, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}', encoding="utf-8")
    checker = Path(sys.executable).with_name("basedpyright")
    done = subprocess.run(
        [checker, "--pythonpath", sys.executable, "typed.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in done.stdout.splitlines() if " error: " in line]


def test_a_handler_whose_types_match_is_accepted(tmp_path):
    assert _errors(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    "code", [WRONG_PARAMS, WRONG_RESULT, NO_CONTEXT], ids=["params", "result", "no context"]
)
def test_a_handler_whose_types_do_not_match_is_rejected(tmp_path, code):
    (error,) = _errors(tmp_path, code)
    assert "reportArgumentType" in error or "handler" in error


@pytest.mark.parametrize("code", [WRONG_CALL, WRONG_OPTION], ids=["call", "option"])
def test_a_decorated_function_keeps_its_types(tmp_path, code):
    assert _errors(tmp_path, code)
