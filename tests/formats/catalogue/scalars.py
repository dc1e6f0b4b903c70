"""Catalogue: enums, constants, bounds, formats, defaults, arrays and tuples."""

from __future__ import annotations

from typing import Final

from tests.formats.catalogue.case import Case, one, raw

_TEXT: Final = {"type": "string"}
_INT: Final = {"type": "integer"}
_FORMATS: Final = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "time": "03:04:05Z",
    "duration": "P1DT2H",
    "email": "a@example.org",
    "hostname": "example.org",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "uri": "https://example.org/a",
    "uri-reference": "/a?b",
    "json-pointer": "/a/b",
    "regex": "^a+$",
    "binary": "anything",
    "int64": "anything",
}

_VALUES: Final = (
    one("type_list", {"type": ["string", "integer", "null"]}, valid=["a", 1, None], invalid=[1.5, []]),
    one(
        "type_list_with_rules",
        {"type": ["string", "array"], "items": _TEXT, "minLength": 1, "minItems": 1},
        valid=["a", ["b"]],
        invalid=["", [], [1]],
    ),
    one("type_list_one", {"type": ["string"]}, valid=["a", ""], invalid=[1]),
    one(
        "type_list_optional",
        {"type": ["integer", "null"], "minimum": 1},
        valid=[None, 3],
        invalid=[0],
        required=False,
    ),
    one("enum_untyped", {"enum": ["a", "b"]}, valid=["a", "b"], invalid=["c"]),
    one("enum_of_ints", {"type": "integer", "enum": [1, 2, 3]}, valid=[1, 3], invalid=[4, "one"]),
    one(
        "enum_with_null",
        {"type": ["string", "null"], "enum": ["a", "b", None]},
        valid=["a", None],
        invalid=["c"],
    ),
    one(
        "enum_mixed",
        {"enum": ["1", 1, 1.5, True, None]},
        valid=["1", 1, 1.5, True, None],
        invalid=["a", 2, False],
    ),
    one(
        "enum_of_objects", {"enum": [{"a": 1}, ["b"], "c"]}, valid=[{"a": 1}, ["b"], "c"], invalid=[{"a": 2}]
    ),
    one(
        "enum_large",
        {"type": "string", "enum": [f"value-{number:04}" for number in range(1200)]},
        valid=["value-0000", "value-1199"],
        invalid=["value-1200"],
    ),
    one(
        "enum_lengthy",
        {"type": "string", "enum": [f"{number:03}-{'x' * 60}" for number in range(260)]},
        valid=[f"001-{'x' * 60}", f"259-{'x' * 60}"],
        invalid=["x"],
    ),
    one("enum_empty_text", {"type": "string", "enum": ["", "a"]}, valid=["", "a"], invalid=["b"]),
    raw(
        "const_of_every_type",
        {
            "properties": {
                "text": {"const": "v1"},
                "number": {"const": 1.5},
                "integer": {"type": "integer", "const": 2},
                "flag": {"const": True},
                "nothing": {"const": None},
                "list": {"const": [1, "a"]},
                "object": {"const": {"a": 1}},
            },
            "required": ["text"],
        },
        valid=[
            {"text": "v1"},
            {"text": "v1", "number": 1.5, "integer": 2, "flag": True, "nothing": None},
            {"text": "v1", "list": [1, "a"], "object": {"a": 1}},
        ],
        invalid=[{"text": "v2"}, {"text": "v1", "flag": False}, {"text": "v1", "list": ["a", 1]}],
    ),
    raw(
        "bounds_of_numbers",
        {
            "properties": {
                "a": {"type": "integer", "minimum": 1, "maximum": 10},
                "b": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "c": {"type": "integer", "multipleOf": 5},
            },
            "required": ["a", "b", "c"],
        },
        valid=[{"a": 1, "b": 0.5, "c": 5}, {"a": 10, "b": 0.1, "c": -10}],
        invalid=[{"a": 0, "b": 0.5, "c": 5}, {"a": 1, "b": 1, "c": 5}, {"a": 1, "b": 0.5, "c": 4}],
    ),
    raw(
        "bounds_of_texts",
        {
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 500,
                    "description": "What to look for.",
                },
                "code": {"type": "string", "pattern": "^[A-Z]{2}-\\d+$"},
                "part": {"type": "string", "pattern": "b+"},
            },
            "required": ["query", "code"],
        },
        valid=[{"query": "q", "code": "AB-1"}, {"query": "q", "code": "AB-1", "part": "abbc"}],
        invalid=[
            {"query": "", "code": "AB-1"},
            {"query": "q", "code": "ab-1"},
            {"query": "q", "code": "AB-1", "part": "a"},
        ],
    ),
    raw(
        "formats",
        {"properties": {name: {"type": "string", "format": name} for name in _FORMATS}, "required": ["date"]},
        valid=[{"date": "2026-01-02"}, dict(_FORMATS)],
        invalid=[{"date": "soon"}, {"date": "2026-01-02", "uri": "no uri"}],
    ),
    raw(
        "content",
        {
            "properties": {
                "image": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
                "secret": {"type": "string", "writeOnly": True, "x-secret": True, "deprecated": True},
                "sample": {"type": "string", "examples": ["a", "b"], "$comment": "for reviewers"},
            },
            "required": ["image"],
            "$id": "https://example.org/content",
            "title": "Content",
        },
        valid=[{"image": "aGk="}, {"image": "", "secret": "s", "sample": "a"}],
        invalid=[{"secret": "s"}, {"image": 1}],
    ),
    raw(
        "defaults_of_every_kind",
        {
            "properties": {
                "text": {"type": "string", "default": "a"},
                "number": {"type": "number", "default": 0.5},
                "flag": {"type": "boolean", "default": False},
                "list": {"type": "array", "items": _TEXT, "default": []},
                "object": {
                    "type": "object",
                    "properties": {"n": {"type": "integer", "default": 1}},
                    "additionalProperties": False,
                    "default": {"n": 2},
                },
                "nothing": {"type": ["string", "null"], "default": None},
                "nullable": {"type": ["string", "null"], "default": "x", "description": "Null means none."},
                "required": {"type": "integer", "default": 7},
            },
            "required": ["required"],
        },
        valid=[
            {"required": 1},
            {"required": 1, "text": "b", "flag": True, "list": ["c"], "object": {}},
            {"required": 1, "nothing": "z", "nullable": "y"},
        ],
        invalid=[{}, {"required": 1, "flag": "x"}],
    ),
)

