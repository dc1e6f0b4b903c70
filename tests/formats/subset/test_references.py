"""References and definitions: kept, inlined, recursive, hostile, and of older drafts."""

import pytest

from tests.formats.subset.lowering import lower_x, reported, there_and_back, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import RefusedSchema, lower
from toolhaft.formats.subset.target import Subset

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
NODE = {
    "type": "object",
    "properties": {"v": WHOLE, "next": {"$ref": "#/$defs/Node"}},
    "required": ["v"],
    "additionalProperties": False,
}
INLINE = Subset(
    keywords=frozenset(("type", "properties", "required", "items", "maxItems", "description")),
    refs="inline",
    recursion="unroll",
)


def shared(*refs, **definitions):
    """A tool whose parameters are these references."""
    return {
        "type": "object",
        "properties": {f"p{number}": {"$ref": ref} for number, ref in enumerate(refs)},
        "$defs": definitions,
    }


def test_a_definition_is_lowered_and_reported_once_with_its_own_path():
    schema = shared(
        "#/$defs/Name", "#/$defs/Name", Name={**TEXT, "maxLength": 3}, Unused={**TEXT, "maxLength": 9}
    )
    low = lower({**schema, "required": ["p0", "p1"]}, TARGETS["openai_strict"])
    assert low.schema == {
        "type": "object",
        "properties": {"p0": {"$ref": "#/$defs/Name"}, "p1": {"$ref": "#/$defs/Name"}},
        "required": ["p0", "p1"],
        "additionalProperties": False,
        "$defs": {"Name": {"type": "string", "description": "At most 3 characters"}},
    }
    assert low.losses == (("/$defs/Name", "maxLength", "moved to description", "at most 3 characters"),)


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ("#/definitions/Old", "Old"),
        ("#/properties/p1", "p1"),
        ("#spot", "anchored"),
        ("#/$defs/a~1b%20c", "a_b_c"),
    ],
)
def test_every_kind_of_reference_becomes_a_reference_to_defs(ref, name):
    schema = {
        "type": "object",
        "properties": {"p0": {"$ref": ref}, "p1": {**TEXT, "maxLength": 3}},
        "required": ["p0", "p1"],
        "definitions": {"Old": {**TEXT, "maxLength": 3}},
        "$defs": {"anchored": {"$anchor": "spot", **TEXT, "maxLength": 3}, "a/b c": {**TEXT, "maxLength": 3}},
    }
    low = lower(schema, TARGETS["openai_strict"])
    assert low.schema["properties"]["p0"] == {"$ref": f"#/$defs/{name}"}
    assert low.schema["$defs"] == {name: {"type": "string", "description": "At most 3 characters"}}


def test_a_reference_used_twice_is_not_recursion():
    low = lower(shared("#/$defs/Name", "#/$defs/Name", Name=TEXT), TARGETS["anthropic_strict"])
    assert low.schema["$defs"] == {"Name": TEXT}
    low = lower(shared("#/$defs/Name", "#/$defs/Name", Name=TEXT), INLINE)
    assert (low.schema["properties"], low.losses) == ({"p0": TEXT, "p1": TEXT}, ())


