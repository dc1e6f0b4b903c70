"""Free-form tools, namespaces and hints with the real clients."""

import pytest

from tests.formats.providers.every_provider import PROVIDERS
from tests.formats.providers.provider import FINAL_TEXT
from tests.formats.providers.sdk_types import history_problems, request_problems
from tests.formats.providers.server import serving, whole
from toolhaft import ToolExecutor, tool
from toolhaft.formats import decode_calls, encode_calls, encode_results, export_tools

pytestmark = pytest.mark.external

CODE = 'print("hi")\n'
GRAMMAR = {"syntax": "regex", "definition": "[a-z]+"}


@tool(metadata={"wire": {"free_form": True}})
def run(input: str) -> str:
    """Run a program."""
    return f"ran {input}"


@tool(metadata={"wire": {"free_form": GRAMMAR}})
def spell(input: str) -> str:
    """Spell a word."""
    return "-".join(input)


@tool(metadata={"wire": {"namespace": "crm", "namespace_description": "Customers."}})
def find_customer(name: str) -> str:
    """Find a customer."""
    return f"{name} is number 7"


TOOLS = [run, spell, find_customer]


def _chat_said():
    calls = [
        {"id": "call_1", "type": "custom", "custom": {"name": "run", "input": CODE}},
        {
            "id": "call_2",
            "type": "function",
            "function": {"name": "find_customer", "arguments": '{"name": "Ann"}'},
        },
    ]
    response = PROVIDERS["openai_chat"].calling([])
    response["choices"][0]["message"]["tool_calls"] = calls
    return response


def _responses_said():
    items = [
        {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "run", "input": CODE},
        {
            "id": "fc_2",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_2",
            "name": "find_customer",
            "namespace": "crm",
            "arguments": '{"name": "Ann"}',
        },
    ]
    response = PROVIDERS["openai_responses"].calling([])
    response["output"] += items
    return response


SAID = {"openai_chat": _chat_said, "openai_responses": _responses_said}
ADDED = {
    "openai_chat": [
        {
            "role": "assistant",
            "content": "I will look both up.",
            "tool_calls": _chat_said()["choices"][0]["message"]["tool_calls"],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": f"ran {CODE}"},
        {"role": "tool", "tool_call_id": "call_2", "content": "Ann is number 7"},
    ],
    "openai_responses": [
        *_responses_said()["output"],
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": f"ran {CODE}"},
        {"type": "function_call_output", "call_id": "call_2", "output": "Ann is number 7"},
    ],
}
HISTORY = {"openai_chat": "messages", "openai_responses": "input"}


@pytest.mark.parametrize("format", SAID)
def test_a_turn_with_free_form_tools_and_namespaces(format):
    provider = PROVIDERS[format]
    export = export_tools(TOOLS, format)
    with (
        serving(provider.check, provider.refuse, [whole(SAID[format]()), whole(provider.final)]) as server,
        provider.client(server.url) as client,
    ):
        calls = decode_calls(provider.ask(client, provider.question, export.payload), format, export=export)
        results = ToolExecutor(TOOLS).execute_all(calls)
        added = [*encode_calls(calls, format, export=export), *encode_results(results, format, export=export)]
        final = provider.ask(client, [*provider.question, *added], export.payload)
    assert [(call.id, call.name) for call in calls] == [("call_1", "run"), ("call_2", "find_customer")]
    assert [result.render() for result in results] == [f"ran {CODE}", "Ann is number 7"]
    assert provider.text(final) == FINAL_TEXT
    assert server.bodies()[1][HISTORY[format]] == [*provider.question, *ADDED[format]]
    assert request_problems(format, export.payload) == []
    assert history_problems(format, added) == []


def test_the_events_of_a_free_form_call_are_one_call():
    place = {"item_id": "ctc_1", "output_index": 0}
    item = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "run", "input": CODE}
    name = "response.custom_tool_call_input"
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "input": ""}},
        {"type": f"{name}.delta", **place, "delta": CODE[:5]},
        {"type": f"{name}.delta", **place, "delta": CODE[5:]},
        {"type": f"{name}.done", **place, "input": CODE},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**PROVIDERS["openai_responses"].final, "output": [item]}},
    ]
    provider = PROVIDERS["openai_responses"]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    export = export_tools(TOOLS, "openai_responses")
    with (
        serving(provider.check, provider.refuse, [provider.frame(numbered)]) as server,
        provider.client(server.url) as client,
    ):
        read = provider.stream(client, provider.question, export.payload)
    calls = decode_calls(read, "openai_responses", export=export)
    assert [result.render() for result in ToolExecutor(TOOLS).execute_all(calls)] == [f"ran {CODE}"]
    assert [(call.id, call.name) for call in calls] == [("call_1", "run")]


def test_the_anthropic_server_accepts_its_hints():
    @tool(metadata={"wire": {"cache_control": {"type": "ephemeral", "ttl": "1h"}}})
    def kept(query: str) -> str:
        """Look up."""
        return query

    @tool(metadata={"wire": {"defer_loading": True, "allowed_callers": ["direct"]}})
    def later(query: str) -> str:
        """Look up, if asked."""
        return query

    provider = PROVIDERS["anthropic"]
    export = export_tools([kept, later], "anthropic")
    with (
        serving(provider.check, provider.refuse, [whole(provider.final)]) as server,
        provider.client(server.url) as client,
    ):
        assert provider.text(provider.ask(client, provider.question, export.payload)) == FINAL_TEXT
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    assert server.bodies()[0]["tools"] == [
        {
            "name": "kept",
            "description": "Look up.",
            "input_schema": schema,
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        },
        {
            "name": "later",
            "description": "Look up, if asked.",
            "input_schema": schema,
            "defer_loading": True,
            "allowed_callers": ["direct"],
        },
    ]
    assert request_problems("anthropic", export.payload) == []
