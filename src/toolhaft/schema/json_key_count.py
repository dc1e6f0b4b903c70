"""Counts the object keys of a value that a JSON Schema accepted, to find repeated keys quickly."""

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, Final, cast

from toolhaft.schema.json_schema import types_of
from toolhaft.schema.json_text import count_keys
from toolhaft.schema.json_value import JSONObject, JSONValue

KeyCounter = Callable[[Any], int]
RECHECK: Final = -(10**9)
"""A count that never matches, so that the value gets the full check."""
_NEVER: Final = 10**9
COMPOSED: Final = (
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "dependentSchemas",
)


def schema_key_counter(root: JSONObject, schema: JSONValue, *, closed: bool = False) -> KeyCounter:
    """Return a function that counts the keys of a value that this JSON Schema accepted.

    It returns RECHECK if the value may contain something that the engine accepts and we do not: a 5.0 for an
    integer, a number that is not finite, an unknown key.

    Args:
        root: the whole schema.
        schema: the part of it that accepted the value.
        closed: True if the engine has refused unknown keys already.
    """
    schema = _without_null(schema)
    if not isinstance(schema, dict) or any(key in schema for key in COMPOSED):
        return _count_any
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        return _object_counter(root, schema, closed=closed or schema.get("additionalProperties") is False)
    values = schema.get("additionalProperties")
    if schema.get("type") == "object" and isinstance(values, dict) and "properties" not in schema:
        return _map_counter(root, values)
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, dict) and "prefixItems" not in schema:
        return _array_counter(root, items)
    return _count_any


def _without_null(schema: JSONValue) -> JSONValue:
    """Return the other branch of a nullable schema: null has no keys."""
    branches = schema.get("anyOf") if isinstance(schema, dict) else None
    if not isinstance(branches, list):
        return schema
    others = [branch for branch in branches if branch != {"type": "null"}]
    return others[0] if len(others) == 1 else schema


def _wants_integer(admitted: frozenset[str]) -> bool:
    return "integer" in admitted and "number" not in admitted


def _object_counter(root: JSONObject, schema: JSONObject, *, closed: bool) -> KeyCounter:
    properties = cast("Mapping[str, JSONValue]", schema["properties"])
    known_types: dict[int, frozenset[str]] = {}
    types = {name: types_of(root, schema, known_types) for name, schema in properties.items()}
    integers = [name for name, admitted in types.items() if _wants_integer(admitted)]
    deep = [
        (name, schema_key_counter(root, properties[name]))
        for name, admitted in types.items()
        if "object" in admitted or "array" in admitted
    ]
    deep = [(name, counter) for name, counter in deep if counter is not _count_zero]
    # an accepted value has every required key; only one with more keys can have an unknown one
    fewest = _NEVER if closed else len(cast("list[str]", schema.get("required", [])))
    known = frozenset(properties)
    if not integers and not deep:
        return (
            len
            if closed
            else lambda value: len(value) if len(value) <= fewest or value.keys() <= known else RECHECK
        )

    def count(value: Mapping[str, object]) -> int:
        total = len(value)
        if total > fewest and not value.keys() <= known:
            return RECHECK
        for name in integers:
            if value.get(name).__class__ is float:
                return RECHECK
        for name, counter in deep:
            child = value.get(name)
            if child is not None:
                total += counter(child)
        return total

    return count


def _array_counter(root: JSONObject, items: JSONObject) -> KeyCounter:
    admitted = types_of(root, items)
    if "object" not in admitted and "array" not in admitted:
        return _count_integers if _wants_integer(admitted) else _count_zero
    counter = schema_key_counter(root, items)
    if "null" in admitted:
        return lambda values: sum(counter(value) for value in values if value is not None)
    return lambda values: sum(map(counter, values))


def _map_counter(root: JSONObject, values: JSONObject) -> KeyCounter:
    counter = _array_counter(root, values)
    return len if counter is _count_zero else lambda value: len(value) + counter(value.values())


def _count_zero(value: object) -> int:  # noqa: ARG001 -- one signature for every counter
    return 0


def _count_integers(values: Iterable[object]) -> int:
    return RECHECK if float in map(type, values) else 0


def _count_any(value: object) -> int:
    """Count the keys of any value; a float that is integral or not finite needs the thorough check."""
    return RECHECK if has_odd_float(value) else count_keys(cast("JSONValue", value))


def has_odd_float(value: object) -> bool:
    """True if a value contains a float that is integral, such as 5.0, or not finite."""
    if isinstance(value, float):
        return value.is_integer() or not isfinite(value)
    if isinstance(value, dict):
        return any(map(has_odd_float, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return any(map(has_odd_float, cast("list[object]", value)))
    return False