_LISTS: Final = (
    one("array_bare", {"type": "array"}, valid=[[], [1, "a", None]], invalid=["a", {}]),
    one("array_of_anything", {"type": "array", "items": {}}, valid=[[], [1, {"a": []}]], invalid=[1]),
    one(
        "array_of_arrays",
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        valid=[[], [[], [1.5, 2]]],
        invalid=[[1], [["a"]]],
    ),
    one(
        "array_bounds",
        {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 3},
        valid=[["a"], ["a", "b", "c"]],
        invalid=[[], ["a"] * 4],
    ),
    one(
        "array_two_at_least",
        {"type": "array", "items": _TEXT, "minItems": 2},
        valid=[["a", "b"], ["a", "b", "c"]],
        invalid=[["a"]],
    ),
    one(
        "array_unique",
        {"type": "array", "items": _INT, "uniqueItems": True},
        valid=[[], [1, 2]],
        invalid=[[1, 1]],
    ),
    one(
        "array_contains",
        {"type": "array", "items": _INT, "contains": {"const": 7}, "minContains": 1, "maxContains": 2},
        valid=[[7], [1, 7, 7]],
        invalid=[[1], [7, 7, 7]],
    ),
    one(
        "tuple_closed",
        {"type": "array", "prefixItems": [_TEXT, _INT], "items": False, "minItems": 2},
        valid=[["a", 1], ["", 0]],
        invalid=[["a"], [1, "a"], ["a", 1, 2]],
    ),
    one(
        "tuple_bounded",
        {
            "type": "array",
            "prefixItems": [{"type": "number"}, {"type": "number"}],
            "minItems": 2,
            "maxItems": 2,
        },
        valid=[[1, 2], [0.5, -1]],
        invalid=[[1], [1, 2, 3]],
    ),
    one(
        "tuple_open",
        {"type": "array", "prefixItems": [_TEXT, _INT]},
        valid=[[], ["a"], ["a", 1, None]],
        invalid=[[1], ["a", "b"]],
    ),
    one(
        "tuple_then_more",
        {"type": "array", "prefixItems": [_TEXT], "items": _INT, "minItems": 1},
        valid=[["a"], ["a", 1, 2]],
        invalid=[[], [1], ["a", "b"]],
    ),
    one(
        "array_of_tuples_of_maps",
        {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [_TEXT, {"type": "object", "additionalProperties": _INT}],
                "items": False,
                "minItems": 2,
            },
        },
        valid=[[], [["a", {}], ["b", {"c": 1}]]],
        invalid=[[["a"]], [["a", {"c": "one"}]]],
    ),
    one(
        "not_an_array_needed",
        {"items": _INT, "minLength": 2},
        valid=[[1], "ab", None, {"a": 1}],
        invalid=[["a"], "a"],
    ),
)

CASES: Final[tuple[Case, ...]] = _VALUES + _LISTS
