"""Overridden tools in a rendered prompt, in every provider format, and in an executor."""

import json

import pytest

from tests.cases import each_case
from tests.prompt.overrides.kit import ADD, SEARCH, Found, add, prompt, search, write
from toolhaft import ToolCall, ToolExecutor, ValidArguments
from toolhaft.formats import FORMATS, export_tools
from toolhaft.prompt import OverrideStore


@pytest.fixture
def asked():
    write(
        {
            "tools": {
                "search": {
                    "digest": SEARCH,
                    "description": "Seek well.",
                    "parameters": {"query": "What to seek", "limit": "How many"},
                    "examples": [{"input": {"query": "rasps", "limit": 2}, "output": {"titles": ["rasps"]}}],
                },
                "add": {
                    "digest": ADD,
                    "description": "Sum up.",
                    "parameters": {"right": "What comes on top"},
                },
            }
        }
    )
    return prompt(OverrideStore("prompts"))


@each_case("format", FORMATS)
def test_every_format_exports_the_overridden_descriptions(asked, format):
    original = export_tools(prompt().render().tools, format, examples=True).json_bytes
    export = export_tools(asked.render().tools, format, examples=True)
    assert not export.refused
    said = json.dumps(export.payload)
    for words in (
        "Seek well.",
        "What to seek",
        "How many",
        "rasps",
        "Sum up.",
        "What comes on top",
        "the first",
    ):
        assert words in said
    for words in ("Search the shelves.", "hafts", "Add two numbers.", "the second"):
        assert words not in said
    assert export_tools(prompt().render().tools, format, examples=True).json_bytes == original


def test_an_executor_runs_the_tools_of_an_overridden_prompt(asked):
    executor = ToolExecutor(prompt=asked)
    assert {tool.name: tool.description for tool in asked.render().tools}["search"] == "Seek well."
    found = executor.execute(ToolCall(id="1", name="search", arguments={"query": "a", "limit": 2}))
    assert found.value == Found(titles=["a", "a"])
    assert executor.execute(ToolCall(id="2", name="add", arguments='{"left": 2}')).value == 3


def test_invalid_arguments_are_reported_with_the_overridden_example(asked):
    result = ToolExecutor(prompt=asked).execute(ToolCall(id="1", name="search", arguments={}))
    assert result.failure.kind == "invalid_arguments"
    assert '{"query":"rasps","limit":2}' in result.message


def test_overridden_tools_check_as_those_in_the_code(asked):
    made = {tool.name: tool for tool in asked.render().tools}
    for new, old in ((made["search"], search), (made["add"], add)):
        for arguments in ({"query": "a"}, {"left": 1}, {"left": "1"}, "nonsense"):
            verdict, before = new.validate(arguments), old.validate(arguments)
            assert type(verdict) is type(before)
            assert not isinstance(verdict, ValidArguments) or verdict == before
    assert made["add"](2, 3) == 5
