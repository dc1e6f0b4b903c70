"""Cohere: strict for the whole request, a plan before the calls, values and documents as documents."""

import pytest

from tests.cases import each_case
from tests.formats.chat_tools import EVERY_PART, FAILED, PARIS, SCHEMA, clock, cut, twin, weather
from tests.formats.sdk_objects import sdk_class
from toolhaft import Document, Tool, ToolCall, ToolResult
from toolhaft.errors import WireError
from toolhaft.formats import (
    Loss,
    StreamDecoder,
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)

FORMAT = "cohere"
WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA},
}
SAID = {
    "tool_plan": "I will look.",
    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "So:"}],
    "citations": [{"start": 0, "end": 1, "text": "I"}],
}


def _constructed(name, body):
    construct = sdk_class("cohere.core.unchecked_base_model:construct_type")
    return construct(type_=sdk_class(f"cohere.v2.types:{name}"), object_=body)


def asked(id="call_1", name="weather", arguments='{"city": "Paris"}'):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def response(*calls, reason="TOOL_CALL", **said):
    message = {"role": "assistant", **said, "tool_calls": [*calls]}
    return {"id": "x", "finish_reason": reason, "message": message}


def event(kind, index=None, **message):
    made = {"type": kind, "delta": {"message": message}}
    return made if index is None else {**made, "index": index}


def begun(index, id, name):
    return event("tool-call-start", index, tool_calls=asked(id, name, ""))


def more(index, text):
    return event("tool-call-delta", index, tool_calls={"function": {"arguments": text}})


def over(index):
    return {"type": "tool-call-end", "index": index}


def ended(reason="TOOL_CALL"):
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": {}}}


def test_strict_is_one_field_for_all_tools():
    assert export_tools([weather()], FORMAT).payload == {"tools": [WEATHER]}
    assert export_tools([weather()], FORMAT, strict=True).payload == {
        "tools": [WEATHER],
        "strict_tools": True,
    }


def test_the_strict_subset_has_no_bounds_and_its_objects_need_a_required_property():
    schema = {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "minimum": 1},
            "when": {"type": "string", "format": "date"},
            "site": {"type": "string", "format": "uri"},
        },
    }
    export = export_tools([Tool(name="t", description="d", input_schema=schema)], FORMAT, strict=True)
    parameters = export.tools[0]["function"]["parameters"]
    assert parameters["properties"]["when"] == {"type": "string", "format": "date"}
    assert "minimum" not in parameters["properties"]["limit"]
    assert "format" not in parameters["properties"]["site"]
    assert parameters["required"] == ["limit"]
    assert {(loss.path, loss.keyword) for loss in export.losses} >= {
        ("/properties/limit", "minimum"),
        ("/properties/site", "format"),
    }


@each_case(
    ("choice", "written", "names"),
    [
        ("auto", {}, ["weather", "clock"]),
        ("none", {"tool_choice": "NONE"}, ["weather", "clock"]),
        ("required", {"tool_choice": "REQUIRED"}, ["weather", "clock"]),
        ("clock", {"tool_choice": "REQUIRED"}, ["clock"]),
        (["clock"], {}, ["clock"]),
    ],
)
def test_every_choice_is_expressed_or_emulated(choice, written, names):
    export = export_tools([weather(), clock()], FORMAT, choice=choice)
    payload = dict(export.payload)
    assert [tool["function"]["name"] for tool in payload.pop("tools")] == names
    assert (payload, export.refused) == (written, ())


def test_names_begin_with_a_letter_and_have_no_dashes():
    export = export_tools([weather().replace(name="get-weather"), weather().replace(name="2nd")], FORMAT)
    assert export.names == {"get_weather": "get-weather", "_2nd": "2nd"}


def test_functions_are_imported_and_other_tools_refused():
    export = export_tools([weather(), clock()], FORMAT)
    for given in (export.payload, export.payload["tools"]):
        assert export_tools(import_tools(given, FORMAT), FORMAT).payload == export.payload
    with pytest.raises(WireError, match=r"at \[0\].type: got .custom.; expected 'function'"):
        import_tools([{"type": "custom"}], FORMAT)


@pytest.mark.external
def test_a_message_is_replayed_with_its_plan():
    body = response(asked(), asked("call_2", "clock", "{}"), **SAID)
    calls = decode_calls(body, FORMAT)
    assert calls == [
        ToolCall("call_1", "weather", PARIS.arguments, extras={FORMAT: {"message": SAID}}),
        ToolCall("call_2", "clock", "{}"),
    ]
    assert encode_calls(calls, FORMAT) == [body["message"]]
    assert encode_calls([PARIS], FORMAT) == [{"role": "assistant", "tool_calls": [asked()]}]
    made = _constructed("V2ChatResponse", body)
    for given in (made, made.message, body["message"], [body["message"]], made.model_dump(), made.dict()):
        assert decode_calls(given, FORMAT) == calls


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "ERROR", "TIMEOUT"])
def test_only_complete_calls_of_a_truncated_message_are_valid(reason):
    for text, call in ((PARIS.arguments, PARIS), ('{"ci', cut(PARIS, '{"ci')), ("", cut(PARIS, ""))):
        assert decode_calls(response(asked(arguments=text), reason=reason), FORMAT) == [call]
        events = [begun(0, "call_1", "weather"), more(0, text), over(0), ended(reason)]
        assert decode_calls(events, FORMAT) == [call]


