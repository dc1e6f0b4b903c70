"""Whole turns with every real client and a loopback server that checks them as the provider would.

The expected requests are in `expected/`, one file per format.
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
    """Every request of a turn, with the history so far."""
    reported = json.loads((EXPECTED / f"{format}.json").read_text())
    fields, history, made = {**reported["fields"], **reported[way]}, [*reported["question"]], []
    for round_ in reported["rounds"]:
        made.append({**fields, reported["history"]: [*history]})
        history += [*round_[calls], *round_["results"]]
    return [*made, {**fields, reported["history"]: history}]


def test_a_turn_with_the_clients_own_messages_as_history(provider):
    turn = whole_turn(provider, replays=True)
    assert turn.reported == (FINAL_TEXT, RENDERED, KINDS)
    assert turn.bodies == bodies(provider.format, calls="replayed")


def test_a_turn_with_encoded_calls_as_history(provider):
    turn = whole_turn(provider, replays=False)
    assert turn.reported == (FINAL_TEXT, RENDERED, KINDS)
    assert turn.bodies == bodies(provider.format)


def test_a_turn_with_what_the_client_dumps_of_its_responses(provider):
    turn = whole_turn(provider, replays=False, dumps=True)
    assert turn.reported == (FINAL_TEXT, RENDERED, KINDS)
    assert turn.bodies == bodies(provider.format)


def test_a_streamed_turn(provider):
    turn = streamed_turn(provider)
    assert turn.reported == (FINAL_TEXT, RENDERED, KINDS)
    assert turn.bodies == bodies(provider.format, way="streaming")


def test_the_messages_of_a_turn_fit_the_sdk_types(provider):
    for turn in (whole_turn(provider, replays=False), streamed_turn(provider)):
        assert history_problems(provider.format, turn.encoded) == []


def test_the_same_calls_are_read_from_objects_dictionaries_events_and_bytes(provider):
    export = export_tools(TOOLS, provider.format)
    turn, streamed = whole_turn(provider, replays=True), streamed_turn(provider)
    for number, asked in enumerate(asked_calls(provider, export)):
        message, events = provider.calling(asked), provider.calling_events(asked)
        reported = [
            turn.calls[number],
            streamed.calls[number],
            decode_calls(message, provider.format, export=export),
            decode_calls(json.dumps(message), provider.format, export=export),
            decode_calls(events, provider.format, export=export),
        ]
        if provider.format != "bedrock":  # whose stream is binary, and for its client to read
            reported.append(decode_calls(iter(provider.frame(events).pieces), provider.format, export=export))
        read = [[_bare(call, provider) for call in calls] for calls in reported]
        assert read == [[_bare(call, provider) for call in _wanted(asked, export)]] * len(reported)


def _bare(call, provider):
    """Name and arguments, and the id where every way to the call tells it."""
    arguments = getattr(call.arguments, "text", call.arguments)
    value = json.loads(arguments) if isinstance(arguments, str) else arguments
    return ("" if provider.format == "ollama" else call.id, call.name, value)


def _wanted(asked, export):
    return [ToolCall(call.id, export.names.get(call.name, call.name), call.arguments) for call in asked]
