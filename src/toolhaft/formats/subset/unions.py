"""Lowers unions: `anyOf`, `oneOf`, lists of types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Final, cast

from toolhaft.formats.subset.admitted_types import (
    admitted_types,
    are_disjoint,
    make_nullable,
    only_null,
    takes_null,
)
from toolhaft.formats.subset.argument_maps import ArgumentMap, ObjectMap, UnionBranch, UnionMap
from toolhaft.formats.subset.keywords import SCALARS, UNEVALUATED, UNIONS, VALIDATION, type_keyword
from toolhaft.formats.subset.merging import any_of_branches, cross_unions
from toolhaft.formats.subset.to_description import add_notes, annotated_reference, move_to_description
from toolhaft.formats.subset.walk import Frame, LoweredNode, LoweringResult, Nothing, Walk
from toolhaft.schema.json_schema import TYPES
from toolhaft.schema.json_value import JSONObject, JSONValue

_NULL: Final = frozenset(("null",))
_PLAIN_NULL: Final = {"type", "enum", "const"}


def lower_shapes(walk: Walk, node: JSONObject) -> LoweringResult:
    """Lowers a union to plain branches: its siblings move into each branch."""
    if all(key in node for key in UNIONS):
        node = cross_unions(walk, node)
    key = next(key for key in UNIONS if key in node)
    any_of_branches(walk, node, key)
    low = join(walk, node, spread(walk, node, key), walk.visit, key)
    if isinstance(low, Nothing):
        return low
    annotations = walk.derive({k: v for k, v in node.items() if k not in VALIDATION}, node)
    return annotated_reference(walk, annotations, low, [])


def spread(walk: Walk, node: JSONObject, key: str) -> list[JSONValue]:
    """The branches of a union, each with the siblings of the union."""
    branches = cast("list[JSONValue]", node[key])
    constraint = {k: v for k, v in node.items() if k in VALIDATION and k != key and k not in UNEVALUATED}
    last = {k: v for k, v in node.items() if k in UNEVALUATED}
    is_top = walk.is_root_branch(node)
    rest = walk.derive(constraint, node) if constraint else None
    found: list[JSONValue] = []
    for index, branch in enumerate(branches):
        part: JSONValue = branch
        if rest is not None or last:
            both: list[JSONValue] = [branch] if rest is None else [rest, branch]
            part = walk.derive({"allOf": both, **last}, node, key, index)
        if is_top and isinstance(part, dict):
            walk.mark_root_branch(part)
        found.append(part)
    return found


def join(
    walk: Walk,
    node: JSONObject,
    parts: Sequence[JSONValue],
    lower: Callable[[JSONValue], LoweringResult],
    keyword: str = "type",
) -> LoweringResult:
    """One schema for several alternatives."""
    non_null, has_null = parts, False
    if walk.subset.null == "nullable":
        non_null = [part for part in parts if admitted_types(walk.root, part) != _NULL]
        has_null = len(non_null) < len(parts) and _any_takes_null(walk, parts)
    found = [(part, lower(part)) for part in non_null]
    kept = _distinct(found)
    if not kept:
        if has_null:
            return only_null(walk, node)
        return Nothing.TRUNCATED if any(low is Nothing.TRUNCATED for _, low in found) else Nothing.NEVER
    low = kept[0][1] if len(kept) == 1 else _several(walk, node, kept, keyword)
    return make_nullable(walk, low) if has_null else low


def _any_takes_null(walk: Walk, parts: Sequence[JSONValue]) -> bool:
    """Whether null is valid for one of the parts whose only type is null."""
    for part in parts:
        if isinstance(part, dict) and admitted_types(walk.root, part) == _NULL:
            constraint = part.keys() & VALIDATION
            if constraint <= _PLAIN_NULL or walk.documents.validator(part).is_valid(None):
                return True
    return False


def _distinct(found: list[tuple[JSONValue, LoweringResult]]) -> list[tuple[JSONValue, LoweredNode]]:
    kept: list[tuple[JSONValue, LoweredNode]] = []
    for own, low in found:
        if isinstance(low, LoweredNode) and low not in [other for _, other in kept]:
            kept.append((own, low))
    return kept


def _several(
    walk: Walk, node: JSONObject, kept: list[tuple[JSONValue, LoweredNode]], keyword: str
) -> LoweredNode:
    schemas: list[JSONValue] = [low.schema for _, low in kept]
    if walk.rules.takes("anyOf"):
        return LoweredNode({"anyOf": schemas}, _choose(walk, node, kept, keyword))
    if any(low.mapping is not None for _, low in kept):
        raise walk.refusal(node, "a union of different shapes cannot be sent")
    return _by_types(walk, node, kept, keyword)


def _by_types(
    walk: Walk, node: JSONObject, kept: list[tuple[JSONValue, LoweredNode]], keyword: str
) -> LoweredNode:
    """The types of all branches, for a target without unions of schemas."""
    types = frozenset[str]().union(*(admitted_types(walk.root, own) for own, _ in kept))
    listed = type_keyword(types)
    if types <= SCALARS and (isinstance(listed, str) or walk.subset.type_lists):
        if any(low.schema.keys() != {"type"} for _, low in kept):
            walk.report(node, keyword, "widened", "only its types")
        return LoweredNode({"type": listed}, None)
    walk.report(node, keyword, "widened", "any value")
    low = walk.visit(walk.derive({}, node))
    return low if isinstance(low, LoweredNode) else LoweredNode({}, None)


def _choose(
    walk: Walk, node: JSONObject, kept: list[tuple[JSONValue, LoweredNode]], keyword: str
) -> ArgumentMap | None:
    """The map of a value that belongs to one of several branches."""
    mappings = [low.mapping for _, low in kept]
    if all(mapping == mappings[0] for mapping in mappings):
        return mappings[0]
    acting = [(own, low) for own, low in kept if low.mapping is not None]
    lowered = walk.lowered_definitions()
    if len(acting) == 1 and _is_apart(
        walk, lowered, acting[0], [pair for pair in kept if pair[1].mapping is None]
    ):
        return acting[0][1].mapping
    if not are_disjoint(lowered, [low.schema for _, low in kept]) and not _agree(
        walk, [low for _, low in kept]
    ):
        walk.report(node, keyword, "narrowed", "a value that fits several branches is read as the first")
    return UnionMap(tuple(UnionBranch(own, low.schema, low.mapping, walk.documents) for own, low in kept))


def _agree(walk: Walk, lows: Sequence[LoweredNode]) -> bool:
    """Whether all branches read a shared value in the same way: they differ only in nulls."""
    reads = [low.mapping or ObjectMap() for low in lows]
    plain = [
        mapping
        for mapping in reads
        if isinstance(mapping, ObjectMap) and mapping == ObjectMap(nulls=mapping.nulls)
    ]
    if len(plain) < len(reads):
        return False
    for one, other in permutations(range(len(lows)), 2):
        properties = lows[other].schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        apart = plain[one].nulls.keys() - plain[other].nulls.keys()
        if any(name not in known or takes_null(walk, known[name]) for name in apart):
            return False
    return True


def _is_apart(
    walk: Walk,
    lowered: JSONObject,
    acting: tuple[JSONValue, LoweredNode],
    others: list[tuple[JSONValue, LoweredNode]],
) -> bool:
    """Whether a branch's map cannot affect values of the other branches."""
    own, sent = admitted_types(walk.root, acting[0]), admitted_types(lowered, acting[1].schema)
    return all(
        not own & admitted_types(walk.root, other)
        and (admitted_types(walk.root, other) == _NULL or not sent & admitted_types(lowered, low.schema))
        for other, low in others
    )


