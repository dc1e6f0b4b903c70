"""Gemini's generateContent: both dialects, calls with and without ids, signatures, partial arguments."""

import pytest

from tests.cases import each_case
from toolhaft import Tool, ToolCall, ToolResult
from toolhaft.core.content import Document, Image, Video
from toolhaft.errors import WireError
from toolhaft.formats import (
    Choice,
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
HEAD = {"name": "search_database", "description": "Search the database for matching records"}
SEED = {"function_declarations": [{**HEAD, "parameters": SCHEMA}]}
THOUGHT = {"text": "Where?", "thought": True}
PLAN = {"text": "Let me see."}
FOREIGN = "skip_thought_signature_validator"
CUT = "the message ended before the call was complete"


def search(**options):
    return Tool(**HEAD, input_schema=SCHEMA, **options)


def call_part(name, args, id=None, **more):
    call = {"name": name, "args": args} if id is None else {"id": id, "name": name, "args": args}
    return {"functionCall": call, **more}


def response(*parts, reason="STOP"):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "modelVersion": "gemini-3.5-pro"}


# --- tools out and in ---------------------------------------------------------------------------------


def test_json_schema_has_its_own_field():
    assert export_tools([search()], "gemini").payload == {
        "tools": [{"functionDeclarations": [{**HEAD, "parametersJsonSchema": SCHEMA}]}]
    }


def test_the_format_of_the_seed_is_exported_exactly_in_its_dialect():
    assert export_tools([search()], "gemini", dialect="parameters").payload == {"tools": [SEED]}


def test_a_tool_without_parameters_has_no_parameters_field():
    tool = Tool(name="now", description="The time", input_schema={"type": "object", "properties": {}})
    payload = export_tools([tool], "gemini", dialect="parameters").payload
    assert payload == {"tools": [{"function_declarations": [{"name": "now", "description": "The time"}]}]}
    (again,) = import_tools(payload, "gemini")
    assert again.input_schema == {"type": "object", "properties": {}}


def test_an_output_schema_and_a_behavior_are_exported_and_imported():
    output = {"type": "array", "items": {"$ref": "#/$defs/Row"}, "$defs": {"Row": {"type": "object"}}}
    tool = search(output_schema=output, metadata={"wire": {"behavior": "NON_BLOCKING"}})
    export = export_tools([tool], "gemini")
    assert export.tools == [
        {
            **HEAD,
            "parametersJsonSchema": SCHEMA,
            "responseJsonSchema": output,
            "behavior": "NON_BLOCKING",
        }
    ]
    assert [str(loss) for loss in export.losses] == [
        "search_database: metadata.wire.behavior kept (only the Live API reads it)"
    ]
    (again,) = import_tools(export.payload, "gemini")
    assert (again.output_schema, again.metadata) == (output, {"wire": {"behavior": "NON_BLOCKING"}})


def test_an_output_schema_that_the_format_refuses_is_reported():
    export = export_tools([search(output_schema={"type": "integer", "exclusiveMinimum": 0})], "gemini")
    assert export.tools[0]["responseJsonSchema"]["type"] == "integer"
    assert [(loss.path, loss.keyword, loss.done) for loss in export.losses] == [
        ("/output_schema", "exclusiveMinimum", "moved to description")
    ]
    left_out = export_tools([search(output_schema={"type": "object"})], "gemini", dialect="parameters")
    assert left_out.payload == {"tools": [SEED]}
    assert [str(loss) for loss in left_out.losses] == ["search_database: output_schema left out"]
    never = {"allOf": [{"type": "string"}, {"type": "integer"}]}
    for output in (never, True):
        export = export_tools([search(output_schema=output)], "gemini")
        assert export.tools == [{**HEAD, "parametersJsonSchema": SCHEMA}]
        assert [(loss.keyword, loss.done) for loss in export.losses] == [("output_schema", "left out")]


@each_case(
    ("choice", "mode", "names"),
    [
        ("auto", "AUTO", None),
        ("none", "NONE", None),
        ("required", "ANY", None),
        ("search_database", "ANY", ["search_database"]),
        (["search_database"], "VALIDATED", ["search_database"]),
        (Choice(mode="required", tools=("search_database", "other")), "ANY", ["search_database", "other"]),
    ],
)
def test_a_choice_in_either_dialect(choice, mode, names):
    tools = [search(), Tool(name="other", description="Other", input_schema=SCHEMA)]
    camel = {"mode": mode} if names is None else {"mode": mode, "allowedFunctionNames": names}
    assert export_tools(tools, "gemini", choice=choice).payload["toolConfig"] == {
        "functionCallingConfig": camel
    }
    snake = {"mode": mode} if names is None else {"mode": mode, "allowed_function_names": names}
    payload = export_tools(tools, "gemini", choice=choice, dialect="parameters").payload
    assert payload["tool_config"] == {"function_calling_config": snake}


