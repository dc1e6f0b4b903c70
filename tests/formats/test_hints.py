"""Hints for single formats: valid ones are exported, invalid ones are left out and reported."""

import pytest

from tests.cases import each_case
from tests.formats.chat_tools import SCHEMA, script, weather
from toolhaft import Tool, ToolCall
from toolhaft.formats import Loss, decode_calls, encode_calls, export_tools, import_tools
from toolhaft.formats.hints import (
    FLAG,
    TEXT,
    accepted_hints,
    fits,
    known_words,
    list_of,
    object_of,
    one_of,
    rejected_hints,
)

RESPONSES = "openai_responses"
POINT = {"type": "ephemeral"}
CACHE = "an object with 'type' ('ephemeral'), perhaps 'ttl' ('5m' or '1h')"
GRAMMAR = (
    "an object with 'syntax' ('lark' or 'regex'), 'definition' (text that is not blank), "
    "perhaps 'type' ('grammar')"
)
ICONS = (
    "a list, each an object with 'src' (a text), perhaps 'mimeType' (a text), "
    "perhaps 'sizes' (a list, each a text), perhaps 'theme' ('light' or 'dark')"
)


def hinted(name="weather", **hints):
    return Tool(name=name, description="Weather.", input_schema=SCHEMA, metadata={"wire": hints})


def reported(export):
    """The losses of hints, without those of fields that the format lacks."""
    return [str(loss) for loss in export.losses if loss.keyword.startswith("metadata.wire.")]


# --- one hint --------------------------------------------------------------------------------------


def test_unknown_words_of_a_list_are_left_out():
    hint = known_words("'a' or 'b'", lambda word: word in "ab")
    assert hint.accept(["a", "c", 5, "b"]) == ["a", "b"]
    for nothing in (["c"], [], "a", {"a": 1}, None, 5):
        assert hint.accept(nothing) is None


def test_an_object_hint_has_required_and_only_known_members():
    closed = object_of({"a": FLAG}, {"b": one_of("x", "y")})
    assert closed.expected == "an object with 'a' (true or false), perhaps 'b' ('x' or 'y')"
    assert [fits(value, closed) for value in ({"a": True}, {"a": False, "b": "y"})] == [True, True]
    for value in ({}, {"a": 1}, {"a": None}, {"a": True, "b": "z"}, {"a": True, "c": 1}, [], "a", None):
        assert not fits(value, closed)
    assert fits({"a": True, "c": 1}, object_of({"a": FLAG}, {}, is_open=True))


def test_null_hints_are_absent_and_not_lost():
    hints = {"a": FLAG, "b": list_of(TEXT), "c": TEXT}
    given = {"b": ["x"], "a": None, "c": 5}
    assert accepted_hints(given, hints) == {"b": ["x"]}
    assert [loss.keyword for loss in rejected_hints(given, hints)] == ["metadata.wire.c"]


# --- nonsense --------------------------------------------------------------------------------------

NONSENSE = [
    *[
        (format, "cache_control", value, CACHE)
        for format in ("anthropic", "bedrock")
        for value in ("yes", False, {}, {"type": "default"}, {**POINT, "ttl": "10m"}, {**POINT, "more": 1})
    ],
    ("anthropic", "defer_loading", "yes", "true or false"),
    ("anthropic", "eager_input_streaming", 1, "true or false"),
    *[
        ("anthropic", "allowed_callers", value, "a list of 'direct' or 'code_execution_<date>'")
        for value in ("direct", [], ["code_execution_"], [5], {"direct": True})
    ],
    ("gemini", "behavior", 5, "'BLOCKING' or 'NON_BLOCKING' or 'UNSPECIFIED'"),
    ("gemini", "behavior", "blocking", "'BLOCKING' or 'NON_BLOCKING' or 'UNSPECIFIED'"),
    *[("mcp", "icons", value, ICONS) for value in ("x", ["x"], [{}], [{"src": "a", "sizes": "any"}])],
    ("mcp", "_meta", 5, "an object"),
    *[(RESPONSES, "defer_loading", value, "true or false") for value in ("yes", 0)],
    (RESPONSES, "async", "no", "true or false"),
    (RESPONSES, "allowed_callers", "direct", "a list of 'direct' or 'programmatic'"),
    *[(RESPONSES, "namespace", value, "text that is not blank") for value in (5, "", " ")],
    *[(format, "free_form", {}, f"true, or {GRAMMAR}") for format in (RESPONSES, "openai_chat")],
]


@each_case(("format", "key", "value", "expected"), NONSENSE)
def test_an_invalid_hint_is_left_out_and_reported(format, key, value, expected):
    export = export_tools([hinted(**{key: value})], format)
    assert export.payload == export_tools([hinted()], format).payload
    assert reported(export) == [f"weather: metadata.wire.{key} left out (expected {expected})"]


