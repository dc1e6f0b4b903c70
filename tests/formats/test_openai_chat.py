"""Chat Completions: functions and free-form tools, deltas joined by index, results as text."""

import pytest

from tests.cases import each_case
from tests.formats.chat_tools import EVERY_PART, FAILED, PARIS, SCHEMA, clock, cut, script, twin, weather
from tests.formats.sdk_objects import validated
from toolhaft import ToolCall, ToolResult
from toolhaft.errors import WireError
from toolhaft.formats import (
    Choice,
    Loss,
    StreamDecoder,
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)

FORMAT = "openai_chat"
WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA},
}
GRAMMAR = {"syntax": "lark", "definition": "start: /a+/"}


def asked(id="call_1", name="weather", arguments='{"city": "Paris"}', **more):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def freely(id="call_2", text="print(1)"):
    return {"id": id, "type": "custom", "custom": {"name": "script", "input": text}}


def response(*calls, reason="tool_calls", **said):
    message = {"role": "assistant", "content": None, "refusal": None, "annotations": [], **said}
    return {
        "choices": [{"index": 0, "finish_reason": reason, "message": {**message, "tool_calls": [*calls]}}]
    }


def chunk(reason=None, index=0, **delta):
    return {
        "id": "x",
        "created": 1,
        "model": "m",
        "object": "chat.completion.chunk",
        "choices": [{"index": index, "delta": delta, "finish_reason": reason}],
    }


def piece(index, text, **more):
    return {"index": index, "function": {"arguments": text}, **more}


def opening(index, id, name="weather"):
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}


# --- tools ----------------------------------------------------------------------------------------


def test_functions_strict_functions_and_free_form_tools_are_exported():
    assert export_tools([weather(), clock()], FORMAT).payload == {
        "tools": [
            WEATHER,
            {
                "type": "function",
                "function": {
                    "name": "clock",
                    "description": "Time.",
                    "parameters": {"type": "object", "properties": {}},
                },
            },
        ]
    }
    strict = {**WEATHER["function"], "parameters": {**SCHEMA, "additionalProperties": False}, "strict": True}
    assert export_tools([weather()], FORMAT, strict=True).payload == {
        "tools": [{"type": "function", "function": strict}]
    }
    assert export_tools([script()], FORMAT).tools == [
        {"type": "custom", "custom": {"name": "script", "description": "Run."}}
    ]
    assert export_tools([script(GRAMMAR)], FORMAT).tools == [
        {
            "type": "custom",
            "custom": {
                "name": "script",
                "description": "Run.",
                "format": {"type": "grammar", "grammar": GRAMMAR},
            },
        }
    ]
    assert export_tools([script({"syntax": 5})], FORMAT).tools == export_tools([script()], FORMAT).tools


def test_a_free_form_tool_is_not_strict_and_a_loss_is_reported():
    export = export_tools([script()], FORMAT, strict=True)
    assert export.tools == export_tools([script()], FORMAT).tools
    assert "script: strict checked locally (a free-form tool has no strict form)" in map(str, export.losses)
    assert "strict" not in {loss.keyword for loss in export_tools([script()], FORMAT).losses}


@each_case(
    ("choice", "written"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("weather", {"type": "function", "function": {"name": "weather"}}),
        ("script", {"type": "custom", "custom": {"name": "script"}}),
        (
            ["weather", "script"],
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [
                        {"type": "function", "function": {"name": "weather"}},
                        {"type": "custom", "custom": {"name": "script"}},
                    ],
                },
            },
        ),
        (
            Choice(mode="required", tools=("weather", "clock")),
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [
                        {"type": "function", "function": {"name": "weather"}},
                        {"type": "function", "function": {"name": "clock"}},
                    ],
                },
            },
        ),
    ],
)
def test_every_choice_can_be_expressed(choice, written):
    export = export_tools([weather(), clock(), script()], FORMAT, choice=choice, parallel=False)
    assert {**export.payload, "tools": None} == {
        "tools": None,
        "tool_choice": written,
        "parallel_tool_calls": False,
    }


