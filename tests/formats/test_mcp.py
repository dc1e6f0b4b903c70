"""MCP: three revisions, effects as hints, requests as calls, results with structured content."""

import json
from itertools import product
from typing import Any

import pytest

from tests.cases import each_case
from toolhaft import Document, Effect, Image, Tool, ToolCall, ToolResult, tool
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
from toolhaft.formats.mcp import effect_of

NEWEST, WITH_TASKS, OLDEST = "2026-07-28", "2025-11-25", "2025-06-18"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CAUTIOUS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def weather(**options: Any) -> Tool[Any, Any]:
    return Tool(name="weather", description="Weather.", input_schema=SCHEMA, **options)


def test_the_newest_revision_is_the_default_and_marks_the_list_as_complete():
    made = weather(
        title="Weather now", when_to_use="For walks", output_schema={"type": "number"}, effect="read"
    )
    export = export_tools([made], "mcp")
    assert export.dialect == NEWEST
    assert export.losses == ()
    assert export.payload == {
        "resultType": "complete",
        "tools": [
            {
                "name": "weather",
                "title": "Weather now",
                "description": "Weather.\n\nWhen to use: For walks",
                "inputSchema": SCHEMA,
                "outputSchema": {"type": "number"},
                "annotations": {
                    "readOnlyHint": True,
                    "destructiveHint": False,
                    "idempotentHint": True,
                    "openWorldHint": True,
                },
            }
        ],
        "ttlMs": 0,
        "cacheScope": "private",
    }


@pytest.mark.parametrize("dialect", [WITH_TASKS, OLDEST])
def test_older_revisions_list_only_the_tools(dialect):
    assert export_tools([weather()], "mcp", dialect=dialect).payload == {
        "tools": [
            {"name": "weather", "description": "Weather.", "inputSchema": SCHEMA, "annotations": CAUTIOUS}
        ]
    }
    assert export_tools([], "mcp", dialect=dialect).payload == {"tools": []}


@pytest.mark.parametrize("effect", list(Effect))
def test_an_effect_is_exported_as_four_hints_and_imported(effect):
    payload = export_tools([weather(effect=effect)], "mcp").payload
    annotations = payload["tools"][0]["annotations"]
    assert set(annotations) == set(CAUTIOUS)
    again = import_tools(payload, "mcp")[0]
    assert (again.effect, again.metadata) == (effect, {})


def test_imported_hints_are_kept_while_they_mean_the_same_effect():
    for read, destroy, repeat, world in product((True, False, None), repeat=4):
        hints = {
            "readOnlyHint": read,
            "destructiveHint": destroy,
            "idempotentHint": repeat,
            "openWorldHint": world,
        }
        given = {key: value for key, value in hints.items() if value is not None}
        listed = {"name": "x", "inputSchema": {"type": "object"}, "annotations": given}
        made = import_tools(listed, "mcp")[0]
        assert made.effect is effect_of(given)
        again = export_tools([made], "mcp").tools[0]["annotations"]
        assert again.items() >= given.items()
        assert effect_of(again) is made.effect
        changed = made.replace(effect="read" if made.effect != "read" else "irreversible")
        assert effect_of(export_tools([changed], "mcp").tools[0]["annotations"]) is changed.effect


@each_case(
    ("annotations", "effect"),
    [
        ({}, "irreversible"),
        ({"readOnlyHint": True, "destructiveHint": True}, "read"),
        ({"idempotentHint": True}, "idempotent"),
        ({"destructiveHint": False}, "irreversible"),
        ({"openWorldHint": False}, "irreversible"),
        ({"destructiveHint": False, "openWorldHint": False}, "reversible"),
        ({"readOnlyHint": "true"}, "irreversible"),
    ],
)
def test_hints_are_read_with_the_protocols_defaults(annotations, effect):
    assert effect_of(annotations) == effect


