"""Output schemas as MCP takes them: an object at the root, or another type wrapped in one."""

from __future__ import annotations

from typing import Final, NamedTuple

from toolhaft.formats.description_text import is_only_described
from toolhaft.formats.losses import Done, SchemaLoss
from toolhaft.formats.subset.lower import newest_draft
from toolhaft.schema.json_schema import types_of
from toolhaft.schema.json_value import JSONObject, JSONValue

WRAPPED: Final = "toolhaft/wrapped"
"""The key, in a tool's `_meta`, that marks output wrapped in an object under `result`."""
_MEMBER: Final = "result"
_DEFINITIONS: Final = ("$defs", "definitions")
_ROOT_KEYWORDS: Final = frozenset(("$schema", *_DEFINITIONS))
"""The keywords that stay at the root when the rest is wrapped."""
_INTO_DEFINITIONS: Final = tuple(f"#/{home}/" for home in _DEFINITIONS)
_DOCUMENT_KEYWORDS: Final = frozenset(("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"))


class OutputSchema(NamedTuple):
    """The output schema to list, and what it loses."""

    schema: JSONObject | None
    """None if it cannot be listed."""
    loss: SchemaLoss | None = None
    is_wrapped: bool = False


def export_output_schema(schema: JSONValue, *, any_root: bool) -> OutputSchema:
    """The output schema to list; older revisions require `type: object` at its root."""
    if is_only_described(schema):
        return OutputSchema(None)
    if isinstance(schema, dict):
        schema = newest_draft(schema)
    if not isinstance(schema, dict):
        loss = _loss("reshaped", "true and false as an object")
        return OutputSchema({} if schema else {"not": {}}, loss) if any_root else _NOT_LISTED
    if schema.get("type") == "null":  # SDKs treat null as a missing value
        return OutputSchema(None, _loss("left out", "it is always null"))
    if any_root or schema.get("type") == "object":
        return OutputSchema(schema)
    types = types_of(schema, schema)
    if types == frozenset(("object",)):
        return OutputSchema({**schema, "type": "object"}, _loss("reshaped", "with type: object at its root"))
    if "object" not in types and _can_move(schema):
        loss = _loss("reshaped", f"the value is under '{_MEMBER}'")
        return OutputSchema(_wrap(schema), loss, is_wrapped=True)
    return _NOT_LISTED


def _loss(done: Done, detail: str) -> SchemaLoss:
    return SchemaLoss("", "output_schema", done, detail)


_NOT_LISTED: Final = OutputSchema(None, _loss("left out", "its root is not always an object"))


def _wrap(schema: JSONObject) -> JSONObject:
    home: JSONObject = {key: value for key, value in schema.items() if key in _ROOT_KEYWORDS}
    moved: JSONObject = {key: value for key, value in schema.items() if key not in _ROOT_KEYWORDS}
    return {"type": "object", "properties": {_MEMBER: moved}, "required": [_MEMBER], **home}


def unwrap(schema: JSONObject) -> JSONValue:
    """The schema inside a wrapped one; any other schema unchanged."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or list(properties) != [_MEMBER]:
        return schema
    moved = properties[_MEMBER]
    home = {key: value for key, value in schema.items() if key in _ROOT_KEYWORDS}
    return {**moved, **home} if isinstance(moved, dict) else moved


def _can_move(schema: JSONValue) -> bool:
    """True if every reference still resolves when all but the definitions moves one level down."""
    if isinstance(schema, list):
        return all(_can_move(member) for member in schema)
    if not isinstance(schema, dict):
        return True
    ref = schema.get("$ref")
    if isinstance(ref, str) and not ref.startswith(_INTO_DEFINITIONS):
        return False
    if any(isinstance(schema.get(keyword), str) for keyword in _DOCUMENT_KEYWORDS):
        return False
    return all(_can_move(member) for member in schema.values())
