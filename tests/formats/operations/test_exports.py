"""Exporting tools, in all formats: losses, refusals, cached tools."""

import json

import pytest

from tests.cases import each_case
from toolhaft import BaseTool, Tool, ToolConfig, ToolParam, ToolReturn, ToolSpec, tool
from toolhaft.errors import DefinitionError, WireError
from toolhaft.formats import FORMATS, Choice, Loss, Refusal, export_tools, import_tools


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(when_to_use="Only for greetings", examples=[{"input": {"name": "Ada"}, "output": "Hello Ada"}])
def greet(name: str) -> str:
    """Say hello."""
    return f"Hello {name}"


def declared(name: str, **schema: object) -> Tool:
    return Tool(name=name, description="d", input_schema={"type": "object", **schema})


SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "The search query"},
        "limit": {"type": "integer", "description": "Maximum results"},
    },
    "required": ["query"],
}


def search_database(**limit: object) -> Tool:
    schema = json.loads(json.dumps(SEARCH))
    schema["properties"]["limit"].update(limit)
    return Tool(
        name="search_database", description="Search the database for matching records", input_schema=schema
    )


def test_the_printed_examples_of_seed_001_come_out_exactly():
    openai = export_tools([search_database(default=10)], "openai_chat")
    assert openai.tools == [
        {
            "type": "function",
            "function": {
                "name": "search_database",
                "description": "Search the database for matching records",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "description": "The search query"},
                        "limit": {"type": "integer", "description": "Maximum results", "default": 10},
                    },
                    "required": ["query"],
                },
            },
        }
    ]
    words = {"name": "search_database", "description": "Search the database for matching records"}
    assert export_tools([search_database()], "bedrock").tools == [
        {"toolSpec": {**words, "inputSchema": {"json": SEARCH}}}
    ]
    gemini = export_tools([search_database()], "gemini", dialect="parameters")
    assert gemini.payload == {"tools": [{"function_declarations": [{**words, "parameters": SEARCH}]}]}
    assert export_tools([search_database()], "native").tools == [{**words, "input_schema": SEARCH}]
    for export in (openai, gemini):
        assert (export.losses, export.refused) == ((), ())


@each_case("format", FORMATS)
def test_the_bytes_are_the_payload(format):
    export = export_tools([add, greet], format, choice="auto")
    assert json.loads(export.json_bytes) == export.payload
    assert len(export.tools) == 2


@each_case("format", FORMATS)
def test_changing_a_payload_does_not_change_the_next_export(format):
    first = export_tools([add], format)
    before = json.dumps(first.payload)
    first.payload.clear()
    assert json.dumps(export_tools([add], format).payload) == before


@each_case("format", FORMATS)
def test_no_tools_make_no_request_fields(format):
    payload = export_tools([], format, choice="required").payload
    assert payload == {} or (format in ("mcp", "native") and payload["tools"] == [])


def test_an_unknown_format_or_dialect_lists_the_known_ones():
    with pytest.raises(
        WireError,
        match=r"no format 'openai_chta'; did you mean 'openai_chat'\?; expected one of anthropic, bedrock, cohere, gemini, mcp, mistral, native, ollama, openai_chat, openai_responses",
    ):
        export_tools([add], "openai_chta")
    with pytest.raises(WireError, match="no dialect 'x'; expected one of '2026-07-28'"):
        export_tools([add], "mcp", dialect="x")
    with pytest.raises(WireError, match="anthropic: no dialect 'x'; expected no dialect"):
        export_tools([add], "anthropic", dialect="x")
    with pytest.raises(WireError, match="no format 5"):
        import_tools([], 5)