def test_tools_are_imported_from_a_payload_a_list_or_a_single_tool():
    export = export_tools([weather(), script(GRAMMAR)], FORMAT)
    for given in (export.payload, export.payload["tools"]):
        found = import_tools(given, FORMAT)
        assert [tool.name for tool in found] == ["weather", "script"]
        assert found[0].input_schema == SCHEMA
        assert found[1].metadata == {"wire": {"free_form": GRAMMAR}}
        assert export_tools(found, FORMAT).payload == export.payload
    (alone,) = import_tools(WEATHER, FORMAT)
    assert (alone.name, alone.description, alone.input_schema) == ("weather", "Weather.", SCHEMA)
    (bare,) = import_tools([{"type": "function", "function": {"name": "now"}}], FORMAT)
    assert bare.input_schema == {"type": "object", "properties": {}}


@each_case(
    ("payload", "problem"),
    [
        ({"tools": [{"type": "tool", "input_schema": {}}]}, "got .tool.; expected 'function'"),
        ({"tools": [{}]}, r"at tools\[0\]: 'function' is missing"),
        ({"tools": {}}, "at tools: got {}; expected a list"),
        ([{"type": "function"}], r"at \[0\]: 'function' is missing"),
        ([{"type": ["function"]}], r"at \[0\].type"),
    ],
)
def test_a_payload_of_the_wrong_shape_is_an_error_with_path_and_expectation(payload, problem):
    with pytest.raises(WireError, match=problem):
        import_tools(payload, FORMAT)


@each_case(
    ("payload", "reported"),
    [
        ([{"type": "function", "function": {"name": 5}}], "at [0].function.name: got 5; expected text"),
        ([{"type": "custom", "custom": []}], "at [0].custom: got []"),
    ],
)
def test_a_bad_tool_is_refused_with_its_path(payload, reported):
    (refused,) = import_tools(payload, FORMAT).refused
    assert reported in refused.reason


# --- calls ----------------------------------------------------------------------------------------


def test_a_message_is_replayed_with_its_other_fields():
    signed = {"google": {"thought_signature": "abc"}}
    body = response(
        asked(extra_content=signed),
        freely(),
        content="I look.",
        reasoning_content="hm",
        audio={"id": "audio_1", "data": "UklGRg==", "expires_at": 5, "transcript": "I look."},
    )
    calls = decode_calls(body, FORMAT)
    said = {"content": "I look.", "reasoning_content": "hm", "audio": {"id": "audio_1"}}
    assert calls == [
        ToolCall(
            "call_1",
            "weather",
            '{"city": "Paris"}',
            extras={FORMAT: {"message": said, "call": {"extra_content": signed}}},
        ),
        ToolCall("call_2", "script", {"input": "print(1)"}, extras={FORMAT: {"type": "custom"}}),
    ]
    assert encode_calls(calls, FORMAT) == [
        {"role": "assistant", **said, "tool_calls": [asked(extra_content=signed), freely()]}
    ]
    assert encode_calls([PARIS], FORMAT) == [{"role": "assistant", "content": None, "tool_calls": [asked()]}]


def test_calls_are_read_from_a_message_a_choice_and_lists():
    body = response(asked())
    message = body["choices"][0]["message"]
    for given in (body, body["choices"][0], message, [message], [asked()], encode_calls([PARIS], FORMAT)):
        assert decode_calls(given, FORMAT) == [PARIS]
    assert decode_calls([], FORMAT) == []
    for nonsense in ({"error": {"message": "no"}}, [[]], {"choices": [{"message": 5}]}):
        with pytest.raises(WireError, match="expected"):
            decode_calls(nonsense, FORMAT)


