"""Schemas that mean an object: the raw way and the import take the same ones, and treat them alike."""

import json
from contextlib import suppress

import pytest

from tests.cases import each_case, in_case
from toolhaft import InvalidArguments, ToolConfig, ToolRegistry, ValidArguments, create_tool
from toolhaft.errors import DefinitionError, WireError
from toolhaft.formats import FORMATS, export_tools, import_tools

NODE = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "n": {"$ref": "#/$defs/Node"}, "limit": {"type": "integer", "default": 5}},
    "required": ["a"],
}  # fmt: skip
INTEGER = {"type": "integer"}
CAT = {
    "type": "object",
    "properties": {"kind": {"const": "cat"}, "lives": INTEGER},
    "required": ["kind", "lives"],
}
DOG = {
    "type": "object",
    "properties": {"kind": {"const": "dog"}, "bark": {"type": "string"}},
    "required": ["kind"],
}
PETS = {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "$defs": {"Cat": CAT, "Dog": DOG}}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
ID = "https://example.com/root.json"


def with_a(schema, **more):
    return {"type": "object", "properties": {"a": schema}, **more}


ROOTS = {
    "no type": ({"properties": {"a": INTEGER}, "required": ["a"]}, {"a": 1}, {"b": 1}),
    "a reference": ({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}, {"a": 1, "n": {"a": 2}}, {"a": 1, "z": 1}),
    "draft 7": (
        {"$schema": DRAFT_7, "$ref": "#/definitions/N", "definitions": {"N": with_a({"$ref": "#/definitions/N"})}},
        {"a": {"a": {}}},
        {"z": 1},
    ),
    "definitions in an unusual place": (
        {"$ref": "#/parts/Node/full", "parts": {"Node": {"full": with_a({"$ref": "#/parts/Node/full"})}}},
        {"a": {"a": {}}},
        {"z": 1},
    ),
    "the root itself": (with_a({"$ref": "#"}), {"a": {"a": {}}}, {"z": 1}),
    "allOf": (
        {"allOf": [{"properties": {"a": INTEGER}}, {"type": "object", "required": ["b"], "properties": {"b": INTEGER}}]},
        {"a": 1, "b": 2},
        {"b": 1, "z": 1},
    ),
    "allOf of references": (
        {"allOf": [{"$ref": "#/$defs/Node"}, {"properties": {"b": INTEGER}}], "$defs": {"Node": NODE}},
        {"a": 1, "b": 2},
        {"a": 1, "z": 2},
    ),
    "anyOf": (
        {"anyOf": [with_a(INTEGER, required=["a"]), {"type": "object", "properties": {"b": INTEGER}, "required": ["b"]}]},
        {"b": 1},
        {"b": 1, "z": 2},
    ),
    "anyOf with null": ({"anyOf": [with_a(INTEGER), {"type": "null"}]}, {"a": 1}, {"b": 1}),
    "oneOf": (PETS, {"kind": "cat", "lives": 9}, {"kind": "cat", "lives": 9, "z": 1}),
    "one closed branch": (
        {"anyOf": [with_a(INTEGER, additionalProperties=False), {"type": "object", "properties": {"b": INTEGER}}]},
        {"b": 1},
        {"b": 1, "z": 2},
    ),
    "nested": (
        {"allOf": [{"anyOf": [{"$ref": "#/$defs/Node"}, {"properties": {"w": {}}}]}], "$defs": {"Node": NODE}},
        {"w": 1},
        {"w": 1, "z": 1},
    ),
    "if": (
        {"if": {"properties": {"k": {"const": 1}}}, "then": {"properties": {"x": {}}}, "else": {"properties": {"y": {}}}},
        {"k": 1, "x": 1},
        {"k": 1, "z": 1},
    ),
    "dependent schemas": (
        with_a({}, dependentSchemas={"a": {"properties": {"d": INTEGER}}}),
        {"a": 1, "d": 1},
        {"a": 1, "z": 1},
    ),
    "empty": ({}, {}, {"a": 1}),
    "only a description": ({"description": "Takes nothing."}, {}, {"a": 1}),
    "a list of types": ({"type": ["object"], "properties": {"a": INTEGER}}, {"a": 1}, {"b": 1}),
    "object or null": ({"type": ["object", "null"], "properties": {"a": INTEGER}}, {"a": 1}, {"b": 1}),
    "$id": (with_a({"$ref": "#/$defs/I"}, **{"$id": ID, "$defs": {"I": INTEGER}}), {"a": 1}, {"a": "x"}),
    "reference to its $id": (
        with_a({"$ref": f"{ID}#/$defs/I"}, **{"$id": ID, "$defs": {"I": INTEGER}}), {"a": 1}, {"a": "x"},
    ),
    "relative to its $id": (
        with_a({"$ref": "root.json#/$defs/I"}, **{"$id": ID, "$defs": {"I": INTEGER}}), {"a": 1}, {"a": "x"},
    ),
    "embedded $id": (
        with_a({"$ref": "item.json"}, **{"$defs": {"I": {"$id": "item.json", "type": "integer"}}}), {"a": 1}, {"a": "x"},
    ),
    "embedded $id, absolute": (
        with_a(
            {"$ref": "item.json"},
            **{"$id": ID, "$defs": {"I": {"$id": "https://example.com/item.json", "type": "integer"}}},
        ),
        {"a": 1},
        {"a": "x"},
    ),
    "embedded $id with its own definitions": (
        with_a(
            {"$ref": "#/$defs/I"},
            **{"$defs": {"I": {"$id": "i.json", "$ref": "#/$defs/J", "$defs": {"J": INTEGER}}, "J": {"type": "string"}}},
        ),
        {"a": 1},
        {"a": "x"},
    ),
    "embedded anchor": (
        with_a({"$ref": "i.json#x"}, **{"$defs": {"I": {"$id": "i.json", "$defs": {"J": {"$anchor": "x", **INTEGER}}}}}),
        {"a": 1},
        {"a": "x"},
    ),
    "a name with signs": (
        with_a({"$ref": "x y~/%.json"}, **{"$defs": {"x/y~%": {"$id": "x y~/%.json", **INTEGER}}}), {"a": 1}, {"a": "x"},
    ),
    "anchor": ({"$ref": "#top", "$defs": {"T": with_a(INTEGER, **{"$anchor": "top"})}}, {"a": 1}, {"a": "x"}),
    "urn": (with_a({"$ref": "#/$defs/I"}, **{"$id": "urn:a:b", "$defs": {"I": INTEGER}}), {"a": 1}, {"a": "x"}),
    "undeclared required": (with_a(INTEGER, required=["b"]), {"b": [1]}, {"a": 1}),
    "only required": ({"type": "object", "required": ["b"]}, {"b": None}, {"b": 1, "a": 1}),
    "undeclared required, closed": (
        with_a(INTEGER, required=["b"], additionalProperties=False), {"b": 1}, {"b": 1, "z": 1},
    ),
    "undeclared required in a branch": (
        with_a(INTEGER, anyOf=[{"required": ["x"]}, {"required": ["a"]}]), {"x": 1}, {"x": 1, "z": 1},
    ),
    "undeclared required in a reference": (
        {"$ref": "#/$defs/A", "$defs": {"A": with_a(INTEGER, required=["b"])}}, {"b": 1}, {"b": 1, "z": 1},
    ),
    "undeclared required in allOf": ({"allOf": [with_a(INTEGER, required=["b"])]}, {"b": 1}, {"b": 1, "z": 1}),
    "undeclared required in a closed reference": (
        {"$ref": "#/$defs/A", "$defs": {"A": with_a(INTEGER, required=["b"], additionalProperties=False)}},
        {"b": 1},
        {"b": 1, "z": 1},
    ),
    "undeclared required in a closed object": (
        with_a(with_a(INTEGER, required=["b"], additionalProperties=False)), {"a": {"b": 1}}, {"a": {"b": 1, "z": 1}},
    ),
    "undeclared required in a condition": (
        with_a({}, **{"not": {"required": ["a"], "additionalProperties": False}}), {"a": 1}, {"z": 1},
    ),
    "undeclared dependent of draft 7": (
        with_a(INTEGER, **{"$schema": DRAFT_7, "dependencies": {"a": ["q"]}}), {"a": 1, "q": 1}, {"a": 1},
    ),
    "undeclared dependent": (with_a(INTEGER, dependentRequired={"a": ["q"]}), {"a": 1, "q": 1}, {"a": 1}),
}  # fmt: skip


