"""Rewrites older drafts as 2020-12 and copies schemas so that no part is shared."""

from __future__ import annotations

import re
from typing import Final, cast

from toolhaft.formats.losses import RefusedSchema
from toolhaft.formats.subset.keywords import DEFINITIONS, HOLDERS, VALIDATION
from toolhaft.formats.subset.target import MOST_NODES
from toolhaft.schema.json_schema import map_subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue

_OLD: Final = re.compile(r"json-schema\.org/(?:draft-0[3-7]|draft/2019-09)/")
_REF_ALONE: Final = re.compile(r"json-schema\.org/draft-0[3-7]/")
_BY_PLACE: Final = re.compile(r"/items/(?=\d+(?:/|$))")
_NEWER: Final = frozenset(
    (
        "prefixItems",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedItems",
        "unevaluatedProperties",
        "minContains",
        "maxContains",
    )
)


def upgrade_draft(root: JSONObject) -> JSONObject:
    """The schema in draft 2020-12; the same object if it already is."""
    draft = root.get("$schema")
    if not isinstance(draft, str) or not _OLD.search(draft):
        return root
    alone = _REF_ALONE.search(draft) is not None
    new = _upgraded(root, alone=alone)
    new.pop("$schema", None)
    return new


def _upgraded(node: JSONObject, *, alone: bool) -> JSONObject:
    new = map_subschemas(node, lambda child: _upgraded(child, alone=alone))
    if alone:
        new = {key: value for key, value in new.items() if key not in _NEWER}
    reference = new.get("$ref")
    if isinstance(reference, str):
        new["$ref"] = _BY_PLACE.sub("/prefixItems/", reference)
        if alone:  # these drafts ignore the siblings of a reference
            kept = DEFINITIONS | {"$ref"}
            new = {key: value for key, value in new.items() if key in kept or key not in VALIDATION}
    _arrays(new)
    _dependencies(new)
    _bounds(new)
    return new


def _arrays(new: JSONObject) -> None:
    if isinstance(new.get("items"), list):
        new["prefixItems"] = new.pop("items")
        if "additionalItems" in new:
            new["items"] = new["additionalItems"]
    new.pop("additionalItems", None)


def _dependencies(new: JSONObject) -> None:
    dependencies = new.pop("dependencies", None)
    if not isinstance(dependencies, dict):
        return
    names: JSONObject = {key: value for key, value in dependencies.items() if isinstance(value, list)}
    schemas: JSONObject = {key: value for key, value in dependencies.items() if not isinstance(value, list)}
    if names:
        new["dependentRequired"] = names
    if schemas:
        new["dependentSchemas"] = schemas


def _bounds(new: JSONObject) -> None:
    """In Draft 4 an exclusive bound is a boolean next to the bound."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        mark: JSONValue = new.get(exclusive)
        if isinstance(mark, bool):
            del new[exclusive]
            if mark and bound in new:
                new[exclusive] = cast("float", new.pop(bound))


_LISTS: Final = frozenset(("anyOf", "oneOf", "allOf", "prefixItems", "items"))
_MOST_PARTS: Final = 50 * MOST_NODES


def unshared_copy(schema: JSONObject) -> JSONObject:
    """A copy in which no part occurs twice; the same object if it already is so.

    Raises:
        RefusedSchema: if the copy would be too large.
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
                waiting.append(child)  # pyright: ignore[reportArgumentType] -- a cast would double the time
            elif kind is list and key in _LISTS:
                waiting += [each for each in cast("list[JSONValue]", child) if isinstance(each, dict)]
    return schema


class _Copier:
    """Copies a schema up to a limit of parts."""

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
