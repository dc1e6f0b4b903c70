"""Anthropic's Messages: tools, calls, results and the other blocks of a message."""

import pytest

from tests.cases import each_case
from toolhaft import Tool, ToolCall, ToolResult
from toolhaft.core.content import Document, Image, Video
from toolhaft.errors import WireError
from toolhaft.formats import (
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
THINKING = {"type": "thinking", "thinking": "Where?", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl"}
PLAN = {"type": "text", "text": "Let me see."}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather"}}
DIRECT = {"type": "direct"}


def weather(**options):
    return Tool(name="weather", description="Tells the weather", input_schema=SCHEMA, **options)


def use(id, name, given, **more):
    return {"type": "tool_use", "id": id, "name": name, "input": given, **more}


def message(*blocks, reason="tool_use"):
    return {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": reason}


def written(**options):
    (tool,) = export_tools([weather(**options.pop("tool", {}))], "anthropic", **options).tools
    return tool


# --- tools out and in ---------------------------------------------------------------------------------


def test_a_tool_is_exported_with_its_schema():
    assert export_tools([weather()], "anthropic").payload == {
        "tools": [{"name": "weather", "description": "Tells the weather", "input_schema": SCHEMA}]
    }


def test_a_strict_tool_is_closed_and_keeps_its_optional_parameters():
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }
    tool = Tool(name="weather", description="Tells the weather", input_schema=schema)
    (made,) = export_tools([tool], "anthropic", strict=True).tools
    assert made == {
        "name": "weather",
        "description": "Tells the weather",
        "input_schema": {**schema, "additionalProperties": False},
        "strict": True,
    }


def test_examples_have_their_own_field():
    example = {"input": {"city": "Oslo"}}
    assert written(tool={"examples": [example]})["input_examples"] == [{"city": "Oslo"}]
    (tool,) = import_tools(export_tools([weather(examples=[example])], "anthropic").payload, "anthropic")
    assert [given.input for given in tool.examples] == [{"city": "Oslo"}]


def test_hints_are_exported_and_imported():
    hints = {
        "allowed_callers": ["direct", "code_execution_20260120"],
        "eager_input_streaming": True,
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
    }
    payload = export_tools([weather(metadata={"wire": hints})], "anthropic").payload
    assert payload["tools"] == [
        {"name": "weather", "description": "Tells the weather", "input_schema": SCHEMA, **hints}
    ]
    (tool,) = import_tools(payload, "anthropic")
    assert tool.metadata == {"wire": hints}


def test_a_deferred_tool_is_not_cached_and_a_loss_is_reported():
    hints = {"defer_loading": True, "cache_control": {"type": "ephemeral"}}
    export = export_tools([weather(metadata={"wire": hints})], "anthropic")
    assert export.tools[0]["defer_loading"] is True
    assert "cache_control" not in export.tools[0]
    assert [str(loss) for loss in export.losses] == [
        "weather: metadata.wire.defer_loading left out (at least one tool must be loaded immediately)",
        "weather: metadata.wire.cache_control left out (a deferred tool is not cached)",
    ]


def test_the_first_tool_is_loaded_if_all_are_deferred():
    deferred = {"wire": {"defer_loading": True}}
    tools = [
        Tool(name=name, description=name, input_schema=SCHEMA, metadata=deferred) for name in ("one", "two")
    ]
    made = export_tools(tools, "anthropic").payload["tools"]
    assert [tool.get("defer_loading") for tool in made] == [None, True]
    made = export_tools([*tools, weather()], "anthropic").payload["tools"]
    assert [tool.get("defer_loading") for tool in made] == [True, True, None]


def test_a_tool_that_code_may_call_is_not_strict():
    hints = {"allowed_callers": ["code_execution_20260120"]}
    export = export_tools([weather(metadata={"wire": hints})], "anthropic", strict=True)
    assert "strict" not in export.tools[0]
    assert "weather: strict checked locally (strict tools cannot be called from code)" in map(
        str, export.losses
    )


def test_callers_of_another_provider_are_left_out_and_reported():
    export = export_tools([weather(metadata={"wire": {"allowed_callers": ["programmatic"]}})], "anthropic")
    assert "allowed_callers" not in export.tools[0]
    assert [str(loss) for loss in export.losses] == [
        "weather: metadata.wire.allowed_callers left out (expected a list of 'direct' or 'code_execution_<date>')"
    ]


@pytest.mark.parametrize("callers", [["code_execution_20250825"], ["direct", "code_execution_20260120"]])
def test_tools_that_code_may_call_cannot_be_called_one_at_a_time(callers):
    tools = [weather(metadata={"wire": {"allowed_callers": callers}}), Tool(name="b", description="B")]
    export = export_tools(tools, "anthropic", choice="required", parallel=False)
    assert export.payload["tool_choice"] == {"type": "any"}
    assert [str(refusal) for refusal in export.refused] == [
        "request: parallel=False: tools that code may call cannot be called one at a time"
    ]
    export = export_tools(tools, "anthropic", parallel=True)
    assert export.payload["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": False}
    assert export.refused == ()
    held = export_tools(tools, "anthropic", choice=["b"], parallel=False)
    assert (held.payload["tool_choice"], held.refused) == (
        {"type": "auto", "disable_parallel_tool_use": True},
        (),
    )


@pytest.mark.parametrize("callers", [["direct"], ["programmatic"], "code_execution_20250825"])
def test_tools_that_code_may_not_call_can_be_called_one_at_a_time(callers):
    tool = weather(metadata={"wire": {"allowed_callers": callers}})
    export = export_tools([tool], "anthropic", parallel=False)
    assert export.payload["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert export.refused == ()


@each_case(
    ("wishes", "form"),
    [
        ({"choice": "auto"}, {"type": "auto"}),
        ({"choice": "none"}, {"type": "none"}),
        ({"choice": "required"}, {"type": "any"}),
        ({"choice": "weather"}, {"type": "tool", "name": "weather"}),
        ({"parallel": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"choice": "required", "parallel": False}, {"type": "any", "disable_parallel_tool_use": True}),
        (
            {"choice": "weather", "parallel": True},
            {"type": "tool", "name": "weather", "disable_parallel_tool_use": False},
        ),
        ({"choice": "none", "parallel": False}, {"type": "none"}),
    ],
)
def test_choice_and_parallel_are_one_object(wishes, form):
    assert export_tools([weather()], "anthropic", **wishes).payload["tool_choice"] == form


def test_a_list_of_tools_and_a_single_tool_are_imported():
    tool = {"type": "custom", "name": "weather", "input_schema": SCHEMA}
    for payload in ({"tools": [tool]}, [tool], tool):
        (made,) = import_tools(payload, "anthropic")
        assert (made.name, made.description, made.input_schema) == ("weather", "weather", SCHEMA)


@each_case(
    ("payload", "reported"),
    [
        (
            [{"type": "function", "function": {"name": "x"}}],
            "[0].type: got \"function\"; expected 'custom', or no type",
        ),
        ([{"name": "x"}], "[0]: 'input_schema' is missing; expected an object with 'input_schema'"),
        ({"tools": 3}, "tools: got 3; expected a list"),
    ],
)
def test_a_payload_of_another_shape_is_an_error_with_its_path(payload, reported):
    with pytest.raises(WireError) as caught:
        import_tools(payload, "anthropic")
    assert reported in str(caught.value)


def test_a_bad_tool_is_refused_with_its_path():
    (refused,) = import_tools({"tools": [{"name": 7, "input_schema": SCHEMA}]}, "anthropic").refused
    assert "tools[0].name: got 7; expected text" in refused.reason


# --- calls in and out ---------------------------------------------------------------------------------


def test_other_blocks_are_stored_with_the_next_call_or_the_last_one():
    after = {"type": "text", "text": "That is all."}
    blocks = [
        THINKING,
        REDACTED,
        PLAN,
        use("toolu_1", "weather", {"city": "Oslo"}, caller=DIRECT),
        SEARCH,
        use("toolu_2", "weather", {"city": "Rome"}),
        after,
    ]
    calls = decode_calls(message(*blocks), "anthropic")
    assert calls == [
        ToolCall(
            "toolu_1",
            "weather",
            {"city": "Oslo"},
            extras={"anthropic": {"before": [THINKING, REDACTED, PLAN], "block": {"caller": DIRECT}}},
        ),
        ToolCall(
            "toolu_2",
            "weather",
            {"city": "Rome"},
            extras={"anthropic": {"before": [SEARCH], "after": [after]}},
        ),
    ]
    assert encode_calls(calls, "anthropic") == [{"role": "assistant", "content": blocks}]


def test_blank_text_is_not_stored_because_servers_refuse_it():
    (call,) = decode_calls(message({"type": "text", "text": " "}, use("a", "weather", {})), "anthropic")
    assert call == ToolCall("a", "weather", {})


@each_case(
    "given",
    [
        message(use("a", "weather", {})),
        {"role": "assistant", "content": [use("a", "weather", {})]},
        [use("a", "weather", {})],
        use("a", "weather", {}),
        [{"role": "assistant", "content": [use("a", "weather", {})]}],
    ],
)
def test_calls_are_read_from_responses_messages_and_blocks(given):
    assert decode_calls(given, "anthropic") == [ToolCall("a", "weather", {})]


def test_a_message_without_calls_has_none():
    assert decode_calls({"role": "assistant", "content": "Hello"}, "anthropic") == []
    assert decode_calls(message(PLAN, reason="end_turn"), "anthropic") == []


@each_case(
    ("given", "reported"),
    [
        ({"type": "error", "error": {}}, "'content' is missing"),
        ({"content": 3}, "content: got 3; expected a list of blocks"),
        ({"content": [PLAN, "x"]}, 'content[1]: got "x"; expected an object'),
        ([["x"]], "expected an object"),
    ],
)
def test_a_message_of_another_shape_is_an_error_with_its_path(given, reported):
    with pytest.raises(WireError) as caught:
        decode_calls(given, "anthropic")
    assert reported in str(caught.value)


@each_case(
    ("block", "problem"),
    [
        (use(None, "weather", {}), "the call has no valid id"),
        (use("a", None, {}), "the call names no tool"),
        (use("a", "weather", [1]), "the arguments are not an object"),
        (use("a", "weather", '{"city": '), "not valid JSON"),
        (use({}, [], 7), "the call names no tool; the call has no valid id; the arguments are not an object"),
    ],
)
def test_nonsense_in_a_call_makes_it_malformed(block, problem):
    (call,) = decode_calls([block], "anthropic")
    assert problem in call.malformed


def test_a_second_call_with_the_same_id_is_malformed():
    first, second = decode_calls([use("a", "weather", {}), use("a", "weather", {})], "anthropic")
    assert (first.malformed, second.malformed) == (None, "another call of the same turn has this id")


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_only_the_last_call_of_a_truncated_message_is_malformed(reason):
    cut = message(use("a", "weather", {}), use("b", "weather", {"city": "Os"}), reason=reason)
    first, second = decode_calls(cut, "anthropic")
    assert first.malformed is None
    assert second.malformed == "the message ended before the call was complete"
    whole = message(use("a", "weather", {}), PLAN, reason=reason)
    assert [call.malformed for call in decode_calls(whole, "anthropic")] == [None]


# --- results back -------------------------------------------------------------------------------------


def results(*pairs):
    calls = [ToolCall(f"toolu_{at}", "weather", "{}", extras=extras) for at, (_, extras) in enumerate(pairs)]
    return encode_results([result for result, _ in pairs], "anthropic", calls=calls)


def test_all_results_are_in_one_user_message():
    failed = ToolResult.error("no such city")
    assert results((ToolResult.ok("sunny", message=""), None), (failed, None)) == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_0", "content": "sunny"},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": "no such city",
                    "is_error": True,
                },
            ],
        }
    ]


