"""Says the inside of a parameter in words, for targets that read only its type.

Does not know any target.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.choice import without_document
from toolhaft.formats.subset.keywords import COMPOSED, DEFINITIONS, SILENT, TYPE_ORDER
from toolhaft.formats.subset.references import used_definitions
from toolhaft.formats.subset.walk import Low, Lowering, Nothing, Walk
from toolhaft.schema.json_schema import TYPES, resolve, subschemas, types_of
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_LONGEST: Final = 4_000
_INSIDE: Final = (*COMPOSED, "properties", "patternProperties", "prefixItems")


def describe_nested(walk: Walk, schema: JSONValue) -> Lowering | None:
    """A parameter with its type and its inside in words; None for one that has nothing inside."""
    if not isinstance(schema, dict) or (keyword := inside_keyword(schema)) is None:
        return None
    kinds = _kinds(walk, schema)
    if kinds == []:
        return Nothing.NEVER
    if _is_types_alone(schema):
        alone: JSONObject = {key: value for key, value in schema.items() if key != "anyOf"}
        return walk.visit(walk.own({"type": kinds, **alone}, schema))
    out: JSONObject = {} if kinds is None else {"type": kinds}
    said = _own_words(walk, schema)
    text = to_json_text(_document(walk, schema))
    if len(text) <= _LONGEST and walk.rules.takes("description"):
        walk.tell(schema, keyword, "moved to description", "as JSON Schema")
        said = f"{said} JSON Schema: {text}".strip()
    else:
        walk.tell(schema, keyword, "checked locally")
    return Low({**out, "description": said} if said else out, None)


def inside_keyword(schema: JSONObject) -> str | None:
    """The first keyword with which a schema, or one inside it, has an inside."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        for key in _INSIDE:
            if key in node:
                return key
        waiting.extend(child for _, child in subschemas(node))
    return None


def _own_words(walk: Walk, schema: JSONObject) -> str:
    node: JSONValue = schema
    for _ in range(3):
        if not isinstance(node, dict):
            return ""
        words = node.get("description")
        if isinstance(words, str):
            return words
        reference = node.get("$ref")
        node = resolve(walk.root, reference) if isinstance(reference, str) else None
    return ""


def _kinds(walk: Walk, schema: JSONObject) -> JSONValue:
    """The type, or the types, that a target may be told; None where it could be any."""
    types = types_of(walk.root, schema)
    if types == TYPES:
        return None
    if "number" in types:
        types -= {"integer"}
    listed = [kind for kind in TYPE_ORDER if kind in types]
    if len(listed) == 1:
        return listed[0]
    if walk.subset.type_lists or not listed:
        return cast("list[JSONValue]", listed)
    return next((kind for kind in listed if kind != "null"), "null")


def _is_types_alone(schema: JSONObject) -> bool:
    """Whether a union only lists types, so that the list of them says it all."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list) or schema.keys() - SILENT - {
        "anyOf",
        "description",
        "title",
        "default",
    }:
        return False
    return all(isinstance(branch, dict) and branch.keys() == {"type"} for branch in branches)


def _document(walk: Walk, schema: JSONObject) -> JSONObject:
    """The schema by itself: without its words, which stand before it, and with the definitions it needs."""
    alone = {key: value for key, value in without_document(schema).items() if key != "description"}
    used = {} if walk.root.keys().isdisjoint(DEFINITIONS) else used_definitions(walk.root, schema)
    return {**alone, "$defs": used} if used else alone
