"""Importing real lists of tools: bad tools, tools that the provider defines, fields that Toolhaft does not know."""

import json

import pytest

from tests.cases import each_case, in_case
from tests.formats.operations.test_exports import add
from toolhaft import ToolCall, ToolExecutor
from toolhaft.errors import WireError
from toolhaft.formats import (
    FORMATS,
    ImportedTools,
    Refusal,
    decode_calls,
    export_tools,
    import_tools,
)

OBJECT = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
BAD = {"type": "object", "properties": {"city": {"type": "strin"}}}
OUTSIDE = {"type": "object", "properties": {"city": {"$ref": "https://example.com/city.json"}}}


def declared(format, name, schema=OBJECT):
    """A tool as the format declares it."""
    match format:
        case "anthropic":
            return {"name": name, "description": "D.", "input_schema": schema}
        case "bedrock":
            return {"toolSpec": {"name": name, "description": "D.", "inputSchema": {"json": schema}}}
        case "gemini":
            return {
                "functionDeclarations": [{"name": name, "description": "D.", "parametersJsonSchema": schema}]
            }
        case "mcp":
            return {"name": name, "description": "D.", "inputSchema": schema}
        case "native":
            return {"name": name, "description": "D.", "input_schema": schema}
        case "openai_responses":
            return {"type": "function", "name": name, "description": "D.", "parameters": schema}
        case _:
            return {"type": "function", "function": {"name": name, "description": "D.", "parameters": schema}}


@each_case("format", FORMATS)
def test_a_bad_tool_is_refused_alone_and_the_others_are_imported(format):
    good = [declared(format, "one"), declared(format, "two")]
    unnamed = json.loads(json.dumps(declared(format, "x")).replace('"x"', "5"))
    bad = {
        "schema": declared(format, "bad", BAD),
        "reference": declared(format, "bad", OUTSIDE),
        "a second": declared(format, "one"),
        "array": declared(format, "bad", {"type": "array"}),
        "name": unnamed,
        "number": 5,
        "null": None,
        "empty": {},
        "text": "one",
        "nested": [good[0]],
        "schema of another type": declared(format, "bad", 5),
    }
    for about, member in bad.items():
        with in_case(about, member):
            for tools in ([member, *good], [good[0], member, good[1]], [*good, member]):
                read = import_tools({"tools": tools}, format)
                assert [tool.name for tool in read] == ["one", "two"]
                ((name, reason),) = read.refused
                assert isinstance(read.refused[0], Refusal)
                assert name
                assert reason.startswith(
                    f"{format} at tools[{tools.index(member) if about != 'a second' else ''}"
                )


def test_the_imported_tools_are_a_list_like_any_other():
    read = import_tools(export_tools([add], "anthropic").payload, "anthropic")
    assert isinstance(read, ImportedTools)
    assert read == list(read) == [read[0]]
    assert read.refused == ()
    assert import_tools([], "anthropic") == []


@each_case("format", FORMATS)
@each_case("payload", ["{", 5, None, {"tools": 5}, {"tools": "x"}, [5], [{}], {"tools": [None, 5]}, "[1, 2]"])
def test_only_a_payload_without_any_tool_of_the_format_raises(format, payload):
    with pytest.raises(WireError, match=f"^{format}"):
        import_tools(payload, format)


