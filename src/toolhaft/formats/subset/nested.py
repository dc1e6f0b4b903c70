"""Describes the inside of a parameter in its description, for targets that read only its type."""

from __future__ import annotations

from typing import Final, TypeAlias

from toolhaft.formats.losses import Done
from toolhaft.formats.subset.admitted_types import admitted_types, are_disjoint
from toolhaft.formats.subset.keywords import COMPOSED, REFERENCES, SILENT, UNIONS, VALIDATION, type_keyword
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.walk import LoweredNode, LoweringResult, Nothing, Walk
from toolhaft.schema.json_schema import TYPES, subschemas
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_LONGEST: Final = 4_000
_NESTING: Final = (*COMPOSED, "properties", "patternProperties", "prefixItems")
_NEEDS_MERGING: Final = frozenset((*REFERENCES, "allOf"))
_REFERENCE_MARKS: Final = tuple(f'"{key}"' for key in REFERENCES)
_NOT_SHOWN: Final = SILENT - {"$defs"} | {"description"}


LocalLoss: TypeAlias = tuple[str, Done, str]
"""A loss at the schema itself: the keyword, what was done, and a detail."""


SimpleLowering: TypeAlias = tuple[JSONObject, list[LocalLoss]]
"""A lowered schema whose values are unchanged, and its losses."""


def describe_nested(walk: Walk, schema: JSONValue) -> LoweringResult | None:
    """A parameter with its type, and its inside in the description; None if it has no inside."""
    if not isinstance(schema, dict) or inside_keyword(schema) is None:
        return None
    node = schema if schema.keys().isdisjoint(_NEEDS_MERGING) else walk.merged(schema)
    types = frozenset[str]() if node is None else admitted_types(walk.root, node)
    if node is None or not types:
        return Nothing.NEVER
    keyword = inside_keyword(node)
    if keyword is None:
        return walk.visit(node)
    if _is_list_of_types(node):
        return walk.visit(walk.derive(_as_type_list(walk.subset, node, types), node))
    low, losses = _as_description(walk.subset, node, types, keyword, _text(walk, node))
    for loss in losses:
        walk.report(node, *loss)
    return LoweredNode(low, None)


def _text(walk: Walk, node: JSONObject) -> str:
    """A schema as text, with references inlined; '' if too large, or if the target has no descriptions."""
    text = _schema_text(node) if walk.rules.takes("description") else ""
    if not _refers(text):
        return text
    whole = walk.inlined(node)
    return "" if whole is None else _schema_text(whole)


def describe_alone(subset: Subset, node: JSONObject, keyword: str) -> SimpleLowering | JSONObject | None:
    """As `describe_nested`, for a schema without references; a returned schema must still be lowered.

    None if the full walk is needed.
    """
    if not node.keys().isdisjoint(_NEEDS_MERGING):
        return None
    text = _schema_text(node)
    types = frozenset[str]() if _refers(text) else admitted_types(node, node)
    if not types:
        return None
    if _is_list_of_types(node):
        return _as_type_list(subset, node, types)
    return _as_description(subset, node, types, keyword, text)


def _as_type_list(subset: Subset, node: JSONObject, types: frozenset[str]) -> JSONObject:
    alone: JSONObject = {key: value for key, value in node.items() if key not in UNIONS}
    return {"type": _kinds(subset, types), **alone}


def _as_description(
    subset: Subset, node: JSONObject, types: frozenset[str], keyword: str, text: str
) -> SimpleLowering:
    out: JSONObject = {} if types == TYPES else {"type": _kinds(subset, types)}
    original = node.get("description")
    description = original if isinstance(original, str) else ""
    is_short = 0 < len(text) <= _LONGEST
    if is_short:
        description = f"{description} JSON Schema: {text}".strip()
    if description:
        out["description"] = description
    if is_short:
        return out, [(keyword, "moved to description", "as JSON Schema")]
    return out, [(keyword, "checked locally", "")]


def _refers(text: str) -> bool:
    return '"$' in text and any(mark in text for mark in _REFERENCE_MARKS)


def _schema_text(node: JSONObject) -> str:
    """A schema as text, without its description."""
    return to_json_text({key: value for key, value in node.items() if key not in _NOT_SHOWN})


def inside_keyword(schema: JSONObject) -> str | None:
    """The first keyword that nests schemas in a schema or in one inside it."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        for key in _NESTING:
            if key in node:
                return key
        waiting.extend(child for _, child in subschemas(node))
    return None


def _kinds(subset: Subset, types: frozenset[str]) -> JSONValue:
    """The type, or the list of types, as the target accepts it."""
    listed = type_keyword(types)
    if isinstance(listed, str) or subset.type_lists:
        return listed
    return next(kind for kind in listed if kind != "null")


def _is_list_of_types(node: JSONObject) -> bool:
    """Whether a union is only a list of types."""
    key = "anyOf" if "anyOf" in node else "oneOf"
    branches = node.get(key)
    if not isinstance(branches, list):
        return False
    for branch in branches:
        if not isinstance(branch, dict) or len(branch) != 1 or "type" not in branch:
            return False
    if any(other in VALIDATION for other in node if other != key):
        return False
    return key == "anyOf" or are_disjoint(node, branches)