def raw(schema):
    return create_tool(ToolConfig(name="t", description="d", input_schema=schema))


def imported(schema):
    (made,) = import_tools([{"name": "t", "description": "d", "input_schema": schema}], "anthropic")
    return made


def test_every_schema_that_means_an_object_is_taken_by_both_ways_alike():
    for name, (schema, good, bad) in ROOTS.items():
        with in_case(name):
            one, other = raw(schema), imported(schema)
            assert one.input_schema == other.input_schema
            assert one.input_schema["type"] == "object"
            for made in (one, other):
                assert isinstance(made.validate(json.dumps(good)), ValidArguments)
                refused = made.validate(json.dumps(bad))
                assert isinstance(refused, InvalidArguments)
                assert refused.example is not None
                assert isinstance(made.validate(refused.example), ValidArguments)


@each_case(
    "schema",
    [
        {"type": "string"},
        {"type": ["array", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "array"}}},
        {"allOf": [{"type": "object"}, {"type": "string"}]},
        {"enum": ["a", 1]},
        {"$ref": "#"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://elsewhere.example/schema.json"},
        {"type": "object", "required": [5]},
        {"type": [[]]},
    ],
)
def test_what_means_no_object_is_refused_by_both_ways(schema):
    with pytest.raises(DefinitionError):
        raw(schema)
    with suppress(WireError):
        assert import_tools([{"name": "t", "description": "d", "input_schema": schema}], "anthropic") == []


