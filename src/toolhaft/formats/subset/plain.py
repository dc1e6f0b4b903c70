"""Lowers schemas without unions and references: types, bounds, lengths, formats and conditions."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset import arrays, objects
from toolhaft.formats.subset.admitted_types import make_nullable, only_null
from toolhaft.formats.subset.argument_maps import JSONTextMap
from toolhaft.formats.subset.fast_path import scalar_tables_of
from toolhaft.formats.subset.keywords import (
    ARRAY,
    BY_TYPE,
    COMPOSED,
    CONDITIONS,
    LOGIC,
    NUMBER,
    OBJECT,
    SCALARS,
    STRING,
    TYPE_ORDER,
    VALIDATION,
    VALUES,
)
from toolhaft.formats.subset.merging import listed_types, listed_values, unevaluated_as_additional
from toolhaft.formats.subset.scan import takes_keyword
from toolhaft.formats.subset.to_description import move_to_description, with_annotations
from toolhaft.formats.subset.unions import join
from toolhaft.formats.subset.values import keep_values, lists_values, lower_values
from toolhaft.formats.subset.walk import LoweredNode, LoweringResult, Nothing, Position, Walk
from toolhaft.schema.json_schema import type_name
from toolhaft.schema.json_value import JSONObject, JSONValue

_LOWERED_ELSEWHERE: Final = frozenset(("type", *COMPOSED, *VALUES, *objects.HANDLED, *arrays.HANDLED))
_KEYWORDS: Final = VALIDATION - _LOWERED_ELSEWHERE
_BY_NAME: Final = frozenset(("dependentSchemas",))
_SCHEMAS: Final = frozenset(
    ("not", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", *CONDITIONS)
)
_TOGETHER: Final = (frozenset(CONDITIONS), frozenset(("contains", "minContains", "maxContains")))
_GROUPED: Final = _TOGETHER[0] | _TOGETHER[1]
_PRESENCE: Final = frozenset(("minProperties", "maxProperties", "dependentRequired"))
"""Keywords about which keys are present: the keys as sent may differ."""


def lower_keywords(
    walk: Walk, node: JSONObject, out: JSONObject, notes: list[str], *, is_mapped: bool
) -> None:
    """Keeps the keywords that the target accepts and moves the rest to the description."""
    left = [key for key in node if key in _KEYWORDS]
    if not left:
        return
    for group in () if _GROUPED.isdisjoint(left) else _TOGETHER:
        held = [key for key in left if key in group]
        if held:
            left = [key for key in left if key not in group]
            _lower_group(walk, node, out, notes, held, is_mapped=is_mapped)
    for key in left:
        if key in _SCHEMAS or key in _BY_NAME:
            _lower_group(walk, node, out, notes, [key], is_mapped=is_mapped)
        elif not takes_keyword(walk.rules, key, node[key]) or (is_mapped and key in _PRESENCE):
            move_to_description(walk, node, key, notes)
        else:
            out[key] = node[key]


def _lower_group(
    walk: Walk, node: JSONObject, out: JSONObject, notes: list[str], keys: list[str], *, is_mapped: bool
) -> None:
    """Lowers keywords that only make sense together: all are kept exactly, or none."""
    kept: JSONObject = {}
    for key in keys:
        value = _exactly(walk, key, node[key]) if walk.rules.takes(key) else None
        if value is None or walk.rules.reshapes or is_mapped:
            for moved in keys:
                move_to_description(walk, node, moved, notes)
            return
        kept[key] = value
    out.update(kept)


def _exactly(walk: Walk, key: str, value: JSONValue) -> JSONValue:
    """A keyword's schemas lowered without changing which values are valid; None if impossible."""
    if key in _BY_NAME and isinstance(value, dict):
        found: JSONObject = {}
        for name, schema in value.items():
            low = _exact_schema(walk, schema)
            if low is None:
                return None
            found[name] = low
        return found
    return _exact_schema(walk, value) if key in _SCHEMAS else value


