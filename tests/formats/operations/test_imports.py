"""Tools in, whichever the wire: declarations without handlers, and what is wrong with a payload."""

import json

import pytest

from tests.formats.each_case import each
from tests.formats.operations.test_exports import add, greet
from toolhaft import ToolCall, ToolExecutor
from toolhaft.errors import WireError
from toolhaft.formats import FORMATS, export_tools, import_tools


@pytest.mark.parametrize("format", FORMATS)
def test_a_payload_is_read_whole_as_a_list_as_one_tool_and_as_text(format):
    export = export_tools([add, greet], format)
    for given in (export.payload, export.json_bytes, export.json_bytes.decode(), export.tools):
        assert [tool.name for tool in import_tools(given, format)] == ["add", "greet"], given
    assert [tool.name for tool in import_tools(export.tools[0], format)] == ["add"]
    assert import_tools([], format) == []


@each("source", FORMATS)
@each("target", FORMATS)
def test_any_format_converts_to_any_other(source, target):
    read = import_tools(export_tools([add], source).payload, source)
    (back,) = import_tools(export_tools(read, target).payload, target)
    assert (back.name, back.description) == ("add", "Add two numbers.")
    assert back.input_schema["properties"].keys() == {"a", "b"}
    assert back.validate({"a": 1, "b": 2}).params == {"a": 1, "b": 2}


def test_a_declaration_has_no_handler_and_a_call_says_so():
    (read,) = import_tools(export_tools([add], "anthropic").payload, "anthropic")
    assert read.handler is None
    with ToolExecutor([read]) as executor:
        result = executor.execute(ToolCall("1", "add", {"a": 1, "b": 2}))
    assert not result.success


@each("format", FORMATS)
@each("payload", ["{", "5", 5, None, {"tools": 5}, [5], [{}], {"tools": [{"name": 5}]}, object()])
def test_a_payload_of_the_wrong_shape_is_a_wire_error_that_names_format_and_place(format, payload):
    with pytest.raises(WireError, match=f"^{format}"):
        import_tools(payload, format)


def test_what_was_expected_stands_beside_the_place():
    function = {"type": "function", "function": {"name": 5}}
    with pytest.raises(WireError) as caught:
        import_tools({"tools": [function]}, "openai_chat")
    assert str(caught.value) == "openai_chat at tools[0].function.name: got 5; expected text"
    assert (caught.value.path, caught.value.expected) == ("tools[0].function.name", "text")
    with pytest.raises(
        WireError, match=r"openai_chat at tools\[0\].type: got \"hosted\"; expected 'function'"
    ):
        import_tools({"tools": [{"type": "hosted"}]}, "openai_chat")


def test_a_schema_that_cannot_be_used_is_told_with_its_place():
    outside = {"name": "a", "parameters": {"type": "object", "properties": {"x": {"$ref": "http://a.b/c"}}}}
    with pytest.raises(WireError, match=r"openai_chat at \[0\]\.function: input_schema.*outside the schema"):
        import_tools([{"type": "function", "function": outside}], "openai_chat")


def test_names_that_are_no_tool_names_are_changed_and_go_out_again_as_they_were():
    tools = [{"name": "get weather/v2", "description": "d", "inputSchema": {"type": "object"}}]
    (read,) = import_tools({"tools": tools}, "mcp")
    assert read.name == "get_weather_v2"
    (again,) = import_tools(json.dumps(export_tools([read], "native").payload), "native")
    assert again.name == "get_weather_v2"


def test_a_tool_without_words_is_described_by_its_title_or_name():
    (read,) = import_tools([{"type": "function", "function": {"name": "ping"}}], "openai_chat")
    assert (read.description, read.input_schema) == ("ping", {"type": "object", "properties": {}})
    (titled,) = import_tools([{"name": "ping", "title": "Ping it", "inputSchema": {"type": "object"}}], "mcp")
    assert titled.description == "Ping it"


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_is_imported_as_it_is(format):
    assert [tool.name for tool in import_tools(export_tools([add, greet], format), format)] == [
        "add",
        "greet",
    ]


def test_the_tools_of_another_wire_are_not_taken_without_their_schemas():
    with pytest.raises(
        WireError, match=r"gemini at tools\[0\].*expected 'parameters' or 'parametersJsonSchema'"
    ):
        import_tools(export_tools([add], "anthropic").payload, "gemini")