STREAM = [
    {
        "type": "message-start",
        "id": "x",
        "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}},
    },
    event("tool-plan-delta", tool_plan="I will "),
    event("tool-plan-delta", tool_plan="look."),
    event("content-start", 0, content={"type": "thinking", "thinking": ""}),
    event("content-delta", 0, content={"thinking": "hm"}),
    {"type": "content-end", "index": 0},
    event("content-start", 1, content={"type": "text", "text": ""}),
    event("content-delta", 1, content={"text": "So:"}),
    {"type": "content-end", "index": 1},
    event("citation-start", 0, citations=SAID["citations"][0]),
    {"type": "citation-end", "index": 0},
    begun(0, "call_1", "weather"),
    more(0, '{"city": '),
    begun(1, "call_2", "clock"),
    more(1, "{}"),
    over(1),
    more(0, '"Paris"}'),
    over(0),
    ended(),
]


@pytest.mark.external
def test_a_stream_gives_the_calls_of_its_message_raw_and_from_the_sdk():
    wanted = decode_calls(response(asked(), asked("call_2", "clock", "{}"), **SAID), FORMAT)
    assert decode_calls(STREAM, FORMAT) == wanted
    events = [_constructed("V2ChatStreamResponse", event) for event in STREAM]
    assert decode_calls(events, FORMAT) == wanted
    assert decode_calls([event.model_dump() for event in events], FORMAT) == wanted
    decoder = StreamDecoder(FORMAT)
    assert [len(decoder.feed(event)) for event in STREAM[-4:]] == [0, 0, 0, 0]
    decoder = StreamDecoder(FORMAT)
    assert [len(calls) for calls in map(decoder.feed, STREAM) if calls] == [2]


def test_a_truncated_stream_leaves_malformed_calls():
    decoder = StreamDecoder(FORMAT)
    given = [call for made in STREAM[:14] for call in decoder.feed(made)]
    assert given == []
    extras = {FORMAT: {"message": SAID}}
    assert decoder.close() == [
        cut(ToolCall("call_1", "weather", extras=extras), '{"city": '),
        cut(ToolCall("call_2", "clock"), ""),
    ]


def test_nonsense_is_ignored_in_a_stream_and_malformed_in_a_message():
    decoder = StreamDecoder(FORMAT)
    for made in (
        {},
        {"type": 5},
        {"type": "tool-call-start", "delta": 5},
        {"type": "tool-call-delta", "index": [], "delta": {"message": {"tool_calls": 5}}},
        event("content-delta", 0, content={"text": "x"}),
        event("tool-plan-delta", tool_plan=5),
        {"type": "message-end", "delta": {"finish_reason": []}},
    ):
        assert decoder.feed(made) == []
    (call,) = decode_calls(response({"id": 5, "function": {"name": 5, "arguments": 5}}), FORMAT)
    assert (
        call.malformed == "the call names no tool; the call has no valid id; the arguments are not an object"
    )
    assert decode_calls(response(asked(), asked()), FORMAT) == [PARIS, twin(PARIS)]


def test_values_and_documents_become_document_blocks():
    value = {"c": 5, "where": {"city": "Paris"}}
    for result, content in (
        (ToolResult(message="", value=value), [{"type": "document", "document": {"data": value}}]),
        (
            ToolResult.ok(value, "Done"),
            [{"type": "text", "text": "Done"}, {"type": "document", "document": {"data": value}}],
        ),
        (ToolResult.ok([1, 2], "Done"), "Done\n\n[1,2]"),
        (ToolResult.error("no", {"a": 1}), '{"error":{"type":"failed","message":"no\\n\\n{\\"a\\":1}"}}'),
        (FAILED, '{"error":{"type":"failed","message":"no such city"}}'),
        (
            ToolResult(message="seen", value=None, content=(Document(url="https://example.org/a.pdf"),)),
            [
                {"type": "text", "text": "seen"},
                {"type": "document", "document": {"data": {"url": "https://example.org/a.pdf"}}},
            ],
        ),
    ):
        assert encode_results([(PARIS, result)], FORMAT) == [
            {"role": "tool", "tool_call_id": "call_1", "content": content}
        ]


def test_media_that_are_not_text_are_reported_as_lost():
    encoded = encode_results([(PARIS, ToolResult(message="seen", value=None, content=EVERY_PART))], FORMAT)
    kinds = ("image", "image", "image", "audio", "audio", "video", "document")
    assert encoded.losses == tuple(
        Loss("weather", f"/content/{at}", kind, "left out") for at, kind in enumerate(kinds)
    )
    assert encoded[0]["content"][1:] == [
        {"type": "document", "document": {"data": {"url": "https://example.org/a.pdf"}}},
        {"type": "document", "document": {"data": {"title": "table.csv", "text": "a,b"}}},
    ]