def _exact_schema(walk: Walk, schema: JSONValue) -> JSONValue:
    return schema if isinstance(schema, bool) else walk.attempt(schema)


_TYPE_KEYWORDS: Final = (("object", OBJECT), ("array", ARRAY), ("string", STRING), ("number", NUMBER))


def lower_plain(walk: Walk, node: JSONObject, position: Position) -> LoweringResult:
    """Lowers a schema without unions and references, with its annotations."""
    notes: list[str] = []
    walk.count_nodes()
    short = scalar_tables_of(walk.rules).lower(node)
    if short is not None:
        for loss in short[1]:
            walk.report(node, *loss)
        return LoweredNode(short[0], None)
    if walk.rules.reshapes:
        low = _lower_shape(walk, unevaluated_as_additional(walk, node), notes, position)
    else:
        low = _lower_keywords(walk, node, notes, position)
    return _annotated(walk, node, low, notes)


def _annotated(walk: Walk, node: JSONObject, low: LoweringResult, notes: list[str]) -> LoweringResult:
    if isinstance(low, Nothing):
        return low
    return LoweredNode(with_annotations(walk, node, low, notes), low.mapping)


def _lower_keywords(walk: Walk, node: JSONObject, notes: list[str], position: Position) -> LoweringResult:
    """Lowers each keyword on its own."""
    node = node if walk.rules.takes("unevaluatedProperties") else unevaluated_as_additional(walk, node)
    has_values = "enum" in node or "const" in node
    if has_values and not lists_values(walk, node):
        listed = lower_values(walk, node, notes)
        if listed is not None:
            return listed
        node = walk.derive({key: value for key, value in node.items() if key not in VALUES}, node)
    out: JSONObject = {"type": node["type"]} if "type" in node else {}
    mapping = None
    if position == "root" or not objects.HANDLED.isdisjoint(node):
        low = objects.lower_object(walk, node, notes, position)
        if isinstance(low, Nothing):
            return _without_kind(walk, node, notes, "object", low)
        out.update(low.schema)
        mapping = low.mapping
    needs_items = walk.subset.items_needed and "array" in (listed_types(node) or ())
    if needs_items or not arrays.HANDLED.isdisjoint(node):
        low = arrays.lower_array(walk, node, notes)
        if isinstance(low, Nothing):
            return _without_kind(walk, node, notes, "array", low)
        out.update(low.schema)
    if has_values:
        keep_values(walk, node, out, notes)
    lower_keywords(walk, node, out, notes, is_mapped=mapping is not None)
    return LoweredNode(out, mapping)


def _without_kind(
    walk: Walk, node: JSONObject, notes: list[str], kind: str, reason: Nothing
) -> LoweringResult:
    """Lowers a schema without the type `kind`, which has no lowered form for the given reason."""
    kinds: list[JSONValue] = [each for each in listed_types(node) or TYPE_ORDER if each != kind]
    if not kinds:
        return reason
    rest: JSONObject = {key: value for key, value in node.items() if key not in BY_TYPE[kind]}
    rest["type"] = kinds[0] if len(kinds) == 1 else kinds
    return _lower_keywords(walk, walk.derive(rest, node), notes, "inside")


def _lower_shape(walk: Walk, node: JSONObject, notes: list[str], position: Position) -> LoweringResult:
    """Lowers a schema to one type, or to one branch per type."""
    if not node.keys().isdisjoint(VALUES):
        listed = lower_values(walk, node, notes)
        if listed is not None:
            return listed
        types = sorted({type_name(value) for value in listed_values(node) or []})
        others: JSONObject = {key: value for key, value in node.items() if key not in VALUES}
        node = walk.derive({"type": cast("JSONValue", types), **others}, node)
    kinds = _kinds(walk, node)
    if not kinds:
        return _lower_any(walk, node, notes)
    non_null = [kind for kind in kinds if kind != "null"]
    if len(non_null) > 1 and not (walk.subset.type_lists and set(non_null) <= SCALARS):
        return _one_branch_per_type(walk, node, kinds, notes, position)
    low = _lower_kind(walk, node, non_null, notes, position) if non_null else Nothing.NEVER
    if isinstance(low, Nothing):
        return only_null(walk, node) if "null" in kinds and _fits_null(walk, node) else low
    return make_nullable(walk, low) if "null" in kinds else low


