"""Sees to it that each part of a schema stands at one place only, so that a place can be told by its part.

Does not know what a schema means. Schemas that were made of types share parts in memory.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.keywords import HOLDERS
from toolhaft.formats.subset.rules import MOST_NODES
from toolhaft.formats.subset.told import RefusedSchema
from toolhaft.schema.json_value import JSONObject, JSONValue

_LISTS: Final = frozenset(("anyOf", "oneOf", "allOf", "prefixItems", "items"))
_MOST_PARTS: Final = 50 * MOST_NODES


def apart(schema: JSONObject) -> JSONObject:
    """The same schema; itself if no part of it stands at two places.

    Raises:
        RefusedSchema: where parts are shared so often that it would be huge.
    """
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        size = len(seen)
        seen.add(id(node))
        if len(seen) == size:
            return cast("JSONObject", _Copier().copy(schema))
        for key, child in node.items():
            kind = child.__class__
            if kind is str:
                continue
            if kind is dict:
                waiting.append(child)  # pyright: ignore[reportArgumentType] -- a cast takes as long as the rest
            elif kind is list and key in _LISTS:
                waiting += [each for each in cast("list[JSONValue]", child) if isinstance(each, dict)]
    return schema


class _Copier:
    """Copies a schema, part by part, as long as they are not too many."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts = 0

    def copy(self, value: JSONValue) -> JSONValue:
        if value.__class__ not in HOLDERS:
            return value
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise RefusedSchema("", f"too large: it has more than {_MOST_PARTS} parts")
        if isinstance(value, dict):
            return {key: self.copy(child) for key, child in value.items()}
        return [self.copy(child) for child in cast("list[JSONValue]", value)]
