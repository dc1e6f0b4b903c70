"""Bedrock's Converse: tools, calls, results and the other blocks of a message."""

import json

import pytest

from tests.cases import each_case
from toolhaft import Tool, ToolCall, ToolResult
from toolhaft.core.content import Audio, Document, Image, Video
from toolhaft.errors import WireError
from toolhaft.formats import (
    StreamDecoder,
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "The search query"},
        "limit": {"type": "integer", "description": "Maximum results"},
    },
    "required": ["query"],
}
SEED = {
    "toolSpec": {
        "name": "search_database",
        "description": "Search the database for matching records",
        "inputSchema": {"json": SCHEMA},
    }
}
REASONING = {"reasoningContent": {"reasoningText": {"text": "Where?", "signature": "c2ln"}}}
REDACTED = {"reasoningContent": {"redactedContent": b"opaque"}}
KEPT_REDACTED = {"reasoningContent": {"redactedContent": "b3BhcXVl"}}
PLAN = {"text": "Let me see."}
CUT = "the message ended before the call was complete"


def search(**options):
    return Tool(
        name="search_database",
        description="Search the database for matching records",
        input_schema=SCHEMA,
        **options,
    )


def use(id, name, given, **more):
    return {"toolUse": {"toolUseId": id, "name": name, "input": given, **more}}


def response(*blocks, reason="tool_use"):
    return {"output": {"message": {"role": "assistant", "content": list(blocks)}}, "stopReason": reason}


SERVED = use("srv_1", "nova_grounding", {"query": "tea"}, type="server_tool_use")
SERVED_RESULT = {
    "toolResult": {
        "toolUseId": "srv_1",
        "type": "server_tool_use",
        "content": [{"text": "Found"}, {"json": {}}],
    }
}


# --- tools out and in ---------------------------------------------------------------------------------


def test_the_format_of_the_seed_is_exported_exactly():
    assert export_tools([search()], "bedrock").payload == {"toolConfig": {"tools": [SEED]}}


def test_a_strict_tool_is_marked_strict():
    (made,) = export_tools([search()], "bedrock", strict=True).tools
    closed = {**SCHEMA, "additionalProperties": False}
    assert made == {"toolSpec": {**SEED["toolSpec"], "inputSchema": {"json": closed}, "strict": True}}


def test_a_cache_point_follows_its_tool_and_is_imported_with_it():
    hints = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    last = Tool(name="last", description="Last", metadata={"wire": {"cache_control": {"type": "ephemeral"}}})
    payload = export_tools([search(metadata={"wire": hints}), last], "bedrock").payload
    assert [tool for tool in payload["toolConfig"]["tools"] if "toolSpec" not in tool] == [
        {"cachePoint": {"type": "default", "ttl": "1h"}},
        {"cachePoint": {"type": "default"}},
    ]
    assert payload["toolConfig"]["tools"][0] == SEED
    assert [tool.metadata for tool in import_tools(payload, "bedrock")] == [
        {"wire": hints},
        {"wire": {"cache_control": {"type": "ephemeral"}}},
    ]


@pytest.mark.parametrize(
    ("choice", "form"),
    [
        ("auto", {"auto": {}}),
        ("required", {"any": {}}),
        ("search_database", {"tool": {"name": "search_database"}}),
    ],
)
def test_a_choice_has_exactly_one_member(choice, form):
    assert export_tools([search()], "bedrock", choice=choice).payload["toolConfig"]["toolChoice"] == form


def test_choice_none_sends_no_tools_and_parallel_is_refused():
    export = export_tools([search()], "bedrock", choice="none", parallel=False)
    assert export.payload == {}
    assert [str(refusal) for refusal in export.refused] == [
        "request: parallel=False: bedrock has no way to ask for one call at a time"
    ]


def test_a_list_of_tools_and_a_single_tool_are_imported():
    for payload in ({"toolConfig": {"tools": [SEED]}}, {"tools": [SEED]}, [SEED], SEED):
        (made,) = import_tools(payload, "bedrock")
        assert (made.name, made.input_schema) == ("search_database", SCHEMA)


@each_case(
    ("payload", "reported"),
    [
        (
            [{"function": {"name": "x"}}],
            "'toolSpec' is missing; expected a 'toolSpec', or a tool that AWS defines",
        ),
        ({"toolConfig": {"tools": {}}}, "toolConfig.tools: got {}; expected a list"),
        ([7], "[0]: got 7; expected an object"),
    ],
)
def test_a_payload_of_another_shape_is_an_error_with_its_path(payload, reported):
    with pytest.raises(WireError) as caught:
        import_tools(payload, "bedrock")
    assert reported in str(caught.value)