def test_titles_icons_meta_and_execution_are_restored_in_revisions_that_have_them():
    listed = {
        "name": "x",
        "description": "X.",
        "inputSchema": SCHEMA,
        "annotations": {**CAUTIOUS, "title": "Ex"},
        "icons": [{"src": "https://example.com/x.png"}],
        "execution": {"taskSupport": "optional"},
        "_meta": {"example.com/team": "core"},
    }
    made = import_tools({"tools": [listed]}, "mcp")[0]
    assert made.title == "Ex"
    kept = {"mcp": {"annotations": listed["annotations"], "(absent)": ["title"]}}
    hints = {key: listed[key] for key in ("icons", "execution", "_meta")}
    assert made.metadata == {"wire": {**hints, "fields": kept}}
    full = listed
    assert export_tools([made], "mcp", dialect=WITH_TASKS).tools == [full]
    assert export_tools([made], "mcp", dialect=WITH_TASKS).losses == ()
    newest = export_tools([made], "mcp")
    assert newest.tools == [{key: value for key, value in full.items() if key != "execution"}]
    assert newest.losses == (Loss("x", "", "metadata.wire.execution", "left out", f"not in {NEWEST}"),)
    oldest = export_tools([made], "mcp", dialect=OLDEST)
    assert oldest.tools == [{key: value for key, value in full.items() if key not in {"execution", "icons"}}]
    assert oldest.losses == (
        Loss("x", "", "metadata.wire.icons", "left out", f"not in {OLDEST}"),
        Loss("x", "", "metadata.wire.execution", "left out", f"not in {OLDEST}"),
    )


def test_a_different_title_in_the_annotations_is_kept():
    listed = {"name": "x", "title": "One", "inputSchema": SCHEMA, "annotations": {"title": "Two"}}
    made = import_tools(listed, "mcp")[0]
    assert made.title == "One"
    assert export_tools([made], "mcp").tools == [listed]
    read = export_tools([made.replace(effect="read")], "mcp").tools[0]["annotations"]
    assert (read["readOnlyHint"], read["title"]) == (True, "Two")


DEFS = {"$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}}


@each_case(
    ("schema", "listed", "done"),
    [
        ({"type": "object", "title": "T"}, {"type": "object", "title": "T"}, None),
        (
            {"$ref": "#/$defs/Node", **DEFS},
            {"type": "object", "$ref": "#/$defs/Node", **DEFS},
            ("reshaped", "with type: object at its root"),
        ),
        (
            {"anyOf": [{"type": "object"}, {"$ref": "#/$defs/Node"}], **DEFS},
            {"type": "object", "anyOf": [{"type": "object"}, {"$ref": "#/$defs/Node"}], **DEFS},
            ("reshaped", "with type: object at its root"),
        ),
        (
            {"type": "array", "items": {"$ref": "#/$defs/Node"}, **DEFS},
            {
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
                "required": ["result"],
                **DEFS,
            },
            ("reshaped", "the value is under 'result'"),
        ),
        (
            {"enum": ["a", 1, None]},
            {"type": "object", "properties": {"result": {"enum": ["a", 1, None]}}, "required": ["result"]},
            ("reshaped", "the value is under 'result'"),
        ),
        (
            {"allOf": [{"minLength": 1}, {"type": "string"}]},
            {
                "type": "object",
                "properties": {"result": {"allOf": [{"minLength": 1}, {"type": "string"}]}},
                "required": ["result"],
            },
            ("reshaped", "the value is under 'result'"),
        ),
        (
            {"oneOf": [{"$ref": "#/$defs/Node"}, {"type": "string"}], **DEFS},
            None,
            ("left out", "its root is not always an object"),
        ),
        (
            {"$ref": "#/$defs/Text", "$defs": {"Text": {"const": "a"}}},
            {
                "type": "object",
                "properties": {"result": {"$ref": "#/$defs/Text"}},
                "required": ["result"],
                "$defs": {"Text": {"const": "a"}},
            },
            ("reshaped", "the value is under 'result'"),
        ),
        ({"type": ["object", "null"]}, None, ("left out", "its root is not always an object")),
        ({"minimum": 1}, None, ("left out", "its root is not always an object")),
        (True, None, ("left out", "its root is not always an object")),
        (
            {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}},
            None,
            ("left out", "its root is not always an object"),
        ),
        (
            {"$id": "urn:x", "type": "string"},
            None,
            ("left out", "its root is not always an object"),
        ),
    ],
)
def test_older_revisions_list_outputs_that_are_objects(schema, listed, done):
    made = weather(output_schema=schema)
    reported = () if done is None else (Loss("weather", "", "output_schema", *done),)
    newest = export_tools([made], "mcp")
    assert newest.tools[0]["outputSchema"] == ({} if schema is True else schema)
    for dialect in (WITH_TASKS, OLDEST):
        export = export_tools([made], "mcp", dialect=dialect)
        assert export.tools[0].get("outputSchema") == listed
        assert export.losses == reported
        again = import_tools(export.payload, "mcp")[0]
        assert again.metadata == {}
        if done is None or "result" in done[1]:
            assert again.output_schema == schema


