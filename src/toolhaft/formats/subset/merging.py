"""Merges schemas that must all hold (`allOf`, a reference with siblings) into one schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import lcm
from typing import Final, cast

from toolhaft.formats.subset.admitted_types import are_disjoint
from toolhaft.formats.subset.argument_maps import value_key
from toolhaft.formats.subset.keywords import CONDITIONS, UNEVALUATED, UNIONS, VALIDATION
from toolhaft.formats.subset.walk import Walk
from toolhaft.schema.json_schema import type_name
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.patterns import matches


def conjunction(walk: Walk, parts: list[JSONValue]) -> JSONValue:
    """One schema for all parts: the allOf of those that constrain anything, or the only such part."""
    constraining = [part for part in parts if part is not True and part != {}]
    if not constraining:
        return parts[0] if parts else True
    if any(part is False for part in constraining):
        return False
    unique = list({id(part): part for part in constraining}.values())
    return unique[0] if len(unique) == 1 else walk.derive({"allOf": unique}, cast("JSONObject", unique[0]))


def named(node: JSONObject, key: str) -> JSONObject:
    """The schemas under a keyword such as `properties`, by name."""
    held = node.get(key)
    return held if isinstance(held, dict) else {}


def _others(node: JSONObject, name: str) -> list[JSONValue]:
    """The constraints on a name that a schema does not list."""
    if any(matches(pattern, name) for pattern in named(node, "patternProperties")):
        return []  # the pattern itself remains
    return [node["additionalProperties"]] if "additionalProperties" in node else []


def merge_objects(walk: Walk, new: JSONObject, one: JSONObject, other: JSONObject) -> None:
    """Merges the constraints on an object's members into the new schema."""
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
    constraint = [side["additionalProperties"] for side in (one, other) if "additionalProperties" in side]
    if constraint:
        new["additionalProperties"] = conjunction(walk, constraint)


def _patterns(walk: Walk, new: JSONObject, one: JSONObject, other: JSONObject) -> list[tuple[str, JSONValue]]:
    """Merges patternProperties; returns those that can only match listed names."""
    kept: JSONObject = {}
    dropped: list[tuple[str, JSONValue]] = []
    for side, against in ((one, other), (other, one)):
        rival = named(against, "patternProperties")
        constraint = against.get("additionalProperties", True)
        for pattern, schema in named(side, "patternProperties").items():
            if pattern in rival:
                parts = [named(one, "patternProperties")[pattern], named(other, "patternProperties")[pattern]]
                kept[pattern] = conjunction(walk, parts)
            elif constraint is True or constraint == {}:
                kept[pattern] = schema
            elif constraint is False and not rival:
                dropped.append((pattern, schema))
            else:
                kept[pattern] = schema
                walk.report(
                    against, "additionalProperties", "checked locally", "combined with patternProperties"
                )
    if kept:
        new["patternProperties"] = kept
    return dropped


def merge_arrays(walk: Walk, new: JSONObject, one: JSONObject, other: JSONObject) -> None:
    """Merges the constraints on an array's members into the new schema."""
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
    constraint = [side["items"] for side in (one, other) if "items" in side]
    if constraint:
        new["items"] = conjunction(walk, constraint)


_MOST_BRANCHES: Final = 64
_LARGEST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_SMALLEST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_GROUPS: Final = (("contains", "minContains", "maxContains"), CONDITIONS)
"""Keywords that only make sense together."""
_MEMBERS: Final = frozenset(
    ("properties", "patternProperties", "additionalProperties", "items", "prefixItems")
)
_MERGED_SEPARATELY: Final = frozenset((*_MEMBERS, *UNIONS, *_GROUPS[0], *_GROUPS[1], "type", "enum", "const"))


def merge(walk: Walk, pieces: list[JSONObject], node: JSONObject) -> JSONObject | None:
    """One schema for values that are valid in all pieces; None if there are none."""
    if len(pieces) == 1:
        return pieces[0]
    merged: JSONObject | None = _without_unevaluated(walk, pieces[0])
    for piece in pieces[1:]:
        merged = None if merged is None else _merge_two(walk, merged, _without_unevaluated(walk, piece), node)
        if merged is not None:
            walk.derive(merged, node)
    if merged is not None:
        walk.merged_from(merged, pieces)
    return merged


