"""Lowers one schema without references, allOf and unions: by its types, then keyword by keyword.

Does not know how members are lowered.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset import arrays, maps, objects
from toolhaft.formats.subset.annotations import annotated
from toolhaft.formats.subset.keywords import (
    ABOUT,
    ARRAY,
    LOGIC,
    NUMBER,
    OBJECT,
    SCALARS,
    STRING,
    TYPE_ORDER,
    VALIDATION,
    VALUES,
)
from toolhaft.formats.subset.logic import lower_keywords
from toolhaft.formats.subset.merging import listed_types, listed_values, settled
from toolhaft.formats.subset.nullable import make_nullable, only_null
from toolhaft.formats.subset.scalars import scalars_of
from toolhaft.formats.subset.turns import Text
from toolhaft.formats.subset.unions import join
from toolhaft.formats.subset.values import keep_values, lists_values, lower_values
from toolhaft.formats.subset.walk import Low, Lowering, Nothing, Position, Walk
from toolhaft.schema.json_schema import type_name
from toolhaft.schema.json_value import JSONObject, JSONValue

_ABOUT_KINDS: Final = (("object", OBJECT), ("array", ARRAY), ("string", STRING), ("number", NUMBER))


def lower_plain(walk: Walk, node: JSONObject, position: Position) -> Lowering:
    """A schema of at most one shape, lowered with its annotations."""
    notes: list[str] = []
    walk.spend()
    short = scalars_of(walk.rules).lower(node)
    if short is not None:
        for told in short[1]:
            walk.tell(node, *told)
        return Low(short[0], None)
    if walk.rules.reshapes:
        low = _lower_shape(walk, settled(walk, node), notes, position)
    else:
        low = _lower_keywords(walk, node, notes, position)
    return Low(annotated(walk, node, low, notes), low.turn) if isinstance(low, Low) else low


def _lower_keywords(walk: Walk, node: JSONObject, notes: list[str], position: Position) -> Lowering:
    """Keyword by keyword, where each means by itself what it means beside the others."""
    node = node if walk.rules.takes("unevaluatedProperties") else settled(walk, node)
    has_values = "enum" in node or "const" in node
    if has_values and not lists_values(walk, node):
        listed = lower_values(walk, node, notes)
        if listed is not None:
            return listed
        node = walk.own({key: value for key, value in node.items() if key not in VALUES}, node)
    out: JSONObject = {"type": node["type"]} if "type" in node else {}
    turn = None
    if position == "root" or not objects.HANDLED.isdisjoint(node):
        low = objects.lower_object(walk, node, notes, position)
        if isinstance(low, Nothing):
            return _without_kind(walk, node, notes, "object", low)
        out.update(low.schema)
        turn = low.turn
    must_say = walk.subset.items_needed and "array" in (listed_types(node) or ())
    if must_say or not arrays.HANDLED.isdisjoint(node):
        low = arrays.lower_array(walk, node, notes)
        if isinstance(low, Nothing):
            return _without_kind(walk, node, notes, "array", low)
        out.update(low.schema)
    if has_values:
        keep_values(walk, node, out, notes)
    lower_keywords(walk, node, out, notes, is_turned=turn is not None)
    return Low(out, turn)


def _without_kind(walk: Walk, node: JSONObject, notes: list[str], kind: str, reason: Nothing) -> Lowering:
    """A schema of which one type can be nothing: the others stay."""
    kinds: list[JSONValue] = [each for each in listed_types(node) or TYPE_ORDER if each != kind]
    if not kinds:
        return reason
    about = ABOUT[kind]
    rest: JSONObject = {key: value for key, value in node.items() if key not in about}
    rest["type"] = kinds[0] if len(kinds) == 1 else kinds
    return _lower_keywords(walk, walk.own(rest, node), notes, "inside")


def _lower_shape(walk: Walk, node: JSONObject, notes: list[str], position: Position) -> Lowering:
    """As one plain shape, or one for each of its types."""
    if not node.keys().isdisjoint(VALUES):
        listed = lower_values(walk, node, notes)
        if listed is not None:
            return listed
        types = sorted({type_name(value) for value in listed_values(node) or []})
        others: JSONObject = {key: value for key, value in node.items() if key not in VALUES}
        node = walk.own({"type": cast("JSONValue", types), **others}, node)
    kinds = _kinds(walk, node)
    if not kinds:
        return _anything(walk, node, notes)
    solid = [kind for kind in kinds if kind != "null"]
    if len(solid) > 1 and not (walk.subset.type_lists and set(solid) <= SCALARS):
        return _apart(walk, node, kinds, notes, position)
    low = _lower_kind(walk, node, solid, notes, position) if solid else Nothing.NEVER
    if isinstance(low, Nothing):
        return only_null(walk, node) if "null" in kinds and _fits_null(walk, node) else low
    return make_nullable(walk, low) if "null" in kinds else low


def _fits_null(walk: Walk, node: JSONObject) -> bool:
    return node.keys().isdisjoint(LOGIC) or walk.documents.validator(node).is_valid(None)


def _kinds(walk: Walk, node: JSONObject) -> list[str]:
    """The types that a schema takes; where it names none, those that its keywords are about."""
    kinds = listed_types(node)
    if kinds is None:
        kinds = [kind for kind, about in _ABOUT_KINDS if not node.keys().isdisjoint(about)]
        if kinds:
            walk.tell(node, "type", "narrowed", f"only {' or '.join(kinds)}, which its keywords are about")
    if "number" in kinds:
        kinds = [kind for kind in kinds if kind != "integer"]
    return list(dict.fromkeys(kinds))


def _anything(walk: Walk, node: JSONObject, notes: list[str]) -> Lowering:
    """What takes any value, by the target's way with such schemas."""
    lower_keywords(walk, node, {}, notes, is_turned=True)
    match walk.subset.any:
        case "keep":
            return Low({}, None)
        case "text":
            walk.tell(node, "type", "reshaped", "JSON in a text")
            notes.append("any JSON value, written as text")
            return Low({"type": "string"}, Text())
        case "refuse":
            raise walk.refusal(node, "a value of any type cannot be sent")


