"""Lowers the root of a tool's schema, where many targets accept only a plain object."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.argument_maps import WrapperMap, value_key
from toolhaft.formats.subset.keywords import COMPOSED, REFERENCES, UNIONS, VALIDATION, VALUES
from toolhaft.formats.subset.merging import cross_unions, listed_values, named
from toolhaft.formats.subset.to_description import add_notes, move_to_description
from toolhaft.formats.subset.unions import spread
from toolhaft.formats.subset.walk import LoweredNode, Nothing, Walk
from toolhaft.schema.json_value import JSONObject, JSONValue

_WRAPPER: Final = "arguments"
_MOST_SHAPES: Final = 64
_OWN: Final = frozenset(("type", "properties", "required", "additionalProperties", "patternProperties"))


def lower_root(walk: Walk) -> LoweredNode:
    """Lowers the whole schema to one object."""
    node = walk.root
    banned = walk.rules.root_banned
    if node.keys() & set(REFERENCES) or ("allOf" in node and (walk.rules.merges or "allOf" in banned)):
        merged = walk.merged(node)
        if merged is None:
            raise walk.impossible_error()
        node = merged
    if node.keys() & set(UNIONS) and (walk.rules.reshapes or node.keys() & banned & set(UNIONS)):
        shapes = _shapes(walk, node)
        if len(shapes) == 1:
            node = _with_annotations(walk, node, shapes[0])
        elif walk.subset.root == "wrap":
            return _wrap(walk, node)
        else:
            node = _flatten(walk, node, shapes)
    return _lower(walk, node)


def _lower(walk: Walk, node: JSONObject) -> LoweredNode:
    notes: list[str] = []
    banned = walk.rules.root_banned | (VALUES if walk.rules.reshapes else frozenset[str]())
    refused = [key for key in node if key in banned and key not in COMPOSED]
    for key in refused:
        if key in VALIDATION:
            move_to_description(walk, node, key, notes)
        else:
            walk.report(node, key, "left out")
    if refused:
        node = walk.derive({key: value for key, value in node.items() if key not in refused}, node)
    low = walk.lower_at(node, "root")
    if isinstance(low, Nothing):
        raise walk.impossible_error()
    schema: JSONObject = {**low.schema, "type": "object"}
    if notes:
        schema["description"] = add_notes(schema.get("description"), notes)
    return LoweredNode(schema if "properties" in schema else {**schema, "properties": {}}, low.mapping)


def _shapes(walk: Walk, node: JSONObject) -> list[JSONObject]:
    """Every alternative for the arguments, with all its constraints and without unions."""
    waiting: list[JSONValue] = [node]
    found: list[JSONObject] = []
    while waiting:
        part = waiting.pop(0)
        merged = walk.merged(part) if isinstance(part, dict) else None
        if merged is None:
            continue
        if all(key in merged for key in UNIONS):
            merged = cross_unions(walk, merged)
        key = next((key for key in UNIONS if key in merged), None)
        if key is None:
            found.append(merged)
            continue
        waiting.extend(spread(walk, merged, key))
        if len(waiting) + len(found) > _MOST_SHAPES:
            raise walk.refusal(walk.root, f"its arguments have more than {_MOST_SHAPES} alternatives")
    if not found:
        raise walk.impossible_error()
    return found


def _with_annotations(walk: Walk, node: JSONObject, shape: JSONObject) -> JSONObject:
    annotations = {key: value for key, value in node.items() if key not in VALIDATION}
    both = walk.derive({**shape, **annotations}, walk.root)
    walk.merged_from(both, [shape, node])
    return both


def _wrap(walk: Walk, node: JSONObject) -> LoweredNode:
    walk.mark_root_branch(node)
    low = walk.lower_at(node, "branch")
    if isinstance(low, Nothing):
        raise walk.impossible_error()
    key = next(key for key in UNIONS if key in node)
    walk.report(walk.root, key, "reshaped", f"as the value of one argument, {_WRAPPER!r}")
    schema: JSONObject = {
        "type": "object",
        "properties": {_WRAPPER: low.schema},
        "required": [_WRAPPER],
    }
    if walk.rules.takes("additionalProperties"):
        schema["additionalProperties"] = False
    return LoweredNode(schema, WrapperMap(_WRAPPER, low.mapping))


def _flatten(walk: Walk, node: JSONObject, shapes: list[JSONObject]) -> JSONObject:
    """One object with the properties of all alternatives."""
    key = next(key for key in UNIONS if key in node)
    walk.report(walk.root, key, "widened", "one object with the properties of all")
    names = dict.fromkeys(name for shape in shapes for name in named(shape, "properties"))
    properties: JSONObject = {name: _any_of(walk, shapes, name) for name in names}
    first = cast("list[str]", shapes[0].get("required", []))
    required = [
        name
        for name in first
        if all(name in cast("list[str]", each.get("required", [])) for each in shapes[1:])
    ]
    flat: JSONObject = {
        **{key: value for key, value in node.items() if key not in UNIONS and key not in _OWN},
        "type": "object",
        "properties": properties,
        "required": cast("list[JSONValue]", required),
        **_additional(shapes),
    }
    walk.merged_from(flat, [node, *shapes])
    return walk.derive(flat, walk.root)


def _any_of(walk: Walk, shapes: list[JSONObject], name: str) -> JSONValue:
    """The schema of a property in any alternative."""
    variants: list[JSONValue] = []
    for shape in shapes:
        properties = named(shape, "properties")
        if name in properties:
            variants += [] if properties[name] in variants else [properties[name]]
        elif shape.get("additionalProperties") is not False:
            walk.report(
                walk.root, "properties", "narrowed", f"{name!r} only as in the alternatives that list it"
            )
    if len(variants) == 1:
        return variants[0]
    return walk.derive(_as_one_enum(variants) or {"anyOf": variants}, walk.root)


def _as_one_enum(variants: list[JSONValue]) -> JSONObject | None:
    """One enum for schemas that have only values and the same type."""
    nodes = [variant for variant in variants if isinstance(variant, dict)]
    kinds = {str(node.get("type")) for node in nodes}
    if len(nodes) < len(variants) or len(kinds) > 1 or any(node.keys() - {"type", *VALUES} for node in nodes):
        return None
    listed = [listed_values(node) for node in nodes]
    if None in listed:
        return None
    values: list[JSONValue] = [value for each in listed for value in each or []]
    kind: JSONObject = {"type": nodes[0]["type"]} if "type" in nodes[0] else {}
    return {**kind, "enum": list({value_key(value): value for value in values}.values())}


def _additional(shapes: list[JSONObject]) -> JSONObject:
    """How the flat object treats names that no alternative lists."""
    schemas: list[JSONValue] = []
    is_undeclared = False
    for shape in shapes:
        schemas += named(shape, "patternProperties").values()
        if "additionalProperties" in shape:
            schemas.append(shape["additionalProperties"])
        else:
            is_undeclared = True
    taking = [schema for schema in schemas if schema is not False]
    if is_undeclared and not taking:
        return {}
    if not taking:
        return {"additionalProperties": False}
    if True in taking or is_undeclared:
        return {"additionalProperties": True}
    return {"additionalProperties": taking[0] if len(taking) == 1 else {"anyOf": taking}}
