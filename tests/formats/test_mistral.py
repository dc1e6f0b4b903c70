"""Mistral: ids of nine characters, arguments as text or object, content in chunks."""

import pytest

from tests.cases import each_case
from tests.formats.chat_tools import EVERY_PART, FAILED, SCHEMA, clock, cut, twin, weather
from tests.formats.sdk_objects import validated
from toolhaft import ToolCall, ToolResult
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

FORMAT = "mistral"
WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA},
}
PARIS = ToolCall("abcDEF123", "weather", '{"city": "Paris"}')
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Two lookups."}], "signature": "s1"}


def asked(id="abcDEF123", name="weather", arguments='{"city": "Paris"}', **more):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def response(*calls, reason="tool_calls", **said):
    message = {"role": "assistant", "content": "", "prefix": False, **said, "tool_calls": [*calls]}
    return {"choices": [{"index": 0, "finish_reason": reason, "message": message}]}


def chunk(reason=None, **delta):
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def test_tools_choices_and_parallel_are_exported():
    export = export_tools([weather()], FORMAT, choice="required", parallel=False)
    assert export.payload == {"tools": [WEATHER], "tool_choice": "required", "parallel_tool_calls": False}
    strict = {**WEATHER["function"], "parameters": {**SCHEMA, "additionalProperties": False}, "strict": True}
    assert export_tools([weather()], FORMAT, strict=True).tools == [{"type": "function", "function": strict}]


@each_case(
    ("choice", "written", "names"),
    [
        ("auto", {"tool_choice": "auto"}, ["weather", "clock"]),
        ("none", {"tool_choice": "none"}, ["weather", "clock"]),
        ("any", {"tool_choice": "required"}, ["weather", "clock"]),
        (
            "clock",
            {"tool_choice": {"type": "function", "function": {"name": "clock"}}},
            ["weather", "clock"],
        ),
        (["clock"], {"tool_choice": "auto"}, ["clock"]),
    ],
)
def test_every_choice_is_expressed_or_emulated(choice, written, names):
    export = export_tools([weather(), clock()], FORMAT, choice=choice)
    payload = dict(export.payload)
    assert [tool["function"]["name"] for tool in payload.pop("tools")] == names
    assert (payload, export.refused) == (written, ())


def test_functions_are_imported_and_other_tools_refused():
    export = export_tools([weather(), clock()], FORMAT)
    for given in (export.payload, export.payload["tools"]):
        assert export_tools(import_tools(given, FORMAT), FORMAT).payload == export.payload
    with pytest.raises(WireError, match=r"at \[0\].type: got .custom.; expected 'function'"):
        import_tools([{"type": "custom"}], FORMAT)


@pytest.mark.external
def test_a_message_is_replayed_with_its_thinking_and_unchanged_arguments():
    content = [THOUGHT, {"type": "text", "text": "I look."}]
    body = response(asked(index=0), asked("bbbbbbbbb", arguments={"city": "Rome"}, index=1), content=content)
    calls = decode_calls(body, FORMAT)
    assert calls == [
        ToolCall("abcDEF123", "weather", PARIS.arguments, extras={FORMAT: {"message": {"content": content}}}),
        ToolCall("bbbbbbbbb", "weather", {"city": "Rome"}),
    ]
    assert encode_calls(calls, FORMAT) == [
        {
            "role": "assistant",
            "content": content,
            "tool_calls": [asked(), asked("bbbbbbbbb", arguments={"city": "Rome"})],
        }
    ]
    assert encode_calls([PARIS], FORMAT) == [{"role": "assistant", "content": "", "tool_calls": [asked()]}]
    rest = {"id": "x", "object": "o", "model": "m", "created": 1}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    made = validated("mistralai.client.models:ChatCompletionResponse", {**body, **rest, "usage": usage})
    for given in (made, made.model_dump(), made.choices[0].message):
        assert decode_calls(given, FORMAT) == calls


def test_a_call_and_its_result_share_the_generated_id():
    for id in (None, "null", ""):
        (call,) = decode_calls(response(asked(id)), FORMAT)
        assert (call.malformed, call.name) == (None, "weather")
        (message,) = encode_calls([call], FORMAT)
        (result,) = encode_results([(call, ToolResult.ok(5))], FORMAT)
        assert result["tool_call_id"] == message["tool_calls"][0]["id"]
        assert result["tool_call_id"].isalnum()
        assert len(result["tool_call_id"]) == 9
    one, other = decode_calls(response(asked("null"), asked("null")), FORMAT)
    assert one.id != other.id


def test_foreign_ids_become_nine_characters_and_are_restored():
    export = export_tools([weather()], FORMAT)
    call = ToolCall("toolu_01A09q90qw90lq917835lq9", "weather", '{"city": "Paris"}')
    encoded = encode_calls([call], FORMAT, export=export)
    (short,) = encoded.ids
    assert len(short) == 9
    assert decode_calls(encoded, FORMAT, export=export) == [call]