def test_the_wrapper_mark_without_a_wrapper_is_ignored():
    listed = {
        "name": "x",
        "inputSchema": SCHEMA,
        "outputSchema": {"type": "object", "properties": {"a": {}}},
        "_meta": {"toolhaft/wrapped": True},
    }
    assert import_tools(listed, "mcp")[0].output_schema == listed["outputSchema"]


def test_an_output_that_is_always_null_is_left_out():
    reported = Loss("weather", "", "output_schema", "left out", "it is always null")
    for dialect in (NEWEST, WITH_TASKS, OLDEST):
        export = export_tools([weather(output_schema={"type": "null"})], "mcp", dialect=dialect)
        assert ("outputSchema" in export.tools[0], export.losses) == (False, (reported,))


def test_a_boolean_output_schema_is_reported():
    reported = Loss("weather", "", "output_schema", "reshaped", "true and false as an object")
    for schema, listed in ((True, {}), (False, {"not": {}})):
        export = export_tools([weather(output_schema=schema)], "mcp")
        assert (export.tools[0]["outputSchema"], export.losses) == (listed, (reported,))


def test_the_root_of_an_input_schema_may_have_any_keyword():
    schema = {**SCHEMA, "anyOf": [{"required": ["city"]}], "if": {}, "then": {}}
    made = Tool(name="x", description="X.", input_schema=schema)
    for dialect in (NEWEST, WITH_TASKS, OLDEST):
        export = export_tools([made], "mcp", dialect=dialect)
        assert (export.tools[0]["inputSchema"], export.losses) == (schema, ())


def test_tools_are_imported_from_a_reply_a_list_or_a_single_tool():
    listed = {"name": "x", "inputSchema": SCHEMA}
    reply = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [listed], "ttlMs": 5}}
    for given in (reply, reply["result"], [listed], listed, json.dumps(reply)):
        (made,) = import_tools(given, "mcp")
        assert (made.name, made.description, made.input_schema) == ("x", "x", SCHEMA)


@each_case(
    ("given", "message"),
    [
        ({"tools": 5}, "mcp at tools: got 5; expected a list"),
        ({"name": "x"}, "mcp: 'inputSchema' is missing; expected an object with 'inputSchema'"),
    ],
)
def test_a_list_of_the_wrong_shape_is_an_error_with_its_path(given, message):
    with pytest.raises(WireError) as caught:
        import_tools(given, "mcp")
    assert str(caught.value) == message


@each_case(
    ("payload", "reported"),
    [
        (
            {"result": {"tools": [{"name": "x", "inputSchema": True}]}},
            "mcp at result.tools[0].inputSchema: got true; expected a JSON Schema",
        ),
        ([{"name": 1, "inputSchema": {}}], "mcp at [0].name: got 1; expected text"),
        (
            [{"name": "x", "inputSchema": {}, "annotations": 1}],
            "mcp at [0].annotations: got 1; expected an object",
        ),
    ],
)
def test_a_bad_tool_is_refused_with_its_path(payload, reported):
    (refused,) = import_tools(payload, "mcp").refused
    assert reported in refused.reason


