"""Reads a value that a raw JSON Schema accepted: how many keys it has, whether a 5.0 stands for an integer.

Knows JSON Schema; a reader is made once a tool and looks only where the schema says that there is something.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from toolhaft.schema.json_schema import types_of
from toolhaft.schema.json_text import count_keys
from toolhaft.schema.json_value import JSONObject, JSONValue

AGAIN: Final = -(10**9)
"""A count that no text has: the value needs the thorough road."""
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


def reader_of(root: JSONObject, schema: JSONValue) -> Reader:
    """Counts the keys of an accepted value, or answers AGAIN where 5.0 stands for a wanted integer.

    The engine takes 5.0 for an integer, as JSON Schema says; here that is a repair, to be told.
    """
    schema = _without_null(schema)
    if not isinstance(schema, dict) or any(key in schema for key in COMPOSED):
        return _read_any
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        return _object_reader(root, cast("Mapping[str, JSONValue]", schema["properties"]))
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


def _object_reader(root: JSONObject, properties: Mapping[str, JSONValue]) -> Reader:
    types = {name: types_of(root, schema) for name, schema in properties.items()}
    integers = [name for name, admitted in types.items() if _wants_integer(admitted)]
    deep = [
        (name, reader_of(root, properties[name]))
        for name, admitted in types.items()
        if "object" in admitted or "array" in admitted
    ]
    deep = [(name, reader) for name, reader in deep if reader is not _read_nothing]
    if not integers and not deep:
        return len

    def read(value: Mapping[str, object]) -> int:
        total = len(value)
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
    return lambda values: sum(map(reader, values))


def _read_nothing(value: object) -> int:  # noqa: ARG001 -- a value without keys or integers
    return 0


def _read_integers(values: list[object]) -> int:
    return AGAIN if float in map(type, values) else 0


def _read_any(value: object) -> int:
    """Any shape: every key counts, and a whole number written as a float asks for the thorough road."""
    return AGAIN if _has_whole_float(value) else count_keys(cast("JSONValue", value))


def _has_whole_float(value: object) -> bool:
    if value.__class__ is float:
        return cast("float", value).is_integer()
    if value.__class__ is dict:
        return any(map(_has_whole_float, cast("dict[str, object]", value).values()))
    if value.__class__ is list:
        return any(map(_has_whole_float, cast("list[object]", value)))
    return False
