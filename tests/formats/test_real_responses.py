"""Responses as servers really send them: laid out over many lines, without ids, blocked, or not streamed."""

from __future__ import annotations

import json
from collections import OrderedDict

import pytest

from tests.cases import each_case, in_case
from tests.formats.stream_samples import SAMPLES, Said
from toolhaft import ToolResult
from toolhaft.errors import WireError
from toolhaft.formats import StreamDecoder, decode_calls, encode_calls, encode_results

SAID = [
    Said("call00001", "search", '{"query": "größe 🙂 \\"data: {x}\\" }{ ]", "limit": 3}'),
    Said("call00002", "now", "{}"),
    Said("call00003", "search", '{ "query": "日本 \\u00e9\\n", "tags": ["a", {}] }'),
]


def _shown(calls):
    return [(call.id, call.name, call.arguments, call.malformed, call.extras) for call in calls]


def _fed(format, pieces):
    decoder = StreamDecoder(format)
    return _shown([call for piece in pieces for call in decoder.feed(piece)] + decoder.close())


def _pretty(event, indent=2):
    return json.dumps(event, ensure_ascii=False, indent=indent)


def _sse(texts, *, before="", space=" ", after=""):
    lines = ["\n".join(f"data:{space}{line}" for line in text.split("\n")) for text in texts]
    return "".join(f"{before}{text}\n{after}\n" for text in lines)


def _layouts(events):
    """The same events as different servers write them."""
    pretty, tabs = [_pretty(event) for event in events], [_pretty(event, "\t") for event in events]
    compact = [json.dumps(event) for event in events]
    return {
        "pretty events": _sse(pretty),
        "pretty events, no space": _sse(tabs, space=""),
        "names, ids and comments": _sse(pretty, before=": keep-alive\nevent: x\nid: 7\n", after=": wait\n"),
        "blank lines between": "\n\n" + _sse(compact, after="\n\n: \n"),
        "pretty lines": "\n".join(pretty),
        "lines": "\n".join(compact) + "\n\n",
        "side by side": "".join(compact),
        "array": json.dumps(events),
        "pretty array": _pretty(events),
        "array as it grows": "[" + "\r\n,\r\n".join(pretty) + "\n]\n",
        "array of lines": "[\n" + ",\n".join(compact) + "\n]",
    }


def _pieces(text):
    """The text in many ways to cut it."""
    raw = text.encode()
    yield [text]
    yield [raw]
    yield [bytearray(raw)]
    yield [b"\xef\xbb\xbf" + raw]
    yield [text.replace("\r\n", "\n").replace("\n", "\r\n").encode()]
    yield text.replace("\r\n", "\n").split("\n")
    returned = text.replace("\r\n", "\n").replace("\n", "\r\n")
    for size in (7, 64):
        yield [raw[at : at + size] for at in range(0, len(raw), size)]
        yield [returned[at : at + size - 1] for at in range(0, len(returned), size - 1)]


@each_case("format", SAMPLES)
def test_a_stream_is_decoded_however_it_is_laid_out_and_cut(format):
    events = SAMPLES[format].events(SAID, lambda text: [text[:9], text[9:]] if len(text) > 9 else [text])
    expected = _fed(format, events)
    assert len(expected) == len(SAID)
    for about, text in _layouts(events).items():
        for number, pieces in enumerate(_pieces(text)):
            with in_case(about, number):
                assert _fed(format, pieces) == expected
        with in_case(about):
            assert _shown(decode_calls(text.split("\n"), format)) == expected
            for whole in (text, text.encode(), b"\xef\xbb\xbf" + text.encode()):
                assert _shown(decode_calls(whole, format)) == expected


@each_case("format", SAMPLES)
def test_a_whole_message_is_decoded_however_it_is_laid_out_and_cut(format):
    events = SAMPLES[format].events(SAID, lambda text: [text])
    calls = decode_calls(events, format)
    for message in encode_calls(calls, format)[:1]:
        expected = _shown(decode_calls(message, format))
        assert expected
        for indent in (None, 2, "\t"):
            for number, pieces in enumerate(_pieces(_pretty(message, indent))):
                with in_case(indent, number):
                    assert _shown(decode_calls(pieces, format)) == expected
                    assert _fed(format, pieces) == expected


