"""Lets a lowered schema admit null, in the way of the target.

Does not know why.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.keywords import SCALARS
from toolhaft.formats.subset.kinds import kinds_of
from toolhaft.formats.subset.walk import Low, Walk
from toolhaft.schema.json_value import JSONObject, JSONValue

NULL: Final[JSONObject] = {"type": "null"}
_OUTSIDE: Final = ("title", "description", "default")


def make_nullable(walk: Walk, low: Low) -> Low:
    """The same schema, admitting null as well; a null goes through its turn unchanged."""
    schema = low.schema
    if walk.subset.null == "nullable":
        inner: JSONObject = (
            {"anyOf": [schema]} if "$ref" in schema and not walk.subset.ref_siblings else schema
        )
        return Low({**inner, "nullable": True}, low.turn)
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return Low(_with_null_value(schema), low.turn)
    if walk.subset.type_lists and "const" not in schema and _is_scalar(kind):
        listed = [kind] if isinstance(kind, str) else cast("list[JSONValue]", kind)
        new: JSONObject = {**schema, "type": [*listed, "null"]}
        if "enum" in schema:
            new["enum"] = [*cast("list[JSONValue]", schema["enum"]), None]
        return Low(new, low.turn)
    if walk.rules.takes("anyOf"):
        return Low(_beside_null(schema), low.turn)
    if not walk.subset.type_lists or not isinstance(kind, str) or "const" in schema:
        raise walk.refusal(walk.root, "null beside another type cannot be sent")
    return Low({**schema, "type": [kind, "null"]}, low.turn)


def _with_null_value(schema: JSONObject) -> JSONObject:
    """A schema whose type admits null, with null among the values that it lists."""
    values = schema.get("enum")
    if isinstance(values, list) and None not in values:
        return {**schema, "enum": [*values, None]}
    return _beside_null(schema) if schema.get("const") is not None else schema


def only_null(walk: Walk, node: JSONObject) -> Low:
    """A schema that takes nothing but null."""
    if walk.subset.null == "type":
        return Low(dict(NULL), None)
    walk.tell(node, "type", "widened", "null alone has no form there")
    return Low({"type": "string", "nullable": True}, None)


def takes_null(walk: Walk, schema: JSONValue) -> bool:
    """Whether a lowered schema admits null; one that is not finished yet is taken to."""
    if not isinstance(schema, dict) or schema.get("nullable") is True:
        return True
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        return any(takes_null(walk, branch) for branch in branches)
    return "null" in kinds_of(walk.wire() if "$ref" in schema else schema, schema)


def _is_scalar(kind: JSONValue) -> bool:
    if isinstance(kind, list):
        return all(name in SCALARS for name in kind)
    return kind in SCALARS


def _beside_null(schema: JSONObject) -> JSONObject:
    branches = schema.get("anyOf")
    if isinstance(branches, list) and schema.keys() <= {"anyOf", *_OUTSIDE}:
        return {**schema, "anyOf": branches if NULL in branches else [*branches, NULL]}
    inside: JSONObject = {key: value for key, value in schema.items() if key not in _OUTSIDE}
    outside: JSONObject = {key: schema[key] for key in _OUTSIDE if key in schema}
    return {"anyOf": [inside, NULL], **outside}
