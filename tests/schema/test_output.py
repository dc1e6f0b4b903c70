"""The value that a tool returns is checked against its schema; nothing gets past the fast check."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from toolhaft import ToolConfig, ToolResult, create_tool, execute_tool

LONG = "long text – with more than ASCII in it. ".replace("–", "\u2013") * 5_000  # noqa: RUF001 -- what it is about
SCHEMA = {
    "type": "object",
    "properties": {"content": {"type": "string", "description": "any"}, "size": {"type": "integer"}},
}


def giving(value, **changes):
    config = ToolConfig(
        name="give",
        description="Give it.",
        input_schema={"type": "object"},
        output_schema={**SCHEMA, **changes},
        execute=lambda _: value,
        effect="read",
    )
    return create_tool(config)


def test_a_valid_value_is_written_by_its_check_and_shown():
    for value in ({"content": LONG, "size": 5}, {"content": "short", "size": 5}):
        assert json.loads(giving(value).write_output(value)) == value
        result = execute_tool(giving(value), max_output_chars=10**6)
        assert (result.success, result.value) == (True, value)
        assert json.loads(result.render()) == value


@each_case("kind", ["string", "integer", "number", "boolean", "array", "object"])
def test_the_fast_check_of_a_single_type_writes_the_same_as_json(kind):
    tool = create_tool(
        ToolConfig(name="t", description="T.", input_schema={"type": "object"}, output_schema={"type": kind})
    )
    values = {
        "string": "a",
        "integer": 5,
        "number": 1.5,
        "boolean": True,
        "array": [1, None],
        "object": {"a": 1},
    }
    for name, value in values.items():
        fits = name == kind or (name, kind) == ("integer", "number")
        written = (
            "" if kind == "string" else json.dumps(value, separators=(",", ":"))
        )  # a string is shown as it is
        assert tool.write_output(value) == (written if fits else None), value
        assert (tool.check_output(value) is None) == fits, value
    for bad in (float("nan"), float("inf"), "\ud800", [float("nan")], {"a": float("inf")}):
        assert tool.write_output(bad) is None, bad
        assert tool.check_output(bad) is not None, bad


def test_a_long_text_with_a_message_is_shown_with_it():
    value = {"content": "x" * 70_000, "size": 5}
    rendered = execute_tool(giving(ToolResult.ok(value, "Done."))).render()
    assert rendered == f'Done.\n\n{{"content":"{value["content"]}","size":5}}'


@each_case(
    ("value", "problem"),
    [
        ({"content": LONG, "size": "5"}, "size: "),
        ({"content": LONG, "size": float("nan")}, "size: not a finite number"),
        ({"content": LONG, "size": 5, "more": float("inf")}, "more: not a finite number"),
        ({"content": LONG, "size": 5, "more": {1, object}}, "the value has no JSON form"),
        ({"content": LONG + "\ud800", "size": 5}, "the value has no JSON form"),
        ({"content": "\udfff" + "x" * 70_000, "size": 5}, "the value has no JSON form"),
        ({"content": LONG.encode(), "size": "5"}, "size: "),
        ([LONG], "expected an object"),
    ],
    ids=range(8),
)
def test_an_invalid_value_next_to_a_long_text_is_found(value, problem):
    result = execute_tool(giving(value))
    assert result.failure.kind == "invalid_output"
    assert problem in result.message or "does not fit the schema" in result.message


@each_case(
    "changes",
    [
        {"properties": {"content": {"type": "string", "maxLength": 10}}},
        {"properties": {"content": {"type": "string", "pattern": "^[a-z]+$"}}},
        {"properties": {"content": {"enum": ["", "a"]}}},
        {"properties": {"content": {"type": "string"}}, "additionalProperties": False},
        {"required": ["absent"]},
        {"maxProperties": 1},
        {"patternProperties": {"^c": {"maxLength": 10}}},
        {"allOf": [{"properties": {"content": {"maxLength": 10}}}]},
        {"not": {"properties": {"content": {"minLength": 10}}}},
    ],
    ids=str,
)
def test_every_keyword_for_a_long_text_is_checked(changes):
    value = {"content": LONG, "size": 5}
    assert giving(value, **changes).check_output(value) is not None
    assert execute_tool(giving(value, **changes)).failure.kind == "invalid_output"


_PARTS = st.one_of(
    st.text(st.characters(), max_size=12),
    st.integers(),
    st.floats(),
    st.none(),
    st.lists(st.floats(), max_size=2),
    st.binary(max_size=3),
)


@given(st.dictionaries(st.sampled_from(["content", "size", "more"]), _PARTS))
def test_the_fast_check_passes_nothing_that_the_thorough_one_refuses(value):
    for changes in ({}, {"additionalProperties": False}, {"required": ["size"]}):
        tool = giving(value, **changes)
        if tool.write_output(value) is not None:
            assert tool.check_output(value) is None
