"""Ollama: what its SDK keeps of a schema, whole calls without ids, results by the tool's name."""

import pytest

from tests.formats.chat_tools import EVERY_PART, FAILED, SCHEMA, clock, twin, weather
from tests.formats.sdk_objects import validated
from toolhaft import Tool, ToolCall, ToolResult
from toolhaft.errors import WireError
from toolhaft.formats import (
    Loss,
    Refusal,
    StreamDecoder,
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)

FORMAT = "ollama"
WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA},
}


def asked(name="weather", **arguments):
    return {"function": {"name": name, "arguments": arguments or {"city": "Paris"}}}


def response(*calls, done=True, **said):
    message = {"role": "assistant", "content": "", **said}
    if calls:
        message["tool_calls"] = [*calls]
    made = {"model": "m", "created_at": "2026-11-15T12:00:00Z", "message": message, "done": done}
    return {**made, "done_reason": "stop"} if done else made


def test_only_the_fields_that_the_sdk_keeps_are_exported():
    schema = {
        "type": "object",
        "description": "Where and how.",
        "properties": {
            "query": {"type": "string", "minLength": 1, "default": "x"},
            "sort": {"enum": ["a", "b"], "type": "string", "description": "Order."},
            "tags": {"type": "array", "items": {"type": "string"}},
            "filter": {"$ref": "#/$defs/Filter"},
        },
        "required": ["query"],
        "additionalProperties": False,
        "$defs": {"Filter": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
    export = export_tools([Tool(name="t", description="d", input_schema=schema)], FORMAT)
    function = export.tools[0]["function"]
    assert function["description"] == "d\n\nWhere and how."
    assert set(function["parameters"]) == {"type", "properties", "required"}
    properties = function["parameters"]["properties"]
    assert properties["sort"] == {"enum": ["a", "b"], "type": "string", "description": "Order."}
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}}
    assert set(properties["query"]) == set(properties["filter"]) == {"type", "description"}
    assert '"a":{"type":"integer"}' in properties["filter"]["description"]
    assert {loss.path for loss in export.losses} >= {"/properties/query", "/$defs/Filter"}
    same = Tool(name="t", description="Weather.", input_schema={**SCHEMA, "description": "Weather."})
    assert export_tools([same], FORMAT).tools[0]["function"] == {**WEATHER["function"], "name": "t"}


@pytest.mark.parametrize(
    ("choice", "names", "refused"),
    [
        ("auto", ["weather", "clock"], 0),
        ("required", ["weather", "clock"], 1),
        ("clock", ["clock"], 1),
        (["clock"], ["clock"], 0),
    ],
)
def test_a_choice_is_emulated_or_refused(choice, names, refused):
    export = export_tools([weather(), clock()], FORMAT, choice=choice)
    assert list(export.payload) == ["tools"]
    assert [tool["function"]["name"] for tool in export.payload["tools"]] == names
    assert len(export.refused) == refused


def test_choice_none_sends_no_tools_and_parallel_false_is_refused():
    assert export_tools([weather()], FORMAT, choice="none").payload == {}
    assert export_tools([weather()], FORMAT, parallel=False).refused == (
        Refusal("", "parallel=False: ollama has no way to ask for one call at a time"),
    )


def test_functions_are_imported_and_other_tools_refused():
    export = export_tools([weather(), clock()], FORMAT)
    for given in (export.payload, export.payload["tools"]):
        assert export_tools(import_tools(given, FORMAT), FORMAT).payload == export.payload
    assert import_tools(WEATHER, FORMAT)[0].input_schema == SCHEMA
    with pytest.raises(WireError, match=r"at \[0\].type: got .custom.; expected 'function'"):
        import_tools([{"type": "custom"}], FORMAT)