def _lower_kind(
    walk: Walk, node: JSONObject, kinds: list[str], notes: list[str], position: Position
) -> Lowering:
    kind = kinds[0]
    low: Lowering = Low({}, None)
    if kind == "object":
        low = objects.lower_object(walk, node, notes, position)
    elif kind == "array":
        low = arrays.lower_array(walk, node, notes)
    if isinstance(low, Nothing):
        return low
    out: JSONObject = {"type": kind if len(kinds) == 1 else cast("JSONValue", kinds), **low.schema}
    others = _about(walk, node, kinds)
    if kind == "object" and out["type"] == "array":
        others = walk.own({key: value for key, value in others.items() if key not in maps.SAID}, node)
    lower_keywords(walk, others, out, notes, is_turned=low.turn is not None)
    return Low(out, low.turn)


def _about(walk: Walk, node: JSONObject, kinds: list[str]) -> JSONObject:
    """A schema without what it says of other types than these."""
    others = {key for kind, about in _ABOUT_KINDS if kind not in kinds for key in about}
    if "integer" in kinds:
        others -= NUMBER
    if others.isdisjoint(node):
        return node
    return walk.own({key: value for key, value in node.items() if key not in others}, node)


def _apart(walk: Walk, node: JSONObject, kinds: list[str], notes: list[str], position: Position) -> Lowering:
    """Each type as a shape of its own."""

    def lower(part: JSONValue) -> Lowering:
        own_notes: list[str] = []
        own = cast("JSONObject", part)
        low = _lower_shape(walk, own, own_notes, "branch" if position == "branch" else "inside")
        return Low(annotated(walk, own, low, own_notes), low.turn) if isinstance(low, Low) else low

    parts: list[JSONValue] = []
    for kind in kinds:
        about = ABOUT.get(kind, frozenset[str]())
        parts.append(walk.own({"type": kind, **{key: node[key] for key in node if key in about}}, node))
    rest = walk.own({key: node[key] for key in node if key in VALIDATION - _TYPED}, node)
    lower_keywords(walk, rest, {}, notes, is_turned=True)
    return join(walk, node, parts, lower)


_TYPED: Final = frozenset(("type", *OBJECT, *ARRAY, *STRING, *NUMBER))
