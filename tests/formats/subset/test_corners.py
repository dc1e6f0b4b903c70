"""Rare combinations: targets without unions, names that clash, patterns of other dialects."""

import pytest

from tests.cases import each_case
from tests.formats.subset.lowering import lower_x, reported, there_and_back, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import RefusedSchema, lower
from toolhaft.formats.subset.target import Subset

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
CLOSED = {"additionalProperties": False}


def test_a_strict_target_without_unions_gets_scalar_types_or_refuses():
    assert lower_x({"anyOf": [TEXT, WHOLE]}, "closed_bare") == ({"type": ["string", "integer"]}, [])
    assert lower_x({"anyOf": [{**TEXT, "maxLength": 3}, WHOLE]}, "closed_bare") == (
        {"type": ["string", "integer"]},
        [
            ("", "anyOf", "widened", "only its types"),
            ("/anyOf/0", "maxLength", "moved to description", "at most 3 characters"),
        ],
    )
    nullable = {"type": ["array", "null"], "items": TEXT}
    assert lower_x(nullable, "closed_bare") == (nullable, [])
    for schema, reason in (
        ({"anyOf": [TEXT, {"type": "array", "items": TEXT}]}, "a value of any type cannot be sent"),
        ({"type": "array", "prefixItems": [TEXT, WHOLE]}, "a value of any type cannot be sent"),
        (
            {"type": "array", "prefixItems": [TEXT, WHOLE], "maxItems": 2},
            "members of different shapes cannot be sent",
        ),
        (
            {"anyOf": [{"type": "object", "additionalProperties": TEXT}, TEXT]},
            "a union of different shapes cannot be sent",
        ),
    ):
        with pytest.raises(RefusedSchema, match=reason):
            lower(tool(schema), TARGETS["closed_bare"])
    with pytest.raises(RefusedSchema, match="null together with another type cannot be sent"):
        lower(tool({"type": ["string", "null"]}), TARGETS["typed"])


def test_several_types_are_sent_as_text_if_the_target_has_no_type_lists():
    low = lower(tool({"type": ["string", "integer"]}), TARGETS["typed"])
    assert low.schema["properties"]["x"] == {
        "type": "string",
        "description": "Any JSON value, written as text",
    }
    assert reported(low) == [
        ("", "type", "widened", "any value"),
        ("", "type", "reshaped", "a string of JSON"),
    ]
    assert there_and_back(low, {"x": 1}) == {"x": "1"}


def test_values_that_cannot_be_listed_are_described():
    assert lower_x({"enum": ["a", "b"]}, "typed") == (
        {"type": "string", "description": 'One of ["a","b"]'},
        [("", "enum", "moved to description", 'one of ["a","b"]')],
    )


def test_a_closed_target_that_keeps_maps_closes_them():
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": WHOLE}
    assert lower_x(schema, "closed_maps") == (
        {**schema, **CLOSED},
        [("", "additionalProperties", "narrowed", "only the named properties")],
    )


def test_the_list_of_additional_keys_gets_an_unused_name():
    schema = {
        "type": "object",
        "properties": {"additional": TEXT},
        "required": ["additional"],
        "additionalProperties": WHOLE,
    }
    low = lower(tool(schema), TARGETS["openai_strict"])
    assert low.schema["properties"]["x"]["required"] == ["additional", "additional_2"]
    sent = there_and_back(low, {"x": {"additional": "a", "additional_2": 1}})
    assert sent == {"x": {"additional": "a", "additional_2": [{"key": "additional_2", "value": 1}]}}
    clash = {"x": {"additional": "a", "additional_2": [{"key": "additional", "value": 1}]}}
    assert low.mapping.decode(clash) == clash


def test_two_definitions_with_the_same_name_get_numbers():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/X"}, "b": {"$ref": "#/definitions/X"}},
        "required": ["a", "b"],
        "$defs": {"X": TEXT},
        "definitions": {"X": WHOLE},
    }
    low = lower(schema, TARGETS["openai_strict"])
    assert low.schema["properties"] == {"a": {"$ref": "#/$defs/X"}, "b": {"$ref": "#/$defs/X_2"}}
    assert low.schema["$defs"] == {"X": TEXT, "X_2": WHOLE}