def test_tools_of_every_definition_style_and_nested_lists_are_exported():
    class Echo(BaseTool):
        spec = ToolSpec(
            name="echo",
            description="d",
            when_to_use="w",
            inputs=[ToolParam(name="text", type="string", description="t")],
            returns=ToolReturn(type="string", description="r"),
        )

        def __call__(self, **_):
            raise NotImplementedError

    config = ToolConfig(
        name="config", description="d", input_schema={"type": "object"}, output_schema={}, execute=print
    )
    export = export_tools([add, [Echo(), (config,)], declared("raw")], "openai_chat")
    assert list(export.names) == ["add", "echo", "config", "raw"]
    assert list(export_tools(add, "openai_chat").names) == ["add"]
    assert list(export_tools((t for t in [add, greet]), "openai_chat").names) == ["add", "greet"]


def test_two_tools_with_the_same_name_are_an_error():
    with pytest.raises(DefinitionError, match="two tools have this name"):
        export_tools([declared("a"), declared("a")], "openai_chat")
    assert len(export_tools([add, add], "openai_chat").tools) == 1
    assert len(export_tools([add, add], "openai_chat").tools) == 1, "from the cache too"
    with pytest.raises(DefinitionError, match="two tools have this name"):
        export_tools([declared("b"), export_twin()], "openai_chat")


def export_twin() -> Tool:
    twin = declared("b")
    export_tools([twin], "openai_chat")
    return twin


def test_only_the_tool_that_a_format_cannot_accept_is_refused():
    free = declared("free", properties={"x": {}}, required=["x"])
    export = export_tools([add, free, greet], "openai_chat", strict=True)
    assert list(export.names) == ["add", "greet"]
    (refusal,) = export.refused
    assert refusal.tool == "free"
    assert "/properties/x" in refusal.reason
    assert str(refusal).startswith("free: ")


def test_names_that_a_format_refuses_are_changed_and_restored():
    dotted, plain, long = declared("crm.find"), declared("crm_find"), declared("x" * 100)
    export = export_tools([dotted, plain, long], "openai_chat")
    assert set(export.names.values()) == {"crm.find", "crm_find", "x" * 100}
    assert export.names["crm_find"] == "crm_find", "the one that needs no change keeps its name"
    assert all(len(name) <= 64 and "." not in name for name in export.names)
    assert {(loss.tool, loss.keyword, loss.done) for loss in export.losses} == {
        ("crm.find", "name", "renamed"),
        ("x" * 100, "name", "renamed"),
    }
    again = export_tools([long, dotted, plain], "openai_chat")
    assert dict(again.names) == dict(export.names), "the same in any order"


def test_when_to_use_is_appended_to_the_description_and_split_off_on_import():
    for format in FORMATS:
        export = export_tools([greet], format)
        if format != "native":
            assert b"Say hello.\\n\\nWhen to use: Only for greetings" in export.json_bytes
        (read,) = import_tools(export.payload, format)
        assert (read.name, read.description, read.when_to_use) == (
            "greet",
            "Say hello.",
            "Only for greetings",
        )


def test_examples_are_sent_in_their_field_or_in_the_description_or_reported_as_lost():
    lost = Loss("greet", "", "examples", "left out", "examples=True puts them in the description")
    for format in FORMATS:
        reported = [loss for loss in export_tools([greet], format).losses if loss.keyword == "examples"]
        assert reported == ([lost] if format not in ("anthropic", "native") else reported)
        export = export_tools([greet], format, examples=True)
        assert lost not in export.losses
        (read,) = import_tools(export.payload, format)
        assert [example.input for example in read.examples] == [{"name": "Ada"}]
    (tool,) = export_tools([greet], "anthropic").tools
    assert tool["input_examples"] == [{"name": "Ada"}]


def test_a_description_that_looks_joined_is_reported():
    odd = Tool(name="odd", description="d\n\nWhen to use: never", input_schema={"type": "object"})
    (loss,) = export_tools([odd], "openai_chat").losses
    assert (loss.tool, loss.keyword, loss.done) == ("odd", "description", "reshaped")