def test_a_free_form_call_is_mapped_to_the_parameter_and_back():
    export = export_tools([script()], FORMAT)
    (call,) = decode_calls(response(freely()), FORMAT, export=export)
    assert call.arguments == {"code": "print(1)"}
    assert encode_calls([call], FORMAT, export=export)[0]["tool_calls"] == [freely()]
    foreign = ToolCall("call_2", "script", '{"code": "print(1)"}')
    assert encode_calls([foreign], FORMAT, export=export)[0]["tool_calls"] == [freely()]
    (odd,) = decode_calls(response({"id": "a", "custom": {"name": "script", "input": [1]}}), FORMAT)
    assert odd.malformed == "the arguments are not an object"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_only_complete_calls_of_a_truncated_message_are_valid(reason):
    whole, empty = asked(), asked("call_9", "clock", "{}")
    assert decode_calls(response(whole, reason=reason), FORMAT) == [PARIS]
    assert decode_calls(response(empty, reason=reason), FORMAT) == [ToolCall("call_9", "clock", "{}")]
    for text in ("", '{"city": "Pa'):
        assert decode_calls(response(whole, asked("b", arguments=text), reason=reason), FORMAT) == [
            PARIS,
            cut(ToolCall("b", "weather"), text),
        ]
    free = ToolCall("call_2", "script", {}, extras={FORMAT: {"type": "custom"}})
    assert decode_calls(response(freely(), reason=reason), FORMAT) == [cut(free, "print(1)")]


def test_a_repeated_id_makes_the_second_call_malformed_whole_or_streamed():
    rome = ToolCall("call_1", "weather", '{"city": "Rome"}')
    wanted = [PARIS, twin(rome)]
    assert decode_calls(response(asked(), asked(arguments=rome.arguments)), FORMAT) == wanted
    events = [
        chunk(tool_calls=[opening(0, "call_1"), piece(0, PARIS.arguments)]),
        chunk(tool_calls=[opening(1, "call_1"), piece(1, rome.arguments)]),
        chunk("tool_calls"),
    ]
    assert decode_calls(events, FORMAT) == wanted


# --- streams --------------------------------------------------------------------------------------


EVENTS = [
    chunk(role="assistant", content="", refusal=None),
    chunk(content="I "),
    chunk(content="look."),
    chunk(tool_calls=[opening(0, "call_1")]),
    chunk(tool_calls=[piece(0, '{"city": ')]),
    chunk(tool_calls=[opening(1, "call_2", "clock")]),
    chunk(tool_calls=[piece(0, '"Paris"}'), piece(1, "{")]),
    chunk(tool_calls=[piece(1, "}")]),
    chunk(
        tool_calls=[
            {"index": 2, "id": "call_3", "type": "custom", "custom": {"name": "script", "input": "a"}}
        ]
    ),
    chunk(tool_calls=[{"index": 2, "custom": {"input": "b"}}]),
    chunk("tool_calls"),
    {"object": "chat.completion.chunk", "choices": [], "usage": {}},
]


def test_interleaved_calls_are_returned_in_order_like_those_of_the_whole_message():
    whole = response(asked(), asked("call_2", "clock", "{}"), freely("call_3", "ab"), content="I look.")
    wanted = decode_calls(whole, FORMAT)
    assert decode_calls(EVENTS, FORMAT) == wanted
    assert decode_calls(iter(EVENTS), FORMAT) == wanted
    decoder = StreamDecoder(FORMAT)
    given = [decoder.feed(event) for event in EVENTS]
    assert [len(calls) for calls in given] == [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0]
    assert decoder.close() == []


@pytest.mark.external
def test_chunks_of_the_sdk_are_decoded():
    events = [event for event in EVENTS[:8] if event["choices"]] + [chunk("tool_calls")]
    objects = [validated("openai.types.chat:ChatCompletionChunk", event) for event in events]
    wanted = decode_calls(response(asked(), asked("call_2", "clock", "{}"), content="I look."), FORMAT)
    assert decode_calls(objects, FORMAT) == wanted
    assert decode_calls([event.model_dump() for event in objects], FORMAT) == wanted


def test_a_truncated_stream_leaves_malformed_calls():
    decoder = StreamDecoder(FORMAT)
    assert [call for event in EVENTS[:6] for call in decoder.feed(event)] == []
    said = {FORMAT: {"message": {"content": "I look."}}}
    assert decoder.close() == [
        cut(ToolCall("call_1", "weather", extras=said), '{"city": '),
        cut(ToolCall("call_2", "clock"), ""),
    ]
    assert decoder.close() == []


