"""The native format: the tool document with every field, calls and results, without losses."""

import json
from typing import Any

import pytest

from tests.cases import each_case
from toolhaft import (
    Audio,
    Document,
    Image,
    Tool,
    ToolCall,
    ToolExample,
    ToolRegistry,
    ToolResult,
    Video,
    tool,
)
from toolhaft.core.content import read_part
from toolhaft.errors import WireError
from toolhaft.formats import (
    StreamDecoder,
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)

SEED_001 = {
    "name": "search_database",
    "description": "Search the database for matching records",
    "input_schema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "The search query"},
            "limit": {"type": "integer", "description": "Maximum results"},
        },
        "required": ["query"],
    },
}
FULL = {
    **SEED_001,
    "when_to_use": "For records",
    "examples": [
        {"description": "Basic", "input": {"query": "tea"}, "output": ["tea"]},
        {"input": {"query": "cup", "limit": 2}},
    ],
    "metadata": {"author": "Data Team", "wire": {"cache_control": {"type": "ephemeral"}, "free_form": True}},
    "output_schema": {"type": "array", "items": {"type": "string"}},
    "effect": "read",
    "timeout_s": 3.5,
    "stall_s": 0.5,
    "retryable": False,
    "max_attempts": 5,
    "isolation": "thread",
    "requires": ["db:read"],
    "idempotency": ["query"],
    "rate": "100/min",
    "max_parallel": 2,
    "cache_s": 60.0,
    "title": "Search",
    "tags": ["search", "db"],
    "version": "1.2.0",
    "accepts_overrides": False,
}


def test_the_internal_format_of_the_seed_is_exported_exactly():
    made = Tool(**SEED_001)
    assert export_tools([made], "native").payload == {"tools": [SEED_001]}


def test_every_field_and_option_is_exported_and_imported_without_losses():
    made = Tool(**FULL)
    export = export_tools([made], "native")
    assert (export.payload, export.losses, export.refused) == ({"tools": [FULL]}, (), ())
    again = import_tools(export.payload, "native")[0]
    assert export_tools([again], "native").payload == {"tools": [FULL]}
    assert again.examples == made.examples == (ToolExample.read(FULL["examples"][0]), made.examples[1])


def test_a_registry_writes_and_reads_the_same_document():
    registry = ToolRegistry([Tool(**FULL), tool(_bare)])
    payload = export_tools(registry, "native").payload
    assert payload == registry.to_spec_dict()
    assert ToolRegistry.from_spec_dict(payload).to_spec_dict() == payload


def _bare() -> None:
    """Do nothing."""


def test_no_tools_are_an_empty_list():
    assert export_tools([], "native").payload == {"tools": []}


@pytest.mark.parametrize("given", [{"tools": [SEED_001]}, [SEED_001], SEED_001, json.dumps([SEED_001])])
def test_tools_are_imported_from_a_document_a_list_or_a_single_tool(given):
    assert [export_tools([made], "native").tools for made in import_tools(given, "native")] == [[SEED_001]]


@each_case(
    ("given", "message"),
    [
        (5, "native: got int; expected a JSON object, its text, or the SDK's own object"),
        ({"tools": {}}, "native at tools: got {}; expected a list"),
        ({"tools": [5]}, "native at tools[0]: got 5; expected the document of a tool"),
        ([{"name": "x"}], "native at [0]: 'description' is missing; expected an object with 'description'"),
    ],
)
def test_a_document_of_the_wrong_shape_is_an_error_with_its_path(given, message):
    with pytest.raises(WireError) as caught:
        import_tools(given, "native")
    assert str(caught.value) == message


@each_case(
    ("payload", "reported"),
    [
        (
            {**SEED_001, "name": 5},
            "native at name: got 5; expected text",
        ),
        ({**SEED_001, "input_schema": []}, "native at input_schema: got []; expected a JSON Schema"),
        (
            {"tools": [{**SEED_001, "titel": "x"}]},
            "native at tools[0]: no field 'titel'; did you mean 'title'?",
        ),
    ],
)
def test_a_bad_tool_is_refused_with_its_path(payload, reported):
    (refused,) = import_tools(payload, "native").refused
    assert reported in refused.reason


CALLS = [
    ToolCall("a", "search", '{"query": "tea",  "limit": 2}'),
    ToolCall("b", "search", {"query": "Tee 茶"}),
    ToolCall("", "ping", {}),
    ToolCall("", "ping", "{}"),
]


def test_calls_are_encoded_and_decoded_unchanged():
    messages = encode_calls(CALLS, "native")
    assert messages == [
        {
            "tool_calls": [
                {"id": "a", "name": "search", "arguments": '{"query": "tea",  "limit": 2}'},
                {"id": "b", "name": "search", "arguments": {"query": "Tee 茶"}},
                {"id": "", "name": "ping", "arguments": {}},
                {"id": "", "name": "ping", "arguments": "{}"},
            ]
        }
    ]
    (message,) = messages
    assert decode_calls(message, "native") == CALLS
    assert decode_calls(messages, "native") == CALLS
    assert decode_calls(message["tool_calls"], "native") == CALLS
    assert decode_calls(message["tool_calls"][1], "native") == [CALLS[1]]
    assert decode_calls(json.dumps(message), "native") == CALLS


