"""`strict="where_possible"`: tools that strict mode cannot take are sent without it, and reported."""

import pytest

from tests.cases import each_case, in_case
from toolhaft import Tool
from toolhaft.errors import WireError
from toolhaft.formats import FORMATS, decode_calls, export_tools, import_tools

PER_TOOL = ("anthropic", "bedrock", "mistral", "openai_chat", "openai_responses")


def tool(name, schema=None, **options):
    wanted = schema or {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    return Tool(name=name, description="D.", input_schema=wanted, **options)


def inside(name, schema):
    return tool(name, {"type": "object", "properties": {"x": schema}, "required": ["x"]})


HARD = [
    inside("anything", {}),
    inside("open", {"type": "object", "additionalProperties": True}),
    inside("bare", {"type": "array"}),
    tool("rest", {"type": "object", "properties": {}, "additionalProperties": True}),
]


def strict_names(export):
    found = []
    for written in export.tools:
        holder = written.get("toolSpec") or written.get("function") or written
        if holder.get("strict"):
            found.append(holder["name"])
    return found


def plain_reasons(export):
    return {loss.tool: loss.detail for loss in export.losses if loss.keyword == "strict" and loss.tool}


@each_case("format", PER_TOOL)
def test_tools_that_strict_mode_cannot_take_are_sent_plain_with_the_reason(format):
    for hard in HARD:
        with in_case(hard.name):
            assert [refusal.tool for refusal in export_tools([hard], format, strict=True).refused] == [
                hard.name
            ]
            export = export_tools([tool("a"), hard, tool("b")], format, strict="where_possible")
            assert export.refused == ()
            assert [*export.names.values()] == ["a", hard.name, "b"]
            assert strict_names(export) == ["a", "b"]
            reason = export_tools([hard], format, strict=True).refused[0].reason
            assert plain_reasons(export) == {hard.name: f"sent without strict mode: {reason}"}
            (alone,) = export_tools([hard], format).tools
            assert export.tools[1] == alone


@each_case("format", PER_TOOL)
@each_case("declared", [True, False, None])
def test_a_tool_that_is_sent_plain_does_not_get_back_the_strict_of_its_import(format, declared):
    written = export_tools([HARD[0]], format).tools[0]
    (written.get("toolSpec") or written.get("function") or written)["strict"] = declared
    imported = import_tools([written], format)
    export = export_tools(imported, format, strict="where_possible")
    assert (strict_names(export), [*plain_reasons(export)]) == ([], ["anything"])
    assert export_tools(imported, format).tools == [written]  # the caller made no choice


@each_case("format", PER_TOOL)
def test_nothing_is_reported_where_every_tool_is_strict(format):
    export = export_tools([tool("a"), tool("b")], format, strict="where_possible")
    whole = export_tools([tool("a"), tool("b")], format, strict=True)
    assert (export.payload, export.losses) == (whole.payload, whole.losses)


def test_tools_over_the_limits_of_strict_mode_are_sent_plain_and_chosen_ones_first():
    many = [tool(f"t{number}") for number in range(25)]
    export = export_tools(many, "anthropic", strict="where_possible")
    assert (len(export.tools), export.refused) == (25, ())
    assert strict_names(export) == [f"t{number}" for number in range(20)]
    assert [*plain_reasons(export)] == [f"t{number}" for number in range(20, 25)]
    assert "at most 20 tools" in plain_reasons(export)["t24"]
    chosen = export_tools(many, "anthropic", strict="where_possible", choice="t24")
    assert "t24" in strict_names(chosen)
    assert [*chosen.names.values()] == [item.name for item in many]


def test_a_format_that_is_strict_for_all_tools_or_none_sends_all_plain():
    export = export_tools([tool("a"), tool("none", {"type": "object"})], "cohere", strict="where_possible")
    assert (len(export.tools), "strict_tools" in export.payload) == (2, False)
    assert export.payload == export_tools([tool("a"), tool("none", {"type": "object"})], "cohere").payload
    assert [*plain_reasons(export)] == ["none"]
    assert any("1 of 2 cannot be strict" in str(loss) for loss in export.losses)
    assert export_tools([tool("a")], "cohere", strict="where_possible").payload["strict_tools"] is True


@each_case("format", sorted({*FORMATS} - {*PER_TOOL, "cohere"}))
def test_a_format_without_strict_mode_sends_every_tool_and_reports_it(format):
    export = export_tools([tool("a"), HARD[0]], format, strict="where_possible")
    assert (len(export.tools), export.refused) == (2, ())
    assert "request: strict checked locally" in "\n".join(map(str, export.losses))


def test_a_tool_that_no_mode_takes_is_refused_and_not_reported_as_plain():
    (search,) = import_tools([{"googleSearch": {}}], "gemini")
    export = export_tools([tool("a"), search], "openai_chat", strict="where_possible")
    assert [refusal.tool for refusal in export.refused] == ["googleSearch"]
    assert plain_reasons(export) == {}


def test_the_arguments_of_strict_and_plain_tools_are_restored_by_their_own_rules():
    optional = tool("optional", {"type": "object", "properties": {"x": {"type": "string"}}})
    same = Tool(name="files.get", description="D.", input_schema={"type": "object", "properties": {"x": {}}})
    export = export_tools([optional, same], "openai_chat", strict="where_possible")
    assert strict_names(export) == ["optional"]
    calls = [
        {"id": str(number), "type": "function", "function": {"name": name, "arguments": '{"x": null}'}}
        for number, name in enumerate(("optional", "files_get"))
    ]
    first, second = decode_calls({"role": "assistant", "tool_calls": calls}, "openai_chat", export=export)
    assert (first.name, first.arguments) == ("optional", {})
    assert (second.name, second.arguments) == ("files.get", '{"x": null}')


@each_case("strict", ["yes", "where possible", 1, []])
def test_any_other_value_is_an_error_that_lists_the_three(strict):
    with pytest.raises(WireError, match="expected True or False, or 'where_possible'"):
        export_tools([tool("a")], "openai_chat", strict=strict)
