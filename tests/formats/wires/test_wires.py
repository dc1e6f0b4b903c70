"""The loopback servers themselves: each real client reads what they say and is refused what the provider refuses.

Does not know Toolhaft.
"""

import copy
import json
from functools import cache

import pytest

from tests.formats.wires.bad_requests import BAD_REQUESTS, GOOD_FIELDS
from tests.formats.wires.client_errors import CLIENT_ERRORS
from tests.formats.wires.every_wire import WIRES
from tests.formats.wires.server import Request, serving, whole
from tests.formats.wires.wire import FINAL_TEXT, PLAN, Asked


def _asked(wire):
    return [
        Asked(wire.ids[0], "weather", {"city": "Paris"}),
        Asked(wire.ids[1], "stock", {"item": "bolt", "place": {"hall": 2}}),
    ]


@pytest.fixture(params=WIRES.values(), ids=WIRES)
def wire(request):
    return request.param


def test_every_client_reads_whole_answers(wire):
    with serving(wire.check, wire.refuse, [whole(wire.final)]) as server, wire.connect(server.url) as client:
        response = wire.ask(client, wire.question, {})
    assert wire.text(response) == FINAL_TEXT


def test_every_client_reads_a_stream_cut_anywhere(wire):
    with (
        serving(wire.check, wire.refuse, [wire.frame(wire.final_events)]) as server,
        wire.connect(server.url) as client,
    ):
        events = wire.stream(client, wire.question, {})
    assert wire.stream_text(events) == FINAL_TEXT


def test_every_client_reads_calls_from_both(wire):
    asked = _asked(wire)
    script = [whole(wire.calling(asked)), wire.frame(wire.calling_events(asked))]
    with serving(wire.check, wire.refuse, script) as server, wire.connect(server.url) as client:
        response = wire.ask(client, wire.question, GOOD_FIELDS[wire.format])
        events = wire.stream(client, wire.question, GOOD_FIELDS[wire.format])
    written = json.dumps(wire.dump(response), default=repr)
    assert [name for name in ("weather", "stock") if name in written] == ["weather", "stock"]
    # Cohere has no text beside calls, but a plan
    assert wire.stream_text(events) == ("" if wire.format == "cohere" else PLAN)


def test_every_client_hears_a_refusal_as_its_own_error(wire):
    with (
        serving(wire.check, wire.refuse, []) as server,
        wire.connect(server.url) as client,
        pytest.raises(CLIENT_ERRORS[wire.format], match="the script has ended"),
    ):
        wire.ask(client, wire.question, {})
    assert server.refusals == []


def test_a_script_that_was_not_asked_for_fails_the_test(wire):
    with pytest.raises(AssertionError), serving(wire.check, wire.refuse, [whole(wire.final)]):
        pass


@pytest.mark.parametrize(("format", "problem", "spoil"), BAD_REQUESTS)
def test_every_server_refuses_what_its_provider_refuses(format, problem, spoil):
    wire = WIRES[format]
    recorded = _good_request(format)
    body = copy.deepcopy(recorded.body)
    spoil(body)
    assert body != recorded.body
    with serving(wire.check, wire.refuse, []) as server:
        server.answer(Request(recorded.path, recorded.headers, body))
    assert [refusal for refusal in server.refusals if problem in refusal] == server.refusals != []


@cache
def _good_request(format):
    """A request with tools and a finished turn in its history, as the real client sends it."""
    wire = WIRES[format]
    asked = _asked(wire)
    script = [whole(wire.calling(asked)), whole(wire.final)]
    with serving(wire.check, wire.refuse, script) as server, wire.connect(server.url) as client:
        fields = GOOD_FIELDS[wire.format]
        response = wire.ask(client, wire.question, fields)
        results = json.loads(
            json.dumps(_RESULTS[wire.format]).replace("ID-1", asked[0].id).replace("ID-2", asked[1].id)
        )
        wire.ask(client, [*wire.question, *wire.replay(response), *results], fields)
    return server.requests[1]


def _chat_results(**more):
    return [{"role": "tool", "tool_call_id": f"ID-{number}", "content": "21", **more} for number in (1, 2)]


_RESULTS = {
    "openai_chat": _chat_results(),
    "openai_responses": [
        {"type": "function_call_output", "call_id": f"ID-{number}", "output": "21"} for number in (1, 2)
    ],
    "anthropic": [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": f"ID-{number}", "content": "21"} for number in (1, 2)
            ],
        }
    ],
    "bedrock": [
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": f"ID-{number}", "content": [{"json": {"t": 21}}]}}
                for number in (1, 2)
            ],
        }
    ],
    "gemini": [
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": f"ID-{number}", "name": name, "response": {"output": 21}}}
                for number, name in ((1, "weather"), (2, "stock"))
            ],
        }
    ],
    "mistral": _chat_results(),
    "cohere": _chat_results(),
    "ollama": [{"role": "tool", "tool_name": name, "content": "21"} for name in ("weather", "stock")],
}
