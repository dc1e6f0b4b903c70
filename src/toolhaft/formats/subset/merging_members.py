"""Merges what two schemas say of the members of objects and arrays.

Knows that a closed object is closed over its own properties alone.
"""

from __future__ import annotations

import re
from typing import cast

from toolhaft.formats.subset.walk import Walk
from toolhaft.schema.json_value import JSONObject, JSONValue


def conjunction(walk: Walk, parts: list[JSONValue]) -> JSONValue:
    """One schema for what all parts ask: the one that asks, none, or their allOf."""
    asking = [part for part in parts if part is not True and part != {}]
    if not asking:
        return parts[0] if parts else True
    if any(part is False for part in asking):
        return False
    unique = list({id(part): part for part in asking}.values())
    return unique[0] if len(unique) == 1 else walk.own({"allOf": unique}, cast("JSONObject", unique[0]))


def matches(pattern: str, name: str) -> bool:
    """Whether a name is one that the pattern is about; a pattern of another dialect is taken to be."""
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True


def named(node: JSONObject, key: str) -> JSONObject:
    """The schemas that a keyword holds by name."""
    held = node.get(key)
    return held if isinstance(held, dict) else {}


def _others(node: JSONObject, name: str) -> list[JSONValue]:
    """What a schema asks of a name that it does not list."""
    if any(matches(pattern, name) for pattern in named(node, "patternProperties")):
        return []  # the pattern itself goes on asking
    return [node["additionalProperties"]] if "additionalProperties" in node else []


def merge_objects(walk: Walk, new: JSONObject, one: JSONObject, other: JSONObject) -> None:
    """What both ask of an object's members, put into the new schema."""
    mine, theirs = named(one, "properties"), named(other, "properties")
    dropped = _patterns(walk, new, one, other)
    properties: JSONObject = {}
    for name in dict.fromkeys([*mine, *theirs]):
        parts = [mine[name]] if name in mine else _others(one, name)
        parts += [theirs[name]] if name in theirs else _others(other, name)
        parts += [schema for pattern, schema in dropped if matches(pattern, name)]
        properties[name] = conjunction(walk, parts)
    if "properties" in one or "properties" in other:
        new["properties"] = properties
    asked = [side["additionalProperties"] for side in (one, other) if "additionalProperties" in side]
    if asked:
        new["additionalProperties"] = conjunction(walk, asked)


def _patterns(walk: Walk, new: JSONObject, one: JSONObject, other: JSONObject) -> list[tuple[str, JSONValue]]:
    """Merges patternProperties; those that only listed names can still meet are given back."""
    kept: JSONObject = {}
    dropped: list[tuple[str, JSONValue]] = []
    for side, against in ((one, other), (other, one)):
        rival = named(against, "patternProperties")
        asked = against.get("additionalProperties", True)
        for pattern, schema in named(side, "patternProperties").items():
            if pattern in rival:
                parts = [named(one, "patternProperties")[pattern], named(other, "patternProperties")[pattern]]
                kept[pattern] = conjunction(walk, parts)
            elif asked is True or asked == {}:
                kept[pattern] = schema
            elif asked is False and not rival:
                dropped.append((pattern, schema))
            else:
                kept[pattern] = schema
                walk.tell(against, "additionalProperties", "checked locally", "beside patternProperties")
    if kept:
        new["patternProperties"] = kept
    return dropped


def merge_arrays(walk: Walk, new: JSONObject, one: JSONObject, other: JSONObject) -> None:
    """What both ask of an array's members, put into the new schema."""
    mine = cast("list[JSONValue]", one.get("prefixItems", []))
    theirs = cast("list[JSONValue]", other.get("prefixItems", []))
    first: list[JSONValue] = []
    for index in range(max(len(mine), len(theirs))):
        parts = [
            members[index] if index < len(members) else side.get("items", True)
            for side, members in ((one, mine), (other, theirs))
        ]
        first.append(conjunction(walk, parts))
    if first:
        new["prefixItems"] = first
    asked = [side["items"] for side in (one, other) if "items" in side]
    if asked:
        new["items"] = conjunction(walk, asked)
