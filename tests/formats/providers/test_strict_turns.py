"""Turns in strict mode, with thinking, and in other dialects."""

import json

import pytest

from tests.cases import each_case
from tests.formats.providers.every_provider import PROVIDERS
from tests.formats.providers.provider import FINAL_TEXT, ScriptedCall
from tests.formats.providers.server import serving, whole
from tests.formats.providers.test_turns import KINDS, RENDERED
from tests.formats.providers.turn_tools import TOOLS
from tests.formats.providers.turns import streamed_turn, whole_turn
from toolhaft import ToolExecutor
from toolhaft.formats import decode_calls, encode_calls, encode_results, export_tools

pytestmark = pytest.mark.external

NULLED = {"city": "Paris", "unit": None}
"""What a strict model says where it says nothing: every key is there."""


@pytest.mark.parametrize("format", PROVIDERS)
def test_a_strict_turn(format):
    export = export_tools(TOOLS, format, strict=True)
    assert [refusal.tool for refusal in export.refused] == []
    for turn in (
        whole_turn(PROVIDERS[format], replays=False, strict=True),
        whole_turn(PROVIDERS[format], replays=True, strict=True),
        streamed_turn(PROVIDERS[format], strict=True),
    ):
        assert turn.reported == (FINAL_TEXT, RENDERED, KINDS)


@pytest.mark.parametrize("format", ["openai_chat", "openai_responses"])
def test_nulls_of_strict_calls_are_read_as_absent_and_replayed_as_nulls(format):
    provider = PROVIDERS[format]
    export = export_tools(TOOLS, format, strict=True)
    asked = [ScriptedCall(provider.ids[0], "weather", NULLED)]
    with (
        serving(
            provider.check, provider.refuse, [whole(provider.calling(asked)), whole(provider.final)]
        ) as server,
        provider.client(server.url) as client,
    ):
        calls = decode_calls(provider.ask(client, provider.question, export.payload), format, export=export)
        results = ToolExecutor(TOOLS).execute_all(calls)
        history = [*provider.question, *encode_calls(calls, format, export=export)]
        history += encode_results(results, format, export=export)
        final = provider.ask(client, history, export.payload)
    assert [(call.name, call.arguments) for call in calls] == [("weather", {"city": "Paris"})]
    assert [result.render() for result in results] == ["21 degrees celsius in Paris"]
    assert provider.text(final) == FINAL_TEXT
    again = decode_calls(encode_calls(calls, format, export=export), format)
    assert [_object(call) for call in again] == [NULLED]


def _object(call):
    """The arguments as sent, parsed if they are text."""
    return json.loads(call.arguments)


@each_case("format", PROVIDERS)
@each_case("parallel", [True, None])
def test_a_turn_in_which_a_tool_may_or_must_be_called(format, parallel):
    for choice in ("auto", "required", ["weather", "shop.stock", "chart"]):
        turn = whole_turn(PROVIDERS[format], replays=False, choice=choice, parallel=parallel)
        assert turn.reported == (FINAL_TEXT, RENDERED, KINDS)


def test_a_turn_keeps_the_signed_thinking_of_the_model():
    fields = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    for turn in (
        whole_turn(PROVIDERS["anthropic"], replays=False, fields=fields),
        streamed_turn(PROVIDERS["anthropic"], fields=fields),
    ):
        assert turn.reported == (FINAL_TEXT, RENDERED, KINDS)


def test_a_turn_in_the_dialect_of_schema_messages():
    for turn in (
        whole_turn(PROVIDERS["gemini"], replays=False, dialect="parameters"),
        whole_turn(PROVIDERS["gemini"], replays=True, dialect="parameters"),
        streamed_turn(PROVIDERS["gemini"], dialect="parameters"),
    ):
        assert turn.reported == (FINAL_TEXT, RENDERED, KINDS)
