"""Functions that make toolsets from other toolsets."""

import pytest

from toolhaft import ToolCall, ToolExecutor, ToolRegistry, tool
from toolhaft.catalog import combine, keep, prefix, rename
from toolhaft.define.yaml import parse_tool
from toolhaft.errors import DefinitionError
from toolhaft.formats import export_tools


@tool(effect="read")
def search(query: str) -> str:
    """Search."""
    return f"found {query}"


@tool
def write(text: str) -> str:
    """Write."""
    return text


yaml_tool = parse_tool("id: look-up\nname: Look up\ndescription: Look it up\n")


def names(tools):
    return [one.name for one in tools]


def test_prefix_renames_every_tool_and_they_work():
    tools = prefix([search, [write, yaml_tool]], "gh_")
    assert names(tools) == ["gh_search", "gh_write", "gh_look-up"]
    assert search.name == "search"
    with ToolExecutor(tools) as executor:
        assert executor.execute(ToolCall(name="gh_search", arguments={"query": "x"})).value == "found x"
    assert [one["function"]["name"] for one in export_tools(tools, "openai_chat").payload["tools"]] == names(
        tools
    )
    assert names(ToolRegistry(tools)) == names(tools)


def test_keep_filters_tools():
    assert names(keep([search, write], lambda one: one.effect == "read")) == ["search"]
    assert keep([], lambda _: True) == []


def test_rename_changes_some_names():
    assert names(rename([search, write], {"search": "search_notes"})) == ["search_notes", "write"]
    assert names(rename([search, write], {"search": "write", "write": "search"})) == ["write", "search"]


def test_renaming_an_unknown_tool_is_refused():
    with pytest.raises(
        DefinitionError, match=r"tool 'serch': there is no such tool.*did you mean 'search'\?"
    ):
        rename([search], {"serch": "x"})


def test_combine_refuses_duplicate_names():
    assert names(combine(search, [write], prefix(search, "a_"))) == ["search", "write", "a_search"]
    with pytest.raises(DefinitionError, match="the name already exists"):
        combine([search], search)
    with pytest.raises(DefinitionError, match="the name already exists"):
        rename([search, write], {"write": "search"})
    with pytest.raises(DefinitionError, match="the name already exists"):
        combine(prefix(search, "a-"), prefix(search, "a_"))


def test_invalid_new_name_is_refused():
    with pytest.raises(DefinitionError, match="is not a tool name"):
        prefix([search], "no spaces ")
    with pytest.raises(DefinitionError, match="5 is not a tool"):
        keep([search, 5], lambda _: True)