def _without_unevaluated(walk: Walk, piece: JSONObject) -> JSONObject:
    """A piece without `unevaluated*`, which would mean something else in the merged schema."""
    hidden = [key for key in UNEVALUATED if key in piece]
    for key in hidden:
        walk.report(piece, key, "checked locally", "combined with others")
    return {key: value for key, value in piece.items() if key not in hidden} if hidden else piece


def _merge_two(walk: Walk, one: JSONObject, other: JSONObject, node: JSONObject) -> JSONObject | None:
    new: JSONObject = {key: value for key, value in one.items() if key not in _MERGED_SEPARATELY}
    for key, value in other.items():
        if key in _MERGED_SEPARATELY:
            continue
        new[key] = value if key not in new else _combined(walk, key, new[key], value, other)
    kinds = _types(one, other)
    if kinds == [] or not _values(new, one, other):
        return None
    if kinds is not None:
        new = {"type": kinds[0] if len(kinds) == 1 else cast("JSONValue", kinds), **new}
    merge_objects(walk, new, one, other)
    merge_arrays(walk, new, one, other)
    for group in _GROUPS:
        _one_group(walk, new, one, other, group)
    _unions(walk, new, one, other, node)
    return new


def _combined(walk: Walk, key: str, one: JSONValue, other: JSONValue, node: JSONObject) -> JSONValue:
    rule = _RULES.get(key)
    if rule is not None:
        return rule(one, other)
    if key == "propertyNames":
        return walk.derive({"allOf": [one, other]}, node)
    if key == "multipleOf" and isinstance(one, int) and isinstance(other, int):
        return lcm(one, other)
    if key in VALIDATION and one != other:
        walk.report(node, key, "checked locally", "combined with another")
    return one


def _more_names(one: JSONValue, other: JSONValue) -> JSONValue:
    return list(dict.fromkeys([*cast("list[str]", one), *cast("list[str]", other)]))


def _more_by_name(one: JSONValue, other: JSONValue) -> JSONValue:
    new = dict(cast("JSONObject", one))
    for name, names in cast("JSONObject", other).items():
        new[name] = _more_names(new.get(name, []), names)
    return new


def _all_by_name(one: JSONValue, other: JSONValue) -> JSONValue:
    new = dict(cast("JSONObject", one))
    for name, schema in cast("JSONObject", other).items():
        new[name] = {"allOf": [new[name], schema]} if name in new else schema
    return new


def _joined_descriptions(one: JSONValue, other: JSONValue) -> JSONValue:
    if not isinstance(one, str) or not isinstance(other, str) or other in one:
        return one
    return other if one in other else f"{one} {other}"


_RULES: Final[Mapping[str, Callable[[JSONValue, JSONValue], JSONValue]]] = {
    **dict.fromkeys(_LARGEST, lambda one, other: max(cast("float", one), cast("float", other))),
    **dict.fromkeys(_SMALLEST, lambda one, other: min(cast("float", one), cast("float", other))),
    "uniqueItems": lambda one, other: one is True or other is True,
    "required": _more_names,
    "dependentRequired": _more_by_name,
    "dependentSchemas": _all_by_name,
    "not": lambda one, other: {"anyOf": [one, other]},
    "description": _joined_descriptions,
}


def listed_types(node: JSONObject) -> list[str] | None:
    """The types that a schema names; None if it names none."""
    kind = node.get("type")
    if isinstance(kind, str):
        return [kind]
    return cast("list[str]", kind) if isinstance(kind, list) else None


def has_type(value: JSONValue, kinds: Sequence[JSONValue]) -> bool:
    """Whether a value is of one of these types."""
    kind = type_name(value)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _types(one: JSONObject, other: JSONObject) -> list[str] | None:
    """The types that both admit; None if neither names any."""
    first, second = listed_types(one), listed_types(other)
    if first is None or second is None:
        return first or second
    shared = [kind for kind in first if kind in second or (kind == "integer" and "number" in second)]
    return shared + [k for k in second if k == "integer" and "number" in first and k not in shared]