@each_case(
    ("payload", "reported"),
    [
        ([{"toolSpec": {"name": "x"}}], "[0].toolSpec: 'inputSchema' is missing"),
        ([{"toolSpec": {"name": "x", "inputSchema": {"json": 1}}}], "expected a JSON Schema"),
    ],
)
def test_a_bad_tool_is_refused_with_its_path(payload, reported):
    (refused,) = import_tools(payload, "bedrock").refused
    assert reported in refused.reason


# --- calls in and out ---------------------------------------------------------------------------------


def test_other_blocks_are_stored_with_the_next_call_or_the_last_one():
    blocks = [
        REASONING,
        REDACTED,
        PLAN,
        use("a", "search_database", {"query": "tea"}),
        SERVED,
        SERVED_RESULT,
        use("b", "search_database", {"query": "cup"}),
        {"text": "Done."},
    ]
    calls = decode_calls(response(*blocks), "bedrock")
    assert calls == [
        ToolCall(
            "a",
            "search_database",
            {"query": "tea"},
            extras={"bedrock": {"before": [REASONING, KEPT_REDACTED, PLAN]}},
        ),
        ToolCall(
            "b",
            "search_database",
            {"query": "cup"},
            extras={"bedrock": {"before": [SERVED, SERVED_RESULT], "after": [{"text": "Done."}]}},
        ),
    ]
    assert encode_calls(calls, "bedrock") == [{"role": "assistant", "content": blocks}]


@each_case(
    "given",
    [
        response({"text": " "}, use("a", "x", {})),
        {"role": "assistant", "content": [use("a", "x", {})]},
        [use("a", "x", {})],
        use("a", "x", {}),
        [{"role": "assistant", "content": [use("a", "x", {})]}],
    ],
)
def test_calls_are_read_from_responses_messages_and_blocks(given):
    assert decode_calls(given, "bedrock") == [ToolCall("a", "x", {})]


@each_case(
    ("given", "reported"),
    [
        ({"stream": object(), "ResponseMetadata": {}}, "expected its events: response['stream']"),
        ({"output": {}}, "output: 'message' is missing"),
        ({"output": {"message": {"content": 3}}}, "output.message.content: got 3; expected a list of blocks"),
        ({"output": {"message": {"content": [3]}}}, "output.message.content[0]: got 3; expected an object"),
        ({"x": 1}, "'content' is missing"),
    ],
)
def test_a_message_of_another_shape_is_an_error_with_its_path(given, reported):
    with pytest.raises(WireError) as caught:
        decode_calls(given, "bedrock")
    assert reported in str(caught.value)


@each_case(
    ("block", "problem"),
    [
        (use(None, "x", {}), "the call has no valid id"),
        (use("a", "", {}), "the call names no tool"),
        (use("a", "x", [1]), "the arguments are not an object"),
        ({"toolUse": "x"}, "the call names no tool; the call has no valid id"),
    ],
)
def test_nonsense_in_a_call_makes_it_malformed(block, problem):
    (call,) = decode_calls([block], "bedrock")
    assert problem in call.malformed


@pytest.mark.parametrize(
    "reason",
    ["max_tokens", "malformed_tool_use", "malformed_model_output", "model_context_window_exceeded"],
)
def test_only_the_last_call_of_a_truncated_message_is_malformed(reason):
    first, second = decode_calls(
        response(use("a", "x", {}), use("b", "x", {"q": 1}), reason=reason), "bedrock"
    )
    assert (first.malformed, second.malformed, second.arguments.text) == (None, CUT, '{"q":1}')


def test_a_second_call_with_the_same_id_is_malformed():
    first, second = decode_calls([use("a", "x", {}), use("a", "x", {})], "bedrock")
    assert (first.malformed, second.malformed) == (None, "another call of the same turn has this id")


# --- streams ------------------------------------------------------------------------------------------


def start(index, body):
    return {"contentBlockStart": {"start": body, "contentBlockIndex": index}}


def deltas(index, *pieces):
    return [{"contentBlockDelta": {"delta": piece, "contentBlockIndex": index}} for piece in pieces]


def stop(index):
    return {"contentBlockStop": {"contentBlockIndex": index}}


def ended(reason):
    return [{"messageStop": {"stopReason": reason}}, {"metadata": {"usage": {}, "metrics": {}}}]


def streamed_use(index, id, *pieces, **more):
    begun = start(index, {"toolUse": {"toolUseId": id, "name": "x", **more}})
    return [begun, *deltas(index, *({"toolUse": {"input": piece}} for piece in pieces)), stop(index)]