PROVIDER_TOOLS = {
    "anthropic": [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3, "allowed_domains": ["a.b"]},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 9},
        {"type": "computer_20250124", "name": "computer", "display_width_px": 1, "display_height_px": 2},
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}},
        {"type": "web_fetch_20990101", "name": "web_fetch", "citations": {"enabled": True}},
        {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
        {"type": "mcp_toolset", "mcp_server_name": "docs"},
    ],
    "openai_responses": [
        {"type": "web_search"},
        {"type": "web_search_preview_2025_03_11", "search_context_size": "low"},
        {"type": "file_search", "vector_store_ids": ["vs_1"]},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "computer_use_preview", "display_width": 1, "display_height": 2, "environment": "linux"},
        {"type": "image_generation"},
        {
            "type": "mcp",
            "server_label": "one",
            "server_url": "https://example.com",
            "require_approval": "never",
        },
        {"type": "mcp", "server_label": "two", "server_url": "https://example.com"},
        {"type": "local_shell"},
        {"type": "tool_search", "execution": "client", "parameters": OBJECT},
        {"type": "of_tomorrow", "setting": None},
    ],
    "openai_chat": [
        {"type": "web_search", "web_search": {"enable": True}},
        {"type": "builtin_function", "function": {"name": "$web_search"}},
        {"type": "openrouter:web_search", "parameters": {"max_results": 3}},
        {"type": "browser_search"},
    ],
    "mistral": [{"type": "web_search"}, {"type": "document_library", "library_ids": ["x"]}],
    "gemini": [
        {"googleSearch": {}},
        {"google_search_retrieval": {"dynamic_retrieval_config": {"mode": "MODE_DYNAMIC"}}},
        {"codeExecution": {}},
        {"urlContext": {}},
        {"googleMaps": {"enableWidget": True}},
        {"retrieval": {"vertexRagStore": {}}},
        {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
        {"fileSearch": {"fileSearchStoreNames": ["x"]}},
        {"ofTomorrow": {}},
    ],
    "bedrock": [{"systemTool": {"name": "nova_grounding"}}, {"ofTomorrow": {"setting": 1}}],
    "cohere": [{"type": "of_tomorrow"}],
    "ollama": [{"type": "of_tomorrow"}],
}


def tools_in(payload):
    return payload["toolConfig"]["tools"] if "toolConfig" in payload else payload["tools"]


@each_case(("format", "own"), PROVIDER_TOOLS.items())
def test_tools_that_a_provider_defines_are_exported_again_to_it_alone_and_never_run(format, own):
    function = declared(format, "mine")
    for tools in ([*own, function], [function, *own], [own[0], function, *own[1:]], own):
        with in_case(tools):
            read = import_tools({"tools": tools}, format)
            assert (len(read), read.refused) == (len(tools), ())
            for strict in (False, True):
                again = tools_in(export_tools(read, format, strict=strict).payload)
                assert [tool for tool in again if tool in own] == own
                assert len(again) == len(tools)
            assert tools_in(export_tools([*read], format).payload) == tools
            assert all(tool.handler is None for tool in read)
            with ToolExecutor(read) as executor:
                assert not any(
                    executor.execute(ToolCall("1", tool.name, {})).success
                    for tool in read
                    if tool.name != "mine"
                )
            for other in {*FORMATS} - {format, "native"}:
                export = export_tools(read, other)
                assert len(export.refused) == len(own)
                assert all(format in refusal.reason for refusal in export.refused)
            stored = import_tools(export_tools(read, "native").payload, "native")
            assert tools_in(export_tools(stored, format).payload) == tools


def test_a_google_tool_beside_functions_in_one_object_is_kept():
    (function,) = declared("gemini", "mine")["functionDeclarations"]
    tools = {"functionDeclarations": [function], "googleSearch": {}, "codeExecution": None}
    read = import_tools({"tools": tools}, "gemini")
    assert [tool.name for tool in read] == ["mine", "googleSearch"]
    assert export_tools(read, "gemini").payload["tools"] == [
        {"functionDeclarations": [function]},
        {"googleSearch": {}},
    ]
    for dialect, key in (
        ("parametersJsonSchema", "functionDeclarations"),
        ("parameters", "function_declarations"),
    ):
        assert key in export_tools(read, "gemini", dialect=dialect).payload["tools"][0]


def test_a_call_of_a_tool_that_the_client_should_run_is_answered():
    read = import_tools([{"type": "bash_20250124", "name": "bash"}], "anthropic")
    export = export_tools(read, "anthropic")
    block = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
    (call,) = decode_calls({"role": "assistant", "content": [block]}, "anthropic", export=export)
    with ToolExecutor(read) as executor:
        assert not executor.execute(call).success