@pytest.mark.parametrize("reason", ["length", "model_length", "error"])
def test_only_complete_calls_of_a_truncated_message_are_valid(reason):
    assert decode_calls(response(asked(), reason=reason), FORMAT) == [PARIS]
    whole = asked(arguments={"city": "Paris"})
    assert decode_calls(response(whole, reason=reason), FORMAT) == [PARIS]
    half = response(asked(arguments='{"ci'), reason=reason)
    assert decode_calls(half, FORMAT) == [cut(PARIS, '{"ci')]
    assert decode_calls(response(asked(), asked()), FORMAT) == [PARIS, twin(PARIS)]


STREAM = [
    chunk(role="assistant", content=""),
    chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Two "}]}]),
    chunk(content=[{**THOUGHT, "thinking": [{"type": "text", "text": "lookups."}]}]),
    chunk(content="I "),
    chunk(content="look."),
    chunk(tool_calls=[asked(arguments='{"city": ', index=0)]),
    chunk(tool_calls=[{"index": 0, "function": {"name": "", "arguments": '"Paris"}'}}]),
    chunk(tool_calls=[asked("bbbbbbbbb", arguments={"city": "Rome"}, index=1)]),
    chunk("tool_calls", content=""),
]


@pytest.mark.external
def test_a_stream_gives_the_calls_of_its_message_raw_and_from_the_sdk():
    content = [THOUGHT, {"type": "text", "text": "I look."}]
    whole = response(asked(), asked("bbbbbbbbb", arguments={"city": "Rome"}), content=content)
    wanted = decode_calls(whole, FORMAT)
    assert decode_calls(STREAM, FORMAT) == wanted
    events = [validated("mistralai.client.models:CompletionEvent", {"data": event}) for event in STREAM]
    assert decode_calls(events, FORMAT) == wanted
    assert decode_calls([event.data for event in events], FORMAT) == wanted
    assert decode_calls([event.model_dump() for event in events], FORMAT) == wanted
    decoder = StreamDecoder(FORMAT)
    assert [len(decoder.feed(event)) for event in events] == [0, 0, 0, 0, 0, 0, 0, 1, 1]


@pytest.mark.external
def test_several_calls_in_one_chunk_need_no_index_or_id():
    bare = [{"function": {"name": "clock", "arguments": "{}"}} for _ in range(2)]
    events = [chunk(tool_calls=bare), chunk("tool_calls")]
    wanted = decode_calls(response(*bare), FORMAT)
    assert [call.name for call in wanted] == ["clock", "clock"]
    assert decode_calls(events, FORMAT) == wanted
    assert (
        decode_calls(
            [validated("mistralai.client.models:CompletionEvent", {"data": event}) for event in events],
            FORMAT,
        )
        == wanted
    )


def test_a_truncated_stream_leaves_malformed_calls():
    decoder = StreamDecoder(FORMAT)
    assert decoder.feed(chunk(tool_calls=[asked(arguments='{"ci', index=0)])) == []
    assert decoder.feed({"data": 5}) == decoder.feed({"data": {"choices": [{"delta": {"content": 5}}]}}) == []
    assert decoder.close() == [cut(PARIS, '{"ci')]
    decoder = StreamDecoder(FORMAT)
    assert decoder.feed(chunk(tool_calls=[asked(arguments={"city": "Paris"}, index=0)])) == []
    assert decoder.close() == [cut(PARIS, '{"city":"Paris"}')]


def test_results_with_media_have_chunks():
    answers = [(PARIS, ToolResult.ok({"c": 5}, "Done")), (ToolCall("abcDEF124", "weather"), FAILED)]
    assert encode_results(answers, FORMAT) == [
        {"role": "tool", "tool_call_id": "abcDEF123", "name": "weather", "content": 'Done\n\n{"c":5}'},
        {
            "role": "tool",
            "tool_call_id": "abcDEF124",
            "name": "weather",
            "content": '{"error":{"type":"failed","message":"no such city"}}',
        },
    ]
    encoded = encode_results([(PARIS, ToolResult(message="", value=None, content=EVERY_PART))], FORMAT)
    assert encoded.losses == (
        Loss("weather", "/content/2", "image", "left out"),
        Loss("weather", "/content/5", "video", "left out"),
    )
    assert encoded[0]["content"] == [
        {"type": "text", "text": "[image left out: image/svg+xml]\n\n[video left out: video/mp4]"},
        {"type": "image_url", "image_url": "data:image/png;base64,iVBORw=="},
        {"type": "image_url", "image_url": "https://example.org/a.png"},
        {"type": "input_audio", "input_audio": "UklGRg=="},
        {"type": "input_audio", "input_audio": "https://example.org/a.wav"},
        {
            "type": "document_url",
            "document_url": "data:application/pdf;base64,JVBERg==",
            "document_name": "report.pdf",
        },
        {"type": "document_url", "document_url": "https://example.org/a.pdf"},
        {"type": "text", "text": "table.csv:\na,b"},
    ]