def test_a_pretty_stream_is_decoded_byte_by_byte():
    events = SAMPLES["openai_chat"].events(SAID[:1], lambda text: [text])
    for about, text in _layouts(events).items():
        with in_case(about):
            raw = text.encode()
            assert _fed("openai_chat", [raw[at : at + 1] for at in range(len(raw))]) == _fed(
                "openai_chat", events
            )


def test_the_calls_of_a_pretty_stream_are_returned_as_soon_as_they_are_complete():
    decoder = StreamDecoder("gemini")
    first, second = (
        _pretty({"candidates": [{"content": {"parts": [{"functionCall": {"name": name, "args": {}}}]}}]})
        for name in ("one", "two")
    )
    assert [call.name for call in decoder.feed("[" + first)] == []
    assert [call.name for call in decoder.feed("\n,\n")] == ["one"]
    assert [call.name for call in decoder.feed(second + "\n]\n")] == ["two"]
    assert decoder.close() == []


@each_case(
    "text",
    [
        'data: {"a"\n\n',
        "data: {\ndata:\n\n: x\n\n",
        "data: {nonsense\n",
        'x{"candidates": []}\n',
        'data: {"a": 1}}\n',
        '{"a": "b\n',
        "data: [1, 2]\n\ndata: 5\n\n",
    ],
)
def test_text_that_is_not_an_event_is_an_error_and_not_ignored(text):
    decoder = StreamDecoder("gemini")
    with pytest.raises(WireError, match=r"^gemini: "):
        decoder.feed(text + 'data: {"candidates": []}\n\n')


def _chat_call(**fields):
    return {"function": {"name": "now", "arguments": "{}"}, **fields}


NO_IDS = ({}, {"id": None}, {"id": ""}, {"id": "", "type": None}, {"type": "function", "index": 0})
CHAT = ("openai_chat", "mistral", "cohere", "ollama")


@each_case("format", CHAT)
@each_case("fields", NO_IDS)
def test_calls_without_an_id_get_one_that_is_unique_in_the_turn_and_used_by_the_result(format, fields):
    message = {"role": "assistant", "tool_calls": [_chat_call(**fields)] * 3}
    calls = decode_calls({"choices": [{"message": message}]}, format)
    assert [(call.name, call.malformed) for call in calls] == [("now", None)] * 3
    assert len({call.id for call in calls if call.id}) == 3
    assert [call.id for call in decode_calls(message, format)] == [call.id for call in calls]
    if format == "ollama":  # it has no ids at all
        return
    (history,) = encode_calls(calls, format)
    answers = encode_results([(call, ToolResult.ok(1)) for call in calls], format)
    sent = [call["id"] for call in history["tool_calls"]]
    assert [answer["tool_call_id"] for answer in answers] == sent
    assert [call.malformed for call in decode_calls(history, format)] == [None] * 3