def test_a_tool_that_the_provider_defines_cannot_be_chosen_by_name():
    read = import_tools([{"type": "web_search"}, declared("openai_responses", "mine")], "openai_responses")
    export = export_tools(read, "openai_responses", choice="web_search")
    assert "decides when it runs" in str(export.refused[0])
    assert export_tools(read, "openai_responses", choice="mine").payload["tool_choice"] == {
        "type": "function",
        "name": "mine",
    }


def test_a_cache_point_of_bedrock_stays_where_it_is():
    point, hour = {"cachePoint": {"type": "default"}}, {"cachePoint": {"type": "default", "ttl": "1h"}}
    system = {"systemTool": {"name": "nova_grounding"}}
    tools = [point, system, point, declared("bedrock", "mine"), hour, point]
    assert tools_in(export_tools(import_tools(tools, "bedrock"), "bedrock").payload) == tools


CACHED = {"type": "ephemeral"}
EXTRA = {
    "anthropic": [
        {"description": ""},
        {"description": None},
        {"description": ...},
        {"description": " \n"},
        {"type": "custom"},
        {"strict": True},
        {"strict": False},
        {"cache_control": CACHED},
        {"cache_control": {**CACHED, "ttl": "24h"}},
        {"eager_input_streaming": True},
        {"eager_input_streaming": None},
        {"defer_loading": False},
        {"allowed_callers": ["caller_of_tomorrow"]},
        {"input_examples": [{"city": "Oslo"}]},
        {"input_examples": [{"town": 5}]},
        {"of_tomorrow": {"x": [None]}},
        {"description": "", "strict": True, "of_tomorrow": 1},
    ],
    "openai_responses": [
        {"description": ""},
        {"description": None},
        {"description": ..., "strict": False},
        {"strict": ...},
        {"strict": None},
        {"strict": True},
        {"strict": False, "defer_loading": False, "async": True},
        {"parameters": ..., "strict": True},
        {"of_tomorrow": "x"},
    ],
    "mcp": [
        {"description": ""},
        {"description": ...},
        {"title": "A tool"},
        {"title": ""},
        {"annotations": {}},
        {"annotations": {"title": "A tool"}},
        {"annotations": {"readOnlyHint": True}},
        {"annotations": {"readOnlyHint": True, "destructiveHint": None, "ofTomorrow": 1}, "title": "B"},
        {"annotations": {"destructiveHint": True}},
        {"icons": [{"src": "https://example.com/i.png"}]},
        {"_meta": {"example.com/x": 1}},
        {"outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        {"ofTomorrow": True},
    ],
    "bedrock": [{"description": ...}, {"strict": True}, {"ofTomorrow": {}}],
    "gemini": [
        {"description": ""},
        {"description": ...},
        {"behavior": "NON_BLOCKING"},
        {"parametersJsonSchema": ...},
        {"ofTomorrow": 1},
    ],
}
CHAT = [
    {"description": ""},
    {"description": None},
    {"strict": True},
    {"strict": None},
    {"parameters": ...},
    {"x": 1},
]


def changed(format, fields):
    """A tool with these fields at the place where its name is; `...` removes one."""
    tool = declared(format, "mine")
    holder = tool.get("function") or tool.get("toolSpec") or tool.get("functionDeclarations", [tool])[0]
    holder.update(fields)
    for key, value in fields.items():
        if value is ...:
            del holder[key]
    return tool


ALL = {**EXTRA, **dict.fromkeys(("openai_chat", "mistral", "cohere", "ollama"), CHAT)}


@each_case(("format", "cases"), ALL.items())
def test_every_field_of_an_imported_tool_is_exported_again_to_the_same_format(format, cases):
    for fields in [{}, *cases]:
        with in_case(fields):
            tool = changed(format, fields)
            export = export_tools(import_tools([tool], format), format)
            assert tools_in(export.payload) == [tool]
            assert [loss for loss in export.losses if loss.done != "kept"] == []


def test_a_function_without_a_type_and_with_fields_around_it_is_exported_unchanged():
    bare = {"function": {"name": "mine", "description": "D.", "parameters": OBJECT}}
    for tool in (bare, {**bare, "type": None}, {**bare, "type": "function", "cache_control": CACHED}):
        for format in ("openai_chat", "mistral", "cohere", "ollama"):
            with in_case(tool, format):
                read = import_tools([tool], format)
                assert tools_in(export_tools(read, format).payload) == [tool]


@each_case(("format", "cases"), ALL.items())
def test_every_field_that_another_format_lacks_is_reported(format, cases):
    for fields in cases:
        for key, value in fields.items():
            if key in ("type", "parameters", "parametersJsonSchema", "outputSchema", "input_examples"):
                continue
            is_blank = not str(value or "").strip() or value is ...
            if is_blank and key != "description":
                continue
            with in_case(fields):
                read = import_tools([changed(format, fields)], format)
                other = "ollama" if format != "ollama" else "mcp"
                lost = [loss for loss in export_tools(read, other).losses if loss.keyword.endswith(key)]
                assert len(lost) == (1 if is_blank or key != "description" else 0)


def test_a_hint_that_the_other_tools_exclude_is_left_out_whatever_fields_are_kept():
    for fields in ({}, {"strict": False}, {"type": "custom"}, {"later": {"a": 1}}):
        for hint, sent in (
            ({"cache_control": CACHED}, [1, 2, 3, 4]),
            ({"defer_loading": True}, [1, 2, 3, 4]),
        ):
            with in_case(fields, hint):
                tools = [
                    changed("anthropic", {"name": f"t{number}", **fields, **hint}) for number in range(5)
                ]
                export = export_tools(import_tools(tools, "anthropic"), "anthropic")
                assert next(iter(hint)) in export.losses[0].keyword
                assert tools_in(export.payload) == [
                    tool if number in sent else {key: value for key, value in tool.items() if key not in hint}
                    for number, tool in enumerate(tools)
                ]


def test_a_name_that_cannot_be_sent_again_is_reported():
    for format, name in (("mcp", "files/read all"), ("openai_chat", "read all"), ("gemini", "read all")):
        with in_case(format):
            read = import_tools([declared(format, name)], format)
            (loss,) = export_tools(read, format).losses
            assert (loss.keyword, loss.done) == ("name", "renamed")
            assert loss.detail.endswith(f"; it was {name!r}")
            assert export_tools(read, "native").losses == ()


def test_annotations_that_are_invalid_are_sent_again_without_a_loss():
    tool = changed("mcp", {"annotations": {"readOnlyHint": "yes", "later": 1}})
    export = export_tools(import_tools([tool], "mcp"), "mcp")
    assert (tools_in(export.payload), export.losses) == ([tool], ())


def test_a_new_description_effect_or_title_replaces_the_imported_one():
    blank = changed("mcp", {"description": "", "annotations": {"title": "T", "readOnlyHint": True}})
    (tool,) = import_tools([blank], "mcp")
    (written,) = export_tools(
        [tool.replace(description="New.", title="New", effect="idempotent")], "mcp"
    ).tools
    assert (written["description"], written["title"]) == ("New.", "New")
    assert (written["annotations"]["readOnlyHint"], written["annotations"]["idempotentHint"]) == (False, True)
    (tool,) = import_tools([changed("openai_responses", {"strict": ...})], "openai_responses")
    assert export_tools([tool], "openai_responses", strict=True).tools[0]["strict"] is True
    (tool,) = import_tools([changed("openai_chat", {"strict": None})], "openai_chat")
    assert export_tools([tool], "openai_chat", strict=True).tools[0]["function"]["strict"] is True


def test_examples_in_a_description_that_do_not_fit_the_schema_stay_in_it():
    text = 'Find.\n\nWhen to use: always\n\nExamples:\n{"input":{"town":5}}'
    tool = changed("openai_chat", {"description": text})
    read = import_tools([tool], "openai_chat")
    assert (read.refused, read[0].examples) == ((), ())
    assert tools_in(export_tools(read, "openai_chat").payload) == [tool]