def test_such_schemas_are_exported_to_every_provider():
    for name, (schema, good, _) in ROOTS.items():
        for format in FORMATS:
            with in_case(name, format):
                export = export_tools([raw(schema)], format)
                assert export.refused == ()
                (again,) = import_tools(export.payload, format)
                if not isinstance(again.validate(json.dumps(good)), ValidArguments):
                    assert export.losses


def test_references_below_an_embedded_id_mean_the_same_everywhere():
    schema, _, _ = ROOTS["embedded $id with its own definitions"]
    made = raw(schema)
    assert str(made.validate('{"a": "x"}').problems[0]) == 'a: got "x"; expected an integer'
    (repair,) = made.validate('{"a": "7"}').repairs
    assert (repair.was, repair.now) == ("7", 7)
    assert "$id" not in json.dumps(made.input_schema)


@each_case(
    ("schema", "value", "problems"),
    [
        (PETS, {"kind": "cat"}, ["lives: missing; expected an integer"]),
        (PETS, {"kind": "cat", "lives": "x y"}, ['lives: got "x y"; expected an integer']),
        (PETS, {"kind": "cow"}, ['kind: got "cow"; expected "cat" or "dog"']),
        (PETS, {"kind": "dog", "bak": "x"}, ["bak: unknown argument; did you mean 'bark'?"]),
        (ROOTS["anyOf"][0], {"b": "x y"}, ['b: got "x y"; expected an integer']),
        (
            ROOTS["anyOf"][0],
            {"c": 1},
            [
                'arguments: got {"c":1}; expected an object with a or an object with b',
                "c: unknown argument; expected only a, b",
            ],
        ),
        (ROOTS["a reference"][0], {"a": 1, "n": {"a": "x y"}}, ['n.a: got "x y"; expected an integer']),
        (ROOTS["allOf"][0], {"a": 1}, ["b: missing; expected an integer"]),
        ({}, {"a": 1}, ["a: unknown argument; expected no arguments"]),
    ],
)
def test_problems_of_such_schemas_say_where_and_what(schema, value, problems):
    assert [str(problem) for problem in raw(schema).validate(value).problems] == problems


def test_problems_of_large_arguments_name_the_wrong_and_the_unknown_ones():
    made = raw(ROOTS["a reference"][0])
    refused = made.validate({"a": "x" * 10 + "," * 20_000, "z": 1})
    assert [problem.path for problem in refused.problems] == ["a", "z"]


def test_defaults_apply_behind_a_reference_and_allof():
    for name in ("a reference", "allOf of references"):
        with in_case(name):
            assert raw(ROOTS[name][0]).validate({"a": 1}).params == {"a": 1, "limit": 5}


def test_required_and_undeclared_counts_as_declared_except_in_validate_tool_spec():
    schema, _, _ = ROOTS["undeclared required"]
    made = raw(schema)
    assert made.input_schema["properties"] == {"a": INTEGER, "b": {}}
    spec = {"name": "t", "description": "d", "input_schema": schema}
    assert ToolRegistry().validate_tool_spec(spec) == (
        False,
        "Required parameter 'b' not found in properties",
    )