def test_annotations_next_to_a_recursive_reference_are_left_out_if_the_target_accepts_no_siblings():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N", "description": "On."}}}
    subset = Subset(keywords=frozenset(("type", "properties", "description")), ref_siblings=False)
    low = lower(tool({"$ref": "#/$defs/N"}, required=False, **{"$defs": {"N": node}}), subset)
    assert low.schema["$defs"]["N"]["properties"] == {"next": {"$ref": "#/$defs/N"}}
    assert reported(low) == [("/$defs/N/properties/next", "$ref", "left out", "its siblings")]


def test_references_to_true_and_false():
    names = {"$defs": {"Any": True, "None": False}}
    assert lower_x({"$ref": "#/$defs/Any", "description": "D."}, "gemini_json", **names) == (
        {"description": "D."},
        [],
    )
    low = lower(tool({"$ref": "#/$defs/None"}, required=False, **names), TARGETS["gemini_json"])
    assert (low.schema, low.losses) == ({"type": "object", "properties": {}}, ())


def test_a_property_whose_definition_admits_no_value_is_left_out():
    names = {"$defs": {"No": {"allOf": [TEXT, WHOLE]}}}
    low = lower(tool({"$ref": "#/$defs/No"}, required=False, **names), TARGETS["openai_strict"])
    assert low.schema["properties"] == {}


def test_keywords_of_both_branches_are_merged_by_name():
    one = {
        "type": "object",
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"a": {"minProperties": 1}},
        "not": {"required": ["x"]},
    }
    other = {
        "dependentRequired": {"a": ["c"], "d": ["e"]},
        "dependentSchemas": {"a": {"maxProperties": 9}},
        "not": {"required": ["y"]},
    }
    keywords = frozenset(
        (
            "type",
            "properties",
            "required",
            "anyOf",
            "dependentRequired",
            "dependentSchemas",
            "not",
            "minProperties",
            "maxProperties",
        )
    )
    low = lower(tool({"allOf": [one, other]}), Subset(keywords=keywords))
    assert low.schema["properties"]["x"] == {
        "type": "object",
        "dependentRequired": {"a": ["b", "c"], "d": ["e"]},
        "dependentSchemas": {"a": {"minProperties": 1, "maxProperties": 9}},
        "not": {"anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
    }
    assert low.losses == ()


@each_case(
    ("pattern", "name", "expected"),
    [
        (r"^\p{L}", "a", TEXT),
        (r"^\p{Lu}", "a", WHOLE),
        ("^(a+)+$", "a" * 20, TEXT),
        ("^(a+)+$", "a" * 200 + "!", WHOLE),  # takes forever by backtracking
        (r"^(?=(a+)+$)", "a" * 200 + "!", WHOLE),
    ],
)
def test_patterns_of_names_are_matched_by_the_bounded_engine(pattern, name, expected):
    schema = {
        "type": "object",
        "required": [name],
        "patternProperties": {pattern: TEXT},
        "additionalProperties": WHOLE,
    }
    low = lower(tool(schema), TARGETS["openai_strict"])
    assert low.schema["properties"]["x"]["properties"][name] == expected


def test_a_tuple_that_admits_no_array_is_refused():
    short = {"type": "array", "prefixItems": [TEXT, WHOLE], "minItems": 2, "maxItems": 1}
    holed = {"type": "array", "prefixItems": [TEXT, False], "minItems": 2, "maxItems": 2}
    for schema in (short, holed, {"type": "array", "items": False, "minItems": 1}):
        with pytest.raises(RefusedSchema, match="no value is valid for it"):
            lower(tool(schema), TARGETS["openai_strict"])


def test_a_tuple_sent_as_an_open_object_is_reported():
    schema = {"type": "array", "prefixItems": [TEXT, WHOLE], "minItems": 2, "maxItems": 2}
    low = lower(tool(schema), Subset(keywords=frozenset(("type", "properties", "required")), tuples="object"))
    assert reported(low) == [
        ("", "prefixItems", "checked locally", "that there are no others"),
        ("", "prefixItems", "reshaped", "an object with one key per item"),
    ]


def test_a_schema_whose_shared_parts_grow_exponentially_is_refused(monkeypatch):
    monkeypatch.setattr("toolhaft.formats.subset.normalize._MOST_PARTS", 10_000)
    part = TEXT
    for _ in range(40):
        part = {"type": "object", "properties": {"a": part, "b": part}}
    with pytest.raises(RefusedSchema, match="too large: it has more than 10000 parts"):
        lower(tool(part, title="T"), Subset(root_banned=frozenset(("title",))))