def test_a_choice_is_emulated_or_refused():
    other = Tool(name="other", description="Other.", input_schema=SCHEMA)
    export = export_tools([weather(), other], "mcp", choice=["other"], parallel=False, dialect=OLDEST)
    assert [listed["name"] for listed in export.tools] == ["other"]
    assert [str(refusal) for refusal in export.refused] == [
        "request: parallel=False: mcp has no way to ask for one call at a time"
    ]
    forced = export_tools([other], "mcp", choice="required")
    assert [refusal.tool for refusal in forced.refused] == [""]


def request(id: object, name: str, arguments: object, **more: object) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, **more}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def test_requests_are_decoded_and_replayed_unchanged():
    requests = [
        request("a", "weather", {"city": "Oslo"}),
        request(7, "weather", {"city": "東京"}, _meta={"progressToken": "p"}, task={"ttl": 5}),
    ]
    calls = decode_calls(requests, "mcp")
    assert calls == [
        ToolCall("a", "weather", {"city": "Oslo"}),
        ToolCall(
            "7",
            "weather",
            {"city": "東京"},
            extras={"mcp": {"id": 7, "params": {"_meta": {"progressToken": "p"}, "task": {"ttl": 5}}}},
        ),
    ]
    assert encode_calls(calls, "mcp") == requests
    assert decode_calls(requests[1], "mcp") == calls[1:]
    assert decode_calls(json.dumps(requests), "mcp") == calls


def test_params_without_a_request_get_a_generated_id_and_are_replayed_without_a_request():
    params = {"name": "weather", "arguments": {"city": "Oslo"}, "requestState": "s"}
    (call,) = decode_calls(params, "mcp")
    assert call.id.startswith("call_")
    assert encode_calls([call], "mcp") == [params]
    assert decode_calls(encode_calls([call], "mcp"), "mcp") == [call]


@pytest.mark.parametrize("params", [{"name": "x"}, {"name": "x", "arguments": None}])
def test_absent_arguments_are_an_empty_object(params):
    assert decode_calls({"id": "a", "method": "tools/call", "params": params}, "mcp") == [
        ToolCall("a", "x", {})
    ]


def test_an_empty_id_is_an_id():
    calls = [ToolCall("", "x", {"a": 1})]
    assert encode_calls(calls, "mcp") == [request("", "x", {"a": 1})]
    assert decode_calls(encode_calls(calls, "mcp"), "mcp") == calls


def test_text_arguments_are_sent_as_an_object():
    assert encode_calls([ToolCall("a", "x", '{"a": 1}'), ToolCall("b", "x", "{broken")], "mcp") == [
        request("a", "x", {"a": 1}),
        request("b", "x", {"INVALID_JSON": "{broken"}),
    ]


@each_case(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"name": "x"}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
        [],
    ],
)
def test_other_messages_of_the_protocol_hold_no_calls(message):
    assert decode_calls(message, "mcp") == []


@each_case(
    ("message", "id", "problem"),
    [
        ({"id": "a", "method": "tools/call"}, "a", "the call names no tool"),
        ({"id": "a", "method": "tools/call", "params": {"name": 5}}, "a", "the call names no tool"),
        (request("a", "x", [1]), "a", "the arguments are not an object"),
        (request(True, "x", {}), None, "the call has no valid id"),
        (request(1.5, "x", {}), None, "the call has no valid id"),
    ],
)
def test_a_broken_request_is_a_malformed_call(message, id, problem):
    (call,) = decode_calls(message, "mcp")
    assert call.malformed == problem
    assert id is None or call.id == id


