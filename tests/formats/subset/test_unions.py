"""Unions inside a tool: oneOf becomes anyOf, and each value is mapped by its own branch."""

import pytest

from tests.formats.subset.lowering import lower_x, reported, there_and_back, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import lower
from toolhaft.formats.subset.target import Subset
from toolhaft.schema.json_text import to_json_text

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ANY_OF = ("oneOf", "widened", "as anyOf: more than one may fit")


def record(*required, closed=True, **properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        **({"additionalProperties": False} if closed else {}),
    }


def test_one_of_with_disjoint_branches_becomes_any_of():
    by_type = {"oneOf": [TEXT, WHOLE]}
    by_tag = {"oneOf": [record("k", k={"const": "a"}), record("k", k={"enum": ["b", "c"]})]}
    by_names = {"oneOf": [record("a", a=TEXT), record("b", b=TEXT)]}
    by_value = {"oneOf": [{"enum": [1, 2]}, {"enum": [3]}]}
    for schema in (by_type, by_tag, by_names, by_value):
        low, losses = lower_x(schema, "gemini_json")
        assert (list(low), losses) == (["anyOf"], [])


def test_one_of_with_overlapping_branches_is_widened():
    for schema in (
        {"oneOf": [{**WHOLE, "minimum": 0}, {**WHOLE, "maximum": 9}]},
        {"oneOf": [WHOLE, {"type": "number"}]},
        {"oneOf": [record(k={"const": "a"}), record(k={"const": "b"})]},
        {"oneOf": [record("a", a=TEXT, closed=False), record("b", b=TEXT, closed=False)]},
    ):
        assert lower_x(schema, "gemini_json")[1] == [("", *ANY_OF)]


def test_one_of_is_kept_only_if_its_branches_stay_exact():
    keeps = Subset(keywords=frozenset(("type", "properties", "required", "oneOf", "anyOf", "description")))
    schema = {"oneOf": [{**WHOLE, "minimum": 0}, {**WHOLE, "maximum": -1}]}
    low = lower(tool(schema), keeps)
    assert list(low.schema["properties"]["x"]) == ["anyOf"]
    assert reported(low)[0] == ("", *ANY_OF)
    apart = lower(tool({"oneOf": [{**WHOLE, "minimum": 0}, TEXT]}), keeps)
    assert list(apart.schema["properties"]["x"]) == ["oneOf"]


