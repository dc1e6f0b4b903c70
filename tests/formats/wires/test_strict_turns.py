"""Turns in strict mode, with thinking, and in other dialects: what went out changed is turned back.

Knows Toolhaft's public verbs alone.
"""

import json

import pytest

from tests.formats.wires.every_wire import WIRES
from tests.formats.wires.server import serving, whole
from tests.formats.wires.test_turns import KINDS, RENDERED
from tests.formats.wires.turn_tools import TOOLS
from tests.formats.wires.turns import streamed_turn, whole_turn
from tests.formats.wires.wire import FINAL_TEXT, Asked
from toolhaft import ToolExecutor
from toolhaft.formats import decode_calls, encode_calls, encode_results, export_tools

NULLED = {"city": "Paris", "unit": None}
"""What a strict model says where it says nothing: every key is there."""


@pytest.mark.parametrize("format", WIRES)
def test_a_strict_turn(format):
    export = export_tools(TOOLS, format, strict=True)
    assert [refusal.tool for refusal in export.refused] == []
    for turn in (
        whole_turn(WIRES[format], replays=False, strict=True),
        whole_turn(WIRES[format], replays=True, strict=True),
        streamed_turn(WIRES[format], strict=True),
    ):
        assert turn.told == (FINAL_TEXT, RENDERED, KINDS)


@pytest.mark.parametrize("format", ["openai_chat", "openai_responses"])
def test_nulls_of_strict_calls_are_read_as_absent_and_replayed_as_nulls(format):
    wire = WIRES[format]
    export = export_tools(TOOLS, format, strict=True)
    asked = [Asked(wire.ids[0], "weather", NULLED)]
    with (
        serving(wire.check, wire.refuse, [whole(wire.calling(asked)), whole(wire.final)]) as server,
        wire.connect(server.url) as client,
    ):
        calls = decode_calls(wire.ask(client, wire.question, export.payload), format, export=export)
        results = ToolExecutor(TOOLS).execute_all(calls)
        history = [*wire.question, *encode_calls(calls, format, export=export)]
        history += encode_results(results, format, export=export)
        final = wire.ask(client, history, export.payload)
    assert [(call.name, call.arguments) for call in calls] == [("weather", {"city": "Paris"})]
    assert [result.render() for result in results] == ["21 degrees celsius in Paris"]
    assert wire.text(final) == FINAL_TEXT
    again = decode_calls(encode_calls(calls, format, export=export), format)
    assert [_object(call) for call in again] == [NULLED]


def _object(call):
    """The arguments as they stand on the wire, where these formats write text."""
    return json.loads(call.arguments)


@pytest.mark.parametrize("format", WIRES)
@pytest.mark.parametrize("parallel", [True, None])
def test_a_turn_in_which_a_tool_may_or_must_be_called(format, parallel):
    for choice in ("auto", "required", ["weather", "shop.stock", "chart"]):
        turn = whole_turn(WIRES[format], replays=False, choice=choice, parallel=parallel)
        assert turn.told == (FINAL_TEXT, RENDERED, KINDS)


def test_a_turn_of_a_thinking_model_keeps_its_signed_thoughts():
    fields = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    for turn in (
        whole_turn(WIRES["anthropic"], replays=False, fields=fields),
        streamed_turn(WIRES["anthropic"], fields=fields),
    ):
        assert turn.told == (FINAL_TEXT, RENDERED, KINDS)


def test_a_turn_in_the_dialect_of_schema_messages():
    for turn in (
        whole_turn(WIRES["gemini"], replays=False, dialect="parameters"),
        whole_turn(WIRES["gemini"], replays=True, dialect="parameters"),
        streamed_turn(WIRES["gemini"], dialect="parameters"),
    ):
        assert turn.told == (FINAL_TEXT, RENDERED, KINDS)