@each_case(("format", "key"), sorted({(format, key) for format, key, _, _ in NONSENSE}))
def test_a_null_hint_is_not_sent(format, key):
    export = export_tools([hinted(**{key: None})], format)
    assert export.payload == export_tools([hinted()], format).payload
    assert reported(export) == []


@each_case("format", [RESPONSES, "openai_chat"])
@each_case(
    "hint", [{"syntax": "perl", "definition": "a"}, {"syntax": "lark"}, {"syntax": "lark", "definition": ""}]
)
def test_an_invalid_grammar_is_reported_and_any_text_is_accepted(format, hint):
    export = export_tools([script(hint)], format)
    assert export.payload == export_tools([script()], format).payload
    assert reported(export) == [
        f"script: metadata.wire.free_form left out (any text is accepted; expected true, or {GRAMMAR})"
    ]


@pytest.mark.parametrize("format", [RESPONSES, "openai_chat"])
def test_a_grammar_is_exported_with_or_without_its_type(format):
    grammar = {"syntax": "lark", "definition": 'start: "a"'}
    export = export_tools([script({"type": "grammar", **grammar})], format)
    assert export.payload == export_tools([script(grammar)], format).payload
    assert reported(export) == []


PERL = {"syntax": "perl", "definition": "a"}
NAMED = {"name": "script", "description": "Run."}


@pytest.mark.parametrize(
    ("format", "shown"),
    [
        (RESPONSES, {"type": "custom", **NAMED, "format": {"type": "grammar", **PERL}}),
        (
            "openai_chat",
            {"type": "custom", "custom": {**NAMED, "format": {"type": "grammar", "grammar": PERL}}},
        ),
    ],
)
def test_an_imported_grammar_is_checked_too(format, shown):
    (tool,) = import_tools([shown], format)
    assert tool.metadata == {"wire": {"free_form": PERL}}
    assert reported(export_tools([tool], format)) == [
        f"script: metadata.wire.free_form left out (any text is accepted; expected true, or {GRAMMAR})"
    ]


@pytest.mark.parametrize("dialect", ["2026-07-28", "2025-11-25", "2025-06-18"])
def test_a_hint_that_a_revision_lacks_is_reported_once_even_if_invalid(dialect):
    export = export_tools([hinted(icons="x", execution=5)], "mcp", dialect=dialect)
    assert export.payload == export_tools([hinted()], "mcp", dialect=dialect).payload
    assert sorted(loss.keyword for loss in export.losses) == [
        "metadata.wire.execution",
        "metadata.wire.icons",
    ]


def test_invalid_annotations_are_left_out():
    for bad in ("x", {"readOnlyHint": "yes"}, {"title": 5}):
        export = export_tools([hinted(annotations=bad)], "mcp")
        assert export.payload == export_tools([hinted()], "mcp").payload
        assert [loss.keyword for loss in export.losses] == ["metadata.wire.annotations"]


# --- cache points ----------------------------------------------------------------------------------


def cached(count):
    return [hinted(f"t{number}", cache_control=POINT) for number in range(count)]


def test_only_the_last_four_cache_points_are_sent():
    plain = Tool(name="plain", description="Plain.", metadata={"wire": {"defer_loading": False}})
    tools = [*cached(3), plain, *cached(6)[3:]]
    export = export_tools(tools, "anthropic")
    made = {tool["name"]: tool.get("cache_control") for tool in export.payload["tools"]}
    assert made == {"t0": None, "t1": None, "plain": None, **dict.fromkeys(("t2", "t3", "t4", "t5"), POINT)}
    assert export.losses == tuple(
        Loss(
            name,
            "",
            "metadata.wire.cache_control",
            "left out",
            "one request takes at most 4 cache points",
        )
        for name in ("t0", "t1")
    )
    assert export.payload["tools"][0] == export_tools([hinted("t0")], "anthropic").payload["tools"][0]
    assert export_tools(cached(4), "anthropic").losses == ()


def test_a_surplus_cache_point_is_removed_next_to_other_hints():
    first = hinted(
        "first", cache_control={**POINT, "ttl": "1h"}, defer_loading=False, allowed_callers=["direct"]
    )
    tools = export_tools([first, *cached(4)], "anthropic").payload["tools"]
    bare = hinted("first", defer_loading=False, allowed_callers=["direct"])
    assert tools == export_tools([bare, *cached(4)], "anthropic").payload["tools"]


def test_bedrock_writes_at_most_four_cache_points():
    export = export_tools(cached(6), "bedrock")
    tools = export.payload["toolConfig"]["tools"]
    assert ["cachePoint" if "cachePoint" in tool else tool["toolSpec"]["name"] for tool in tools] == [
        *("t0", "t1"),
        *("t2", "cachePoint", "t3", "cachePoint", "t4", "cachePoint", "t5", "cachePoint"),
    ]
    assert [(loss.tool, loss.keyword) for loss in export.losses] == [
        ("t0", "metadata.wire.cache_control"),
        ("t1", "metadata.wire.cache_control"),
    ]


