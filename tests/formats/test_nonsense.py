"""Nonsense anywhere in messages, streams and payloads: calls, malformed calls or a WireError, nothing else."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.formats.catalogue.whole import BY_NAME
from tests.formats.examples import examples
from tests.formats.stream_samples import SAMPLES, Said
from toolhaft import ToolCall, ToolExecutor
from toolhaft.errors import WireError
from toolhaft.formats import (
    StreamDecoder,
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)

_SAID = [
    Said("call00001", "search", '{"query": "größe", "limit": 3}'),
    Said("call00002", "whole", '{"query": ""}'),
    Said("call00003", "map_of_ints", '{"x": {"a": 1}}'),
]
_TOOLS = [BY_NAME[name].tool for name in ("search", "whole", "names_odd", "map_of_ints")]
_NONSENSE = st.sampled_from(
    [None, 0, -1, 1.5, True, "", "x", "{}", "[DONE]", [], {}, [None], [[]], {"a": 1}, [{}], "\ud800", "gone"]
)


def _places(value):
    """Every member of every object and list."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in list(members):
        yield value, key
        yield from _places(child)


@st.composite
def _broken(draw, value):
    """The same with some members replaced or taken out."""
    made = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(made))
        if places:
            inside, key = places[draw(st.integers(0, len(places) - 1))]
            nonsense = draw(_NONSENSE)
            if nonsense == "gone":
                del inside[key]
            else:
                inside[key] = copy.deepcopy(nonsense)
    return made


def _events(format):
    return SAMPLES[format].events(_SAID, lambda text: [text[:9], text[9:]])


def _are_answered(calls, format, export):
    """Each call has an id and a name, is answered once, and goes into the history with its answer."""
    results = ToolExecutor(_TOOLS).execute_all(calls)
    assert [(type(call.id), type(call.name)) for call in calls] == [(str, str)] * len(calls)
    assert len(results) == len(calls)
    assert bool(encode_calls(calls, format, export=export)) == bool(calls)
    assert bool(encode_results(results, format, export=export)) == bool(calls)


@examples(10)
@given(data=st.data())
@each_case("format", SAMPLES)
def test_a_stream_with_nonsense_in_it(format, data):
    export = export_tools(_TOOLS, format)
    events = data.draw(_broken(_events(format)))
    decoder = StreamDecoder(format, export=export)
    try:
        calls = [call for event in events for call in decoder.feed(event)] + decoder.close()
    except WireError:
        return
    _are_answered(calls, format, export)


@examples(10)
@given(data=st.data())
@each_case("format", SAMPLES)
def test_a_message_with_nonsense_in_it(format, data):
    export = export_tools(_TOOLS, format)
    said = [ToolCall(said.id, said.name, said.arguments) for said in _SAID]
    message = data.draw(_broken(list(encode_calls(said, format, export=export))))
    try:
        calls = decode_calls(message, format, export=export)
    except WireError:
        return
    _are_answered(calls, format, export)


@examples(10)
@given(data=st.data())
@each_case("format", SAMPLES)
def test_a_payload_with_nonsense_in_it(format, data):
    payload = data.draw(_broken(export_tools(_TOOLS, format).payload))
    try:
        tools = import_tools(payload, format)
    except WireError:
        return
    assert all(export_tools(tools, to).format == to for to in ("native", "openai_chat"))


@each_case("format", SAMPLES)
@each_case("given", [None, 5, "", "no JSON", b"\xff", "\ud800", 1.5, object(), "null", "3"], ids=repr)
def test_something_that_is_not_a_message_is_a_wire_error(format, given):
    with pytest.raises(WireError):
        decode_calls(given, format)
    with pytest.raises(WireError):
        import_tools(given, format)
