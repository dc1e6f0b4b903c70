"""Lowers arrays: their members, their lengths, and tuples."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.argument_maps import ArgumentMap, ArrayMap, TupleMap
from toolhaft.formats.subset.to_description import move_to_description
from toolhaft.formats.subset.walk import LoweredNode, LoweringResult, Nothing, Walk
from toolhaft.schema.json_value import JSONObject, JSONValue

HANDLED: Final = frozenset(("items", "prefixItems", "minItems", "maxItems"))
"""The keywords that are lowered here."""


def lower_array(walk: Walk, node: JSONObject, notes: list[str]) -> LoweringResult:
    """Lowers the keywords about an array's members and length; a tuple may become an object."""
    first = node.get("prefixItems")
    if not isinstance(first, list) or not first:
        return _lower_list(walk, node, notes)
    if walk.subset.tuples == "object" and _is_fixed(node, len(first)):
        return _as_object(walk, node, first)
    if walk.subset.tuples == "keep" and walk.rules.takes("prefixItems"):
        return _kept(walk, node, notes, first)
    return _widened(walk, node, notes, first)


def _lower_list(walk: Walk, node: JSONObject, notes: list[str]) -> LoweringResult:
    items = node.get("items", True)
    takes_anything = items is True and not _needs_items(walk)
    if takes_anything or (isinstance(items, bool) and _takes_booleans(walk)):
        kept: JSONObject = {"items": items} if "items" in node and _takes_booleans(walk) else {}
        return LoweredNode({**kept, **_lengths(walk, node, notes)}, None)
    low = walk.visit_at(node, items, *(("items",) if "items" in node else ()))
    if isinstance(low, Nothing):
        return _empty(walk, node, low)
    out: JSONObject = {"items": low.schema} if walk.rules.takes("items") else {}
    if not out:
        move_to_description(walk, node, "items", notes)
    mapping = None if low.mapping is None or not out else ArrayMap((), low.mapping)
    return LoweredNode({**out, **_lengths(walk, node, notes)}, mapping)


def _takes_booleans(walk: Walk) -> bool:
    """Whether a schema may be true or false."""
    return walk.rules.keywords is None and not walk.rules.reshapes and not walk.subset.items_needed


def _needs_items(walk: Walk) -> bool:
    return walk.subset.items_needed or walk.subset.any != "keep"


def _empty(walk: Walk, node: JSONObject, reason: Nothing) -> LoweringResult:
    """Lowers an array whose members admit no value: only the empty array is valid."""
    if _count(node, "minItems", 0) > 0:
        return reason
    items: JSONObject = {"items": {"type": "string"}} if _needs_items(walk) else {}
    if walk.rules.takes("maxItems"):
        return LoweredNode({**items, "maxItems": 0}, None)
    if reason is Nothing.TRUNCATED:
        return reason
    walk.report(node, "items", "checked locally", "only the empty array")
    return LoweredNode(items, None)


def _lengths(walk: Walk, node: JSONObject, notes: list[str]) -> JSONObject:
    """`minItems` and `maxItems` as the target accepts them."""
    out: JSONObject = {}
    least = _count(node, "minItems", 0)
    most = walk.subset.min_items if walk.rules.takes("minItems") else 0
    if most is not None and least > most:
        move_to_description(walk, node, "minItems", notes)
        least = most
    if least > 0:
        out["minItems"] = least
    if "maxItems" in node:
        if walk.rules.takes("maxItems"):
            out["maxItems"] = node["maxItems"]
        else:
            move_to_description(walk, node, "maxItems", notes)
    return out


def _is_fixed(node: JSONObject, length: int) -> bool:
    """Whether an array has exactly this length."""
    ends = node.get("items") is False or _count(node, "maxItems", length + 1) <= length
    return ends and _count(node, "minItems", 0) >= length


def _count(node: JSONObject, key: str, otherwise: int) -> float:
    return cast("float", node.get(key, otherwise))


def _as_object(walk: Walk, node: JSONObject, first: list[JSONValue]) -> LoweringResult:
    length = len(first)
    if _count(node, "minItems", length) > length or _count(node, "maxItems", length) < length:
        return Nothing.NEVER
    lows, ended = _first_members(walk, node, first)
    if ended is not None:
        return ended
    keys = tuple(f"item_{index}" for index in range(1, len(first) + 1))
    out: JSONObject = {
        "type": "object",
        "properties": {key: low.schema for key, low in zip(keys, lows, strict=True)},
        "required": list(keys),
    }
    if walk.rules.takes("additionalProperties"):
        out["additionalProperties"] = False
    else:
        walk.report(node, "prefixItems", "checked locally", "that there are no others")
    walk.report(node, "prefixItems", "reshaped", "an object with one key per item")
    return LoweredNode(out, TupleMap(keys, tuple(low.mapping for low in lows)))