def test_every_field_that_a_format_lacks_is_reported_once():
    rich = Tool(
        name="rich",
        description="d",
        input_schema={"type": "object"},
        output_schema={"type": "string"},
        title="Rich",
        tags=["a"],
        version="1.0",
        metadata={"team": "x", "wire": {"defer_loading": True, "colour": "red"}},
    )
    assert {(loss.keyword, loss.done) for loss in export_tools([rich], "openai_chat").losses} == {
        ("title", "left out"),
        ("output_schema", "left out"),
        ("metadata.wire.defer_loading", "left out"),
        ("metadata.wire.colour", "left out"),
    }
    assert export_tools([rich], "native").losses == ()


def test_tools_over_the_limit_of_a_request_are_refused():
    export = export_tools([declared(f"t{number}") for number in range(130)], "openai_chat")
    assert len(export.tools) == 128
    assert export.refused == tuple(
        Refusal(name, "one request takes at most 128 tools") for name in ("t128", "t129")
    )


def test_strict_limits_of_a_whole_request_refuse_by_name():
    many = [declared(f"t{number}", properties={}) for number in range(22)]
    refused = export_tools(many, "anthropic", strict=True).refused
    assert [refusal.tool for refusal in refused] == ["t20", "t21"]
    wide = declared("wide", properties={f"p{number}": {"type": "string"} for number in range(20)})
    wider = declared("wider", properties={f"p{number}": {"type": "string"} for number in range(5)})
    (refusal,) = export_tools([wide, wider], "anthropic", strict=True).refused
    assert refusal == Refusal("wider", "strict tools of one request: at most 24 optional parameters together")


def test_strict_for_a_format_without_strict_mode_is_reported():
    assert (
        Loss("", "", "strict", "checked locally", "ollama has no strict mode")
        in export_tools([add], "ollama", strict=True).losses
    )


def test_a_long_description_is_sent_and_the_risk_is_reported():
    long = Tool(name="long", description="x" * 1100, input_schema={"type": "object"})
    (loss,) = export_tools([long], "openai_chat").losses
    assert (loss.tool, loss.keyword, loss.done) == ("long", "description", "kept")


def test_a_models_own_limits_come_from_the_table():
    forced = export_tools([add], "anthropic", choice="required", model="claude-opus-5-5-20260901")
    assert [refusal.tool for refusal in forced.refused] == [""]
    assert "tool_choice" not in forced.payload
    one = export_tools([add, greet], "anthropic", choice="add", model="claude-opus-5-5")
    assert list(one.names) == ["add"]
    assert [refusal.tool for refusal in one.refused] == [""], "it may still answer without a call"
    (loss,) = (
        loss
        for loss in export_tools([add], "openai_chat", model="gpt-5.4-mini").losses
        if loss.keyword == "model"
    )
    assert loss.done == "kept"


def test_a_choice_of_a_tool_that_is_not_exported_is_an_error():
    with pytest.raises(WireError, match=r"choice: no tool 'addd' is exported; did you mean 'add'\?"):
        export_tools([add], "openai_chat", choice="addd")
    with pytest.raises(WireError, match="choice"):
        export_tools([add], "openai_chat", choice=Choice(tools=("nope",)))


def test_a_tool_with_text_that_is_not_json_is_refused_alone():
    lone = Tool(name="lone", description="d \ud800", input_schema={"type": "object"})
    export = export_tools([lone, add], "openai_chat")
    assert list(export.names) == ["add"]
    assert export.refused[0].tool == "lone"


