"""Rewrites schemas of older drafts in the words of 2020-12, so that the rest of the room knows one spelling.

Does not know any target. A schema that names no draft is of 2020-12.
"""

from __future__ import annotations

import re
from typing import Final, cast

from toolhaft.formats.subset.keywords import DEFINITIONS, VALIDATION
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


def modern(root: JSONObject) -> JSONObject:
    """The same schema in the words of 2020-12; itself if it is so already."""
    draft = root.get("$schema")
    if not isinstance(draft, str) or not _OLD.search(draft):
        return root
    alone = _REF_ALONE.search(draft) is not None
    new = _modern(root, alone=alone)
    new.pop("$schema", None)
    return new


def _modern(node: JSONObject, *, alone: bool) -> JSONObject:
    new = map_subschemas(node, lambda child: _modern(child, alone=alone))
    if alone:
        new = {key: value for key, value in new.items() if key not in _NEWER}
    reference = new.get("$ref")
    if isinstance(reference, str):
        new["$ref"] = _BY_PLACE.sub("/prefixItems/", reference)
        if alone:  # what stands beside a reference is not read in these drafts
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
    """In Draft 4 an exclusive bound is a mark beside the bound."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        mark: JSONValue = new.get(exclusive)
        if isinstance(mark, bool):
            del new[exclusive]
            if mark and bound in new:
                new[exclusive] = cast("float", new.pop(bound))