def _first_members(
    walk: Walk, node: JSONObject, first: list[JSONValue]
) -> tuple[list[LoweredNode], Nothing | None]:
    """The members of a tuple up to the first that admits no value, and why that one does not."""
    lows: list[LoweredNode] = []
    for index, schema in enumerate(first):
        low = walk.visit_at(node, schema, "prefixItems", index)
        if isinstance(low, Nothing):
            return lows, low
        lows.append(low)
    return lows, None


def _members(
    walk: Walk, node: JSONObject, first: list[JSONValue]
) -> tuple[list[LoweredNode], LoweredNode | None, Nothing | None]:
    """As `_first_members`, with the schema of further members, or why there are none."""
    lows, ended = _first_members(walk, node, first)
    if ended is not None:
        return lows, None, ended
    if _count(node, "maxItems", len(first) + 1) <= len(first):
        return lows, None, Nothing.NEVER
    rest = walk.visit_at(node, node.get("items", True), *(("items",) if "items" in node else ()))
    return (lows, None, rest) if isinstance(rest, Nothing) else (lows, rest, None)


def _kept(walk: Walk, node: JSONObject, notes: list[str], first: list[JSONValue]) -> LoweringResult:
    lows, rest, ended = _members(walk, node, first)
    if len(lows) < len(first) and _count(node, "minItems", 0) > len(lows):
        return cast("Nothing", ended)
    out: JSONObject = {"prefixItems": [low.schema for low in lows]} if lows else {}
    lengths = _lengths(walk, node, notes)
    if rest is not None:
        out.update({"items": rest.schema} if "items" in node or _needs_items(walk) else {})
    elif node.get("items") is False and len(lows) == len(first) and _takes_booleans(walk):
        out["items"] = False
    elif walk.rules.takes("maxItems"):
        lengths["maxItems"] = min(_count(node, "maxItems", len(lows)), len(lows))
    else:
        walk.report(node, "items", "checked locally", "the number of items")
    mappings = (*(low.mapping for low in lows), None if rest is None else rest.mapping)
    return LoweredNode({**out, **lengths}, _mapping(mappings[:-1], mappings[-1]))


def _widened(walk: Walk, node: JSONObject, notes: list[str], first: list[JSONValue]) -> LoweringResult:
    """Lowers a tuple to a list in which any member may be at any position."""
    lows, rest, ended = _members(walk, node, first)
    if ended is not None and _count(node, "minItems", 0) > len(lows):
        return ended if len(lows) < len(first) else Nothing.NEVER
    lengths = _lengths(walk, node, notes)
    if rest is None and _count(node, "maxItems", len(lows) + 1) > len(lows):
        _end(walk, node, lengths, len(lows))
    members = [*lows, *([] if rest is None else [rest])]
    if any(low != members[0] for low in members) or (rest is None and "maxItems" not in lengths):
        walk.report(node, "prefixItems", "widened", "any of its members at any position")
    mapping = _mapping(tuple(low.mapping for low in lows), None if rest is None else rest.mapping)
    items = _any_member(walk, node, [low.schema for low in members])
    if items is None and mapping is not None:
        raise walk.refusal(node, "members of different shapes cannot be sent")
    return LoweredNode({**({} if items is None else {"items": items}), **lengths}, mapping)


def _any_member(walk: Walk, node: JSONObject, schemas: list[JSONObject]) -> JSONObject | None:
    """One schema for all members, if the target can express it."""
    unique: list[JSONValue] = []
    for schema in schemas:
        if schema not in unique:
            unique.append(schema)
    if len(unique) == 1:
        return schemas[0]
    if unique and walk.rules.takes("anyOf"):
        return {"anyOf": unique}
    if unique and _needs_items(walk):
        raise walk.refusal(node, "members of different shapes cannot be sent")
    return {"type": "string"} if _needs_items(walk) else None


def _end(walk: Walk, node: JSONObject, lengths: JSONObject, length: int) -> None:
    """Limits the length to the listed members."""
    if walk.rules.takes("maxItems"):
        lengths["maxItems"] = length
    else:
        walk.report(node, "items", "checked locally", f"at most {length} items")


def _mapping(first: tuple[ArgumentMap | None, ...], others: ArgumentMap | None) -> ArgumentMap | None:
    if others is None and all(mapping is None for mapping in first):
        return None
    return ArrayMap(first, others)