def test_a_recursive_definition_that_is_reshaped_has_a_map():
    low = lower(tool({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": NODE}}), TARGETS["openai_strict"])
    assert low.schema["$defs"]["Node"] == {
        "type": "object",
        "properties": {"v": WHOLE, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
        "required": ["v", "next"],
        "additionalProperties": False,
    }
    assert low.losses == ()
    assert there_and_back(low, {"x": {"v": 1, "next": {"v": 2}}}) == {
        "x": {"v": 1, "next": {"v": 2, "next": None}}
    }


def test_a_recursive_definition_that_is_unchanged_has_no_map():
    closed = Subset(closed=True, root_banned=frozenset(("title",)))
    low = lower(tool({"$ref": "#/$defs/Node"}, title="T", **{"$defs": {"Node": NODE}}), closed)
    assert low.mapping is None


def test_recursion_is_unrolled_to_three_levels():
    low = lower(tool({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": NODE}}), INLINE)
    inner = {"type": "object", "properties": {"v": WHOLE}, "required": ["v"]}
    for _ in range(2):
        inner = {"type": "object", "properties": {"v": WHOLE, "next": inner}, "required": ["v"]}
    assert low.schema == tool(inner)
    assert ("/$defs/Node", "$ref", "narrowed", "it refers to itself: 3 levels are written out") in low.losses


def test_unrolled_lists_end_empty_and_endless_recursion_is_refused():
    tree = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
        "required": ["kids"],
    }
    low = lower(tool({"$ref": "#/$defs/T"}, **{"$defs": {"T": tree}}), INLINE)
    third = low.schema["properties"]["x"]["properties"]["kids"]["items"]["properties"]["kids"]["items"]
    assert third["properties"]["kids"] == {"type": "array", "maxItems": 0}
    endless = {"type": "object", "properties": {"next": {"$ref": "#/$defs/E"}}, "required": ["next"]}
    with pytest.raises(RefusedSchema, match="no value is valid for it"):
        lower(tool({"$ref": "#/$defs/E"}, **{"$defs": {"E": endless}}), INLINE)


@pytest.mark.parametrize("target", ["anthropic_strict", "refusing"])
def test_recursion_is_refused_where_it_cannot_be_sent(target):
    with pytest.raises(RefusedSchema) as refused:
        lower(tool({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": NODE}}), TARGETS[target])
    assert (refused.value.path, refused.value.reason) == (
        "/$defs/Node",
        "it refers to itself, which cannot be sent",
    )


def test_a_root_that_refers_to_itself():
    schema = {"type": "object", "properties": {"v": WHOLE, "sub": {"$ref": "#"}}, "required": ["v"]}
    low = lower(schema, TARGETS["openai_strict"])
    assert low.schema["properties"]["sub"] == {"anyOf": [{"$ref": "#/$defs/root"}, {"type": "null"}]}
    assert there_and_back(low, {"v": 1, "sub": {"v": 2}}) == {"v": 1, "sub": {"v": 2, "sub": None}}


def test_a_reference_with_annotations_is_inlined_unless_it_is_recursive():
    beside = {"$ref": "#/$defs/P", "description": "Mine."}
    plain = {**TEXT, "description": "Its own.", "title": "P"}
    assert lower_x(beside, "openai_strict", **{"$defs": {"P": plain}}) == (
        {"type": "string", "title": "P", "description": "Mine."},
        [],
    )
    low, _ = lower_x(
        {"$ref": "#/$defs/Node", "description": "Mine."}, "openai_strict", **{"$defs": {"Node": NODE}}
    )
    assert low == {"anyOf": [{"$ref": "#/$defs/Node"}], "description": "Mine."}


def test_constraints_next_to_a_reference_are_merged():
    beside = {"$ref": "#/$defs/N", "minimum": 3}
    assert lower_x(beside, "openai_strict", **{"$defs": {"N": {**WHOLE, "maximum": 9}}}) == (
        {"type": "integer", "minimum": 3, "maximum": 9},
        [],
    )


def test_a_diamond_of_references_is_refused_if_it_would_be_inlined():
    names = {
        f"D{n}": {
            "type": "object",
            "properties": {"l": {"$ref": f"#/$defs/D{n + 1}"}, "r": {"$ref": f"#/$defs/D{n + 1}"}},
        }
        for n in range(30)
    }
    schema = tool({"$ref": "#/$defs/D0"}, **{"$defs": {**names, "D30": {**TEXT, "x-own": 1}}})
    with pytest.raises(
        RefusedSchema, match="too large: with its references inlined it has more than 20000 schemas"
    ):
        lower(schema, TARGETS["gemini_parameters"])
    assert len(lower(schema, TARGETS["openai_strict"]).schema["$defs"]) == 31


def test_a_long_chain_of_kept_references_is_not_too_deep():
    names = {
        f"D{n}": {"type": "object", "properties": {"n": {"$ref": f"#/$defs/D{n + 1}"}}} for n in range(3000)
    }
    schema = tool({"$ref": "#/$defs/D0"}, **{"$defs": {**names, "D3000": {**TEXT, "maxLength": 3}}})
    assert len(lower(schema, TARGETS["openai_strict"]).schema["$defs"]) == 3001
    with pytest.raises(RefusedSchema, match="too deep"):
        lower(schema, TARGETS["gemini_parameters"])


def test_recursive_merged_schemas_become_definitions():
    one = {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}, "a": WHOLE}, "required": ["a"]}
    other = {"type": "object", "properties": {"next": {"$ref": "#/$defs/B"}, "b": WHOLE}, "required": ["b"]}
    both = {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}
    low = lower(tool(both, **{"$defs": {"A": one, "B": other}}), TARGETS["openai_strict"])
    assert len(low.schema["$defs"]) == 1
    value = {"x": {"a": 1, "b": 2, "next": {"a": 3, "b": 4}}}
    assert there_and_back(low, value)["x"]["next"]["next"] is None


def test_losses_of_shared_objects_are_reported_at_each_path():
    part = {**TEXT, "maxLength": 3}
    low = lower({"type": "object", "properties": {"a": part, "b": part}}, TARGETS["anthropic_strict"])
    assert [loss.path for loss in low.losses] == ["/properties/a", "/properties/b"]


def test_draft_7_schemas_are_upgraded():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "pair": {
                "type": "array",
                "items": [TEXT, {"$ref": "#/definitions/N"}],
                "additionalItems": False,
                "minItems": 2,
            },
            "n": {"$ref": "#/definitions/N", "minimum": 100, "description": "Beside."},
            "first": {"$ref": "#/properties/pair/items/0"},
        },
        "dependencies": {"n": ["pair"], "pair": {"required": ["n"]}},
        "required": ["pair", "n", "first"],
        "definitions": {"N": {**WHOLE, "maximum": 9}},
    }
    low = lower(schema, TARGETS["openai_strict"])
    whole = {"type": "integer", "maximum": 9}
    words = 'If n is given, so must be pair, dependentSchemas: {"pair":{"required":["n"]}}'
    assert low.schema == {
        "type": "object",
        "properties": {
            "pair": {
                "type": "object",
                "properties": {"item_1": TEXT, "item_2": {"$ref": "#/$defs/N"}},
                "required": ["item_1", "item_2"],
                "additionalProperties": False,
            },
            "n": {**whole, "description": "Beside."},
            "first": {"$ref": "#/$defs/0"},
        },
        "required": ["pair", "n", "first"],
        "additionalProperties": False,
        "description": words,
        "$defs": {"N": whole, "0": TEXT},
    }
    assert [loss.keyword for loss in low.losses] == ["dependentRequired", "dependentSchemas", "prefixItems"]


def test_draft_4_exclusive_bounds_are_upgraded():
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        **tool({**WHOLE, "minimum": 0, "exclusiveMinimum": True}),
    }
    assert lower(schema, TARGETS["openai_strict"]).schema["properties"]["x"] == {
        "type": "integer",
        "exclusiveMinimum": 0,
    }


def test_an_unresolvable_reference_is_refused():
    with pytest.raises(RefusedSchema, match="a reference cannot be resolved: #/\\$defs/None"):
        lower(tool({"$ref": "#/$defs/None"}), TARGETS["openai_strict"])


def test_an_unchanged_schema_keeps_any_reference_that_the_target_accepts():
    for target in ("everything", "openai_loose", "anthropic_loose"):
        schema = shared("#/properties/p1", "#/$defs/X") | {"$defs": {"X": TEXT}}
        low = lower(schema, TARGETS[target])
        assert low.schema is schema
        assert reported(low) == []


def test_an_unfinished_definition_can_be_nullable():
    names = {
        "Wife": {
            "type": "object",
            "properties": {"husband": {"anyOf": [{"$ref": "#/$defs/Husband"}, {"type": "null"}]}},
            "required": ["husband"],
            "additionalProperties": False,
        },
        "Husband": {
            "type": "object",
            "properties": {"wife": {"$ref": "#/$defs/Wife"}},
            "additionalProperties": False,
        },
    }
    low = lower(tool({"$ref": "#/$defs/Husband"}, **{"$defs": names}), TARGETS["openai_strict"])
    assert low.losses == ()
    assert there_and_back(low, {"x": {"wife": {"husband": {}}}}) == {
        "x": {"wife": {"husband": {"wife": None}}}
    }