@pytest.mark.external
def test_generated_ids_are_not_sent():
    said = {"content": "I look.", "thinking": "hm"}
    body = response(asked(), asked(city="Rome"), asked(city="Rome"), **said)
    calls = decode_calls(body, FORMAT)
    assert [(call.name, call.arguments, call.extras) for call in calls] == [
        ("weather", {"city": "Paris"}, {FORMAT: {"message": said}}),
        ("weather", {"city": "Rome"}, None),
        ("weather", {"city": "Rome"}, None),
    ]
    assert len({call.id for call in calls}) == 3
    assert decode_calls(body, FORMAT) == calls, "the same ids each time"
    assert encode_calls(calls, FORMAT) == [body["message"]]
    assert decode_calls(encode_calls(calls, FORMAT), FORMAT) == calls
    made = validated("ollama:ChatResponse", body)
    for given in (made, made.message, made.model_dump(), body["message"], [body["message"]]):
        assert decode_calls(given, FORMAT) == calls
    text = ToolCall("call_1", "weather", '{"city": "Paris"}')
    assert encode_calls([text], FORMAT) == [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", **asked()}]}
    ]
    broken = ToolCall("call_1", "weather", '{"ci')
    assert encode_calls([broken], FORMAT)[0]["tool_calls"] == [{"id": "call_1", **asked(INVALID_JSON='{"ci')}]


def test_ids_from_newer_servers_are_sent_back():
    body = response({"id": "call_a", **asked()}, asked(city="Rome"))
    first, second = calls = decode_calls(body, FORMAT)
    assert first == ToolCall("call_a", "weather", {"city": "Paris"})
    assert encode_calls(calls, FORMAT) == [body["message"]]
    assert encode_results([(first, ToolResult.ok(5, "")), (second, FAILED)], FORMAT) == [
        {"role": "tool", "tool_name": "weather", "content": "5", "tool_call_id": "call_a"},
        {
            "role": "tool",
            "tool_name": "weather",
            "content": '{"error":{"type":"failed","message":"no such city"}}',
        },
    ]
    assert decode_calls(response({"id": "a", **asked()}, {"id": "a", **asked()}), FORMAT)[1] == twin(
        ToolCall("a", "weather", {"city": "Paris"})
    )


@pytest.mark.external
def test_a_stream_gives_the_calls_of_its_message_raw_and_from_the_sdk():
    events = [
        response(done=False, thinking="h"),
        response(done=False, thinking="m"),
        response(done=False, content="I look."),
        response(asked(), done=False),
        response(asked(city="Rome"), done=False),
        response(),
    ]
    wanted = decode_calls(response(asked(), asked(city="Rome"), content="I look.", thinking="hm"), FORMAT)
    assert decode_calls(events, FORMAT) == wanted
    assert decode_calls([validated("ollama:ChatResponse", event) for event in events], FORMAT) == wanted
    decoder = StreamDecoder(FORMAT)
    assert [len(decoder.feed(event)) for event in events] == [0, 0, 0, 1, 1, 0]
    assert decoder.close() == []


def test_nonsense_is_ignored_in_a_stream_and_malformed_in_a_message():
    decoder = StreamDecoder(FORMAT)
    for event in ({}, {"message": 5}, {"message": {"tool_calls": 5, "content": []}}):
        assert decoder.feed(event) == []
    (call,) = decode_calls(response({"function": {"name": "", "arguments": [1]}}), FORMAT)
    assert call.malformed == "the call names no tool; the arguments are not an object"
    with pytest.raises(WireError, match="expected a response, its message, or a list of calls"):
        decode_calls({"error": "model not found"}, FORMAT)


@pytest.mark.external
def test_images_with_data_are_sent():
    call = ToolCall("call_1", "weather", "{}")
    encoded = encode_results([(call, ToolResult(message="seen", value=None, content=EVERY_PART))], FORMAT)
    kinds = ("image", "image", "audio", "audio", "video", "document", "document")
    assert encoded.losses == (
        *(Loss("weather", f"/content/{at}", kind, "left out") for at, kind in enumerate(kinds, 1)),
        Loss("weather", "/content/8", "document", "reshaped", "its text is appended to the result"),
    )
    assert encoded[0].pop("content").startswith("seen\n\n[image left out")
    images = ["iVBORw=="]
    assert encoded == [{"role": "tool", "tool_name": "weather", "tool_call_id": "call_1", "images": images}]
    assert validated("ollama:Message", {**encoded[0], "images": None}).tool_name == "weather"
