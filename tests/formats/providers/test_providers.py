"""The loopback servers: each real client reads their responses, and they refuse what the provider refuses."""

import copy
import json
from functools import cache

import pytest

from tests.cases import each_case
from tests.formats.providers.bad_requests import BAD_REQUESTS, GOOD_FIELDS
from tests.formats.providers.client_errors import CLIENT_ERRORS
from tests.formats.providers.every_provider import PROVIDERS
from tests.formats.providers.provider import FINAL_TEXT, PLAN, ScriptedCall
from tests.formats.providers.server import Request, serving, whole

pytestmark = pytest.mark.external


def _asked(provider):
    return [
        ScriptedCall(provider.ids[0], "weather", {"city": "Paris"}),
        ScriptedCall(provider.ids[1], "stock", {"item": "bolt", "place": {"hall": 2}}),
    ]


@pytest.fixture(params=PROVIDERS.values(), ids=PROVIDERS)
def provider(request):
    return request.param


def test_every_client_reads_whole_responses(provider):
    with (
        serving(provider.check, provider.refuse, [whole(provider.final)]) as server,
        provider.client(server.url) as client,
    ):
        response = provider.ask(client, provider.question, {})
    assert provider.text(response) == FINAL_TEXT


def test_every_client_reads_a_stream_split_anywhere(provider):
    with (
        serving(provider.check, provider.refuse, [provider.frame(provider.final_events)]) as server,
        provider.client(server.url) as client,
    ):
        events = provider.stream(client, provider.question, {})
    assert provider.stream_text(events) == FINAL_TEXT


def test_every_client_reads_calls_from_both(provider):
    asked = _asked(provider)
    script = [whole(provider.calling(asked)), provider.frame(provider.calling_events(asked))]
    with serving(provider.check, provider.refuse, script) as server, provider.client(server.url) as client:
        response = provider.ask(client, provider.question, GOOD_FIELDS[provider.format])
        events = provider.stream(client, provider.question, GOOD_FIELDS[provider.format])
    written = json.dumps(provider.dump(response), default=repr)
    assert [name for name in ("weather", "stock") if name in written] == ["weather", "stock"]
    # Cohere has no text beside calls, but a plan
    assert provider.stream_text(events) == ("" if provider.format == "cohere" else PLAN)


def test_every_client_raises_its_own_error_for_a_refusal(provider):
    with (
        serving(provider.check, provider.refuse, []) as server,
        provider.client(server.url) as client,
        pytest.raises(CLIENT_ERRORS[provider.format], match="the script has ended"),
    ):
        provider.ask(client, provider.question, {})
    assert server.refusals == []


def test_an_unused_scripted_response_fails_the_test(provider):
    with pytest.raises(AssertionError), serving(provider.check, provider.refuse, [whole(provider.final)]):
        pass


@each_case(("format", "problem", "spoil"), BAD_REQUESTS)
def test_every_server_refuses_what_its_provider_refuses(format, problem, spoil):
    provider = PROVIDERS[format]
    recorded = _good_request(format)
    body = copy.deepcopy(recorded.body)
    spoil(body)
    assert body != recorded.body
    with serving(provider.check, provider.refuse, []) as server:
        server.answer(Request(recorded.path, recorded.headers, body))
    assert [refusal for refusal in server.refusals if problem in refusal] == server.refusals != []


@cache
def _good_request(format):
    """A request with tools and a finished turn in its history, as the real client sends it."""
    provider = PROVIDERS[format]
    asked = _asked(provider)
    script = [whole(provider.calling(asked)), whole(provider.final)]
    with serving(provider.check, provider.refuse, script) as server, provider.client(server.url) as client:
        fields = GOOD_FIELDS[provider.format]
        response = provider.ask(client, provider.question, fields)
        results = json.loads(
            json.dumps(_RESULTS[provider.format]).replace("ID-1", asked[0].id).replace("ID-2", asked[1].id)
        )
        provider.ask(client, [*provider.question, *provider.replay(response), *results], fields)
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
