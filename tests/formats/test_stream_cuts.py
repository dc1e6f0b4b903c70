"""Streams split or truncated anywhere: no call is lost or invented."""

from __future__ import annotations

from tests.cases import each_case
from tests.formats.stream_samples import SAMPLES, Said
from toolhaft import ToolCall, ToolExecutor, tool
from toolhaft.formats import FORMATS, StreamDecoder, decode_calls, encode_calls
from toolhaft.formats.operations.event_text import EventText
from toolhaft.schema import UnreadArguments

SAID = [
    Said("call00001", "search", '{"query": "größe 🙂 \\"x\\"", "limit": 3}'),
    Said("call00002", "now", "{}"),
    Said("call00003", "search", '{ "query": "日本 \\u00e9\\n", "tags": ["a", {}] }'),
]


@tool
def search(query: str, limit: int = 1, tags: list[object] | None = None) -> str:
    """Search."""
    return query


@tool
def now() -> str:
    """Tell the time."""
    return "12:00"


def _pairs(text):
    return [text[start : start + 2] for start in range(0, len(text), 2)]


def _events(format, cut=_pairs):
    return SAMPLES[format].events(SAID, cut)


def _shown(calls):
    """Every part of the calls."""
    return [(call.id, call.name, call.arguments, call.extras) for call in calls]


def _expected(format):
    sample = SAMPLES[format]
    return [
        (said.id if sample.has_ids else None, said.name, said.arguments if sample.has_text else said.value)
        for said in SAID
    ]


def _said(calls, format):
    """The ids, names and arguments of the calls."""
    return [(call.id if SAMPLES[format].has_ids else None, call.name, call.arguments) for call in calls]


def _fed(format, pieces):
    decoder = StreamDecoder(format)
    return [call for piece in pieces for call in decoder.feed(piece)] + decoder.close()


def test_every_format_has_a_sample():
    assert sorted(SAMPLES) == sorted(FORMATS)


@each_case("format", SAMPLES)
def test_a_stream_gives_the_calls_that_the_model_made(format):
    assert _said(_fed(format, _events(format)), format) == _expected(format)


@each_case("format", SAMPLES)
def test_raw_text_and_events_give_the_same_calls(format):
    events = _events(format)
    raw = SAMPLES[format].raw(events)
    whole = _shown(_fed(format, events))

    ways = [
        _fed(format, [raw]),
        _fed(format, [raw.decode()]),
        decode_calls(raw, format),
        decode_calls(raw.decode(), format),
        decode_calls(events, format),
        decode_calls(iter(events), format),
        decode_calls((bytes([byte]) for byte in raw), format),
    ]

    assert [_shown(calls) for calls in ways] == [whole] * len(ways)


@each_case("format", SAMPLES)
def test_other_line_ends_and_pieces_give_the_same_calls(format):
    events = _events(format)
    raw = SAMPLES[format].raw(events)
    plain = raw.replace(b"\r\n", b"\n")
    whole = _shown(_fed(format, events))

    ways = [
        decode_calls([raw[:50], raw[50:]], format),
        decode_calls(raw.decode().splitlines(), format),
        decode_calls(iter(plain.splitlines()), format),
        decode_calls(plain.replace(b"\n", b"\r\n"), format),
        decode_calls(plain.replace(b"\n", b"\r"), format),
        decode_calls(raw.replace(b"data: ", b"data:"), format),
        decode_calls(b": ping\n\n" + raw, format),
        decode_calls(b"\n\n" + raw, format),
        decode_calls("\ufeff".encode() + raw, format),
    ]

    assert [_shown(calls) for calls in ways] == [whole] * len(ways)


@each_case("format", SAMPLES)
def test_streamed_calls_are_encoded_and_decoded_unchanged(format):
    calls = _fed(format, _events(format))

    assert decode_calls(encode_calls(calls, format), format) == calls