# --- namespaces ------------------------------------------------------------------------------------


def spaces(export):
    return [(tool["name"], tool["description"]) for tool in export.payload["tools"]]


def test_two_namespaces_never_collide():
    export = export_tools([hinted("a", namespace="my ns!"), hinted("b", namespace="my_ns_")], RESPONSES)
    (changed, _), kept = spaces(export)
    assert changed.startswith("my_ns__")
    assert kept == ("my_ns_", "my_ns_")
    assert export.losses == (Loss("a", "", "metadata.wire.namespace", "renamed", changed),)
    assert spaces(export_tools([hinted("a", namespace="my ns!")], RESPONSES)) == [(changed, "my ns!")]


def test_a_namespace_keeps_its_first_description_and_others_are_reported():
    export = export_tools(
        [
            hinted("a", namespace="crm"),
            hinted("b", namespace="crm", namespace_description="Customers."),
            hinted("c", namespace="crm", namespace_description="Clients."),
            hinted("d", namespace="crm", namespace_description="Customers."),
            hinted("e", namespace="ops", namespace_description="Clients."),
        ],
        RESPONSES,
    )
    assert spaces(export) == [("crm", "Customers."), ("ops", "Clients.")]
    assert reported(export) == [
        "c: metadata.wire.namespace_description left out (its namespace already has another one)"
    ]
    alone = export_tools([hinted(namespace_description="Customers.")], RESPONSES)
    assert reported(alone) == [
        "weather: metadata.wire.namespace_description left out (there is no namespace)"
    ]


def function(name):
    return {"type": "function", "name": name, "description": name, "parameters": SCHEMA, "strict": False}


def space(name, *tools):
    return {
        "type": "namespace",
        "name": name,
        "description": name,
        "tools": [function(tool) for tool in tools],
    }


def test_the_same_name_in_two_namespaces_is_two_tools():
    payload = [space("crm", "get", "put"), space("billing", "get"), space("ops", "put", "ops_get", "get")]
    tools = import_tools(payload, RESPONSES)
    names = [(tool.name, tool.metadata["wire"]) for tool in tools]
    hashed = names[-1][0]
    assert hashed.startswith("ops_get_")
    assert names == [
        ("get", {"namespace": "crm"}),
        ("put", {"namespace": "crm"}),
        ("billing_get", {"namespace": "billing", "name": "get"}),
        ("ops_put", {"namespace": "ops", "name": "put"}),
        ("ops_get", {"namespace": "ops"}),
        (hashed, {"namespace": "ops", "name": "get"}),
    ]
    assert export_tools([tools[2]], RESPONSES).payload["tools"] == [payload[1]], (
        "alone it goes out as it came"
    )
    both = export_tools([tools[0], tools[2]], RESPONSES)
    assert both.names == {"get": "get", "billing_get": "billing_get"}, "together each has its own name"


def test_a_tool_without_a_namespace_keeps_its_name_in_any_order():
    tools = import_tools([space("crm", "get"), function("get")], RESPONSES)
    assert [tool.name for tool in tools] == ["crm_get", "get"]


@pytest.mark.parametrize(
    "payload",
    [
        [space("crm", "get", "get")],
        [function("get"), function("get")],
        [space("crm", "get"), space("billing", "get", "get")],
    ],
)
def test_the_same_name_twice_in_one_namespace_is_refused(payload):
    (refusal,) = import_tools(payload, RESPONSES).refused
    assert refusal.tool.endswith("get")
    assert "a second tool" in refusal.reason


def test_a_call_from_another_provider_gets_the_namespace_of_its_tool():
    tools = [weather(metadata={"wire": {"namespace": "my crm"}}), script(namespace="ops")]
    export = export_tools(tools, RESPONSES)
    calls = [ToolCall("call_1", "weather", '{"city": "Oslo"}')]
    encoded = encode_calls(calls, RESPONSES, export=export)
    assert encoded == [
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "weather",
            "arguments": '{"city": "Oslo"}',
            "namespace": export.payload["tools"][0]["name"],
        }
    ]
    assert decode_calls(encoded, RESPONSES, export=export) == calls
    (free,) = encode_calls([ToolCall("call_2", "script", {"code": "x"})], RESPONSES, export=export)
    assert (free["type"], free["namespace"], free["input"]) == ("custom_tool_call", "ops", "x")


@pytest.mark.parametrize("said", [{"namespace": "old"}, {}])
def test_a_call_from_the_server_is_replayed_unchanged(said):
    export = export_tools([weather(metadata={"wire": {"namespace": "crm"}})], RESPONSES)
    item = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "weather",
        "arguments": "{}",
        "status": "completed",
        **said,
    }
    calls = decode_calls([item], RESPONSES, export=export)
    assert calls[0].extras == {RESPONSES: {"item": {"id": "fc_1", "status": "completed", **said}}}
    assert encode_calls(calls, RESPONSES, export=export) == [item]
    assert encode_calls(calls, RESPONSES) == [item]