EVENTS = [
    {"messageStart": {"role": "assistant"}},
    *deltas(
        0,
        *({"reasoningContent": piece} for piece in ({"text": "Whe"}, {"text": "re?"}, {"signature": "c2ln"})),
    ),
    stop(0),
    *deltas(
        1,
        {"reasoningContent": {"redactedContent": b"opa"}},
        {"reasoningContent": {"redactedContent": b"que"}},
    ),
    stop(1),
    *deltas(2, {"text": "Let me "}, {"text": "see."}),
    stop(2),
    *deltas(3, {"text": "Tea"}, {"citation": {"title": "On tea"}}, {"text": " is hot."}),
    stop(3),
    *streamed_use(4, "a", '{"que', 'ry": "tea"}'),
    start(5, {"toolUse": {"toolUseId": "srv_1", "name": "nova_grounding", "type": "server_tool_use"}}),
    *deltas(5, {"toolUse": {"input": '{"query": '}}, {"toolUse": {"input": '"tea"}'}}),
    stop(5),
    start(6, {"toolResult": {"toolUseId": "srv_1", "type": "server_tool_use"}}),
    *deltas(6, {"toolResult": [{"text": "Fo"}]}, {"toolResult": [{"text": "und"}, {"json": {}}]}),
    stop(6),
    start(7, {"image": {"format": "png"}}),
    *deltas(7, {"image": {"source": {"bytes": b"pn"}}}, {"image": {"source": {"bytes": b"g"}}}),
    stop(7),
    *streamed_use(8, "b"),
    *ended("tool_use"),
]
CITED = {"citationsContent": {"content": [{"text": "Tea is hot."}], "citations": [{"title": "On tea"}]}}
WHOLE = response(
    REASONING,
    REDACTED,
    PLAN,
    CITED,
    use("a", "x", {"query": "tea"}),
    SERVED,
    SERVED_RESULT,
    {"image": {"format": "png", "source": {"bytes": b"png"}}},
    use("b", "x", {}),
)


def test_a_stream_gives_the_calls_of_the_whole_message():
    assert decode_calls(EVENTS, "bedrock") == decode_calls(WHOLE, "bedrock")
    assert decode_calls(iter(EVENTS), "bedrock") == decode_calls(WHOLE, "bedrock")


def test_a_call_is_returned_as_soon_as_it_is_complete():
    decoder = StreamDecoder("bedrock")
    given = [(event, [call.id for call in decoder.feed(event)]) for event in EVENTS]
    assert [(event, ids) for event, ids in given if ids] == [
        (stop(4), ["a"]),
        ({"messageStop": {"stopReason": "tool_use"}}, ["b"]),
    ]


@each_case("end", range(1, len(EVENTS)))
def test_a_stream_truncated_anywhere_gives_every_call_that_began(end):
    starts = [event["contentBlockStart"]["start"] for event in EVENTS[:end] if "contentBlockStart" in event]
    begun = [body["toolUse"]["toolUseId"] for body in starts if "toolUse" in body]
    calls = decode_calls(EVENTS[:end], "bedrock")
    assert [call.id for call in calls] == [id for id in begun if id != "srv_1"]
    for call, whole in zip(calls, decode_calls(WHOLE, "bedrock"), strict=False):
        assert call.malformed or call.arguments == whole.arguments


def test_a_truncated_streamed_call_is_malformed():
    events = [
        *streamed_use(0, "a", "{}"),
        *streamed_use(1, "b", '{"query": "t'),
        *ended("malformed_tool_use"),
    ]
    first, second = decode_calls(events, "bedrock")
    assert first == ToolCall("a", "x", {})
    assert (second.arguments.text, second.malformed) == ('{"query": "t', CUT)


@each_case(
    "event",
    [
        {"contentBlockStart": {"start": 3, "contentBlockIndex": []}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}, "contentBlockIndex": {}}},
        {"contentBlockDelta": {"delta": {"toolUse": 3, "image": 4, "toolResult": 5, "reasoningContent": 6}}},
        {"contentBlockDelta": {"delta": {"text": "a", "toolUse": {"input": "{}"}}, "contentBlockIndex": 1}},
        {"contentBlockDelta": None},
        {"contentBlockStop": {}},
        {"messageStop": {"stopReason": []}},
        {},
    ],
)
def test_invalid_events_are_ignored(event):
    decoder = StreamDecoder("bedrock")
    assert decoder.feed(event) == []
    assert decoder.feed(start(1, {"toolUse": {"toolUseId": "a", "name": "x"}})) == []
    assert [call.malformed for call in decoder.close()] == [CUT]


# --- results back -------------------------------------------------------------------------------------