def _chunks(*pieces):
    for piece in pieces:
        yield {"choices": [{"index": 0, "delta": {"tool_calls": piece}, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


@each_case(
    ("pieces", "expected"),
    [
        ([[{"index": 0, **_chat_call()}], [{"index": 1, **_chat_call()}]], 2),
        ([[{"index": 0, **_chat_call(id="")}, {"index": 1, **_chat_call(id=None)}]], 2),
        ([[_chat_call()], [_chat_call()]], 2),
        ([[_chat_call(), _chat_call()]], 2),
        ([[{"function": {"name": "now", "arguments": None}}], [{"function": {"name": "then"}}]], 2),
        ([[{"index": 0, "function": {"name": "now", "arguments": ""}}]], 1),
        ([[{"index": 0, "function": {"name": "now", "arguments": {}}}], [{"index": 1, **_chat_call()}]], 2),
        (
            [
                [{"index": 0, "function": {"name": "now", "arguments": ""}}],
                [{"index": 1, "function": {"name": "now", "arguments": ""}}],
                [
                    {"index": 1, "function": {"arguments": "{}"}},
                    {"index": 0, "function": {"arguments": "{}"}},
                ],
            ],
            2,
        ),
    ],
)
def test_calls_without_an_id_in_a_stream_get_one(pieces, expected):
    for format in ("openai_chat", "mistral"):
        calls = decode_calls(list(_chunks(*pieces)), format)
        assert [call.malformed for call in calls] == [None] * expected
        assert len({call.id for call in calls if call.id}) == expected
        assert {call.name for call in calls} <= {"now", "then"}


def test_a_call_without_an_id_of_the_responses_api_gets_one():
    item = {"type": "function_call", "name": "now", "arguments": "{}"}
    calls = decode_calls([item, {**item, "call_id": None}, {**item, "call_id": ""}], "openai_responses")
    assert [call.malformed for call in calls] == [None] * 3
    assert len({call.id for call in calls}) == 3


@each_case("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "STOP", "OTHER", "UNEXPECTED_TOOL_CALL"])
def test_a_blocked_gemini_response_has_no_calls(reason):
    for content in ({"content": {}}, {"content": None}, {"content": {"role": "model"}}, {}):
        for key in ("finishReason", "finish_reason"):
            body = {"candidates": [{**content, key: reason, "index": 0}], "modelVersion": "m"}
            for given in (body, _pretty(body), _pretty([body]).encode(), [body], iter([body])):
                with in_case(content, given):
                    assert decode_calls(given, "gemini") == []


@each_case(
    "body", [{"promptFeedback": {"blockReason": "SAFETY"}}, {"prompt_feedback": {}}, {"candidates": []}]
)
def test_a_gemini_response_without_candidates_has_no_calls(body):
    for given in (body, _pretty(body), [body], json.dumps([body])):
        assert decode_calls(given, "gemini") == []


def test_an_unexpected_tool_call_of_gemini_is_complete():
    for reason, malformed in (
        ("UNEXPECTED_TOOL_CALL", False),
        ("TOO_MANY_TOOL_CALLS", False),
        ("MALFORMED_FUNCTION_CALL", True),
    ):
        parts = [{"functionCall": {"name": "now", "args": {"x": 1}}}]
        body = {"candidates": [{"content": {"parts": parts}, "finishReason": reason}]}
        for given in (body, [body], _pretty(body)):
            (call,) = decode_calls(given, "gemini")
            assert (call.name, call.malformed is not None) == ("now", malformed)


@each_case(
    "choice",
    [
        {
            "finish_reason": "content_filter",
            "index": 0,
            "content_filter_results": {"hate": {"filtered": True}},
        },
        {"finish_reason": "content_filter", "message": None},
        {"finish_reason": "stop", "message": {}},
    ],
)
def test_a_blocked_chat_response_has_no_calls(choice):
    body = {"id": "x", "object": "chat.completion", "choices": [choice]}
    for format in ("openai_chat", "mistral"):
        with in_case(format):
            assert decode_calls(body, format) == decode_calls(_pretty(body), format) == []


MAPPED = {
    "anthropic": {"content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}]},
    "bedrock": {
        "output": {"message": {"content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]}}
    },
    "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"x": 1}}}]}}]},
    "openai_chat": {
        "choices": [{"message": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}}]
    },
    "openai_responses": {
        "output": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]
    },
}


def test_objects_of_a_message_may_be_of_a_subclass_of_dict():
    for format, message in MAPPED.items():
        with in_case(format):
            ordered = json.loads(json.dumps(message), object_pairs_hook=OrderedDict)
            outside = {key: ordered[key] for key in ordered}
            for given in (ordered, outside):
                assert _shown(decode_calls(given, format)) == _shown(decode_calls(message, format))