@each_case(
    "payload",
    [
        {"tools": [SEED]},
        [SEED],
        SEED,
        SEED["function_declarations"],
        {**HEAD, "parameters": SCHEMA},
        {"tools": [{"functionDeclarations": [{**HEAD, "parametersJsonSchema": SCHEMA}]}]},
        {"function_declarations": [{**HEAD, "parameters_json_schema": SCHEMA}]},
    ],
)
def test_tools_are_read_from_every_shape(payload):
    (made,) = import_tools(payload, "gemini")
    assert (made.name, made.description, made.input_schema) == (*HEAD.values(), SCHEMA)


def test_a_schema_message_is_read_as_json_schema():
    message = {
        "type": "OBJECT",
        "properties": {
            "max_items": {"type": "STRING", "nullable": True, "enum": ["a", "b"]},
            "list": {"type": "ARRAY", "items": {"type": "NUMBER"}, "max_items": 3, "example": [1]},
            "either": {"any_of": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True},
            "maybe": {"type": "BOOLEAN", "nullable": True},
        },
        "property_ordering": ["list", "other", "either"],
    }
    (made,) = import_tools({**HEAD, "parameters": message, "response": {"type": "STRING"}}, "gemini")
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "max_items": {"type": ["string", "null"], "enum": ["a", "b", None]},
            "list": {"type": "array", "items": {"type": "number"}, "maxItems": 3},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "maybe": {"type": ["boolean", "null"]},
        },
    }
    assert [*made.input_schema["properties"]] == ["list", "either", "max_items", "maybe"]
    assert made.output_schema == {"type": "string"}


@each_case(
    ("payload", "reported"),
    [
        (
            {"tools": [{"function": {"name": "x"}}]},
            "expected 'parameters' or 'parametersJsonSchema'",
        ),
        ({"tools": [{"functionDeclarations": 3}]}, "tools[0].functionDeclarations: got 3; expected a list"),
        ({"functionDeclarations": [{}]}, "functionDeclarations[0]: 'name' is missing"),
    ],
)
def test_a_payload_of_another_shape_is_an_error_with_its_path(payload, reported):
    with pytest.raises(WireError) as caught:
        import_tools(payload, "gemini")
    assert reported in str(caught.value)


def test_older_parameters_are_exported_again_unchanged_unless_the_schema_is_another():
    message = {
        "type": "OBJECT",
        "properties": {"a": {"type": "STRING", "nullable": True, "example": "x"}, "b": {"type": "INTEGER"}},
        "propertyOrdering": ["b", "a"],
    }
    declared = {**HEAD, "parameters": message}
    (made,) = import_tools([declared], "gemini")
    assert export_tools([made], "gemini").tools == [declared]
    assert export_tools([made], "mcp").losses == ()
    other = Tool(**HEAD, input_schema=SCHEMA, metadata=made.metadata)
    (changed,) = export_tools([other], "gemini").tools
    assert changed == {**HEAD, "parametersJsonSchema": SCHEMA}


@each_case(
    "fields",
    [
        {"parameters_json_schema": SCHEMA, "response_json_schema": {"type": "string"}},
        {"parameters_json_schema": SCHEMA, "responseJsonSchema": {"type": "string"}},
        {
            "parameters": {
                "type": "OBJECT",
                "properties": {"a": {"type": "STRING", "enum": ["x"], "nullable": True}},
            }
        },
        {"parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a", "b"]}},
        {"parameters": {"type": 6, "properties": {"a": {"type": 1}, "b": {"type": 5, "items": {"type": 3}}}}},
        {
            "parameters": {"type": "OBJECT"},
            "response": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
        },
    ],
)
def test_a_schema_under_any_key_is_exported_again_unchanged(fields):
    (made,) = import_tools([{**HEAD, **fields}], "gemini")
    (written,) = export_tools([made], "gemini").tools
    assert written == {**HEAD, **fields}
    old = [key for key in fields if key != "responseJsonSchema"]
    assert [key for key in written if key in old] == old  # in each process: providers cache the same text
    assert not [loss for loss in export_tools([made], "mcp").losses if "wire" in loss.keyword]
    changed = Tool(
        **HEAD, input_schema={"type": "object"}, output_schema={"type": "number"}, metadata=made.metadata
    )
    assert '"string"' not in export_tools([changed], "gemini").json_bytes.decode().lower()


