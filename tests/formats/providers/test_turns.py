"""Whole turns through every real client and a loopback server that checks them as the provider would.

What each request must say stands in `expected/`, one file a format. Knows Toolhaft's public verbs alone.
"""

import json
from pathlib import Path

import pytest

from tests.formats.providers.every_provider import PROVIDERS
from tests.formats.providers.provider import FINAL_TEXT
from tests.formats.providers.sdk_types import history_problems
from tests.formats.providers.turn_tools import TOOLS
from tests.formats.providers.turns import asked_calls, streamed_turn, whole_turn
from toolhaft import ToolCall
from toolhaft.formats import decode_calls, export_tools

pytestmark = pytest.mark.external

EXPECTED = Path(__file__).with_name("expected")
RENDERED = [
    ["21 degrees celsius in Paris", '{"item":"bolt","left":3,"hall":2}'],
    [
        "no tool is called 'wether'. Did you mean 'weather'?",
        'The arguments are not valid.\n- item: got 5; expected a string\nValid arguments look like: {"item":"text"}',
        "2 points",
    ],
]
KINDS = [[None, None], ["unknown_tool", "invalid_arguments", None]]


@pytest.fixture(params=PROVIDERS.values(), ids=PROVIDERS)
def provider(request):
    return request.param


def bodies(format, *, calls="calls", way="asking"):
    """Every request of a turn: what it says beside the history, and how far the history has come."""
    told = json.loads((EXPECTED / f"{format}.json").read_text())
    fields, history, made = {**told["fields"], **told[way]}, [*told["question"]], []
    for round_ in told["rounds"]:
        made.append({**fields, told["history"]: [*history]})
        history += [*round_[calls], *round_["results"]]
    return [*made, {**fields, told["history"]: history}]


def test_a_turn_with_the_clients_own_messages_as_history(provider):
    turn = whole_turn(provider, replays=True)
    assert turn.told == (FINAL_TEXT, RENDERED, KINDS)
    assert turn.bodies == bodies(provider.format, calls="replayed")


def test_a_turn_with_encoded_calls_as_history(provider):
    turn = whole_turn(provider, replays=False)
    assert turn.told == (FINAL_TEXT, RENDERED, KINDS)
    assert turn.bodies == bodies(provider.format)


def test_a_turn_with_what_the_client_dumps_of_its_responses(provider):
    turn = whole_turn(provider, replays=False, dumps=True)
    assert turn.told == (FINAL_TEXT, RENDERED, KINDS)
    assert turn.bodies == bodies(provider.format)


def test_a_streamed_turn(provider):
    turn = streamed_turn(provider)
    assert turn.told == (FINAL_TEXT, RENDERED, KINDS)
    assert turn.bodies == bodies(provider.format, way="streaming")


def test_what_goes_out_in_a_turn_fits_the_sdk_types(provider):
    for turn in (whole_turn(provider, replays=False), streamed_turn(provider)):
        assert history_problems(provider.format, turn.encoded) == []


def test_the_same_calls_are_read_from_objects_dictionaries_events_and_bytes(provider):
    export = export_tools(TOOLS, provider.format)
    turn, streamed = whole_turn(provider, replays=True), streamed_turn(provider)
    for number, asked in enumerate(asked_calls(provider, export)):
        message, events = provider.calling(asked), provider.calling_events(asked)
        told = [
            turn.calls[number],
            streamed.calls[number],
            decode_calls(message, provider.format, export=export),
            decode_calls(json.dumps(message), provider.format, export=export),
            decode_calls(events, provider.format, export=export),
        ]
        if provider.format != "bedrock":  # whose stream is binary, and for its client to read
            told.append(decode_calls(iter(provider.frame(events).pieces), provider.format, export=export))
        read = [[_bare(call, provider) for call in calls] for calls in told]
        assert read == [[_bare(call, provider) for call in _wanted(asked, export)]] * len(told)


def _bare(call, provider):
    """Name and arguments, and the id where every way to the call tells it."""
    arguments = getattr(call.arguments, "text", call.arguments)
    value = json.loads(arguments) if isinstance(arguments, str) else arguments
    return ("" if provider.format == "ollama" else call.id, call.name, value)


def _wanted(asked, export):
    return [ToolCall(call.id, export.names.get(call.name, call.name), call.arguments) for call in asked]
