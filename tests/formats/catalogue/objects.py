"""Catalogue: open and closed objects, maps, and properties named like keywords of JSON Schema."""

from __future__ import annotations

from typing import Final

from tests.formats.catalogue.case import Case, one, raw

_TEXT: Final = {"type": "string"}
_INT: Final = {"type": "integer"}

_OPEN: Final = (
    raw("no_parameters", {}, valid=[{}], invalid=[{"a": 1}]),
    raw(
        "no_parameters_closed",
        {"properties": {}, "additionalProperties": False},
        valid=[{}],
        invalid=[{"a": 1}],
    ),
    raw("root_open", {"additionalProperties": True}, valid=[{}, {"a": 1}, {"b": [None]}], invalid=[]),
    raw(
        "root_map",
        {"properties": {"limit": _INT}, "additionalProperties": _TEXT},
        valid=[{}, {"limit": 1, "a": "x"}, {"b": "y", "c": "z"}],
        invalid=[{"a": 1}, {"limit": "x"}],
    ),
    one("object_bare", {"type": "object"}, valid=[{}, {"a": {"b": [1]}}], invalid=["none", 1]),
    one(
        "object_open",
        {"type": "object", "properties": {"a": _TEXT}, "additionalProperties": True},
        valid=[{}, {"a": "x", "b": 1}],
        invalid=[{"a": 1}],
    ),
    one(
        "object_silent",
        {"type": "object", "properties": {"a": _TEXT}, "required": ["a"]},
        valid=[{"a": "x"}, {"a": ""}],
        invalid=[{}, {"a": 1}],
    ),
    one(
        "map_of_ints",
        {"type": "object", "additionalProperties": _INT},
        valid=[{}, {"a": 1, "ü b": 2}],
        invalid=[{"a": "one"}],
    ),
    one(
        "map_of_objects",
        {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"n": _INT, "note": _TEXT},
                "required": ["n"],
                "additionalProperties": False,
            },
        },
        valid=[{}, {"a": {"n": 1}}, {"a": {"n": 1, "note": "x"}, "b": {"n": 2}}],
        invalid=[{"a": {}}, {"a": {"n": "one"}}],
    ),
    one(
        "map_beside_names",
        {
            "type": "object",
            "properties": {"id": _INT, "additional": _TEXT},
            "required": ["id"],
            "additionalProperties": {"type": "number"},
        },
        valid=[{"id": 1}, {"id": 1, "additional": "x"}, {"id": 1, "weight": 2.5}],
        invalid=[{"weight": 2.5}, {"id": 1, "weight": "one"}],
    ),
    one(
        "map_of_maps",
        {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": _TEXT}},
        valid=[{}, {"a": {}}, {"a": {"b": "c"}, "d": {"e": "f"}}],
        invalid=[{"a": "b"}, {"a": {"b": 1}}],
    ),
    one(
        "pattern_properties",
        {"type": "object", "patternProperties": {"^x-": _TEXT, "^n-": _INT}, "additionalProperties": False},
        valid=[{}, {"x-a": "1", "n-b": 2}],
        invalid=[{"x-a": 1}, {"y": "one"}],
    ),
    one(
        "property_names",
        {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": _INT},
        valid=[{}, {"abc": 1}],
        invalid=[{"ABC": 1}, {"abc": "one"}],
    ),
    one(
        "property_counts",
        {"type": "object", "additionalProperties": _INT, "minProperties": 1, "maxProperties": 2},
        valid=[{"a": 1}, {"a": 1, "b": 2}],
        invalid=[{}, {"a": 1, "b": 2, "c": 3}],
    ),
    one(
        "nullable_object",
        {
            "type": ["object", "null"],
            "properties": {"a": _TEXT, "b": _INT},
            "required": ["a"],
            "additionalProperties": False,
        },
        valid=[None, {"a": "x"}, {"a": "x", "b": 1}],
        invalid=[{"b": 1}, "x"],
    ),
    one(
        "optional_object",
        {"type": "object", "properties": {"from": _TEXT, "to": _TEXT}, "additionalProperties": False},
        valid=[{}, {"from": "a"}, {"from": "a", "to": "b"}],
        invalid=[{"from": 5}],
        required=False,
    ),
    one(
        "unevaluated",
        {
            "type": "object",
            "allOf": [{"properties": {"a": _TEXT}}],
            "properties": {"b": _INT},
            "unevaluatedProperties": False,
        },
        valid=[{}, {"a": "x", "b": 1}],
        invalid=[{"c": 1}, {"a": 1}],
    ),
)

_ANYTHING: Final = (
    one("anything", {}, valid=[1, "a", None, [{}], {"a": 1}], invalid=[]),
    one("anything_true", True, valid=[1, None, {"a": [1]}], invalid=[]),
    one("anything_described", {"description": "Any JSON."}, valid=[False, "x"], invalid=[]),
    raw(
        "never",
        {"properties": {"old": False, "new": _TEXT}},
        valid=[{}, {"new": "x"}],
        invalid=[{"old": 1}],
    ),
    raw(
        "never_nested",
        {
            "properties": {
                "x": {
                    "type": "object",
                    "properties": {"old": False, "new": _TEXT},
                    "additionalProperties": False,
                },
                "y": {"type": "array", "items": False},
            },
            "required": ["x"],
        },
        valid=[{"x": {}}, {"x": {"new": "a"}, "y": []}],
        invalid=[{"x": {"old": 1}}, {"x": {}, "y": [1]}],
    ),
    raw("impossible", {"properties": {"x": False}, "required": ["x"]}, valid=[], invalid=[{}, {"x": 1}]),
)

_NAMES: Final = (
    raw(
        "names_of_keywords",
        {
            "properties": {
                "$ref": {"type": "string", "description": "A property, not a reference."},
                "type": {"enum": ["a", "b"]},
                "enum": {"type": "array", "items": _TEXT},
                "properties": {"type": "object", "properties": {"$ref": _INT}, "additionalProperties": False},
                "required": {"type": "boolean"},
                "default": _INT,
            },
            "required": ["$ref", "type"],
        },
        valid=[
            {"$ref": "#/x", "type": "a"},
            {
                "$ref": "",
                "type": "b",
                "enum": ["c"],
                "properties": {"$ref": 1},
                "required": True,
                "default": 3,
            },
        ],
        invalid=[
            {"type": "a"},
            {"$ref": "", "type": "c"},
            {"$ref": "", "type": "a", "properties": {"$ref": "one"}},
        ],
    ),
    raw(
        "names_odd",
        {
            "properties": {
                "with space": _TEXT,
                "with_space": _INT,
                "größe": _INT,
                "": _TEXT,
                "a/b~c": _TEXT,
                "n" * 65: _TEXT,
                "日本": {"type": "object", "properties": {"名 前": _TEXT}, "additionalProperties": False},
            },
            "required": ["with space"],
        },
        valid=[
            {"with space": "a"},
            {"with space": "a", "with_space": 1, "größe": 2, "": "b", "a/b~c": "c"},
            {"with space": "a", "n" * 65: "d", "日本": {"名 前": "e"}},
        ],
        invalid=[{"with_space": 1}, {"with space": "a", "größe": "one"}],
    ),
)

CASES: Final[tuple[Case, ...]] = _OPEN + _ANYTHING + _NAMES
