"""A tool's output schema as a revision of MCP can list it: as it is, or as the one member of an object.

Knows the two rules there are for its root; does not know the rest of a tool.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from toolhaft.formats.losses import Done
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.schema.json_schema import resolve
from toolhaft.schema.json_value import JSONObject, JSONValue

WRAPPED: Final = "toolhaft/wrapped"
"""The mark, in a tool's `_meta`, that its output stands under `result`."""
_MEMBER: Final = "result"
_DEFINITIONS: Final = ("$defs", "definitions")
_AT_HOME: Final = frozenset(("$schema", *_DEFINITIONS))
"""What stays at the root when the rest moves."""
_INTO_DEFINITIONS: Final = tuple(f"#/{home}/" for home in _DEFINITIONS)
_ROOTED: Final = frozenset(("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"))
_DEEPEST: Final = 20


class Shown(NamedTuple):
    """What is listed, and what that loses."""

    schema: JSONObject | None
    """None where it cannot be listed at all."""
    loss: SchemaLoss | None = None
    is_wrapped: bool = False


def show_output(schema: JSONValue, *, any_root: bool) -> Shown:
    """The schema for a list of tools; older revisions want `type: object` at its root."""
    if not isinstance(schema, dict):
        told = _loss("reshaped", "true and false as an object")
        return Shown({} if schema else {"not": {}}, told) if any_root else _NOT_SHOWN
    if schema.get("type") == "null":  # SDKs take a null for a forgotten value
        return Shown(None, _loss("left out", "it is always null"))
    if any_root or schema.get("type") == "object":
        return Shown(schema)
    verdict = _takes_objects(schema, schema, 0)
    if verdict is True:
        return Shown({"type": "object", **schema}, _loss("reshaped", "its root says type: object"))
    if verdict is False and _can_move(schema):
        told = _loss("reshaped", f"the value stands under '{_MEMBER}'")
        return Shown(_wrap(schema), told, is_wrapped=True)
    return _NOT_SHOWN


def _loss(done: Done, detail: str) -> SchemaLoss:
    return SchemaLoss("", "output_schema", done, detail)


_NOT_SHOWN: Final = Shown(None, _loss("left out", "its root is not always an object"))


def _wrap(schema: JSONObject) -> JSONObject:
    home: JSONObject = {key: value for key, value in schema.items() if key in _AT_HOME}
    moved: JSONObject = {key: value for key, value in schema.items() if key not in _AT_HOME}
    return {"type": "object", "properties": {_MEMBER: moved}, "required": [_MEMBER], **home}


def unwrap(schema: JSONObject) -> JSONValue:
    """The schema that was wrapped; the same one where it was not."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or list(properties) != [_MEMBER]:
        return schema
    moved = properties[_MEMBER]
    home = {key: value for key, value in schema.items() if key in _AT_HOME}
    return {**moved, **home} if isinstance(moved, dict) else moved


def _takes_objects(schema: JSONValue, root: JSONObject, depth: int) -> bool | None:
    """True if only objects fit, False if none does, None if some do or nobody knows."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None
    kinds = schema.get("type")
    if kinds is not None:
        return kinds == "object" if not isinstance(kinds, list) or "object" not in kinds else None
    ref = schema.get("$ref")
    verdict = _takes_objects(resolve(root, ref), root, depth + 1) if isinstance(ref, str) else None
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list) and verdict is None:
            said = {_takes_objects(branch, root, depth + 1) for branch in branches}
            if keyword == "allOf":
                said.discard(None)
            verdict = said.pop() if len(said) == 1 else None
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and verdict is None:
        kept = {isinstance(value, dict) for value in values}
        verdict = kept.pop() if len(kept) == 1 else None
    return verdict


def _can_move(schema: JSONValue) -> bool:
    """True if no reference would lead elsewhere once all but the definitions stands one level deeper."""
    if isinstance(schema, list):
        return all(_can_move(member) for member in schema)
    if not isinstance(schema, dict):
        return True
    ref = schema.get("$ref")
    if isinstance(ref, str) and not ref.startswith(_INTO_DEFINITIONS):
        return False
    if any(isinstance(schema.get(keyword), str) for keyword in _ROOTED):
        return False
    return all(_can_move(member) for member in schema.values())
