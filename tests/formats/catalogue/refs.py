"""Catalogue: references, definitions and recursion."""

from __future__ import annotations

from typing import Any, Final

from tests.formats.catalogue.case import Case, one, raw

_POINT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
    "required": ["lat", "lon"],
    "additionalProperties": False,
}
_HERE: Final = {"lat": 1.5, "lon": -2}


def _diamond(levels: int) -> dict[str, Any]:
    """Each level refers to the next twice: two to the power of the levels, if written out."""
    defs: dict[str, Any] = {
        f"L{level}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/$defs/L{level + 1}"} for side in ("a", "b")},
            "additionalProperties": False,
        }
        for level in range(levels)
    }
    defs[f"L{levels}"] = {"type": "integer"}
    return {"properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": defs}


CASES: Final[tuple[Case, ...]] = (
    raw(
        "root_ref",
        {"$ref": "#/$defs/Args", "$defs": {"Args": _POINT}},
        valid=[_HERE, {"lat": 0, "lon": 0}],
        invalid=[{"lat": 1}, {"lat": "one", "lon": 2}],
    ),
    raw(
        "ref_twice",
        {
            "properties": {"start": {"$ref": "#/$defs/Point"}, "end": {"$ref": "#/$defs/Point"}},
            "required": ["start"],
            "$defs": {"Point": _POINT, "Unused": {"type": "string"}},
        },
        valid=[{"start": _HERE}, {"start": _HERE, "end": _HERE}],
        invalid=[{"end": _HERE}, {"start": _HERE, "end": {"lat": 1}}],
    ),
    one(
        "ref_with_words",
        {"$ref": "#/$defs/Point", "description": "Where to go.", "title": "Goal"},
        valid=[_HERE, {"lat": 0, "lon": 1}],
        invalid=[{"lat": 1}],
        **{"$defs": {"Point": {**_POINT, "description": "A point on earth."}}},
    ),
    one(
        "ref_with_rules",
        {"$ref": "#/$defs/Name", "minLength": 2, "pattern": "^[a-z]+$"},
        valid=["ab", "abc"],
        invalid=["a", "AB", "abcdef"],
        **{"$defs": {"Name": {"type": "string", "maxLength": 5}}},
    ),
    raw(
        "ref_pointer",
        {
            "properties": {
                "source": _POINT,
                "target": {"$ref": "#/properties/source"},
                "height": {"$ref": "#/properties/source/properties/lat"},
            },
            "required": ["source", "target"],
        },
        valid=[{"source": _HERE, "target": _HERE}, {"source": _HERE, "target": _HERE, "height": 3.5}],
        invalid=[{"source": _HERE, "target": {"lat": 1}}],
    ),
    raw(
        "ref_escaped",
        {
            "properties": {"x": {"$ref": "#/$defs/a~1b~0c%20d"}},
            "required": ["x"],
            "$defs": {"a/b~c d": {"type": "integer", "minimum": 1}},
        },
        valid=[{"x": 1}, {"x": 7}],
        invalid=[{"x": 0}],
    ),
    raw(
        "ref_anchor",
        {
            "properties": {"x": {"$ref": "#size"}},
            "required": ["x"],
            "$defs": {"Size": {"$anchor": "size", "enum": ["S", "M", "L"]}},
        },
        valid=[{"x": "S"}, {"x": "L"}],
        invalid=[{"x": "XL"}],
    ),
    raw(
        "ref_root",
        {
            "properties": {"value": {"type": "integer"}, "next": {"$ref": "#"}},
            "required": ["value"],
            "additionalProperties": False,
        },
        valid=[
            {"value": 1},
            {"value": 1, "next": {"value": 2}},
            {"value": 1, "next": {"value": 2, "next": {"value": 3}}},
        ],
        invalid=[{"value": 1, "next": {}}, {"value": 1, "next": {"value": "one"}}],
    ),
    one(
        "ref_tree",
        {"$ref": "#/$defs/Node"},
        valid=[
            {"value": 1},
            {"value": 1, "children": []},
            {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]},
        ],
        invalid=[{"children": []}, {"value": 1, "children": [{}]}],
        **{
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": {
                        "value": {"type": "integer"},
                        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                    },
                    "required": ["value"],
                    "additionalProperties": False,
                }
            }
        },
    ),
    one(
        "ref_list_or_end",
        {"$ref": "#/$defs/List"},
        valid=[None, {"head": 1, "tail": None}, {"head": 1, "tail": {"head": 2, "tail": None}}],
        invalid=[{"head": 1}, {"head": 1, "tail": 2}],
        **{
            "$defs": {
                "List": {
                    "anyOf": [
                        {"type": "null"},
                        {
                            "type": "object",
                            "properties": {"head": {"type": "integer"}, "tail": {"$ref": "#/$defs/List"}},
                            "required": ["head", "tail"],
                            "additionalProperties": False,
                        },
                    ]
                }
            }
        },
    ),
    one(
        "ref_each_other",
        {"$ref": "#/$defs/Person"},
        valid=[{"name": "Ada"}, {"name": "Ada", "pet": {"kind": "cat", "owner": {"name": "Bo"}}}],
        invalid=[{"name": "Ada", "pet": {"owner": {"name": "Bo"}}}],
        **{
            "$defs": {
                "Person": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "pet": {"$ref": "#/$defs/Pet"}},
                    "required": ["name"],
                    "additionalProperties": False,
                },
                "Pet": {
                    "type": "object",
                    "properties": {"kind": {"type": "string"}, "owner": {"$ref": "#/$defs/Person"}},
                    "required": ["kind"],
                    "additionalProperties": False,
                },
            }
        },
    ),
    raw(
        "draft7",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"Age": {"type": "integer", "minimum": 0}},
            "properties": {
                "age": {"$ref": "#/definitions/Age"},
                "pair": {
                    "type": "array",
                    "items": [{"type": "string"}, {"type": "integer"}],
                    "additionalItems": False,
                },
                "card": {"type": "string"},
            },
            "required": ["age"],
            "dependencies": {"card": ["pair"]},
        },
        valid=[{"age": 3}, {"age": 3, "pair": ["a", 1]}, {"age": 3, "pair": ["a", 1], "card": "c"}],
        invalid=[{"age": -1}, {"age": 3, "pair": [1, "a"]}, {"age": 3, "card": "c"}],
    ),
    raw(
        "diamond_3",
        _diamond(3),
        valid=[{}, {"x": {"a": {"b": {"a": 1}}}}],
        invalid=[{"x": {"a": {"b": {"a": "one"}}}}],
    ),
    raw("diamond_12", _diamond(12), valid=[{}, {"x": {"a": {"b": {}}}}], invalid=[{"x": {"c": {}}}]),
    raw("diamond_30", _diamond(30), valid=[{}, {"x": {"a": {"b": {}}}}], invalid=[{"x": {"c": {}}}]),
)