def test_a_message_of_another_shape_is_refused():
    for given in ({"tools": []}, {"id": "a"}, {}):
        with pytest.raises(WireError, match="expected a tools/call request, or its params"):
            decode_calls(given, "mcp")
    with pytest.raises(WireError, match=r"mcp at \[1\]: got \{\}; expected a tools/call request"):
        decode_calls([{"name": "x"}, {}], "mcp")


def test_a_list_member_that_is_not_a_message_is_a_malformed_call():
    broken, sound = decode_calls([5, request("a", "x", {})], "mcp")
    assert broken.malformed == "the call names no tool; the arguments are not an object"
    assert sound == ToolCall("a", "x", {})


def test_a_number_and_the_same_text_are_duplicate_ids():
    first, second = decode_calls([request(1, "x", {}), request("1", "x", {})], "mcp")
    assert (first.malformed, second.malformed) == (None, "another call of the same turn has this id")


def test_a_connection_is_read_message_by_message():
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        request("a", "x", {"a": 1}),
        request("a", "x", {"a": 1}),
    ]
    decoder = StreamDecoder("mcp")
    assert decoder.feed(messages[0]) == []
    assert decoder.feed(messages[1]) == [ToolCall("a", "x", {"a": 1})]
    assert decoder.feed(messages[2])[0].malformed == "another call of the same turn has this id"
    assert decoder.close() == []
    lines = "\n".join(json.dumps(message) for message in messages[:2])
    assert decode_calls(lines, "mcp") == decode_calls(f"data: {json.dumps(messages[1])}\n\n", "mcp")


def results(dialect: str, *given: ToolResult[Any]) -> list[Any]:
    return encode_results(given, "mcp", calls=[ToolCall("a", "x", {})] * len(given), dialect=dialect)


def test_results_carry_structured_content_as_the_revision_has_it():
    table = ToolResult.ok({"n": 1}), ToolResult(value=[1, 2])
    texts = [[{"type": "text", "text": 'OK\n\n{"n":1}'}], [{"type": "text", "text": "[1,2]"}]]
    assert results(NEWEST, *table) == [
        {"resultType": "complete", "content": texts[0], "structuredContent": {"n": 1}},
        {"resultType": "complete", "content": texts[1], "structuredContent": [1, 2]},
    ]
    for dialect in (WITH_TASKS, OLDEST):
        assert results(dialect, *table) == [
            {"content": texts[0], "structuredContent": {"n": 1}},
            {"content": texts[1], "structuredContent": {"result": [1, 2]}},
        ]


def test_an_error_is_flagged_and_has_no_structured_content():
    assert results(OLDEST, ToolResult.error("no such city", {"city": "X"})) == [
        {"content": [{"type": "text", "text": 'no such city\n\n{"city":"X"}'}], "isError": True}
    ]


def test_a_result_without_text_has_no_content():
    assert results(OLDEST, ToolResult()) == [{"content": []}]


def test_media_follow_the_text():
    result = ToolResult(
        message="Here",
        content=(Image(data=b"\x00"), Document(data=b"hi", media_type="text/plain", name="a b.txt")),
    )
    assert results(OLDEST, result) == [
        {
            "content": [
                {"type": "text", "text": "Here"},
                {"type": "image", "data": "AA==", "mimeType": "image/png"},
                {
                    "type": "resource",
                    "resource": {"uri": "attachment:///a%20b.txt", "mimeType": "text/plain", "text": "hi"},
                },
            ]
        }
    ]


@tool
def listing() -> list[int]:
    """List numbers."""
    return [1]


def test_structured_content_fits_the_listed_output_schema():
    for dialect in (NEWEST, WITH_TASKS, OLDEST):
        listed = export_tools([listing], "mcp", dialect=dialect).tools[0]["outputSchema"]
        (result,) = results(dialect, ToolResult(value=[1]))
        fits = Tool(name="x", description="X.", output_schema=listed)
        assert fits.check_output(result["structuredContent"]) is None