def test_a_bad_function_is_refused_with_its_path():
    (refused,) = import_tools([{"name": "x", "parameters": []}], "gemini").refused
    assert "[0].parameters: got []; expected a Schema" in refused.reason


# --- calls in and out ---------------------------------------------------------------------------------


def test_signatures_and_other_parts_are_replayed():
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    parts = [
        THOUGHT,
        PLAN,
        call_part("search_database", {"query": "tea"}, "a", thoughtSignature="c2ln"),
        call_part("search_database", {"query": "cup"}, "b"),
        code,
        call_part("search_database", {"query": "pot"}, "c"),
        {"text": "", "thoughtSignature": "bGFzdA=="},
    ]
    calls = decode_calls(response(*parts), "gemini")
    assert [call.extras for call in calls] == [
        {"gemini": {"before": [THOUGHT, PLAN], "block": {"thoughtSignature": "c2ln"}}},
        None,
        {"gemini": {"before": [code], "after": [{"text": "", "thoughtSignature": "bGFzdA=="}]}},
    ]
    assert encode_calls(calls, "gemini") == [{"role": "model", "parts": parts}]


def test_a_generated_id_is_never_sent():
    parts = [call_part("search_database", {"query": "tea"}), call_part("search_database", {"query": "tea"})]
    calls = decode_calls(response(*parts), "gemini")
    assert len({call.id for call in calls}) == 2
    assert [call.malformed for call in calls] == [None, None]
    assert encode_calls(calls, "gemini") == [{"role": "model", "parts": parts}]
    answers = [ToolResult(value=1), ToolResult(value=2)]
    assert encode_results(answers, "gemini", calls=calls) == [
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "search_database", "response": {"output": number}}}
                for number in (1, 2)
            ],
        }
    ]


def test_only_the_first_call_of_a_foreign_history_gets_the_placeholder_signature():
    calls = [ToolCall("a", "search_database", {}), ToolCall("b", "search_database", {})]
    encoded = encode_calls(calls, "gemini")
    assert encoded == [
        {
            "role": "model",
            "parts": [
                call_part("search_database", {}, "a", thoughtSignature=FOREIGN),
                call_part("search_database", {}, "b"),
            ],
        }
    ]
    assert decode_calls(encoded, "gemini") == calls


def test_an_unsigned_call_from_gemini_stays_unsigned():
    parts = [call_part("search_database", {}, "a"), call_part("search_database", {}, "b")]
    assert encode_calls(decode_calls(response(*parts), "gemini"), "gemini")[0]["parts"] == parts


@each_case(
    "given",
    [
        response({"text": ""}, call_part("x", {}, "a")),
        response(call_part("x", {}, "a"))["candidates"][0],
        {"role": "model", "parts": [call_part("x", {}, "a")]},
        [{"role": "model", "parts": [call_part("x", {}, "a")]}],
        [call_part("x", {}, "a")],
        call_part("x", {}, "a"),
        [response(call_part("x", {}, "a"), reason=None), response({"text": ""})],
    ],
)
def test_calls_are_read_from_responses_contents_parts_and_lists_of_chunks(given):
    assert decode_calls(given, "gemini") == [ToolCall("a", "x", {}, extras={"gemini": {"unsigned": True}})]


def test_dumped_sdk_objects_with_snake_case_nulls_and_bytes_are_decoded():
    dumped = {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "Where?", "thought": True, "function_call": None, "inline_data": None},
                        {
                            "text": None,
                            "thought": None,
                            "function_call": {
                                "id": "a",
                                "name": "x",
                                "args": {"snake_case": None},
                                "partial_args": None,
                                "will_continue": None,
                            },
                            "thought_signature": b"sig",
                        },
                    ],
                },
                "finish_reason": "STOP",
            }
        ],
        "usage_metadata": None,
    }
    whole = response(THOUGHT, call_part("x", {"snake_case": None}, "a", thoughtSignature="c2ln"))
    assert decode_calls(dumped, "gemini") == decode_calls(whole, "gemini")
    assert decode_calls([dumped], "gemini") == decode_calls(whole, "gemini")