def test_a_limit_in_a_stream_makes_only_the_incomplete_call_malformed():
    events = [
        chunk(tool_calls=[opening(0, "call_1"), piece(0, PARIS.arguments)]),
        chunk(tool_calls=[opening(1, "call_2"), piece(1, '{"ci')]),
        chunk("length"),
    ]
    assert decode_calls(events, FORMAT) == [PARIS, cut(ToolCall("call_2", "weather"), '{"ci')]


def test_servers_that_repeat_or_omit_the_index_are_supported():
    for key in ({"index": 0}, {}):
        events = [
            chunk(tool_calls=[{**asked(), **key}]),
            chunk(tool_calls=[{**asked("call_2", "clock", "{}"), **key}]),
        ]
        assert decode_calls([*events, chunk("tool_calls")], FORMAT) == [PARIS, ToolCall("call_2", "clock")]
    repeated = [
        chunk(tool_calls=[{**asked(arguments=text), "index": 0}]) for text in ('{"city"', ': "Paris"}', "")
    ]
    assert decode_calls([*repeated, chunk("stop")], FORMAT) == [PARIS]
    late = [
        chunk(tool_calls=[{**asked(), "index": 0}]),
        chunk(tool_calls=[{**asked("call_2", "clock", "{}"), "index": 1}]),
        chunk(tool_calls=[piece(0, " ")]),
        chunk("tool_calls"),
    ]
    assert decode_calls(late, FORMAT) == [PARIS, ToolCall("call_2", "clock")]


def test_nonsense_in_a_stream_is_ignored():
    decoder = StreamDecoder(FORMAT)
    for event in (
        {},
        {"choices": 5},
        {"choices": [5, {"index": 1, "delta": {"tool_calls": [asked()]}}]},
        {"choices": [{"delta": 5, "finish_reason": []}]},
        chunk(tool_calls=5),
        chunk(tool_calls=[5, None]),
    ):
        assert decoder.feed(event) == []
    odd = {"index": [], "id": {}, "function": {"name": ["f"], "arguments": 5}}
    assert decoder.feed(chunk(tool_calls=[odd, {"index": 1, "id": [], "function": 5}])) == []
    assert [call.malformed for call in decoder.feed(chunk("stop"))] == [
        "the call names no tool; the call has no valid id",
        "the call names no tool; the call has no valid id",
    ]


# --- results --------------------------------------------------------------------------------------


def test_results_are_text_and_media_follow_in_a_user_message():
    encoded = encode_results(
        [(PARIS, ToolResult.ok({"c": 5}, "Done")), (ToolCall("call_2", "weather"), FAILED)], FORMAT
    )
    assert encoded == [
        {"role": "tool", "tool_call_id": "call_1", "content": 'Done\n\n{"c":5}'},
        {
            "role": "tool",
            "tool_call_id": "call_2",
            "content": '{"error":{"type":"failed","message":"no such city"}}',
        },
    ]
    encoded = encode_results([(PARIS, ToolResult(message="seen", value=None, content=EVERY_PART))], FORMAT)
    left = ((2, "image"), (4, "audio"), (5, "video"), (7, "document"))
    assert encoded.losses == tuple(Loss("weather", f"/content/{at}", kind, "left out") for at, kind in left)
    assert encoded[0]["content"].startswith("seen\n\n[image left out: image/svg+xml")
    assert encoded[1:] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "From weather (call_1):"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {
                    "type": "file",
                    "file": {
                        "filename": "report.pdf",
                        "file_data": "data:application/pdf;base64,JVBERg==",
                    },
                },
                {"type": "text", "text": "table.csv:\na,b"},
            ],
        }
    ]


def test_ids_of_any_characters_are_kept_and_long_ones_changed():
    kimi = ToolCall("functions.weather:0", "weather")
    long = ToolCall("x" * 41, "weather")
    encoded = encode_calls([kimi, long], FORMAT)
    first, second = (call["id"] for call in encoded[0]["tool_calls"])
    assert (first, encoded.ids) == ("functions.weather:0", {second: "x" * 41})
    assert len(second) <= 40
