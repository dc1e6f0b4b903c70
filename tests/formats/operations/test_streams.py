"""Decoding streams, in all formats: raw text split anywhere, events as objects, truncated streams."""

import json

import pytest

from tests.cases import each_case
from tests.formats.operations.test_exports import add
from toolhaft import ToolCall, ToolExecutor
from toolhaft.errors import WireError
from toolhaft.formats import StreamDecoder, decode_calls, encode_calls, encode_results, export_tools


def chunk(finish: str | None = None, **delta: object) -> dict:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def piece(index: int, text: str = "", **names: str) -> dict:
    function = {"arguments": text} | ({"name": names["name"]} if "name" in names else {})
    return {"index": index, "function": function} | ({"id": names["id"]} if "id" in names else {})


EVENTS = [
    chunk(role="assistant", content=None),
    chunk(tool_calls=[piece(0, id="call_1", name="add")]),
    chunk(tool_calls=[piece(0, '{"a": 1,')]),
    chunk(tool_calls=[piece(0, ' "b": 2}')]),
    chunk(tool_calls=[piece(1, '{"a"', id="call_2", name="add")]),
    chunk(tool_calls=[piece(1, ': 3, "b": 4}')]),
    chunk("tool_calls"),
]
CALLS = [ToolCall("call_1", "add", '{"a": 1, "b": 2}'), ToolCall("call_2", "add", '{"a": 3, "b": 4}')]
SSE = "".join(f"data: {json.dumps(event)}\n\n" for event in EVENTS) + "data: [DONE]\n\n"


def test_each_call_is_returned_as_soon_as_it_is_complete():
    decoder = StreamDecoder("openai_chat")
    assert [decoder.feed(event) for event in EVENTS] == [[], [], [], [], [CALLS[0]], [], [CALLS[1]]]
    assert decoder.close() == []


@each_case(
    "given",
    [
        EVENTS,
        tuple(EVENTS),
        SSE,
        SSE.encode(),
        SSE.replace("\n", "\r\n"),
        ": ping\n\nevent: x\nid: 1\nretry: 5\n" + SSE,
        "\n".join(json.dumps(event) for event in EVENTS),
    ],
)
def test_a_stream_is_read_from_events_or_raw_text(given):
    assert decode_calls(given, "openai_chat") == CALLS


def test_a_stream_is_read_from_an_iterator_of_events_or_of_raw_pieces():
    assert decode_calls(iter(EVENTS), "openai_chat") == CALLS
    assert (
        decode_calls((SSE.encode()[at : at + 1] for at in range(len(SSE.encode()))), "openai_chat") == CALLS
    )


def test_text_split_inside_a_character_is_joined():
    call = ToolCall("call_1", "add", '{"a": "é€😀"}')
    events = [chunk(tool_calls=[piece(0, call.arguments, id="call_1", name="add")]), chunk("tool_calls")]
    raw = "".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events).encode()
    for cut in range(len(raw)):
        decoder = StreamDecoder("openai_chat")
        assert decoder.feed(raw[:cut]) + decoder.feed(raw[cut:]) + decoder.close() == [call]


def test_a_truncated_stream_gives_every_call_that_began():
    export = export_tools([add], "openai_chat")
    for length in range(len(EVENTS)):
        decoder = StreamDecoder("openai_chat", export=export)
        calls = [call for event in EVENTS[:length] for call in decoder.feed(event)] + decoder.close()
        begun = 0 if length < 2 else 1 if length < 5 else 2
        assert len(calls) == begun
        if begun:
            assert calls[-1].malformed == "the message ended before the call was complete"
            with ToolExecutor([add]) as executor:
                *_, last = executor.execute_all(calls)
            assert (last.success, last.failure.kind) == (False, "invalid_arguments")
        assert decoder.close() == []


def test_a_truncated_last_line_is_ignored():
    decoder = StreamDecoder("openai_chat")
    whole = SSE[: SSE.rindex("4}")]
    calls = decoder.feed(whole) + decoder.close()
    assert [call.malformed is None for call in calls] == [True, False]


