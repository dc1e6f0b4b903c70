"""Lowers unions: any of several schemas, each a shape of its own, or in place beside what all must fit.

Does not know how a branch is lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Final, cast

from toolhaft.formats.subset.annotations import noted
from toolhaft.formats.subset.choice import Branch, Choice
from toolhaft.formats.subset.disjoint import are_disjoint
from toolhaft.formats.subset.keywords import SCALARS, TYPE_ORDER, UNEVALUATED, UNIONS, VALIDATION
from toolhaft.formats.subset.kinds import kinds_of
from toolhaft.formats.subset.merging import as_any, cross_unions
from toolhaft.formats.subset.moving import move
from toolhaft.formats.subset.notes import describe
from toolhaft.formats.subset.nullable import make_nullable, only_null, takes_null
from toolhaft.formats.subset.turns import Fields, Turn
from toolhaft.formats.subset.walk import Frame, Low, Lowering, Nothing, Walk
from toolhaft.schema.json_schema import TYPES
from toolhaft.schema.json_value import JSONObject, JSONValue

_NULL: Final = frozenset(("null",))
_PLAIN_NULL: Final = {"type", "enum", "const"}


def lower_shapes(walk: Walk, node: JSONObject) -> Lowering:
    """A union as a choice of plain shapes: what stands beside it joins each branch."""
    if all(key in node for key in UNIONS):
        node = cross_unions(walk, node)
    key = next(key for key in UNIONS if key in node)
    as_any(walk, node, key)
    low = join(walk, node, spread(walk, node, key), walk.visit, key)
    if isinstance(low, Nothing):
        return low
    said = walk.own({k: v for k, v in node.items() if k not in VALIDATION}, node)
    return noted(walk, said, low, [])


def spread(walk: Walk, node: JSONObject, key: str) -> list[JSONValue]:
    """The branches of a union, each with all that is asked beside it."""
    branches = cast("list[JSONValue]", node[key])
    asked = {k: v for k, v in node.items() if k in VALIDATION and k != key and k not in UNEVALUATED}
    last = {k: v for k, v in node.items() if k in UNEVALUATED}
    is_top = walk.is_rootlike(node)
    rest = walk.own(asked, node) if asked else None
    found: list[JSONValue] = []
    for index, branch in enumerate(branches):
        part: JSONValue = branch
        if rest is not None or last:
            both: list[JSONValue] = [branch] if rest is None else [rest, branch]
            part = walk.own({"allOf": both, **last}, node, key, index)
        if is_top and isinstance(part, dict):
            walk.mark_rootlike(part)
        found.append(part)
    return found


def join(
    walk: Walk,
    node: JSONObject,
    parts: Sequence[JSONValue],
    lower: Callable[[JSONValue], Lowering],
    keyword: str = "type",
) -> Lowering:
    """One schema for several, of which any may fit."""
    solid, has_null = parts, False
    if walk.subset.null == "nullable":
        solid = [part for part in parts if kinds_of(walk.root, part) != _NULL]
        has_null = len(solid) < len(parts) and _any_takes_null(walk, parts)
    found = [(part, lower(part)) for part in solid]
    kept = _distinct(found)
    if not kept:
        if has_null:
            return only_null(walk, node)
        return Nothing.CUT if any(low is Nothing.CUT for _, low in found) else Nothing.NEVER
    low = kept[0][1] if len(kept) == 1 else _several(walk, node, kept, keyword)
    return make_nullable(walk, low) if has_null else low


def _any_takes_null(walk: Walk, parts: Sequence[JSONValue]) -> bool:
    """Whether one of the parts that are of no other type takes null indeed."""
    for part in parts:
        if isinstance(part, dict) and kinds_of(walk.root, part) == _NULL:
            asked = part.keys() & VALIDATION
            if asked <= _PLAIN_NULL or walk.documents.validator(part).is_valid(None):
                return True
    return False


def _distinct(found: list[tuple[JSONValue, Lowering]]) -> list[tuple[JSONValue, Low]]:
    kept: list[tuple[JSONValue, Low]] = []
    for own, low in found:
        if isinstance(low, Low) and low not in [other for _, other in kept]:
            kept.append((own, low))
    return kept


def _several(walk: Walk, node: JSONObject, kept: list[tuple[JSONValue, Low]], keyword: str) -> Low:
    schemas: list[JSONValue] = [low.schema for _, low in kept]
    if walk.rules.takes("anyOf"):
        return Low({"anyOf": schemas}, _choose(walk, node, kept, keyword))
    if any(low.turn is not None for _, low in kept):
        raise walk.refusal(node, "a choice of shapes cannot be sent")
    return _by_types(walk, node, kept, keyword)


def _by_types(walk: Walk, node: JSONObject, kept: list[tuple[JSONValue, Low]], keyword: str) -> Low:
    """The types of all branches, where the target knows no unions of schemas."""
    types = frozenset[str]().union(*(kinds_of(walk.root, own) for own, _ in kept))
    if "number" in types:
        types -= {"integer"}
    listed: list[JSONValue] = [kind for kind in TYPE_ORDER if kind in types]
    if types <= SCALARS and (len(listed) == 1 or walk.subset.type_lists):
        if any(low.schema.keys() != {"type"} for _, low in kept):
            walk.tell(node, keyword, "widened", "only its types")
        return Low({"type": listed[0] if len(listed) == 1 else listed}, None)
    walk.tell(node, keyword, "widened", "any value")
    low = walk.visit(walk.own({}, node))
    return low if isinstance(low, Low) else Low({}, None)


def _choose(walk: Walk, node: JSONObject, kept: list[tuple[JSONValue, Low]], keyword: str) -> Turn | None:
    """The way of a value that has one of several shapes."""
    turns = [low.turn for _, low in kept]
    if all(turn == turns[0] for turn in turns):
        return turns[0]
    acting = [(own, low) for own, low in kept if low.turn is not None]
    wire = walk.wire()
    if len(acting) == 1 and _is_apart(walk, wire, acting[0], [pair for pair in kept if pair[1].turn is None]):
        return acting[0][1].turn
    if not are_disjoint(wire, [low.schema for _, low in kept]) and not _agree(walk, [low for _, low in kept]):
        walk.tell(node, keyword, "narrowed", "what fits several shapes is read as the first")
    return Choice(tuple(Branch(own, low.schema, low.turn, walk.documents) for own, low in kept))


def _agree(walk: Walk, lows: Sequence[Low]) -> bool:
    """Whether a value that several branches take is read alike by all: they differ in nulls that one has."""
    reads = [low.turn or Fields() for low in lows]
    plain = [turn for turn in reads if isinstance(turn, Fields) and turn == Fields(nulls=turn.nulls)]
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
    walk: Walk, wire: JSONObject, acting: tuple[JSONValue, Low], others: list[tuple[JSONValue, Low]]
) -> bool:
    """Whether a turn leaves the values of the other branches alone, as it does null and other types."""
    own, sent = kinds_of(walk.root, acting[0]), kinds_of(wire, acting[1].schema)
    return all(
        not own & kinds_of(walk.root, other)
        and (kinds_of(walk.root, other) == _NULL or not sent & kinds_of(wire, low.schema))
        for other, low in others
    )


def lower_in_place(walk: Walk, node: JSONObject, base: Low) -> Lowering:
    """The unions and allOf of a schema, put beside the rest of it, which is lowered already."""
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
        outer.said += tried.said
        outer.is_exact = outer.is_exact and tried.is_exact
        gone = [low for low in lows if isinstance(low, Nothing)]
        if gone and (key == "allOf" or len(gone) == len(lows)):
            return gone[0]
        if not kinds_of(walk.root, {key: node[key]}):
            return Nothing.NEVER
        schemas: list[JSONValue] = [low.schema for low in lows if isinstance(low, Low)]
        _put(walk, node, out, key, schemas, is_exact=tried.is_exact)
    return Low(out, base.turn)


def _put(
    walk: Walk, node: JSONObject, out: JSONObject, key: str, schemas: list[JSONValue], *, is_exact: bool
) -> None:
    if key == "oneOf" and not (walk.rules.takes(key) and (is_exact or are_disjoint(walk.wire(), schemas))):
        as_any(walk, node, key)
        key = "anyOf"
    if walk.rules.takes(key) and key not in out:
        out[key] = schemas
        return
    types = kinds_of(walk.root, {key: node.get(key, node.get("oneOf"))})
    if "type" not in out and types < TYPES and walk.subset.type_lists:
        types = types - {"integer"} if "number" in types else types
        listed: list[JSONValue] = [kind for kind in TYPE_ORDER if kind in types]
        out["type"] = listed[0] if len(listed) == 1 else listed
        if all(isinstance(schema, dict) and schema.keys() == {"type"} for schema in schemas):
            return
    notes: list[str] = []
    move(walk, node, key if key in node else "oneOf", notes)
    if notes:
        out["description"] = describe(out.get("description"), notes)
