"""The registry accepts every kind of tool, all or none, and refuses duplicate names."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cases import in_case
from toolhaft import (
    BaseTool,
    Tool,
    ToolConfig,
    ToolExample,
    Toolkit,
    ToolParam,
    ToolRegistry,
    ToolResponse,
    ToolReturn,
    ToolSpec,
    create_tool,
    tool,
)
from toolhaft.errors import DefinitionError, ToolhaftError, UnknownToolError

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@tool
def search_notes(query: str) -> list[str]:
    """Search."""
    return [query]


class Echo(BaseTool):
    spec = ToolSpec(
        name="echo",
        description="Echo.",
        when_to_use="For tests",
        inputs=[ToolParam(name="text", type="string", description="Text")],
        returns=ToolReturn(type="string", description="Text"),
    )

    def __call__(self, *, text: str, **_: Any) -> ToolResponse:
        return ToolResponse(observation=text)


@dataclass
class Stay:
    guest: str


booking = Tool[Stay, None](name="book", description="Book.")
config = ToolConfig(name="weather", description="Weather.", input_schema=SCHEMA)


def named(name: str) -> Tool[Any, Any]:
    return create_tool(ToolConfig(name=name, description="X.", input_schema={"type": "object"}))


def test_tools_of_every_definition_are_accepted_in_nested_lists():
    registry = ToolRegistry()
    assert registry.process_tools(
        [search_notes, [Toolkit([Echo()]), (booking, [config])], (named(n) for n in ("a", "b"))]
    ) == ["search_notes", "echo", "book", "weather", "a", "b"]
    assert [made.name for made in registry] == list(registry.registry)
    assert registry.get_tool("search_notes") is search_notes
    assert registry.get_tool("echo").when_to_use == "For tests"
    assert "book" in registry
    assert len(registry) == 6
    assert registry.process_tools([]) == []
    assert ToolRegistry(registry).process_tools(named("c")) == ["c"]


def test_one_invalid_member_is_named_and_nothing_is_registered():
    cases = [
        ("calculator", "'calculator' is not a tool"),
        (5, "5 is not a tool"),
        (print, "is not a tool. Fix: decorate it with @tool"),
        (Echo, r"Fix: make one: Echo\(\)"),
        ({"name": "x"}, "ToolRegistry.from_spec_dict"),
        (None, "None is not a tool"),
        (tool(lambda: None), "is not a tool name"),
        (search_notes, "the name already exists"),
    ]
    for bad, words in cases:
        with in_case(bad, words):
            registry = ToolRegistry([named("before")])
            with pytest.raises(DefinitionError, match=words) as caught:
                registry.process_tools([search_notes, [bad], named("after")])
            assert "item 2" in str(caught.value)
            assert list(registry.registry) == ["before"]


@pytest.mark.parametrize(
    ("first", "second"), [("get_tool", "get-tool"), ("a-b-c", "a_b-c"), ("same", "same")]
)
def test_duplicate_names_are_refused_with_both_sources(first, second):
    registry = ToolRegistry([named(first)])
    with pytest.raises(DefinitionError, match="already exists") as caught:
        registry.register_tool(named(second))
    assert f"Tool {first!r}" in str(caught.value)
    assert f"Tool {second!r}" in str(caught.value)
    with pytest.raises(ValueError, match="already exists"):
        ToolRegistry([named(first), named(second)])


def test_unknown_name_error_names_the_nearest():
    registry = ToolRegistry([search_notes])
    with pytest.raises(KeyError) as caught:
        registry.get_tool("serch_notes")
    assert str(caught.value) == "no tool 'serch_notes'; did you mean 'search_notes'?"
    assert isinstance(caught.value, UnknownToolError)
    assert isinstance(caught.value, ToolhaftError)


class Unscanned(dict):
    """A dictionary that must only be looked up, never searched."""

    def __iter__(self):
        raise AssertionError("all tools were searched")

    keys = values = items = __iter__


def test_registering_does_not_scan_existing_tools():
    registry = ToolRegistry()
    registry._tools, registry._by_plain_name = Unscanned(), Unscanned()  # noqa: SLF001 -- what grows with the tools
    for number in range(50):
        registry.register_tool(named(f"tool_{number}"))
    assert len(registry) == 50


def full() -> Tool[Any, Any]:
    return create_tool(
        ToolConfig(
            name="calculate_tax",
            description="Calculate sales tax",
            input_schema={
                "type": "object",
                "properties": {"amount": {"type": "number"}},
                "required": ["amount"],
            },
            output_schema={"type": "object", "properties": {"tax": {"type": "number"}}},
            effect="read",
            timeout_s=3,
            cache_s=5,
            tags=["money"],
            title="Tax",
            when_to_use="For tax",
            version="1.2.0",
            examples=[
                ToolExample(input={"amount": 100.0}, output={"tax": 8.25}),
                {"description": "Small", "input": {"amount": 1}},
            ],
            metadata={
                "version": "1.2.0",
                "examples": [{"description": "Basic", "input": {"amount": 1}}],
                "performance": {"rate_limit": "100/min"},
            },
        )
    )


def test_spec_dict_survives_a_round_trip():
    registry = ToolRegistry([full(), search_notes, Echo(), named("bare")])
    document = json.loads(json.dumps(registry.to_spec_dict()))
    again = ToolRegistry.from_spec_dict(document)
    assert again.to_spec_dict() == document
    assert again.get_all_tool_specs() == registry.get_all_tool_specs()
    tax = again.get_tool("calculate_tax")
    assert (tax.effect, tax.timeout_s, tax.cache_s, tax.tags, tax.title, tax.version) == (
        "read",
        3.0,
        5.0,
        ("money",),
        "Tax",
        "1.2.0",
    )
    assert tax.metadata == full().metadata
    assert tax.examples == full().examples
    assert all(registry.validate_tool_spec(spec) == (True, None) for spec in document["tools"])


def test_invalid_spec_dict_is_refused():
    cases = [
        {},
        {"tools": {}},
        [],
        {"tools": [5]},
        {"tools": [{"name": "x"}]},
        {
            "tools": [
                {
                    "name": "x",
                    "description": "X",
                    "input_schema": {"type": "object", "properties": {}},
                    "autor": "me",
                }
            ]
        },
    ]
    for document in cases:
        with in_case(document), pytest.raises(DefinitionError):
            ToolRegistry.from_spec_dict(document)


def test_validate_tool_spec_returns_validity_and_problem():
    cases = [
        ({"description": None}, "Field 'description' must be a non-empty string"),
        ({"name": "no name"}, "name: 'no name' is not a tool name"),
        ({"input_schema": "object"}, "input_schema must be of type 'object'"),
        ({"input_schema": {"type": "object"}}, "input_schema must have an object 'properties'"),
        (
            {"input_schema": {"type": "object", "properties": {}, "required": "a"}},
            "input_schema 'required' must be a list of names",
        ),
        (
            {"input_schema": {"type": "object", "properties": {"a": {"type": "str"}}}},
            'input_schema at properties.a.type: "str" is not a type',
        ),
        ({"output_schema": {"type": "x"}}, 'output_schema at type: "x" is not a type'),
        ({"timeout_s": -1}, "timeout_s: -1 is not a positive number of seconds"),
        (
            {"examples": [{"input": {"a": "x"}}]},
            "example 1: the input is not valid: a: unknown argument; expected no arguments",
        ),
        ({"desciption": "x"}, "Unknown field 'desciption'; did you mean 'description'?"),
    ]
    for change, message in cases:
        with in_case(change, message):
            spec = {
                "name": "x",
                "description": "X.",
                "input_schema": {"type": "object", "properties": {}},
                **change,
            }
            assert ToolRegistry().validate_tool_spec(spec) == (False, message)


def test_spec_that_is_not_an_object_is_refused():
    assert ToolRegistry().validate_tool_spec([]) == (False, "A tool spec must be an object, not list")


def test_changing_a_spec_does_not_change_the_tool():
    registry = ToolRegistry([search_notes])
    spec = registry.get_all_tool_specs()[0]
    spec["input_schema"]["properties"].clear()
    assert registry.get_all_tool_specs()[0] == {
        "name": "search_notes",
        "description": "Search.",
        "input_schema": {
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "required": ["query"],
        },
    }


def test_invalid_spec_in_a_document_is_named_by_its_place():
    good = {"name": "x", "description": "X", "input_schema": {"type": "object", "properties": {}}}
    with pytest.raises(DefinitionError, match=r"tools\[1\]: Missing required field 'name'"):
        ToolRegistry.from_spec_dict({"tools": [good, {"description": "d"}]})
