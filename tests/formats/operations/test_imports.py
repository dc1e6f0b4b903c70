"""Importing tools, in all formats: tools without handlers, and errors with paths."""

import json

import pytest

from tests.cases import each_case
from tests.formats.operations.test_exports import add, greet
from toolhaft import ToolCall, ToolExecutor
from toolhaft.errors import WireError
from toolhaft.formats import FORMATS, export_tools, import_tools


@each_case("format", FORMATS)
def test_a_payload_is_read_whole_as_a_list_as_one_tool_and_as_text(format):
    export = export_tools([add, greet], format)
    for given in (export.payload, export.json_bytes, export.json_bytes.decode(), export.tools):
        assert [tool.name for tool in import_tools(given, format)] == ["add", "greet"], given
    assert [tool.name for tool in import_tools(export.tools[0], format)] == ["add"]
    assert import_tools([], format) == []


@each_case("source", FORMATS)
@each_case("target", FORMATS)
def test_any_format_converts_to_any_other(source, target):
    read = import_tools(export_tools([add], source).payload, source)
    (back,) = import_tools(export_tools(read, target).payload, target)
    assert (back.name, back.description) == ("add", "Add two numbers.")
    assert back.input_schema["properties"].keys() == {"a", "b"}
    assert back.validate({"a": 1, "b": 2}).params == {"a": 1, "b": 2}


def test_calling_an_imported_tool_fails_because_it_has_no_handler():
    (read,) = import_tools(export_tools([add], "anthropic").payload, "anthropic")
    assert read.handler is None
    with ToolExecutor([read]) as executor:
        result = executor.execute(ToolCall("1", "add", {"a": 1, "b": 2}))
    assert not result.success


@each_case("format", FORMATS)
@each_case("payload", ["{", "5", 5, None, {"tools": 5}, [5], [{}], {"tools": [{"name": 5}]}, object()])
def test_a_payload_of_the_wrong_shape_is_a_wire_error_with_format_and_path(format, payload):
    with pytest.raises(WireError, match=f"^{format}"):
        import_tools(payload, format)


def test_a_list_with_only_a_bad_tool_of_the_format_refuses_that_tool():
    bad = {
        "anthropic": {"name": 5, "input_schema": {}},
        "bedrock": {"toolSpec": {"name": "x"}},
        "gemini": {"name": "x", "parameters": 3},
        "mcp": {"name": "x", "inputSchema": "x"},
        "native": {"name": "x", "description": "X.", "input_schema": []},
        "openai_responses": {"type": "function", "name": None, "parameters": {}},
    }
    function = {"type": "function", "function": {"name": 5}}
    bad |= dict.fromkeys(("cohere", "mistral", "ollama", "openai_chat"), function)
    assert bad.keys() == set(FORMATS)
    for format, tool in bad.items():
        for payload in ([tool], [tool, tool], [tool, None]):
            read = import_tools(payload, format)
            assert (list(read), len(read.refused)) == ([], len(payload)), format
        if format != "bedrock":  # Bedrock and Gemini have tools with any key
            with pytest.raises(WireError):
                import_tools([bad["bedrock"]], format)


def test_a_wire_error_says_what_was_expected():
    with pytest.raises(WireError) as caught:
        import_tools({"tools": {"type": ["x"]}}, "openai_chat")
    assert str(caught.value) == 'openai_chat at tools.type: got ["x"]; expected text'
    assert (caught.value.path, caught.value.expected) == ("tools.type", "text")
    with pytest.raises(WireError, match=r"openai_chat at tools\[0\].type: got \"tool\"; expected 'function'"):
        import_tools({"tools": [{"type": "tool", "input_schema": {}}]}, "openai_chat")


def test_an_invalid_schema_in_a_payload_is_reported_with_its_path():
    outside = {"name": "a", "parameters": {"type": "object", "properties": {"x": {"$ref": "http://a.b/c"}}}}
    read = import_tools([{"type": "function", "function": outside}], "openai_chat")
    ((name, reason),) = read.refused
    assert (read, name) == ([], "a")
    assert "openai_chat at [0].function: input_schema" in reason
    assert "outside the schema" in reason


def test_invalid_tool_names_are_changed_on_import_and_restored_on_export():
    tools = [{"name": "get weather/v2", "description": "d", "inputSchema": {"type": "object"}}]
    (read,) = import_tools({"tools": tools}, "mcp")
    assert read.name == "get_weather_v2"
    (again,) = import_tools(json.dumps(export_tools([read], "native").payload), "native")
    assert again.name == "get_weather_v2"


def test_a_tool_without_a_description_gets_its_title_or_name():
    (read,) = import_tools([{"type": "function", "function": {"name": "ping"}}], "openai_chat")
    assert (read.description, read.input_schema) == ("ping", {"type": "object", "properties": {}})
    (titled,) = import_tools([{"name": "ping", "title": "Ping it", "inputSchema": {"type": "object"}}], "mcp")
    assert titled.description == "Ping it"


@each_case("format", FORMATS)
def test_an_export_object_can_be_imported(format):
    assert [tool.name for tool in import_tools(export_tools([add, greet], format), format)] == [
        "add",
        "greet",
    ]


def test_tools_of_another_format_are_not_imported_without_their_schemas():
    with pytest.raises(
        WireError, match=r"gemini at tools\[0\].*expected 'parameters' or 'parametersJsonSchema'"
    ):
        import_tools(export_tools([add], "anthropic").payload, "gemini")


@each_case(
    ("format", "declaration"),
    [
        ("anthropic", {"type": "web_search_20250305", "name": "web\u200b"}),
        ("openai_responses", {"type": "mcp", "server_label": "a", "server_description": "b\U000e0041"}),
        ("openai_chat", {"type": "x\u202ey"}),
        ("gemini", {"googleSearch": {"a": ["\u2060"]}}),
        ("bedrock", {"systemTool": {"name": "a\u200b"}}),
    ],
)
def test_invisible_characters_in_a_tool_of_the_provider_are_refused_with_their_place(format, declaration):
    read = import_tools([declaration], format)
    assert list(read) == []
    assert "invisible characters" in read.refused[0].reason


def test_the_place_of_an_invisible_character_is_that_of_the_payload():
    declared = {"name": "a", "inputSchema": {}, "other": [{"b": "c\u200b"}]}
    assert "ZERO WIDTH SPACE in other[0].b;" in import_tools([declared], "mcp").refused[0].reason
