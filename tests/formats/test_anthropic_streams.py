"""Anthropic's streams: blocks in deltas, complete, interleaved, truncated and invalid."""

from tests.cases import each_case
from tests.formats.test_anthropic import DIRECT, PLAN, REDACTED, SEARCH, THINKING, message, use
from toolhaft import ToolCall
from toolhaft.formats import StreamDecoder, decode_calls


def start(index, block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, kind, **piece):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **piece}}


def stop(index):
    return {"type": "content_block_stop", "index": index}


def ended(reason):
    return [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]


def streamed_use(index, block, *pieces):
    texts = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [start(index, {**block, "input": {}}), *texts, stop(index)]


EVENTS = [
    {"type": "message_start", "message": message(reason=None)},
    start(0, {"type": "thinking", "thinking": "", "signature": ""}),
    {"type": "ping"},
    delta(0, "thinking_delta", thinking="Whe"),
    delta(0, "thinking_delta", thinking="re?"),
    delta(0, "signature_delta", signature="c2ln"),
    stop(0),
    start(1, {"type": "text", "text": ""}),
    delta(1, "text_delta", text="Let me see."),
    delta(1, "citations_delta", citation={"cited_text": "x"}),
    stop(1),
    *streamed_use(2, use("toolu_1", "weather", {}, caller=DIRECT), "", '{"ci', 'ty": "Oslo"}'),
    *streamed_use(3, SEARCH, '{"query": ', '"weather"}'),
    start(4, REDACTED),
    stop(4),
    *streamed_use(5, use("toolu_2", "weather", {})),
    start(6, {"type": "text", "text": ""}),
    delta(6, "text_delta", text="Done."),
    stop(6),
    *ended("tool_use"),
]
WHOLE = message(
    THINKING,
    {**PLAN, "citations": [{"cited_text": "x"}]},
    use("toolu_1", "weather", {"city": "Oslo"}, caller=DIRECT),
    SEARCH,
    REDACTED,
    use("toolu_2", "weather", {}),
    {"type": "text", "text": "Done."},
)


def test_a_stream_gives_the_calls_of_the_whole_message():
    assert decode_calls(EVENTS, "anthropic") == decode_calls(WHOLE, "anthropic")


def test_a_call_is_returned_as_soon_as_it_is_complete():
    decoder = StreamDecoder("anthropic")
    given = [(event, [call.id for call in decoder.feed(event)]) for event in EVENTS]
    # the second says nothing: only the block after it tells that it was not cut
    assert [(event["type"], event["index"], ids) for event, ids in given if ids] == [
        ("content_block_stop", 2, ["toolu_1"]),
        ("content_block_start", 6, ["toolu_2"]),
    ]


@each_case("end", range(len(EVENTS)))
def test_a_stream_truncated_anywhere_gives_every_call_that_began(end):
    begun = [
        event["content_block"]["id"]
        for event in EVENTS[:end]
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use"
    ]
    calls = decode_calls(EVENTS[:end], "anthropic") if end else []
    assert [call.id for call in calls] == begun
    for call, whole in zip(calls, decode_calls(WHOLE, "anthropic"), strict=False):
        assert call.malformed or call.arguments == whole.arguments


def test_interleaved_calls_are_assembled():
    first = streamed_use(0, use("a", "weather", {}), '{"city": ', '"Oslo"}')
    second = streamed_use(1, use("b", "weather", {}), '{"city": ', '"Rome"}')
    events = [event for pair in zip(first, second, strict=True) for event in pair]
    assert decode_calls(events + ended("tool_use"), "anthropic") == [
        ToolCall("a", "weather", {"city": "Oslo"}),
        ToolCall("b", "weather", {"city": "Rome"}),
    ]


def test_a_truncated_streamed_call_is_malformed_and_a_complete_one_is_not():
    whole, half = use("a", "weather", {}), use("b", "weather", {})
    cut = [*streamed_use(0, whole, '{"city": "Oslo"}'), *streamed_use(1, half, '{"city": "Ro')]
    first, second = decode_calls(cut + ended("max_tokens"), "anthropic")
    assert first == ToolCall("a", "weather", {"city": "Oslo"})
    assert (second.arguments.text, second.malformed) == (
        '{"city": "Ro',
        "the message ended before the call was complete",
    )
    nothing = streamed_use(0, half)
    assert decode_calls(nothing + ended("tool_use"), "anthropic") == [ToolCall("b", "weather", {})]
    (call,) = decode_calls(nothing + ended("max_tokens"), "anthropic")
    assert call.malformed == "the message ended before the call was complete"


def test_a_repeated_key_in_a_streamed_call_is_left_for_the_executor_to_refuse():
    text = '{"city": "Oslo", "city": "Rome"}'
    events = streamed_use(0, use("a", "weather", {}), text) + ended("tool_use")
    assert decode_calls(events, "anthropic") == [ToolCall("a", "weather", text)]


def test_a_block_that_ends_twice_is_one_call():
    events = [*streamed_use(0, use("a", "weather", {})), stop(0), *ended("tool_use")]
    assert decode_calls(events, "anthropic") == [ToolCall("a", "weather", {})]


def test_a_server_that_sends_the_whole_input_in_the_start_event_is_supported():
    events = [start(0, use("a", "weather", {"city": "Oslo"})), stop(0)]
    assert decode_calls(events, "anthropic") == [ToolCall("a", "weather", {"city": "Oslo"})]


def test_two_blocks_with_the_same_index_are_two_calls_and_the_first_is_malformed():
    events = [start(0, use("a", "weather", {})), *streamed_use(0, use("b", "weather", {}), "{}")]
    first, second = decode_calls(events + ended("tool_use"), "anthropic")
    assert (first.id, first.malformed) == ("a", "the message ended before the call was complete")
    assert second == ToolCall("b", "weather", {})


@each_case(
    "event",
    [
        {"type": "content_block_start", "index": [], "content_block": 3},
        {"type": "content_block_delta", "index": {}, "delta": None},
        {"type": "content_block_delta", "index": 9, "delta": {"type": [], "partial_json": 3}},
        {"type": "content_block_stop"},
        {"type": "message_delta", "delta": {"stop_reason": {}}},
        {"type": {}},
        {},
    ],
)
def test_invalid_events_are_ignored(event):
    decoder = StreamDecoder("anthropic")
    decoder.feed(start(0, {**PLAN, "text": 3}))
    assert decoder.feed(event) == []
    assert decoder.close() == []