def test_a_message_without_calls_has_none():
    assert decode_calls({"text": "hello"}, "native") == []
    assert decode_calls({"tool_calls": []}, "native") == []
    assert decode_calls({"tool_calls": None}, "native") == []


@pytest.mark.parametrize("given", [{"tool_calls": {}}, {"tool_calls": "x"}])
def test_calls_that_are_not_a_list_are_an_error(given):
    with pytest.raises(WireError, match=r"native at tool_calls: .*expected a list of calls"):
        decode_calls(given, "native")


@each_case(
    ("call", "problem"),
    [
        (5, "the call names no tool; the call has no valid id; the arguments are not an object"),
        ({"id": "a"}, "the call names no tool"),
        ({"id": "a", "name": ""}, "the call names no tool"),
        ({"id": 5, "name": "x", "arguments": {}}, "the call has no valid id"),
        ({"id": "a", "name": "x", "arguments": [1]}, "the arguments are not an object"),
    ],
)
def test_only_the_invalid_call_is_malformed(call, problem):
    good = {"id": "z", "name": "x", "arguments": {}}
    broken, sound = decode_calls({"tool_calls": [call, good]}, "native")
    assert broken.malformed == problem
    assert sound == ToolCall("z", "x", {})


def test_the_second_call_with_an_id_is_malformed():
    call = {"id": "a", "name": "x", "arguments": {}}
    for given in ({"tool_calls": [call, call]}, [{"call": call}, {"call": call}]):
        first, second = decode_calls(given, "native")
        assert (first.malformed, second.malformed) == (None, "another call of the same turn has this id")


EVENTS = [
    {"call": {"id": "w", "name": "whole", "arguments": {"a": 1}}},
    {"index": 0, "call": {"id": "a", "name": "x"}},
    {"index": 1, "call": {"id": "b", "name": "y", "extras": {"native": {"k": 1}}}},
    {"index": 0, "arguments": '{"a"'},
    {"index": 1, "arguments": "{}"},
    {"index": 1, "done": True},
    {"index": 0, "arguments": ": 2}", "done": True},
    {"index": 9, "arguments": "nobody's"},
    {"ping": 1},
]
STREAMED = [
    ToolCall("w", "whole", {"a": 1}),
    ToolCall("b", "y", "{}", extras={"native": {"k": 1}}),
    ToolCall("a", "x", '{"a": 2}'),
]


def test_a_stream_returns_each_call_when_it_is_complete():
    decoder = StreamDecoder("native")
    given = [decoder.feed(event) for event in EVENTS]
    assert given == [[STREAMED[0]], [], [], [], [], [STREAMED[1]], [STREAMED[2]], [], []]
    assert decoder.close() == []
    lines = "\n".join(json.dumps(event) for event in EVENTS)
    assert decode_calls(lines, "native") == decode_calls(EVENTS, "native") == STREAMED


def test_a_truncated_stream_leaves_its_calls_malformed():
    (call,) = decode_calls(EVENTS[1:2] + EVENTS[3:4], "native")
    assert (call.id, call.name) == ("a", "x")
    assert call.malformed == "the message ended before the call was complete"


def test_an_event_whose_index_is_not_a_number_is_an_error():
    with pytest.raises(WireError, match="native at index: got 'x'; expected a number"):
        decode_calls([{"index": "x", "arguments": ""}], "native")


def test_results_carry_text_value_failure_and_parts_that_can_be_read_back():
    parts = (
        Image(data=b"png"),
        Audio(data=b"wav", media_type="audio/mpeg"),
        Video(data=b"mp4"),
        Document(data=b"pdf", name="a.pdf"),
        Document(data=b"words", media_type="text/plain", name="notes.txt"),
        Image(url="https://example.com/cat.png"),
        Document(url="https://example.com/x", name="x.pdf"),
    )
    call = ToolCall("a", "shoot", {})
    good, bad = encode_results(
        [
            (call, ToolResult(message="Done", value={"n": 1}, content=parts)),
            (call, ToolResult.error("no light")),
        ],
        "native",
    )
    content: Any = good.pop("content")
    assert good == {"call_id": "a", "name": "shoot", "success": True, "value": {"n": 1}}
    assert content[0] == {"type": "text", "text": 'Done\n\n{"n":1}'}
    assert tuple(read_part(part) for part in content[1:]) == parts
    assert bad == {
        "call_id": "a",
        "name": "shoot",
        "success": False,
        "content": [{"type": "text", "text": "no light"}],
        "failure": {"kind": "failed"},
    }
