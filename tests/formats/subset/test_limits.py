"""Schemas inside the subset are unchanged, and limits are enforced."""

import pytest

from tests.cases import each_case
from tests.formats.subset.lowering import tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import Lowered, RefusedSchema, lower
from toolhaft.formats.subset.target import EVERYTHING, Subset

TEXT = {"type": "string"}
INSIDE = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "description": "A.", "pattern": "^a"},
        "b": {"type": ["integer", "null"], "minimum": 0},
        "c": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        "d": {"type": "array", "items": {"type": "string", "enum": ["x"]}, "minItems": 1},
    },
    "required": ["a", "b", "c", "d"],
    "additionalProperties": False,
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
            "required": ["next"],
            "additionalProperties": False,
        }
    },
}


@each_case(
    "target", ["everything", "openai_loose", "anthropic_loose", "openai_strict", "gemini_json", "unrolled"]
)
def test_a_schema_inside_the_subset_is_returned_unchanged(target):
    subset = TARGETS[target]
    if target == "unrolled":
        subset = Subset(root="wrap", tuples="widen")
    low = lower(INSIDE, subset)
    assert low == Lowered(INSIDE, None, (), 0, 3)
    assert low.schema is INSIDE


def test_optional_properties_and_unions_are_counted_after_lowering():
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"type": "object", "properties": {"c": TEXT, "d": TEXT}, "required": ["c"]},
        },
        "required": ["b"],
    }
    assert lower(schema, EVERYTHING)[3:5] == (2, 1)
    assert lower(schema, TARGETS["anthropic_strict"])[3:5] == (2, 1)
    assert lower(schema, TARGETS["openai_strict"])[3:5] == (0, 2)


@each_case(
    ("limit", "schema", "reason"),
    [
        (
            {"most_properties": 1},
            tool({"type": "object", "properties": {"a": TEXT}}),
            "it has 2 properties, and the limit is 1",
        ),
        (
            {"deepest": 2},
            tool({"type": "array", "items": {"type": "array", "items": TEXT}}),
            "it has 3 levels of objects and arrays, and the limit is 2",
        ),
        (
            {"most_enum_values": 2},
            tool({"enum": ["a", "b", "c"]}),
            "it has 3 enum values, and the limit is 2",
        ),
        (
            {"most_enum_chars": 500},
            tool({"enum": [f"{n:03}" for n in range(251)]}),
            "it has 753 characters in one enum of over 250 values, and the limit is 500",
        ),
        (
            {"most_name_chars": 10},
            tool({"enum": ["abcd", 12]}, **{"$defs": {"Unused": TEXT}}),
            "it has 13 characters of names and enum values, and the limit is 10",
        ),
    ],
)
def test_a_schema_over_a_limit_is_refused_with_both_numbers(limit, schema, reason):
    with pytest.raises(RefusedSchema) as refused:
        lower(schema, Subset(**limit))
    assert (refused.value.path, refused.value.reason, str(refused.value)) == ("", reason, reason)


def test_a_schema_within_the_limits_is_accepted():
    subset = Subset(most_properties=1, deepest=1, most_enum_values=3, most_enum_chars=1, most_name_chars=20)
    schema = tool({"enum": ["a", "b", "c"]})
    assert lower(schema, subset).schema is schema


def test_limits_apply_to_the_lowered_schema():
    with pytest.raises(RefusedSchema, match="it has 3 properties, and the limit is 2"):
        lower(tool({"type": "object", "additionalProperties": TEXT}), Subset(maps="pairs", most_properties=2))


def test_properties_are_counted_where_the_target_limits_them():
    inside = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}
    schema = {"type": "object", "properties": {"x": inside, "y": {"anyOf": [inside, TEXT]}}}
    counting = Subset(most_properties=6)
    known = frozenset(("type", "properties", "required", "anyOf", "description"))
    assert lower(schema, counting) == Lowered(schema, None, (), optional=4, unions=1, properties=6)
    assert lower({**schema, "title": "T"}, Subset(keywords=known, most_properties=6))[3:] == (4, 1, 6)
    assert lower(schema, Subset(deepest=9)).properties == lower(schema, EVERYTHING).properties == 0
