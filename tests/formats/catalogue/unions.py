"""Catalogue: anyOf, oneOf, allOf, not, and dependent constraints."""

from __future__ import annotations

from typing import Any, Final

from tests.formats.catalogue.case import Case, one, raw


def _closed(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_CARD: Final = _closed(kind={"const": "card"}, number=_TEXT)
_CASH: Final = _closed(kind={"const": "cash"}, amount=_NUMBER)

_AT_THE_ROOT: Final = (
    raw(
        "root_any_of",
        {"anyOf": [_closed(id={"type": "integer"}), _closed(name=_TEXT, id=_TEXT)]},
        valid=[{"id": 1}, {"name": "a", "id": "b"}],
        invalid=[{"id": "b"}, {"name": "a"}, {}],
    ),
    raw(
        "root_any_of_required",
        {"properties": {"id": _TEXT, "name": _TEXT}, "anyOf": [{"required": ["id"]}, {"required": ["name"]}]},
        valid=[{"id": "1"}, {"name": "a"}, {"id": "1", "name": "a"}],
        invalid=[{}, {"id": 1}],
    ),
    raw(
        "root_one_of",
        {"oneOf": [_CARD, _CASH]},
        valid=[{"kind": "card", "number": "42"}, {"kind": "cash", "amount": 1.5}],
        invalid=[{"kind": "card", "amount": 1}, {"kind": "cheque"}],
    ),
    raw(
        "root_all_of",
        {
            "allOf": [
                {"properties": {"a": _TEXT}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}, "a": {"maxLength": 3}}},
            ]
        },
        valid=[{"a": "x"}, {"a": "x", "b": 2}],
        invalid=[{"b": 2}, {"a": "long"}, {"a": "x", "b": "one"}],
    ),
    raw(
        "root_not",
        {"properties": {"a": _TEXT, "b": _TEXT}, "not": {"required": ["a", "b"]}},
        valid=[{"a": "x"}, {"b": "y"}, {}],
        invalid=[{"a": "x", "b": "y"}],
    ),
    raw(
        "root_enum",
        {"properties": {"a": {"type": "integer"}}, "enum": [{"a": 1}, {"a": 2}]},
        valid=[{"a": 1}, {"a": 2}],
        invalid=[{"a": 3}, {}],
    ),
    raw(
        "if_then_else",
        {
            "properties": {"country": {"enum": ["US", "DE"]}, "state": _TEXT, "land": _TEXT},
            "required": ["country"],
            "if": {"properties": {"country": {"const": "US"}}},
            "then": {"required": ["state"]},
            "else": {"required": ["land"]},
        },
        valid=[{"country": "US", "state": "NY"}, {"country": "DE", "land": "Bayern"}],
        invalid=[{"country": "US"}, {"country": "DE", "state": "NY"}],
    ),
    raw(
        "dependent_required",
        {"properties": {"card": _TEXT, "cvc": _TEXT}, "dependentRequired": {"card": ["cvc"]}},
        valid=[{}, {"cvc": "1"}, {"card": "4", "cvc": "1"}],
        invalid=[{"card": "one"}],
    ),
    raw(
        "dependent_schemas",
        {
            "properties": {"unit": _TEXT, "value": {"type": ["number", "string"]}},
            "dependentSchemas": {"unit": {"properties": {"value": _NUMBER}, "required": ["value"]}},
        },
        valid=[{"value": "much"}, {"unit": "kg", "value": 3}],
        invalid=[{"unit": "kg"}, {"unit": "kg", "value": "much"}],
    ),
)

_INSIDE: Final = (
    one("any_of_types", {"anyOf": [_TEXT, {"type": "integer"}]}, valid=["a", 1], invalid=[1.5, None]),
    one(
        "any_of_null",
        {
            "anyOf": [_closed(a=_TEXT, b={"type": "integer"}, required=["a"]), {"type": "null"}],
            "default": None,
        },
        valid=[None, {"a": "x"}, {"a": "x", "b": 1}],
        invalid=[{"b": 1}, 1],
        required=False,
    ),
    one(
        "any_of_objects",
        {"anyOf": [_closed(a=_TEXT), _closed(a={"type": "integer"}, b=_TEXT, required=["a"])]},
        valid=[{"a": "x"}, {"a": 1}, {"a": 1, "b": "y"}],
        invalid=[{"a": "x", "b": "y"}, {"a": None}],
    ),
    one(
        "any_of_beside_rules",
        {"type": "string", "anyOf": [{"format": "date"}, {"enum": ["today", "never"]}]},
        valid=["today", "2026-01-02"],
        invalid=["soon", 5],
    ),
    one("one_of_types", {"oneOf": [_TEXT, {"type": "boolean"}]}, valid=["a", True], invalid=[1]),
    one(
        "one_of_tagged",
        {"oneOf": [_CARD, _CASH], "discriminator": {"propertyName": "kind"}},
        valid=[{"kind": "card", "number": "42"}, {"kind": "cash", "amount": 1.5}],
        invalid=[{"kind": "card", "amount": 1}],
    ),
    one(
        "one_of_overlapping",
        {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]},
        valid=[2, 3, 9],
        invalid=[6, 5],
    ),
    one(
        "all_of_merge",
        {
            "allOf": [
                {"type": "object", "properties": {"n": {"type": "number", "minimum": 1}}, "required": ["n"]},
                {"properties": {"n": {"type": "integer", "maximum": 9}, "tag": {"enum": ["a", "b", "c"]}}},
                {"properties": {"tag": {"enum": ["b", "c", "d"]}}, "required": ["tag"]},
            ],
            "description": "Both.",
        },
        valid=[{"n": 1, "tag": "b"}, {"n": 9, "tag": "c"}],
        invalid=[{"n": 0, "tag": "b"}, {"n": 1.5, "tag": "b"}, {"n": 1, "tag": "a"}],
    ),
    one(
        "all_of_ref",
        {"allOf": [{"$ref": "#/$defs/Base"}], "description": "One level up."},
        valid=[{"a": "x"}, {"a": ""}],
        invalid=[{}],
        **{"$defs": {"Base": _closed(a=_TEXT)}},
    ),
    one(
        "all_of_closed_branch",
        {
            "allOf": [
                _closed(a=_TEXT, b=_TEXT, required=["a"]),
                {"properties": {"b": {"maxLength": 2}, "c": _TEXT}},
            ]
        },
        valid=[{"a": "x"}, {"a": "x", "b": "yz"}],
        invalid=[{"a": "x", "c": "z"}, {"a": "x", "b": "long"}],
    ),
    one(
        "all_of_never",
        {"allOf": [_TEXT, {"type": "integer"}]},
        valid=[],
        invalid=["a", 1],
        required=False,
    ),
    one(
        "all_of_patterns",
        {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "z$"}]},
        valid=["az", "abz"],
        invalid=["a", "z"],
    ),
    one(
        "not_inside",
        {"type": "string", "not": {"enum": ["root", "admin"]}},
        valid=["me", ""],
        invalid=["root"],
    ),
    one(
        "not_null",
        {"not": {"type": "null"}},
        valid=[1, "a", [{}]],
        invalid=[None],
    ),
)

CASES: Final[tuple[Case, ...]] = _AT_THE_ROOT + _INSIDE
