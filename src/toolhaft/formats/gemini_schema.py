"""The parts of JSON Schema that Gemini accepts, in `parametersJsonSchema` and in the older `parameters`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from toolhaft.formats.description_text import is_only_described
from toolhaft.formats.gemini_stream import to_camel_case
from toolhaft.formats.subset.lower import RefusedSchema, SchemaLoss, lower
from toolhaft.formats.subset.normalize import upgrade_draft
from toolhaft.formats.subset.target import COMBINATORS, Subset
from toolhaft.schema.json_value import JSONObject, JSONValue

_SHARED: Final = (
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
)

JSON_SCHEMA: Final = Subset(
    keywords=frozenset((*_SHARED, "$defs", "$ref", "additionalProperties", "prefixItems", "uniqueItems")),
    ref_siblings=False,
    enums="plain",
    optional_cycles=True,
    declared_required=True,
    root="flatten",
    root_banned=COMBINATORS,
)
"""`parametersJsonSchema`: the documented keywords, and others that servers were seen to accept."""

SCHEMA_MESSAGE: Final = Subset(
    keywords=frozenset((*_SHARED, "maxProperties", "minProperties", "nullable")),
    formats=frozenset(("date-time",)),  # other formats of strings are refused
    refs="inline",
    recursion="unroll",
    type_lists=False,
    null="nullable",
    any="text",
    maps="pairs",
    tuples="widen",
    enums="text",
    declared_required=True,
    items_needed=True,
    root="flatten",
    root_banned=COMBINATORS,
    root_keys="[A-Za-z_][A-Za-z0-9_]{0,63}",
)
"""`parameters`: some fields of OpenAPI 3.0; an unknown field makes the server refuse the request."""

_OUTPUT: Final = "output"
_AT: Final = f"/properties/{_OUTPUT}"
MESSAGES: Final = frozenset(("parameters", "response"))
"""The fields of a function that are Schema messages."""
_TYPES: Final = dict(enumerate(("string", "number", "integer", "boolean", "array", "object", "null"), 1))
"""The types by their numbers, which some clients send."""
_MESSAGE_ONLY: Final = frozenset(("nullable", "propertyOrdering", "example"))


def lower_output(schema: JSONValue) -> tuple[JSONObject | None, list[SchemaLoss]]:
    """An output schema for `responseJsonSchema`, with its losses; None if it cannot be expressed."""
    if not isinstance(schema, dict):
        return None, [SchemaLoss("", "output_schema", "left out", "the format takes an object there")]
    if is_only_described(schema):
        return None, []
    if "$schema" in schema or "definitions" in schema:  # they would be lost below; `lower` rewrites the rest
        schema = upgrade_draft(schema)
    inside = {key: value for key, value in schema.items() if key != "$defs"}
    whole: JSONObject = {"type": "object", "properties": {_OUTPUT: inside}}
    if "$defs" in schema:
        whole["$defs"] = schema["$defs"]
    try:
        lowered = lower(whole, JSON_SCHEMA)
    except RefusedSchema as refused:
        return None, [SchemaLoss("", "output_schema", "left out", refused.reason)]
    properties = lowered.schema["properties"]
    made = properties.get(_OUTPUT) if isinstance(properties, dict) else None
    if not isinstance(made, dict) or lowered.mapping is not None:
        return None, [SchemaLoss("", "output_schema", "left out", "it would have another shape")]
    if "$defs" in lowered.schema:
        made = {**made, "$defs": lowered.schema["$defs"]}
    losses = [loss._replace(path="/output_schema" + loss.path.removeprefix(_AT)) for loss in lowered.losses]
    return made, losses


def means_same(key: str, message: JSONValue, schema: JSONValue) -> bool:
    """Whether an export would write this schema for a Schema message."""
    own = from_message(message)
    try:
        low = lower(cast("JSONObject", own), JSON_SCHEMA) if key == "parameters" else None
    except RefusedSchema:
        return False
    return lower_output(own)[0] == schema if low is None else low.schema == schema and low.mapping is None


def from_message(schema: JSONValue) -> JSONValue:
    """A Schema message as JSON Schema: lower-case types, camel-case keys, null as a type."""
    if not isinstance(schema, dict):
        return schema
    made: JSONObject = {}
    for written, value in schema.items():
        key = to_camel_case(written)
        if key == "type" and isinstance(value, str | int):
            made[key] = value.lower() if isinstance(value, str) else _TYPES.get(value, value)
        elif key == "items":
            made[key] = from_message(value)
        elif key == "anyOf" and isinstance(value, list):
            made[key] = [from_message(member) for member in value]
        elif key == "properties" and isinstance(value, dict):
            made[key] = {name: from_message(value[name]) for name in _ordered(value, schema)}
        elif key not in _MESSAGE_ONLY:
            made[key] = value
    return _nullable(made) if schema.get("nullable") is True else made


def _ordered(properties: JSONObject, schema: JSONObject) -> Iterable[str]:
    """The names of the properties in the order that the message declares, then the others."""
    order = schema.get("propertyOrdering", schema.get("property_ordering"))
    listed = [name for name in order if isinstance(name, str)] if isinstance(order, list) else []
    return dict.fromkeys([*(name for name in listed if name in properties), *properties])


def _nullable(schema: JSONObject) -> JSONObject:
    branches, kind, values = schema.get("anyOf"), schema.get("type"), schema.get("enum")
    if isinstance(branches, list):
        return {**schema, "anyOf": [*branches, {"type": "null"}]}
    if isinstance(kind, str) and kind != "null":
        schema = {**schema, "type": [kind, "null"]}
    if isinstance(values, list):
        schema = {**schema, "enum": [*values, None]}
    return schema
