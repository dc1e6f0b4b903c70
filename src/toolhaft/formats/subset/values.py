"""Lowers `enum` and `const`."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.admitted_types import make_nullable, only_null
from toolhaft.formats.subset.argument_maps import EnumMap, value_key
from toolhaft.formats.subset.keywords import VALIDATION, VALUES, type_keyword
from toolhaft.formats.subset.merging import has_type, listed_types, listed_values
from toolhaft.formats.subset.scan import takes_values
from toolhaft.formats.subset.to_description import move_to_description
from toolhaft.formats.subset.unions import join
from toolhaft.formats.subset.walk import LoweredNode, LoweringResult, Nothing, Walk
from toolhaft.schema.json_schema import type_name
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_EMPTY: Final = "(empty)"
"""Sent for the empty string, which targets with string-only enums do not accept."""


def lists_values(walk: Walk, node: JSONObject) -> bool:
    """Whether the target accepts the schema's values in an enum."""
    listed = [node[key] for key in ("const",) if key in node] + cast("list[JSONValue]", node.get("enum", []))
    return takes_values(walk.subset, listed)


def keep_values(walk: Walk, node: JSONObject, out: JSONObject, notes: list[str]) -> None:
    """Keeps `enum` and `const` if the target accepts them, else moves them to the description."""
    for key in ("enum", "const"):
        if key not in node:
            continue
        if walk.rules.takes(key):
            out[key] = node[key]
        elif key == "const" and walk.rules.takes("enum") and "enum" not in out:
            out["enum"] = [node[key]]
        else:
            move_to_description(walk, node, key, notes)


def lower_values(walk: Walk, node: JSONObject, notes: list[str]) -> LoweringResult | None:
    """Lowers a schema that lists its values; None if the target cannot list them."""
    values = fitting_values(walk, node)
    if not values:
        walk.mark_impossible(node)
        return Nothing.NEVER
    if values == [None]:
        return only_null(walk, node)
    keyword = "const" if "const" in node else "enum"
    is_listed = walk.rules.takes("enum") or (walk.rules.takes("const") and len(values) == 1)
    has_parts = any(isinstance(value, dict | list) for value in values)
    if not is_listed or (
        has_parts and not walk.rules.maps_arguments and not takes_values(walk.subset, values)
    ):
        move_to_description(walk, node, keyword, notes)
        return None
    if walk.subset.enums == "text":
        return _as_texts(walk, node, keyword, values)
    groups = _groups(walk, values)
    if len(groups) == 1 and takes_values(walk.subset, values):
        return LoweredNode({**_typed(walk, values), **_listed(walk, keyword, values)}, None)
    parts: list[JSONValue] = [{"enum": group} for group in groups]
    return join(walk, node, parts, lambda part: _lower_group(walk, node, keyword, part), keyword)


def _groups(walk: Walk, values: list[JSONValue]) -> list[list[JSONValue]]:
    """The values grouped into enums; one per type if the target has no lists of types."""
    groups: dict[str, list[JSONValue]] = {}
    has_texts = any(_is_sent_as_text(walk, value) for value in values)
    for value in values:
        kind = type_name(value)
        if _is_sent_as_text(walk, value) or (has_texts and kind == "string"):
            kind = "string"
        elif takes_values(walk.subset, [value]) and walk.subset.type_lists:
            kind = ""
        groups.setdefault("number" if kind == "integer" else kind, []).append(value)
    return list(groups.values())


def _is_sent_as_text(walk: Walk, value: JSONValue) -> bool:
    return isinstance(value, dict | list) and not takes_values(walk.subset, [value])


def _lower_group(walk: Walk, node: JSONObject, keyword: str, part: JSONValue) -> LoweringResult:
    """Lowers one group of values: as an enum, by type, or as strings."""
    values = cast("list[JSONValue]", cast("JSONObject", part)["enum"])
    if values == [None]:
        return only_null(walk, node)
    if takes_values(walk.subset, values):
        return LoweredNode({**_typed(walk, values), **_listed(walk, keyword, values)}, None)
    if isinstance(values[0], bool):
        if len(values) == 1:
            walk.report(node, keyword, "widened", f"any boolean, not {to_json_text(values[0])} alone")
        return LoweredNode({"type": "boolean"}, None)
    return _as_texts(walk, node, keyword, values)


def fitting_values(walk: Walk, node: JSONObject) -> list[JSONValue]:
    """The values that a schema lists and its other keywords admit."""
    values = listed_values(node) or []
    unique = list({value_key(value): value for value in values}.values())
    others: JSONObject = {key: value for key, value in node.items() if key in VALIDATION - VALUES}
    if not others:
        return unique
    if others.keys() == {"type"}:
        kinds = listed_types(node) or []
        return [value for value in unique if has_type(value, kinds)]
    fits = walk.documents.validator(others).is_valid
    return [value for value in unique if fits(value)]


def _listed(walk: Walk, keyword: str, values: list[JSONValue]) -> JSONObject:
    nulls = walk.subset.null == "nullable" and None in values
    listed: list[JSONValue] = [value for value in values if value is not None] if nulls else values
    marks: JSONObject = {"nullable": True} if nulls else {}
    if not listed:
        return marks
    if (
        len(listed) == 1
        and walk.rules.takes("const")
        and (keyword == "const" or not walk.rules.takes("enum"))
    ):
        return {"const": listed[0], **marks}
    return {"enum": listed, **marks}


def _typed(walk: Walk, values: list[JSONValue]) -> JSONObject:
    """The types of the values, as the target writes them."""
    types = {type_name(value) for value in values}
    if walk.subset.null == "nullable":
        types.discard("null")
        types = types or {"string"}
    return {"type": type_keyword(types)}


def _as_texts(walk: Walk, node: JSONObject, keyword: str, values: list[JSONValue]) -> LoweredNode:
    """Lowers each value to a unique string; null stays null."""
    listed = [value for value in values if value is not None]
    texts = {value for value in listed if isinstance(value, str) and value}
    by_text: dict[str, JSONValue] = {}
    for value in listed:
        text = value if isinstance(value, str) and value else _EMPTY if value == "" else to_json_text(value)
        while text in by_text or (text in texts and text != value):
            text = f"{text} ({type_name(value)})"
        by_text[text] = value
    mapping = EnumMap(by_text)
    if mapping.changes:
        walk.report(node, keyword, "reshaped", "as strings, converted back when decoded")
    low = LoweredNode(
        {"type": "string", **_listed(walk, keyword, list(by_text))}, mapping if mapping.changes else None
    )
    return make_nullable(walk, low) if len(listed) < len(values) else low