def lower_in_place(walk: Walk, node: JSONObject, base: LoweredNode) -> LoweringResult:
    """Adds the unions and allOf of a schema to the rest of it, which is already lowered."""
    out = dict(base.schema)
    for key in ("allOf", *UNIONS):
        if key not in node:
            continue
        outer, walk.frame = walk.frame, Frame()
        lows = [
            walk.visit_at(node, branch, key, index)
            for index, branch in enumerate(cast("list[JSONValue]", node[key]))
        ]
        tried, walk.frame = walk.frame, outer
        outer.losses += tried.losses
        outer.is_exact = outer.is_exact and tried.is_exact
        gone = [low for low in lows if isinstance(low, Nothing)]
        if gone and (key == "allOf" or len(gone) == len(lows)):
            return gone[0]
        if not admitted_types(walk.root, {key: node[key]}):
            return Nothing.NEVER
        schemas: list[JSONValue] = [low.schema for low in lows if isinstance(low, LoweredNode)]
        _put(walk, node, out, key, schemas, is_exact=tried.is_exact)
    return LoweredNode(out, base.mapping)


def _put(
    walk: Walk, node: JSONObject, out: JSONObject, key: str, schemas: list[JSONValue], *, is_exact: bool
) -> None:
    if key == "oneOf" and not (
        walk.rules.takes(key) and (is_exact or are_disjoint(walk.lowered_definitions(), schemas))
    ):
        any_of_branches(walk, node, key)
        key = "anyOf"
    if walk.rules.takes(key) and key not in out:
        out[key] = schemas
        return
    types = admitted_types(walk.root, {key: node.get(key, node.get("oneOf"))})
    if "type" not in out and types < TYPES and walk.subset.type_lists:
        out["type"] = type_keyword(types)
        if all(isinstance(schema, dict) and schema.keys() == {"type"} for schema in schemas):
            return
    notes: list[str] = []
    move_to_description(walk, node, key if key in node else "oneOf", notes)
    if notes:
        out["description"] = add_notes(out.get("description"), notes)