def _fits_null(walk: Walk, node: JSONObject) -> bool:
    return node.keys().isdisjoint(LOGIC) or walk.documents.validator(node).is_valid(None)


def _kinds(walk: Walk, node: JSONObject) -> list[str]:
    """The types that a schema names, else those that its keywords apply to."""
    kinds = listed_types(node)
    if kinds is None:
        kinds = [kind for kind, about in _TYPE_KEYWORDS if not node.keys().isdisjoint(about)]
        if kinds:
            walk.report(node, "type", "narrowed", f"only {' or '.join(kinds)}, which its keywords apply to")
    if "number" in kinds:
        kinds = [kind for kind in kinds if kind != "integer"]
    return list(dict.fromkeys(kinds))


def _lower_any(walk: Walk, node: JSONObject, notes: list[str]) -> LoweringResult:
    """Lowers a schema that admits any value."""
    lower_keywords(walk, node, {}, notes, is_mapped=True)
    match walk.subset.any:
        case "keep":
            return LoweredNode({}, None)
        case "text":
            walk.report(node, "type", "reshaped", "a string of JSON")
            notes.append("any JSON value, written as text")
            return LoweredNode({"type": "string"}, JSONTextMap())
        case "refuse":
            raise walk.refusal(node, "a value of any type cannot be sent")


def _lower_kind(
    walk: Walk, node: JSONObject, kinds: list[str], notes: list[str], position: Position
) -> LoweringResult:
    kind = kinds[0]
    low: LoweringResult = LoweredNode({}, None)
    if kind == "object":
        low = objects.lower_object(walk, node, notes, position)
    elif kind == "array":
        low = arrays.lower_array(walk, node, notes)
    if isinstance(low, Nothing):
        return low
    out: JSONObject = {"type": kind if len(kinds) == 1 else cast("JSONValue", kinds), **low.schema}
    others = _without_other_types(walk, node, kinds)
    if kind == "object" and out["type"] == "array":
        others = walk.derive(
            {key: value for key, value in others.items() if key not in objects.PAIR_KEYWORDS}, node
        )
    lower_keywords(walk, others, out, notes, is_mapped=low.mapping is not None)
    return LoweredNode(out, low.mapping)


def _without_other_types(walk: Walk, node: JSONObject, kinds: list[str]) -> JSONObject:
    """A schema without the keywords of other types."""
    others = {key for kind, about in _TYPE_KEYWORDS if kind not in kinds for key in about}
    if "integer" in kinds:
        others -= NUMBER
    if others.isdisjoint(node):
        return node
    return walk.derive({key: value for key, value in node.items() if key not in others}, node)


def _one_branch_per_type(
    walk: Walk, node: JSONObject, kinds: list[str], notes: list[str], position: Position
) -> LoweringResult:
    """Lowers each type as its own branch."""

    def lower(part: JSONValue) -> LoweringResult:
        own_notes: list[str] = []
        own = cast("JSONObject", part)
        low = _lower_shape(walk, own, own_notes, "branch" if position == "branch" else "inside")
        return _annotated(walk, own, low, own_notes)

    parts: list[JSONValue] = []
    for kind in kinds:
        about = BY_TYPE.get(kind, frozenset[str]())
        parts.append(walk.derive({"type": kind, **{key: node[key] for key in node if key in about}}, node))
    rest = walk.derive({key: node[key] for key in node if key in VALIDATION - _TYPED}, node)
    lower_keywords(walk, rest, {}, notes, is_mapped=True)
    return join(walk, node, parts, lower)


_TYPED: Final = frozenset(("type", *OBJECT, *ARRAY, *STRING, *NUMBER))