@each_case(
    "given",
    [
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": []},
        {"candidates": [{"content": None}]},
        {"candidates": [{"content": {"role": "model"}}]},
        {"role": "model", "parts": []},
    ],
)
def test_a_blocked_or_empty_response_has_no_calls(given):
    assert decode_calls(given, "gemini") == []


@each_case(
    ("given", "reported"),
    [
        ({"candidates": 3}, "candidates: got 3; expected a list of candidates"),
        ({"candidates": [3]}, "candidates[0]: got 3; expected a candidate"),
        ({"candidates": [{"content": {"parts": 3}}]}, "candidates[0].content.parts: got 3; expected a list"),
        ({"candidates": [{"content": {"parts": [3]}}]}, "candidates[0].content.parts[0]: got 3"),
        ({"x": 1}, "'parts' is missing"),
        ([3], "[0]: got 3; expected an object"),
    ],
)
def test_a_message_of_another_shape_is_an_error_with_its_path(given, reported):
    with pytest.raises(WireError) as caught:
        decode_calls(given, "gemini")
    assert reported in str(caught.value)


@each_case(
    ("part", "problem"),
    [
        (call_part("", {}, "a"), "the call names no tool"),
        (call_part("x", [1], "a"), "the arguments are not an object"),
        (call_part("x", {}, 7), "the call has no valid id"),
        ({"functionCall": 3}, "the call names no tool; the arguments are not an object"),
    ],
)
def test_nonsense_in_a_call_makes_it_malformed(part, problem):
    (call,) = decode_calls([part], "gemini")
    assert problem in call.malformed


def test_a_call_that_the_server_reports_as_malformed_is_malformed():
    parts = [call_part("x", {}, "a"), call_part("x", {}, "b")]
    first, second = decode_calls(response(*parts, reason="MALFORMED_FUNCTION_CALL"), "gemini")
    assert (first.malformed, second.malformed) == (None, CUT)
    whole = decode_calls(response(*parts, reason="MAX_TOKENS"), "gemini")  # calls are never half-said here
    assert [call.malformed for call in whole] == [None, None]


# --- results back -------------------------------------------------------------------------------------


def test_results_are_objects_with_an_output_or_an_error():
    given = [
        ToolResult(value=[1, 2]),
        ToolResult.ok({"temp": 21}),
        ToolResult.ok({"temp": 21}, message="Measured"),
        ToolResult.ok("sunny", message=""),
        ToolResult.error("no such city"),
        ToolResult(success=False),
    ]
    calls = [ToolCall(f"id {at}", "weather", "{}") for at, _ in enumerate(given)]
    (content,) = encode_results(given, "gemini", calls=calls)
    assert content["role"] == "user"
    assert [part["functionResponse"]["response"] for part in content["parts"]] == [
        {"output": [1, 2]},
        {"output": {"temp": 21}},
        {"output": 'Measured\n\n{"temp":21}'},
        {"output": "sunny"},
        {"error": "no such city"},
        {"error": "failed"},
    ]
    assert content["parts"][0] == {
        "functionResponse": {"id": "id 0", "name": "weather", "response": {"output": [1, 2]}}
    }


def test_media_are_sent_as_data_or_by_url():
    result = ToolResult(
        message="Seen",
        content=(Image(data=b"png"), Video(data=b"mp4"), Document(url="gs://bucket/a.pdf")),
    )
    (content,) = encode_results([result], "gemini", calls=[ToolCall("a", "look", "{}")])
    assert content["parts"][0]["functionResponse"] == {
        "id": "a",
        "name": "look",
        "response": {"output": "Seen"},
        "parts": [
            {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
            {"inlineData": {"mimeType": "video/mp4", "data": "bXA0"}},
            {"fileData": {"fileUri": "gs://bucket/a.pdf", "mimeType": "application/pdf"}},
        ],
    }


def test_names_that_the_format_refuses_are_changed_and_restored():
    tool = Tool(name="7zip", description="Packs", input_schema=SCHEMA)
    export = export_tools([tool], "gemini")
    assert export.names == {"_7zip": "7zip"}
    call = ToolCall("", "7zip", {"query": "x"})
    assert decode_calls(encode_calls([call], "gemini", export=export), "gemini", export=export) == [call]