def test_the_last_call_of_a_message_that_hit_a_limit_is_malformed():
    events = [chunk(tool_calls=[piece(0, id="call_1", name="add")]), chunk("length")]
    (call,) = decode_calls(events, "openai_chat")
    assert call.malformed == "the message ended before the call was complete"


def test_feeding_something_that_is_not_an_event_is_an_error():
    decoder = StreamDecoder("openai_chat")
    with pytest.raises(WireError, match="openai_chat: got int; expected"):
        decoder.feed(5)
    with pytest.raises(WireError, match="openai_chat: got list; expected an event of a stream"):
        decoder.feed([1])
    with pytest.raises(WireError, match="not JSON"):
        decoder.feed("data: {nonsense\n")
    with pytest.raises(WireError, match="expected one of anthropic"):
        StreamDecoder("openai")


ERRORS = {
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "bedrock": {"throttlingException": {"message": "Too many requests"}},
    "gemini": {"error": {"code": 500, "message": "internal"}},
    "mistral": {"object": "error", "message": "overloaded"},
    "ollama": {"error": "out of memory"},
    "openai_chat": {"error": {"message": "overloaded"}},
    "openai_responses": {"type": "error", "message": "overloaded"},
}


@each_case("format", ERRORS)
def test_an_event_that_reports_a_server_failure_is_an_error(format):
    with pytest.raises(WireError, match=f"^{format}: the server failed: "):
        decode_calls(iter([ERRORS[format]]), format)


def test_a_server_error_in_the_middle_of_a_call_makes_it_malformed():
    (call,) = decode_calls([*EVENTS[:3], ERRORS["openai_chat"]], "openai_chat")
    assert call.malformed == "the message ended before the call was complete"


@each_case("at", range(1, 38))
def test_a_stream_cut_inside_the_event_that_begins_a_call_gives_a_malformed_call(at):
    text = 'data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"add","args":{"a":1}}}]}}]}'
    cut = text[: len(text) - at]
    (call,) = decode_calls(cut, "gemini")
    assert call.malformed == "the message ended before the call was complete"


def test_text_that_is_not_a_stream_is_a_wire_error():
    with pytest.raises(WireError, match="not JSON"):
        decode_calls("data: garbage", "openai_chat")


def test_lines_without_line_ends_are_separated():
    assert decode_calls(SSE.split("\n"), "openai_chat") == CALLS
    assert decode_calls(iter(SSE.encode().splitlines()), "openai_chat") == CALLS


def test_a_line_over_the_limit_is_an_error(monkeypatch):
    monkeypatch.setattr("toolhaft.formats.operations.event_text._LONGEST", 100_000)
    decoder = StreamDecoder("openai_chat")
    decoder.feed('data: {"a":"')
    for _ in range(900):
        decoder.feed("{" * 100)
    with pytest.raises(WireError, match="one event has more than 100000 characters"):
        decode_calls((piece for piece in ["data: ", *["x" * 1_000] * 101]), "openai_chat")


def test_an_export_of_another_format_is_refused():
    export = export_tools([add], "anthropic")
    for use in (
        lambda: decode_calls({}, "openai_chat", export=export),
        lambda: StreamDecoder("openai_chat", export=export),
        lambda: encode_calls([], "openai_chat", export=export),
        lambda: encode_results([], "openai_chat", export=export),
    ):
        with pytest.raises(
            WireError,
            match=r"at export: got an export to anthropic; expected the result of export_tools\(tools, 'openai_chat'\)",
        ):
            use()
    with pytest.raises(WireError, match=r"at export: got \{\}"):
        decode_calls({}, "openai_chat", export={})


def test_the_end_mark_of_a_stream_ends_its_last_call():
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in EVENTS[:-1]) + "data: [DONE]\n\n"
    assert decode_calls(text, "openai_chat") == CALLS
    half = "".join(f"data: {json.dumps(event)}\n\n" for event in EVENTS[:3]) + "data: [DONE]\n\n"
    (call,) = decode_calls(half, "openai_chat")
    assert call.malformed == "the message ended before the call was complete"