def listed_values(node: JSONObject) -> list[JSONValue] | None:
    """The values of enum and const; None if a schema has neither."""
    values = node.get("enum")
    listed = values if isinstance(values, list) else None
    if "const" not in node:
        return listed
    only = [node["const"]]
    return only if listed is None else _shared(only, listed)


def _shared(first: list[JSONValue], second: list[JSONValue]) -> list[JSONValue]:
    keys = set(map(value_key, second))
    return [value for value in first if value_key(value) in keys]


def _values(new: JSONObject, one: JSONObject, other: JSONObject) -> bool:
    first, second = listed_values(one), listed_values(other)
    if first is None or second is None:
        shared = second if first is None else first
    else:
        shared = _shared(first, second)
    if shared is None:
        return True
    if "const" in one or "const" in other:
        new["const"] = shared[0] if shared else None
    else:
        new["enum"] = shared
    return bool(shared)


def _one_group(
    walk: Walk, new: JSONObject, one: JSONObject, other: JSONObject, group: tuple[str, ...]
) -> None:
    first = {key: one[key] for key in group if key in one}
    second = {key: other[key] for key in group if key in other}
    new.update(first or second)
    if first and second and first != second:
        walk.report(other, group[0], "checked locally", "combined with another")


def _unions(walk: Walk, new: JSONObject, one: JSONObject, other: JSONObject, node: JSONObject) -> None:
    held = [(key, side) for side in (one, other) for key in UNIONS if key in side]
    if len(held) == 1:
        key, side = held[0]
        new[key] = side[key]
    elif held:
        new["anyOf"] = _crossed(walk, [any_of_branches(walk, side, key) for key, side in held], node)


def any_of_branches(walk: Walk, node: JSONObject, key: str) -> list[JSONValue]:
    """The branches of a union read as anyOf; reports the loss for a oneOf."""
    branches = cast("list[JSONValue]", node[key])
    if key == "oneOf":
        siblings: JSONObject = {k: v for k, v in node.items() if k in VALIDATION and k not in UNIONS}
        parts: list[JSONValue] = (
            [{"allOf": [siblings, branch]} for branch in branches] if siblings else branches
        )
        if not are_disjoint(walk.root, parts):
            walk.report(node, "oneOf", "widened", "as anyOf: more than one may fit")
    return branches


def _crossed(walk: Walk, sides: list[list[JSONValue]], node: JSONObject) -> list[JSONValue]:
    """Every combination of one branch from each side, up to a limit."""
    taken = sides[0]
    for side in sides[1:]:
        if len(taken) * len(side) > _MOST_BRANCHES:
            walk.report(node, "anyOf", "checked locally", "too many combinations with another")
            continue
        pairs = product(taken, side)
        taken = [cast("JSONValue", walk.derive({"allOf": [one, other]}, node)) for one, other in pairs]
    return taken


def cross_unions(walk: Walk, node: JSONObject) -> JSONObject:
    """A schema with both anyOf and oneOf, rewritten with only anyOf."""
    new = {key: value for key, value in node.items() if key not in UNIONS}
    new["anyOf"] = _crossed(walk, [any_of_branches(walk, node, key) for key in UNIONS], node)
    return walk.derive(new, node)


_HIDING: Final = frozenset((*UNIONS, "allOf", "$ref", "if", "dependentSchemas"))


def unevaluated_as_additional(walk: Walk, node: JSONObject) -> JSONObject:
    """A schema with `unevaluated*` rewritten as `additionalProperties` and `items` where equivalent."""
    if UNEVALUATED.isdisjoint(node) or not _HIDING.isdisjoint(node):
        return node
    new: JSONObject = {}
    for key, value in node.items():
        if key == "unevaluatedProperties":
            new.setdefault("additionalProperties", node.get("additionalProperties", value))
        elif key == "unevaluatedItems" and "contains" not in node:
            new.setdefault("items", node.get("items", value))
        else:
            new[key] = value
    return walk.derive(new, node)