def test_constraints_next_to_a_union_move_into_its_branches():
    schema = {**record(a=TEXT, b=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    low = lower(tool(schema), TARGETS["openai_strict"])
    null = {"type": ["string", "null"]}
    assert low.schema["properties"]["x"] == {
        "anyOf": [record("a", "b", a=TEXT, b=null), record("a", "b", a=null, b=TEXT)]
    }
    assert low.losses == ()
    assert there_and_back(low, {"x": {"a": "1"}}) == {"x": {"a": "1", "b": None}}
    assert there_and_back(low, {"x": {"b": "1"}}) == {"x": {"b": "1", "a": None}}
    assert there_and_back(low, {"x": {"a": "1", "b": "2"}}) == {"x": {"a": "1", "b": "2"}}


def test_each_value_is_mapped_by_the_branch_that_it_fits():
    a_map = {"type": "object", "additionalProperties": WHOLE}
    schema = {"anyOf": [record("t", t={"const": "a"}, n=WHOLE), record("t", t={"const": "b"}, m=a_map), TEXT]}
    low = lower(tool(schema), TARGETS["openai_strict"])
    assert [loss.done for loss in low.losses] == ["reshaped"]
    assert there_and_back(low, {"x": {"t": "a"}}) == {"x": {"t": "a", "n": None}}
    assert there_and_back(low, {"x": {"t": "b", "m": {"k": 1}}}) == {
        "x": {"t": "b", "m": [{"key": "k", "value": 1}]}
    }
    assert there_and_back(low, {"x": "text"}) == {"x": "text"}
    assert low.mapping.decode({"x": {"t": "c"}}) == {"x": {"t": "c"}}


def test_values_that_look_the_same_when_sent_are_reported():
    schema = {"anyOf": [{"enum": [1, 2]}, TEXT]}
    low = lower(tool(schema), TARGETS["gemini_parameters"])
    assert reported(low) == [
        ("", "anyOf", "narrowed", "a value that fits several branches is read as the first"),
        ("/anyOf/0", "enum", "reshaped", "as strings, converted back when decoded"),
    ]
    assert low.mapping.decode({"x": "1"}) == {"x": 1}
    assert low.mapping.decode({"x": "3"}) == {"x": "3"}


def test_a_branch_that_admits_no_value_is_left_out():
    assert lower_x({"anyOf": [False, TEXT, {"allOf": [TEXT, WHOLE]}]}, "gemini_parameters") == (TEXT, [])


def test_a_target_without_unions_gets_the_types():
    none = Subset(keywords=frozenset(("type", "properties", "required", "description")))
    low = lower(tool({"anyOf": [TEXT, {"type": "null"}]}), none)
    assert (low.schema, low.losses) == (tool({"type": ["string", "null"]}), ())
    low = lower(tool({"anyOf": [TEXT, record("a", a=TEXT)]}), none)
    assert low.schema["properties"]["x"]["type"] == ["string", "object"]
    assert {loss.done for loss in low.losses} == {"moved to description", "checked locally"}


def test_any_of_and_one_of_together_are_crossed():
    schema = {
        "anyOf": [{**WHOLE, "minimum": 0}, TEXT],
        "oneOf": [{**WHOLE, "maximum": 9}, {"type": "boolean"}],
    }
    assert lower_x(schema, "openai_strict") == ({"type": "integer", "minimum": 0, "maximum": 9}, [])


def test_nested_schemas_are_described_for_targets_that_read_only_the_type():
    pair = record("a", a=TEXT)
    text = (
        '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}'
    )
    low, losses = lower_x({**pair, "description": "Two."}, "ollama")
    assert low == {"type": "object", "description": f"Two. JSON Schema: {text}"}
    assert losses == [("", "properties", "moved to description", "as JSON Schema")]
    low, losses = lower_x({"$ref": "#/$defs/P"}, "ollama", **{"$defs": {"P": {**pair, "description": "P."}}})
    assert low == {"type": "object", "description": f"P. JSON Schema: {text}"}
    assert lower_x({"oneOf": [TEXT, {"type": "boolean"}]}, "ollama") == ({"type": ["string", "boolean"]}, [])
    assert lower_x({"$ref": "#/$defs/N"}, "ollama", **{"$defs": {"N": {**WHOLE, "minimum": 0}}})[0] == {
        "type": "integer",
        "description": "At least 0",
    }
    assert lower_x({"type": "array", "items": TEXT}, "ollama") == ({"type": "array", "items": TEXT}, [])


def test_a_nested_schema_that_is_too_long_is_not_described():
    wide = record(**{f"name_{number}": TEXT for number in range(300)})
    assert lower_x(wide, "ollama") == ({"type": "object"}, [("", "properties", "checked locally", "")])


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"type": ["integer", "string"]}, ["string", "integer"]),
        ({"type": "number"}, "number"),
        (WHOLE, "integer"),
    ],
)
def test_one_of_with_overlapping_types_does_not_become_a_type_list(second, said):
    union = {"oneOf": [WHOLE, second]}
    assert lower_x(union, "ollama") == (
        {"type": said, "description": f"JSON Schema: {to_json_text(union)}"},
        [("", "oneOf", "moved to description", "as JSON Schema")],
    )


def test_null_is_admitted_only_if_a_branch_admits_it():
    twice = {"oneOf": [{"type": "null"}, {"type": ["string", "null"]}], "type": ["object", "null"]}
    assert lower_x({"anyOf": [TEXT, twice]}, "gemini_parameters") == (TEXT, [])
    once = {"oneOf": [{"type": "null"}, TEXT], "type": ["object", "null"]}
    assert lower_x({"anyOf": [TEXT, once]}, "gemini_parameters") == ({**TEXT, "nullable": True}, [])
