"""Typed tools in the eyes of a type checker: a handler whose types do not match is rejected."""

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


CASES = {
    "good": GOOD,
    "wrong_params": WRONG_PARAMS,
    "wrong_result": WRONG_RESULT,
    "no_context": NO_CONTEXT,
    "wrong_call": WRONG_CALL,
    "wrong_option": WRONG_OPTION,
}


@pytest.mark.external
def test_a_type_checker_accepts_what_matches_and_rejects_the_rest(tmp_path):
    """One run of the checker for all files: a handler, a call and an option whose types are right or wrong."""
    for name, code in CASES.items():
        (tmp_path / f"{name}.py").write_text(HEAD + code, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}', encoding="utf-8")
    checker = Path(sys.executable).with_name("basedpyright")
    done = subprocess.run(
        [checker, "--pythonpath", sys.executable, "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if " error: " in line]
    errors = {name: [line for line in lines if f"{name}.py" in line] for name in CASES}
    assert errors["good"] == []
    for name in ("wrong_params", "wrong_result", "no_context"):
        (error,) = errors[name]
        assert "reportArgumentType" in error or "handler" in error, name
    assert errors["wrong_call"]
    assert errors["wrong_option"]
