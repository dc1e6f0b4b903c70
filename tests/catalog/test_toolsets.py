"""Toolsets are made from others in one line, and work wherever tools do."""

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


def test_a_prefix_goes_before_every_name_and_the_tools_work():
    tools = prefix([search, [write, yaml_tool]], "gh_")
    assert names(tools) == ["gh_search", "gh_write", "gh_look-up"]
    assert search.name == "search"
    with ToolExecutor(tools) as executor:
        assert executor.execute(ToolCall(name="gh_search", arguments={"query": "x"})).value == "found x"
    assert [one["function"]["name"] for one in export_tools(tools, "openai_chat").payload["tools"]] == names(
        tools
    )
    assert names(ToolRegistry(tools)) == names(tools)


def test_a_test_keeps_some():
    assert names(keep([search, write], lambda one: one.effect == "read")) == ["search"]
    assert keep([], lambda _: True) == []


def test_some_get_other_names():
    assert names(rename([search, write], {"search": "search_notes"})) == ["search_notes", "write"]
    assert names(rename([search, write], {"search": "write", "write": "search"})) == ["write", "search"]


def test_a_name_that_is_not_there_cannot_be_changed():
    with pytest.raises(
        DefinitionError, match=r"tool 'serch': there is no such tool.*did you mean 'search'\?"
    ):
        rename([search], {"serch": "x"})


def test_sets_come_together_unless_two_have_one_name():
    assert names(combine(search, [write], prefix(search, "a_"))) == ["search", "write", "a_search"]
    with pytest.raises(DefinitionError, match="the name already exists"):
        combine([search], search)
    with pytest.raises(DefinitionError, match="the name already exists"):
        rename([search, write], {"write": "search"})
    with pytest.raises(DefinitionError, match="the name already exists"):
        combine(prefix(search, "a-"), prefix(search, "a_"))


def test_a_name_that_is_none_is_refused():
    with pytest.raises(DefinitionError, match="is not a tool name"):
        prefix([search], "no spaces ")
    with pytest.raises(DefinitionError, match="5 is not a tool"):
        keep([search, 5], lambda _: True)
