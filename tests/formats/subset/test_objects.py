"""Objects, maps and arrays: closed, all required, reshaped and restored."""

import pytest

from tests.cases import each_case
from tests.formats.subset.lowering import lower_x, reported, there_and_back, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import RefusedSchema, lower
from toolhaft.formats.subset.target import Subset

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
PAIRED = ("additionalProperties", "reshaped", "a list of key and value, no key twice")
NARROWED = ("additionalProperties", "narrowed", "only the named properties")


def pairs(value, key=TEXT, **closed):
    item = {
        "type": "object",
        "properties": {"key": key, "value": value},
        "required": ["key", "value"],
        **closed,
    }
    return {"type": "array", "items": item}


CLOSED = {"additionalProperties": False}


def test_optional_properties_become_required_and_null_is_read_as_absent():
    schema = {"type": "object", "properties": {"a": TEXT, "b": {**WHOLE, "default": 3}}, "required": ["a"]}
    low = lower(schema, TARGETS["openai_strict"])
    assert low.schema == {
        "type": "object",
        "properties": {"a": TEXT, "b": {"type": ["integer", "null"], "description": "Default: 3"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert low.losses == (("/properties/b", "default", "moved to description", "default: 3"),)
    assert there_and_back(low, {"a": "x"}) == {"a": "x", "b": None}
    assert (low.optional, low.unions) == (0, 1)


def test_closing_the_root_is_exact_and_closing_a_nested_object_is_reported():
    nested = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    assert lower_x(nested, "openai_strict") == ({**nested, **CLOSED}, [("", *NARROWED)])
    low = lower(tool(nested), TARGETS["openai_strict"], is_closed=True)
    assert (low.schema, low.losses) == (tool({**nested, **CLOSED}, **CLOSED), ())


def test_an_open_root_gets_a_list_of_additional_keys():
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": WHOLE}
    low = lower(schema, TARGETS["openai_strict"])
    assert low.schema == {
        "type": "object",
        "properties": {"a": TEXT, "additional": pairs(WHOLE, **CLOSED)},
        "required": ["a", "additional"],
        **CLOSED,
    }
    assert low.losses == (("", *PAIRED),)
    assert there_and_back(low, {"a": "x"}) == {"a": "x", "additional": []}
    sent = there_and_back(low, {"a": "x", "b": 1, "additional": 2})
    assert sent == {"a": "x", "additional": [{"key": "b", "value": 1}, {"key": "additional", "value": 2}]}


@pytest.mark.parametrize(
    ("value", "null_is"),
    [({"type": ["string", "null"]}, "narrowed"), ({"type": ["string", "null"], "default": None}, "")],
)
def test_an_optional_property_that_admits_null_is_reported_unless_null_is_its_default(value, null_is):
    low = lower(tool(value, required=False), TARGETS["openai_strict"])
    assert low.schema["properties"]["x"] == {"type": ["string", "null"]}
    assert reported(low) == ([("", "required", "narrowed", "null is read as absent")] if null_is else [])
    assert low.mapping.decode({"x": None}) == {}


def test_a_null_that_is_sent_as_text_is_not_read_as_absent():
    low = lower(tool({}, required=False), TARGETS["closed_text"])
    assert low.losses == (("/properties/x", "type", "reshaped", "a string of JSON"),)
    assert there_and_back(low, {"x": None}) == {"x": "null"}
    assert there_and_back(low, {}) == {"x": None}


@pytest.mark.parametrize("target", ["openai_strict", "anthropic_strict", "closed_text"])
def test_a_map_is_sent_as_a_list_of_pairs(target):
    low = lower(tool({"type": "object", "additionalProperties": WHOLE}), TARGETS[target])
    assert low.schema["properties"]["x"] == pairs(WHOLE, **CLOSED)
    assert reported(low) == [("", *PAIRED)]
    assert there_and_back(low, {"x": {"a": 1, "b": 2}}) == {
        "x": [{"key": "a", "value": 1}, {"key": "b", "value": 2}]
    }
    assert there_and_back(low, {"x": {}}) == {"x": []}


@each_case(
    "nonsense",
    [
        [{"key": "a", "value": 1}, {"key": "a", "value": 2}],
        [{"key": 1, "value": 1}],
        [{"value": 1}],
        ["a"],
        {"a": 1},
        None,
    ],
)
def test_invalid_pairs_are_passed_on_unchanged(nonsense):
    low = lower(tool({"type": "object", "additionalProperties": WHOLE}), TARGETS["openai_strict"])
    assert low.mapping.decode({"x": nonsense}) == {"x": nonsense}


def test_constraints_on_keys_apply_to_the_pairs():
    schema = {
        "type": "object",
        "additionalProperties": WHOLE,
        "propertyNames": {"enum": ["a", "b"]},
        "minProperties": 1,
    }
    key = {"type": "string", "enum": ["a", "b"]}
    assert lower_x(schema, "openai_strict") == (
        {**pairs(WHOLE, key, **CLOSED), "minItems": 1},
        [("", *PAIRED)],
    )


def test_pattern_properties_become_pairs_whose_keys_match():
    schema = {"type": "object", "patternProperties": {"^x": WHOLE}, **CLOSED}
    low = lower(tool(schema), TARGETS["openai_strict"])
    assert low.schema["properties"]["x"] == pairs(WHOLE, {"type": "string", "pattern": "^x"}, **CLOSED)
    assert reported(low) == [("", "patternProperties", *PAIRED[1:])]
    two = {**schema, "patternProperties": {"^x": WHOLE, "^y": TEXT}}
    assert lower_x(two, "openai_strict") == (
        pairs({"anyOf": [WHOLE, TEXT]}, **CLOSED),
        [
            ("", "patternProperties", "checked locally", "which keys go with which values"),
            ("", "patternProperties", *PAIRED[1:]),
        ],
    )


def test_without_pattern_properties_matching_names_count_as_additional():
    schema = {"type": "object", "patternProperties": {"^x": WHOLE}, "additionalProperties": TEXT}
    words = 'patternProperties: {"^x":{"type":"integer"}}'
    assert lower_x(schema, "gemini_json") == (
        {"type": "object", "additionalProperties": {"anyOf": [WHOLE, TEXT]}, "description": words},
        [("", "patternProperties", "moved to description", words)],
    )


def test_the_first_property_becomes_required_if_one_must_be():
    low = lower({"type": "object", "properties": {"a": TEXT, "b": TEXT}}, TARGETS["cohere_strict"])
    assert low.schema == {
        "type": "object",
        "properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}, "b": TEXT},
        "required": ["a"],
    }
    assert low.losses == ()
    assert there_and_back(low, {"b": "x"}) == {"b": "x", "a": None}
    with pytest.raises(RefusedSchema, match="an object without a required property cannot be sent"):
        lower({"type": "object"}, TARGETS["cohere_strict"])


def test_a_property_that_admits_no_value_is_left_out():
    schema = {
        "type": "object",
        "properties": {"a": TEXT, "b": False, "c": {"not": {}}},
        "required": ["a"],
        **CLOSED,
    }
    low = lower(schema, TARGETS["gemini_json"])
    assert low.schema == {"type": "object", "properties": {"a": TEXT}, "required": ["a"], **CLOSED}
    assert low.losses == ()
    open_inside = {"type": "object", "properties": {"a": TEXT, "b": False}}
    assert lower_x(open_inside, "gemini_json") == (
        {"type": "object", "properties": {"a": TEXT}},
        [("/properties/b", "properties", "checked locally", "it must be absent")],
    )


def test_a_required_name_without_a_schema_is_added():
    schema = {"type": "object", "required": ["a"], "additionalProperties": WHOLE}
    low = lower(tool(schema), TARGETS["openai_strict"])
    assert low.schema["properties"]["x"]["properties"]["a"] == WHOLE
    assert low.schema["properties"]["x"]["required"] == ["a", "additional"]
    there_and_back(low, {"x": {"a": 1, "b": 2}})


@each_case("name", ["$ref", "type", "properties", "enum", "anyOf", "$defs", "~/"])
@each_case("target", TARGETS)
def test_a_property_may_have_the_name_of_a_keyword(name, target):
    low = lower(
        {"type": "object", "properties": {name: {"type": "string", "maxLength": 3}}, "required": [name]},
        TARGETS[target],
    )
    own = low.mapping.renames if low.mapping else {}
    assert [own.get(wire, wire) for wire in low.schema["properties"]] == [name]
    assert [loss.path for loss in low.losses] in (
        [],
        [f"/properties/{name.replace('~', '~0').replace('/', '~1')}"] * len(low.losses),
    )


def test_a_tuple_is_sent_as_an_object():
    schema = {"type": "array", "prefixItems": [TEXT, WHOLE], "minItems": 2, "maxItems": 2}
    low = lower(tool(schema), TARGETS["openai_strict"])
    assert low.schema["properties"]["x"] == {
        "type": "object",
        "properties": {"item_1": TEXT, "item_2": WHOLE},
        "required": ["item_1", "item_2"],
        **CLOSED,
    }
    assert reported(low) == [("", "prefixItems", "reshaped", "an object with one key per item")]
    assert there_and_back(low, {"x": ["a", 1]}) == {"x": {"item_1": "a", "item_2": 1}}
    assert low.mapping.decode({"x": {"item_1": "a"}}) == {"x": {"item_1": "a"}}


def test_a_tuple_of_open_length_becomes_a_list_of_any_member():
    schema = {"type": "array", "prefixItems": [TEXT], "items": WHOLE, "minItems": 1}
    for target in ("openai_strict", "gemini_parameters"):
        assert lower_x(schema, target) == (
            {"type": "array", "items": {"anyOf": [TEXT, WHOLE]}, "minItems": 1},
            [("", "prefixItems", "widened", "any of its members at any position")],
        )


def test_a_tuple_of_equal_members_becomes_a_list():
    schema = {"type": "array", "prefixItems": [WHOLE, WHOLE], "minItems": 2, "maxItems": 2}
    assert lower_x(schema, "gemini_parameters") == (
        {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2},
        [],
    )


def test_each_member_of_a_tuple_has_its_own_map():
    places = {"type": "array", "prefixItems": [{"enum": [1]}, {"enum": ["1"]}], "minItems": 2, "maxItems": 2}
    low = lower(tool(places), TARGETS["gemini_parameters"])
    assert there_and_back(low, {"x": [1, "1"]}) == {"x": ["1", "1"]}


def test_a_list_whose_items_admit_no_value_has_length_zero():
    nothing = {"type": "array", "items": False}
    assert lower_x(nothing, "gemini_json") == ({"type": "array", "maxItems": 0}, [])
    assert lower_x(nothing, "anthropic_strict") == (
        {"type": "array", "items": TEXT},
        [("", "items", "checked locally", "only the empty array")],
    )
    assert lower_x({**nothing, "prefixItems": [TEXT]}, "gemini_json") == (
        {"type": "array", "prefixItems": [TEXT], "maxItems": 1},
        [],
    )
    schema = tool(nothing)
    assert lower(schema, Subset()).schema is schema
