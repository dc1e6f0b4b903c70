"""Counts what a lowered schema has, and holds it to the target's limits.

Does not know how the schema came about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from toolhaft.formats.subset.keywords import DEFINITIONS, NUMBER, SCALARS, STRING, VALIDATION
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.told import RefusedSchema
from toolhaft.schema.json_schema import subschemas
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_MANY_VALUES: Final = 250
_SAYING_MORE: Final = VALIDATION - STRING - NUMBER - {"type"} | DEFINITIONS
"""What a scalar has nothing of, so that there is nothing in it to count."""


class Counts:
    """What a schema has, over all places in it and its definitions."""

    __slots__ = ("deepest", "enum_values", "largest_enum", "name_chars", "optional", "properties", "unions")

    def __init__(self, schema: JSONObject) -> None:
        self.properties = self.optional = self.unions = 0
        self.enum_values = self.largest_enum = self.name_chars = 0
        self.deepest = 0
        waiting = [(schema, 0)]
        while waiting:
            node, depth = waiting.pop()
            kind = node.get("type")
            if isinstance(kind, str) and kind in SCALARS and _SAYING_MORE.isdisjoint(node):
                continue
            if _is_container(kind):
                depth += 1
                self.deepest = max(self.deepest, depth)
            self._count(node)
            waiting += [(child, 0 if key == "$defs" else depth) for key, child in subschemas(node)]

    def _count(self, node: JSONObject) -> None:
        properties = node.get("properties")
        if isinstance(properties, dict):
            self.properties += len(properties)
            self.optional += len(properties.keys() - cast("list[str]", node.get("required", [])))
            self.name_chars += sum(map(len, properties))
        definitions = node.get("$defs")
        if isinstance(definitions, dict):
            self.name_chars += sum(map(len, definitions))
        if "anyOf" in node or "oneOf" in node or isinstance(node.get("type"), list):
            self.unions += 1
        values = [node["const"]] if "const" in node else node.get("enum")
        if isinstance(values, list):
            self._count_values(values)

    def _count_values(self, values: list[JSONValue]) -> None:
        chars = sum(len(value) if isinstance(value, str) else len(to_json_text(value)) for value in values)
        self.name_chars += chars
        self.enum_values += len(values)
        if len(values) > _MANY_VALUES:
            self.largest_enum = max(self.largest_enum, chars)


def _is_container(kind: JSONValue) -> bool:
    kinds = kind if isinstance(kind, list) else (kind,)
    return "object" in kinds or "array" in kinds


def check_limits(subset: Subset, counts: Counts) -> None:
    """Holds a schema to the target's limits.

    Raises:
        RefusedSchema: naming the number and the limit that it is over.
    """
    for most, number, words in _limits(subset, counts):
        if most is not None and number > most:
            raise RefusedSchema("", f"it has {number} {words}, and the limit is {most}")


def _limits(subset: Subset, of: Counts) -> Iterator[tuple[int | None, int, str]]:
    yield subset.most_properties, of.properties, "properties"
    yield subset.deepest, of.deepest, "levels of objects and arrays"
    yield subset.most_enum_values, of.enum_values, "enum values"
    yield subset.most_enum_chars, of.largest_enum, "characters in one enum of over 250 values"
    yield subset.most_name_chars, of.name_chars, "characters of names and enum values"