@each_case("format", [format for format in SAMPLES if SAMPLES[format].has_ids])
def test_a_repeated_id_in_a_stream_makes_the_second_call_malformed(format):
    twice = [Said("call00001", "search", '{"query": "a"}'), Said("call00001", "search", '{"query": "b"}')]

    calls = _fed(format, SAMPLES[format].events(twice, _pairs))

    assert [call.malformed for call in calls] == [None, "another call of the same turn has this id"]


def _lines(format, *pieces):
    """The events that a decoder makes of raw pieces."""
    lines = EventText(format)
    return [text for piece in pieces for text in lines.add(piece)] + list(lines.rest())


@each_case("format", SAMPLES)
def test_a_stream_split_at_any_byte_gives_the_same_calls(format):
    events = _events(format, lambda text: [text[:9], text[9:]] if len(text) > 9 else [text])
    raw = SAMPLES[format].raw(events)
    whole = _shown(_fed(format, events))
    lines = _lines(format, raw)

    assert [at for at in range(len(raw) + 1) if _lines(format, raw[:at], raw[at:]) != lines] == []
    # decoding starts from those lines: a few cuts suffice to show that
    assert [at for at in range(0, len(raw), 97) if _shown(_fed(format, [raw[:at], raw[at:]])) != whole] == []


@each_case("format", SAMPLES)
def test_a_stream_fed_byte_by_byte_gives_the_same_calls(format):
    events = _events(format)
    raw = SAMPLES[format].raw(events)

    bit_by_bit = _fed(format, [raw[at : at + 1] for at in range(len(raw))])

    assert _shown(bit_by_bit) == _shown(_fed(format, events))


@each_case("format", [format for format in SAMPLES if SAMPLES[format].has_deltas])
def test_arguments_split_at_any_character_give_the_same_calls(format):
    whole = _shown(_fed(format, _events(format, lambda text: [text])))
    longest = max(len(said.arguments) for said in SAID)
    cuts = [lambda text, at=at: [text[:at], text[at:]] for at in range(longest + 1)]

    made = [_shown(_fed(format, _events(format, cut))) for cut in (list, *cuts)]

    assert made == [whole] * (longest + 2)


@each_case("format", SAMPLES)
def test_a_stream_that_ends_after_any_event_leaves_no_call_unanswered(format):
    sample, events, executor = SAMPLES[format], _events(format), ToolExecutor([search, now])
    for end in range(len(events) + 1):
        calls = _fed(format, events[:end])
        begun = sum(int(sample.begins(event)) for event in events[:end])
        complete = [
            said for call, said in zip(calls, _expected(format), strict=False) if call.malformed is None
        ]

        results = executor.execute_all(calls)

        assert len(calls) == begun == len(results)
        assert [said for said in _said(calls, format) if not isinstance(said[2], UnreadArguments)] == complete
        assert [result.success for result in results] == [call.malformed is None for call in calls]
        assert [result.failure.kind for result in results if not result.success] == [
            "invalid_arguments" for call in calls if call.malformed
        ]
        executor.new_run()


@each_case("format", SAMPLES)
def test_a_stream_that_ends_inside_an_event_gives_the_calls_before_it(format):
    events = _events(format)
    raw = SAMPLES[format].raw(events)
    begun = sum(int(SAMPLES[format].begins(event)) for event in events)

    for end in range(0, len(raw), 23):
        calls = _fed(format, [raw[:end]])

        assert len(calls) <= begun
        assert all(isinstance(call, ToolCall) for call in calls)


@each_case("format", [format for format in SAMPLES if SAMPLES[format].has_deltas])
def test_each_call_is_returned_as_soon_as_it_is_complete(format):
    decoder = StreamDecoder(format)
    events = _events(format)
    seen = [len(decoder.feed(event)) for event in events]

    assert (sum(seen), decoder.close()) == (len(SAID), [])
    assert any(seen[: len(seen) // 2])
