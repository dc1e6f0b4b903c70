"""The modules of a project come after the installed ones, and can be imported only while its code runs."""

import asyncio
import sys
from importlib.util import find_spec

import pytest

from tests.cases import in_case
from tests.define.running.kit import parameter, tool_of
from toolhaft import ToolCall, ToolExecutor
from toolhaft.define.running.project_modules import hidden_module, importable

MODULE = """
import sys

def places():
    from project_sibling import NAME
    return [sys.path.index(path) for path in (sys.path[-1],)] + [sys.path[-1], NAME]

async def places_later():
    import asyncio
    await asyncio.sleep(0)
    from project_sibling import NAME
    return [len(sys.path) - 1, sys.path[-1], NAME]

def lines():
    from project_sibling import NAME
    yield NAME

async def lines_later():
    from project_sibling import NAME
    yield NAME
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "project_module.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "project_sibling.py").write_text("NAME = 'sibling'\n", encoding="utf-8")
    yield str(tmp_path)
    for name in ("project_module", "project_sibling", "written_later"):
        sys.modules.pop(name, None)


def test_the_folder_is_last_on_the_path_during_a_call_and_gone_after_it(folder):
    before = [*sys.path]
    last = [len(before), folder, "sibling"]
    for function, value in (
        ("places", last),
        ("places_later", last),
        ("lines", "sibling"),
        ("lines_later", "sibling"),
    ):
        with in_case(function):
            sys.modules.pop("project_sibling", None)
            made = tool_of({"python": f"project_module:{function}"}, folder=folder)
            executor = ToolExecutor([made])
            assert executor.execute(ToolCall(name="sample")).value == value
            assert sys.path == before
            sys.modules.pop("project_sibling", None)
            assert asyncio.run(executor.aexecute(ToolCall(name="sample"))).value == value
            assert sys.path == before


def test_a_module_written_into_the_folder_later_cannot_be_imported_by_other_code(folder, tmp_path):
    made = tool_of({"python": "project_module:places"}, folder=folder)
    assert ToolExecutor([made]).execute(ToolCall(name="sample")).success
    (tmp_path / "written_later.py").write_text("raise SystemExit", encoding="utf-8")
    assert find_spec("written_later") is None


def test_a_tool_without_a_file_finds_installed_modules_only(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    result = ToolExecutor([tool_of({"python": "project_module:places"})]).execute(ToolCall(name="sample"))
    assert "the module project_module cannot be imported" in result.message


def test_a_folder_is_removed_when_its_last_user_ends(folder):
    before = [*sys.path]
    with importable(folder):
        with importable(folder):
            assert sys.path[len(before) :] == [folder, folder]
        assert sys.path == [*before, folder]
        sys.path.remove(folder)  # as a project's code may do
        with importable(folder):
            assert sys.path == [*before, folder]
    assert sys.path == before
    with importable(None):
        assert sys.path == before


def test_a_folder_that_the_user_put_on_the_path_stays_where_it_is(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [folder, *sys.path])
    before = [*sys.path]
    with importable(folder):
        assert sys.path == [*before, folder]
    assert sys.path == before


def test_an_installed_module_hides_that_of_the_project(folder, tmp_path):
    (tmp_path / "json.py").touch()
    (tmp_path / "this").mkdir()  # not imported yet: it prints when it is
    (tmp_path / "this" / "__init__.py").touch()
    (tmp_path / "sys.py").touch()
    for name, place in (("json", "json/__init__.py"), ("this.x", "this.py"), ("sys", "a built-in module")):
        with in_case(name):
            assert f"since {'' if ' ' in place else '/'}" in hidden_module(name, folder)
            assert f"{place} has the same name" in hidden_module(name, folder)
    assert "this" not in sys.modules
    for name, place in (("project_module", folder), ("no_such_module", folder), ("json", None)):
        assert hidden_module(name, place) is None
    made = tool_of({"python": "project_module:places"}, folder=folder)
    assert ToolExecutor([made]).execute(ToolCall(name="sample")).success
    assert hidden_module("project_module", folder) is None


def test_arguments_reach_a_function_of_the_project(folder, tmp_path):
    (tmp_path / "written_later.py").write_text("def echo(text): return text\n", encoding="utf-8")
    made = tool_of({"python": "written_later:echo"}, [parameter("text")], folder=folder)
    call = ToolCall(name="sample", arguments={"text": "hi"})
    assert ToolExecutor([made]).execute(call).value == "hi"
