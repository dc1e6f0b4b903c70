"""The subset of JSON Schema that OpenAI documents for strict tools."""

from collections.abc import Mapping
from typing import Any

from tests.formats.providers.provider import demand, is_object_schema, known_keys, subschemas

KEYWORDS = frozenset(
    (
        "type", "properties", "required", "additionalProperties", "items", "anyOf", "$ref", "$defs", "definitions",
        "enum", "const", "description", "title", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
        "exclusiveMaximum", "multipleOf", "minItems", "maxItems",
    )
)  # fmt: skip
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
DEEPEST = 10
MOST_PROPERTIES = 5000


def check_strict(schema: object) -> None:
    """Refuse what a strict tool may not say."""
    is_object_schema(schema, ("anyOf",))
    for inner in subschemas(schema):
        known_keys(inner, KEYWORDS, "strict schema")
        demand("$ref" not in inner or set(inner) == {"$ref"}, "$ref takes no siblings")
        demand(inner.get("format", "date") in FORMATS, f"format {inner.get('format')!r} is not supported")
        demand(inner, "a schema that takes anything is not strict")
        if inner.get("type") == "object" or "properties" in inner:
            _check_closed(inner)
    demand(_depth(schema) <= DEEPEST, f"more than {DEEPEST} levels")
    demand(
        sum(len(inner.get("properties", ())) for inner in subschemas(schema)) <= MOST_PROPERTIES,
        "too many properties",
    )


def _check_closed(schema: Mapping[str, Any]) -> None:
    demand(schema.get("additionalProperties") is False, "'additionalProperties' is required to be false")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    demand(set(properties) == set(required), "'required' must name every key in properties")


def _depth(schema: object) -> int:
    if not isinstance(schema, dict):
        return 0
    below = [*schema.get("properties", {}).values(), schema.get("items"), *schema.get("anyOf", ())]
    step = schema.get("type") in ("object", "array")
    return step + max(map(_depth, below), default=0)
