"""The keywords of JSON Schema, in groups."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from toolhaft.schema.json_schema import REFERENCES
from toolhaft.schema.json_value import JSONValue

DEFINITIONS: Final = frozenset(("$defs", "definitions"))
SILENT: Final = frozenset(
    (
        *DEFINITIONS,
        "$anchor",
        "$comment",
        "$dynamicAnchor",
        "$id",
        "$recursiveAnchor",
        "$schema",
        "$vocabulary",
        "id",
    )
)
"""Keywords about the document itself: leaving them out is not a loss."""

UNIONS: Final = ("anyOf", "oneOf")
UNEVALUATED: Final = frozenset(("unevaluatedProperties", "unevaluatedItems"))
COMPOSED: Final = frozenset((*REFERENCES, *UNIONS, "allOf"))

OBJECT: Final = frozenset(
    (
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
    )
)
ARRAY: Final = frozenset(
    (
        "items",
        "prefixItems",
        "contains",
        "minContains",
        "maxContains",
        "minItems",
        "maxItems",
        "uniqueItems",
        "unevaluatedItems",
    )
)
STRING: Final = frozenset(("minLength", "maxLength", "pattern", "format"))
NUMBER: Final = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
BY_TYPE: Final = {
    "object": OBJECT,
    "array": ARRAY,
    "string": STRING,
    "number": NUMBER,
    "integer": NUMBER,
}
"""The keywords that apply to one type only."""

OUTDATED: Final = ("definitions", "dependencies")
"""Keywords of older drafts that a schema without `$schema` may have."""

VALUES: Final = frozenset(("enum", "const"))
CONDITIONS: Final = ("if", "then", "else")
LOGIC: Final = frozenset(("not", *CONDITIONS))
VALIDATION: Final = frozenset(("type", *COMPOSED, *OBJECT, *ARRAY, *STRING, *NUMBER, *VALUES, *LOGIC))
"""Every keyword that can refuse a value."""

SCALARS: Final = frozenset(("boolean", "integer", "null", "number", "string"))
TYPE_ORDER: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
HOLDERS: Final = frozenset((dict, list))
"""The types of values that contain others."""


def type_keyword(types: Collection[str]) -> str | list[JSONValue]:
    """The value of `type` that admits these types."""
    listed: list[JSONValue] = [
        kind for kind in TYPE_ORDER if kind in types and (kind != "integer" or "number" not in types)
    ]
    return str(listed[0]) if len(listed) == 1 else listed
