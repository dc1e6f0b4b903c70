"""Lowers objects: closed where they must be, every property required where it must be, maps as lists.

Does not know unions or references: each member's schema is lowered by the walk.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from toolhaft.formats.subset.kinds import kinds_of
from toolhaft.formats.subset.maps import Rest, lower_rest
from toolhaft.formats.subset.merging_members import conjunction, matches, named
from toolhaft.formats.subset.naming import rename
from toolhaft.formats.subset.nested import describe_nested
from toolhaft.formats.subset.nullable import make_nullable, takes_null
from toolhaft.formats.subset.turns import Fields
from toolhaft.formats.subset.walk import Low, Lowering, Nothing, Position, Walk
from toolhaft.schema.json_value import JSONObject, JSONValue

HANDLED: Final = frozenset(("properties", "required", "additionalProperties", "patternProperties"))
"""The keywords that are lowered here."""


def lower_object(walk: Walk, node: JSONObject, notes: list[str], position: Position) -> Lowering:
    """The keywords about an object's members, lowered; a map may become an array."""
    rest = lower_rest(walk, node, notes, position)
    if isinstance(rest, Low):
        return rest
    schemas = _schemas(walk, node, position)
    required = _required(node)
    lows: dict[str, Low] = {}
    for name, schema in schemas.items():
        low = _lower_member(walk, node, name, schema, position)
        if isinstance(low, Low):
            lows[name] = low
        elif name in required:
            walk.blame(node, "properties", name)
            return low
        elif low is Nothing.NEVER and not _is_closed(walk, node, position):
            walk.tell(node, "properties", "checked locally", "it may not be given", "properties", name)
    return _assemble(walk, node, _Members(schemas, lows, rest), position)


def _required(node: JSONObject) -> list[str]:
    return cast("list[str]", node.get("required", []))


def _is_closed(walk: Walk, node: JSONObject, position: Position) -> bool:
    """Whether names that the object does not know are refused anyway."""
    if walk.subset.closed or node.get("additionalProperties") is False:
        return True
    return position == "root" and not walk.is_root_open


def _schemas(walk: Walk, node: JSONObject, position: Position) -> JSONObject:
    """By name, the schemas of all members that are known; those that patterns are about with these."""
    schemas = dict(named(node, "properties"))
    if not walk.rules.reshapes:
        return schemas
    patterns = named(node, "patternProperties")
    unlisted = [name for name in _required(node) if name not in schemas]
    for name in (*schemas, *unlisted) if patterns else unlisted:
        asked = [schema for pattern, schema in patterns.items() if matches(pattern, name)]
        if name in schemas:
            asked = [schemas[name], *asked]
        schemas[name] = conjunction(walk, asked) if asked else _unlisted(walk, node, name, position)
    return schemas


def _unlisted(walk: Walk, node: JSONObject, name: str, position: Position) -> JSONValue:
    """What an object asks of a name that it does not know."""
    if "additionalProperties" in node:
        return node["additionalProperties"]
    is_open = position == "inside" or walk.is_root_open
    return walk.own({}, node, "properties", name) if is_open else False


def _lower_member(walk: Walk, node: JSONObject, name: str, schema: JSONValue, position: Position) -> Lowering:
    if position == "root" and walk.subset.nested == "describe":
        described = describe_nested(walk, schema)
        if described is not None:
            return described
    return walk.visit_at(node, schema, "properties", name)


class _Members(NamedTuple):
    """What an object's members were and are."""

    schemas: JSONObject
    lows: dict[str, Low]
    rest: Rest


def _assemble(walk: Walk, node: JSONObject, members: _Members, position: Position) -> Low:
    schemas, lows, rest = members
    required = [name for name in dict.fromkeys(_required(node)) if name in lows or not walk.rules.reshapes]
    nulls = _fill_required(walk, node, schemas, lows, required)
    names = rename(walk, node, lows) if position == "root" else {}
    wire_names = {own: wire for wire, own in names.items()}
    properties: JSONObject = {wire_names.get(name, name): low.schema for name, low in lows.items()}
    needed = [wire_names.get(name, name) for name in required]
    rest_key = ""
    is_rest_needed = walk.subset.all_required or (walk.subset.some_required and not needed)
    if walk.subset.some_required and not needed and rest.low is None:
        raise walk.refusal(node, "an object without a required property cannot be sent")
    if rest.low is not None:
        rest_key = _free_name(properties, schemas)
        properties[rest_key] = rest.low.schema
        if is_rest_needed:
            needed.append(rest_key)
    out: JSONObject = {}
    if properties or "properties" in node or walk.subset.closed:
        out["properties"] = properties
    if needed or walk.subset.all_required:
        out["required"] = cast("list[JSONValue]", needed)
    out.update(rest.keywords)
    if names and out.pop("patternProperties", None) is not None:  # they are about the tool's own names
        out.pop("additionalProperties", None)
        walk.tell(node, "patternProperties", "checked locally", "beside renamed properties")
    inside = {name: low.turn for name, low in lows.items() if low.turn is not None}
    if not (inside or nulls or names or rest_key or rest.turn):
        return Low(out, None)
    turn = Fields(
        inside=inside,
        nulls=dict.fromkeys(nulls),
        names=names,
        rest=rest_key,
        rest_turn=None if rest.low is None else rest.low.turn,
        rest_always=bool(rest_key) and is_rest_needed,
        others=rest.turn,
        known=frozenset(schemas) if rest_key or rest.turn is not None else frozenset(),
    )
    return Low(out, turn)


def _free_name(properties: JSONObject, schemas: JSONObject) -> str:
    name, number = "additional", 1
    while name in properties or name in schemas:
        number += 1
        name = f"additional_{number}"
    return name


def _fill_required(
    walk: Walk, node: JSONObject, schemas: JSONObject, lows: dict[str, Low], required: list[str]
) -> list[str]:
    """Makes the properties required that must be; gives those whose null is to be read as absent."""
    if walk.subset.all_required:
        optional = [name for name in lows if name not in required]
    elif walk.subset.some_required and lows and not required:
        optional = [next(iter(lows))]
    else:
        return []
    for name in optional:
        schema = schemas[name]
        if "null" in kinds_of(walk.root, schema) and takes_null(walk, lows[name].schema):
            if not _is_null_by_default(schema):
                walk.tell(node, "required", "narrowed", "null is read as absent", "properties", name)
        else:
            lows[name] = make_nullable(walk, lows[name])
    if walk.subset.all_required:
        required[:] = list(lows)
    else:
        required.extend(optional)
    return optional


def _is_null_by_default(schema: JSONValue) -> bool:
    return isinstance(schema, dict) and "default" in schema and schema["default"] is None