def results(*given, dialect=None):
    calls = [ToolCall(f"tool:{at}", "x", "{}") for at, _ in enumerate(given)]
    (message,) = encode_results(given, "bedrock", calls=calls, dialect=dialect)
    assert message["role"] == "user"
    return [block["toolResult"] for block in message["content"]]


def test_object_values_are_sent_as_json_and_others_as_text():
    given = results(
        ToolResult(value={"temp": 21}),
        ToolResult.ok({"temp": 21}),
        ToolResult.ok({"temp": 21}, message="Measured"),
        ToolResult(value=[1, 2]),
        ToolResult.ok("sunny", message=""),
        ToolResult(),
    )
    assert [result["content"] for result in given] == [
        [{"json": {"temp": 21}}],
        [{"json": {"temp": 21}}],
        [{"text": "Measured"}, {"json": {"temp": 21}}],
        [{"text": "[1,2]"}],
        [{"text": "sunny"}],
        [{"text": "OK"}],
    ]
    assert given[0] == {"toolUseId": "tool:0", "content": [{"json": {"temp": 21}}], "status": "success"}


def test_an_error_has_the_error_status():
    assert results(ToolResult.error("no such city"), ToolResult(success=False)) == [
        {"toolUseId": "tool:0", "content": [{"text": "no such city"}], "status": "error"},
        {"toolUseId": "tool:1", "content": [{"text": "failed"}], "status": "error"},
    ]


def test_media_are_bytes_for_boto3_and_base64_for_http_and_others_are_described():
    result = ToolResult(
        message="Seen",
        content=(
            Image(data=b"png"),
            Image(url="s3://bucket/a.png"),
            Image(url="https://example.org/a.png"),
            Image(data=b"tiff", media_type="image/tiff"),
            Video(data=b"mp4"),
            Audio(data=b"wav"),
        ),
    )
    (made,), (plain,) = results(result), results(result, dialect="http")
    assert made["content"] == [
        {
            "text": "Seen\n\n[image left out: image/png]\n\n[image left out: image/tiff]\n\n"
            "[audio left out: audio/wav]"
        },
        {"image": {"format": "png", "source": {"bytes": b"png"}}},
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}}},
        {"video": {"format": "mp4", "source": {"bytes": b"mp4"}}},
    ]
    assert plain["content"][1] == {"image": {"format": "png", "source": {"bytes": "cG5n"}}}


def test_documents_have_valid_and_unique_names():
    documents = (
        Document(data=b"%PDF", name="Q1_report: draft\t2.pdf"),
        Document(data=b"%PDF", name="Q1_report: draft 2.pdf"),
        Document(data=b"a,b", media_type="text/csv"),
        Document(data=b"x", media_type="text/markdown", name="n" * 300),
    )
    (made,) = results(ToolResult(content=documents))
    assert [part["document"] for part in made["content"]] == [
        {"format": "pdf", "name": "Q1-report- draft 2-pdf", "source": {"bytes": b"%PDF"}},
        {"format": "pdf", "name": "Q1-report- draft 2-pdf (2)", "source": {"bytes": b"%PDF"}},
        {"format": "csv", "name": "document tool-0", "source": {"bytes": b"a,b"}},
        {"format": "md", "name": "n" * 200, "source": {"bytes": b"x"}},
    ]


def test_valid_ids_are_kept_and_others_are_restored():
    export = export_tools([search()], "bedrock")
    calls = [ToolCall("tool.use:1-a", "search_database", {}), ToolCall("ä" * 80, "search_database", {})]
    encoded = encode_calls(calls, "bedrock", export=export)
    ids = [block["toolUse"]["toolUseId"] for block in encoded[0]["content"]]
    assert ids[0] == "tool.use:1-a"
    assert encoded.ids == {ids[1]: "ä" * 80}
    assert decode_calls(encoded, "bedrock", export=export) == calls


def test_redacted_reasoning_is_stored_as_json_and_sent_back_as_bytes():
    hidden = {"reasoningContent": {"redactedContent": b"\x00\x01"}}
    asked = {"toolUse": {"toolUseId": "tooluse_1", "name": "weather", "input": {}}}
    message = {"role": "assistant", "content": [hidden, asked]}
    calls = decode_calls(message, "bedrock")
    assert json.loads(json.dumps(encode_calls(calls, "native")))
    assert encode_calls(calls, "bedrock") == [message]
    text = {"reasoningContent": {"redactedContent": "AAE="}}
    over_http = {"role": "assistant", "content": [text, asked]}
    assert encode_calls(calls, "bedrock", dialect="http") == [over_http]
    assert decode_calls(over_http, "bedrock") == calls