def test_an_error_without_text_has_its_kind_and_the_toolset_is_sent_back():
    ((block,),) = [
        written["content"]
        for written in results(
            (ToolResult(success=False), {"anthropic": {"block": {"toolset_name": "browser"}}})
        )
    ]
    assert block == {
        "type": "tool_result",
        "tool_use_id": "toolu_0",
        "content": "failed",
        "is_error": True,
        "toolset_name": "browser",
    }


def test_images_and_documents_follow_the_text_and_other_media_are_described():
    parts = (
        Image(data=b"png"),
        Image(url="https://example.org/a.png"),
        Image(data=b"tiff", media_type="image/tiff"),
        Document(data=b"%PDF", name="Report"),
        Document(url="https://example.org/a.pdf"),
        Document(data=b"a,b", media_type="text/csv", name="Table"),
        Document(data=b"zip", media_type="application/zip"),
        Video(data=b"mp4"),
    )
    ((message_of_user,),) = [results((ToolResult(message="Seen", content=parts), None))]
    assert message_of_user["content"][0]["content"] == [
        {
            "type": "text",
            "text": "Seen\n\n[image left out: image/tiff]\n\n[document left out: application/zip]\n\n"
            "[video left out: video/mp4]",
        },
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            "title": "Report",
        },
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "a,b"},
            "title": "Table",
        },
    ]


def test_ids_and_names_that_the_format_refuses_are_changed_and_restored():
    tool = Tool(name="city.weather", description="Tells the weather", input_schema=SCHEMA)
    export = export_tools([tool], "anthropic")
    call = ToolCall("call:1/ä", "city.weather", {"city": "Oslo"})
    encoded = encode_calls([call], "anthropic", export=export)
    (block,) = encoded[0]["content"]
    assert block["name"] == "city_weather"
    assert encoded.ids == {block["id"]: "call:1/ä"}
    assert decode_calls(encoded, "anthropic", export=export) == [call]


def test_arguments_that_are_not_an_object_are_sent_under_a_key():
    encoded = encode_calls([ToolCall("a", "weather", '{"city": ')], "anthropic")
    assert encoded[0]["content"] == [use("a", "weather", {"INVALID_JSON": '{"city": '})]