def test_free_form_tools_have_one_string_parameter():
    code = Tool(
        name="run",
        description="Run code.",
        input_schema={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
        metadata={"wire": {"free_form": {"syntax": "lark", "definition": "start: /.+/"}}},
    )
    export = export_tools([code], "openai_chat", choice="run")
    grammar = {"syntax": "lark", "definition": "start: /.+/"}
    assert export.payload == {
        "tools": [
            {
                "type": "custom",
                "custom": {
                    "name": "run",
                    "description": "Run code.",
                    "format": {"type": "grammar", "grammar": grammar},
                },
            }
        ],
        "tool_choice": {"type": "custom", "custom": {"name": "run"}},
    }
    assert export.losses == (Loss("run", "/properties/code", "properties", "renamed", "input"),)
    assert export.properties == {"run": {"input": "code"}}
    two = Tool(
        name="two",
        description="d",
        input_schema={"type": "object", "properties": {"a": {"type": "string"}}},
        metadata={"wire": {"free_form": True}},
    )
    assert export_tools([two], "openai_chat").refused == (
        Refusal("two", "a free-form tool takes exactly one parameter, a required string"),
    )


PAIRS = Tool(
    name="pairs",
    description="d",
    input_schema={
        "type": "object",
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}},
        "required": ["m"],
    },
    examples=[{"input": {"m": {"k": 1}}}],
)


def test_examples_are_shown_in_the_exported_shape():
    export = export_tools([PAIRS], "openai_chat", strict=True, examples=True)
    (function,) = (tool["function"] for tool in export.tools)
    assert function["description"] == 'd\n\nExamples:\n{"input":{"m":[{"key":"k","value":1}]}}'
    (read,) = import_tools(export.payload, "openai_chat")
    assert [example.input for example in read.examples] == [{"m": [{"key": "k", "value": 1}]}]


def test_an_example_that_the_exported_schema_refuses_is_left_out_and_reported():
    nested = {"type": "object", "properties": {"a": {"type": "string"}}}
    odd = Tool(
        name="odd",
        description="d",
        input_schema={"type": "object", "properties": {"o": nested}, "required": ["o"]},
        examples=[{"input": {"o": {"a": "1", "zz": 2}}}, {"input": {"o": {"a": "1"}}}],
    )
    export = export_tools([odd], "anthropic", strict=True)
    assert export.tools[0]["input_examples"] == [{"o": {"a": "1"}}]
    assert (
        Loss("odd", "/examples/0", "examples", "left out", "the exported schema does not admit it")
        in export.losses
    )


def test_an_invalid_example_of_an_imported_tool_is_dropped():
    foreign = {
        "name": "t",
        "description": "d",
        "input_schema": {"type": "object"},
        "input_examples": [{"x": 1}],
    }
    (read,) = import_tools([foreign], "anthropic")
    assert (read.name, read.examples) == ("t", ())


def test_a_tool_with_an_infinite_number_is_refused_alone():
    endless = Tool(
        name="endless", description="d", input_schema={"type": "object"}, metadata={"a": float("nan")}
    )
    export = export_tools([endless, add], "native")
    assert list(export.names) == ["add"]
    assert export.refused[0].tool == "endless"
    assert b"NaN" not in export.json_bytes
    words = Tool(name="words", description="says NaN and Infinity", input_schema={"type": "object"})
    assert export_tools([words], "native").refused == ()


@each_case("given", [5, "yes", 1.0])
@each_case("flag", ["strict", "parallel", "examples"])
def test_a_flag_that_is_not_a_bool_is_an_error(flag, given):
    with pytest.raises(WireError, match=f"at {flag}: got .*; expected True or False"):
        export_tools([add], "openai_chat", **{flag: given})


def test_a_model_name_that_is_not_text_is_an_error():
    with pytest.raises(WireError, match="at model: got 5; expected the name of a model"):
        export_tools([add], "openai_chat", model=5)


def test_cohere_counts_the_parameters_of_all_strict_tools_together():
    tools = [
        declared(
            f"t{number}",
            properties={f"p{at}": {"type": "string"} for at in range(90)},
            required=["p0"],
        )
        for number in range(3)
    ]
    export = export_tools(tools, "cohere", strict=True)
    assert list(export.names) == ["t0", "t1"]
    assert export.refused == (Refusal("t2", "strict tools of one request: at most 200 parameters together"),)
