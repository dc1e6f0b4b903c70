"""Reads what a raw JSON Schema accepted: how many keys there are, and whether a closer look is needed.

Knows JSON Schema; a reader is made once a tool and looks only where the schema says that there is something.
The closer look is for what the engine takes and we tell of or refuse: 5.0 for an integer, 1e999 for anything.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final, cast

from toolhaft.schema.json_schema import types_of
from toolhaft.schema.json_text import count_keys
from toolhaft.schema.json_value import JSONObject, JSONValue

AGAIN: Final = -(10**9)
"""A count that no text has: the value needs the thorough road."""
_ENDLESS: Final = 10**9
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

Reader = Callable[[Any], int]


def reader_of(root: JSONObject, schema: JSONValue, *, closed: bool = False) -> Reader:
    """Counts the keys of an accepted value, or answers AGAIN for one that needs the thorough road.

    Args:
        root: the whole schema.
        schema: the part of it that accepted the value.
        closed: True if the engine has refused unknown keys already.
    """
    schema = _without_null(schema)
    if not isinstance(schema, dict) or any(key in schema for key in COMPOSED):
        return _read_any
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        return _object_reader(root, schema, closed=closed or schema.get("additionalProperties") is False)
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, dict) and "prefixItems" not in schema:
        return _array_reader(root, items)
    return _read_any


def _without_null(schema: JSONValue) -> JSONValue:
    """The other branch of a nullable: null itself has nothing to read."""
    branches = schema.get("anyOf") if isinstance(schema, dict) else None
    if not isinstance(branches, list):
        return schema
    others = [branch for branch in branches if branch != {"type": "null"}]
    return others[0] if len(others) == 1 else schema


def _wants_integer(admitted: frozenset[str]) -> bool:
    return "integer" in admitted and "number" not in admitted


def _object_reader(root: JSONObject, schema: JSONObject, *, closed: bool) -> Reader:
    properties = cast("Mapping[str, JSONValue]", schema["properties"])
    types = {name: types_of(root, schema) for name, schema in properties.items()}
    integers = [name for name, admitted in types.items() if _wants_integer(admitted)]
    deep = [
        (name, reader_of(root, properties[name]))
        for name, admitted in types.items()
        if "object" in admitted or "array" in admitted
    ]
    deep = [(name, reader) for name, reader in deep if reader is not _read_nothing]
    # an accepted value has every required key; only one that has more can hold an unknown one
    fewest = _ENDLESS if closed else len(cast("list[str]", schema.get("required", [])))
    known = frozenset(properties)
    if not integers and not deep:
        return (
            len
            if closed
            else lambda value: len(value) if len(value) <= fewest or value.keys() <= known else AGAIN
        )

    def read(value: Mapping[str, object]) -> int:
        total = len(value)
        if total > fewest and not value.keys() <= known:
            return AGAIN
        for name in integers:
            if value.get(name).__class__ is float:
                return AGAIN
        for name, reader in deep:
            child = value.get(name)
            if child is not None:
                total += reader(child)
        return total

    return read


def _array_reader(root: JSONObject, items: JSONObject) -> Reader:
    admitted = types_of(root, items)
    if "object" not in admitted and "array" not in admitted:
        return _read_integers if _wants_integer(admitted) else _read_nothing
    reader = reader_of(root, items)
    if "null" in admitted:
        return lambda values: sum(reader(value) for value in values if value is not None)
    return lambda values: sum(map(reader, values))


def _read_nothing(value: object) -> int:  # noqa: ARG001 -- a value without keys or integers
    return 0


def _read_integers(values: list[object]) -> int:
    return AGAIN if float in map(type, values) else 0


def _read_any(value: object) -> int:
    """Any shape: every key counts, and a float that is whole or endless asks for the thorough road."""
    return AGAIN if _has_odd_float(value) else count_keys(cast("JSONValue", value))


def _has_odd_float(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer() or not isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_odd_float, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return any(map(_has_odd_float, cast("list[object]", value)))
    return False
