"""Checks that a raw JSON Schema is valid and self-contained, and compiles its validator."""

from collections.abc import Iterable
from typing import Any, Final, cast

import jsonschema_rs

from toolhaft.errors import DefinitionError
from toolhaft.schema import string_formats
from toolhaft.schema.bounds import pattern_engine, with_known_patterns
from toolhaft.schema.json_schema import (
    TYPES,
    all_schemas,
    applied_schemas,
    argument_schemas,
    subschemas,
    types_of,
)
from toolhaft.schema.json_text import object_to_text, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import render_path, show

MAX_SCHEMA_CHARS: Final = 2_000_000
_OPENING_KEYWORDS: Final = ("additionalProperties", "patternProperties", "unevaluatedProperties")


def copy_schema(schema: object, place: str) -> JSONValue:
    """Copy a schema by writing and reading it as JSON.

    Raises:
        DefinitionError: if it is not JSON, too large or nested too deep.
    """
    try:
        text = object_to_text(schema)
        if len(text) <= MAX_SCHEMA_CHARS:
            return read_json(text)
    except ValueError as error:
        raise DefinitionError(
            f"the schema is not JSON: {error!s:.200}",
            place=place,
            fix="use only what JSON has, at most 200 levels deep",
        ) from error
    raise DefinitionError(
        f"the schema has {len(text)} characters", place=place, fix="keep it under 2,000,000"
    )


def object_root(schema: JSONValue, place: str) -> JSONObject:
    """Return a schema that admits an object, with `type: object` at its root: arguments always are one.

    Raises:
        DefinitionError: if it does not admit an object.
    """
    if not isinstance(schema, dict):
        raise DefinitionError(
            "the schema must be an object", place=place, fix='start with {"type": "object", ...}'
        )
    if schema.get("type") != "object":
        if "object" not in types_of(schema, schema):
            raise DefinitionError(
                f"{place} must be of type 'object'"
                + (f", not {show(schema['type'])}" if "type" in schema else ""),
                place=place,
                fix='write "type": "object"',
            )
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    return schema


def declare_names(root: JSONObject, known: Iterable[str]) -> None:
    """Declare the known names of the root, and what a closed object requires, of any type, in place."""
    declared = argument_schemas(root)
    _declare(root, [name for name in known if name not in declared])
    nodes = [root]
    for node in nodes:  # grows; in a condition, a declaration would change which values are refused
        nodes += [child for key, child in subschemas(node) if key not in ("if", "not")]
        required = node.get("required")
        if isinstance(required, list) and any(node.get(key) is False for key in _OPENING_KEYWORDS):
            _declare(node, required)


def _declare(node: JSONObject, names: Iterable[JSONValue]) -> None:
    own = node.get("properties", {})
    missing = [name for name in names if isinstance(own, dict) and isinstance(name, str) and name not in own]
    if missing:
        node["properties"] = {**cast("JSONObject", own), **{name: {} for name in missing}}


def is_open(root: JSONObject) -> bool:
    """True if the schema allows keys that it does not name."""
    return any(
        key in node and node[key] is not False
        for node in applied_schemas(root, root)
        for key in _OPENING_KEYWORDS
    )


def compile_validator(schema: JSONValue, place: str) -> jsonschema_rs.Validator:
    """Compile a validator that checks formats, matches patterns in bounded time and fetches no references.

    Raises:
        DefinitionError: if the schema is not valid, or refers outside itself.
    """
    options: dict[str, Any] = {
        "validate_formats": True,
        "offline": True,
        "pattern_options": pattern_engine(schema, place),
        "email_options": string_formats.EMAIL_OPTIONS,
    }
    used = [node.get("format") for node in all_schemas(schema)]
    custom = {name: check for name, check in string_formats.OWN_FORMATS.items() if name in used}
    if custom:  # only when used: each custom format slows down every check by half
        options["formats"] = custom
    try:
        return jsonschema_rs.validator_for(cast("dict[str, Any]", with_known_patterns(schema)), **options)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise _explain(error, place) from error


def _explain(error: Exception, place: str) -> DefinitionError:
    message = str(getattr(error, "message", error)).split("\n", 1)[0]
    path = cast("list[str | int]", getattr(error, "instance_path", []))
    where = f"{place} at {render_path(tuple(path))}" if path else place
    if "Resource" in message or "Unresolvable" in message or "etriev" in message:
        return DefinitionError(
            f"a reference leads outside the schema: {message:.200}",
            place=where,
            fix="put the definition under $defs",
        )
    if "meta-schema" in message:
        return DefinitionError(
            f"the draft is not known: {message:.200}", place=where, fix="leave $schema out, or name 2020-12"
        )
    if '"regex"' in message:
        return DefinitionError(
            f"the pattern cannot be used: {message:.200}",
            place=where,
            fix="write a regular expression of ECMAScript, and a shorter one if it is long",
        )
    if path and path[-1] == "type":
        return DefinitionError(
            f"{show(getattr(error, 'instance', None))} is not a type",
            place=where,
            fix=f"use one of {', '.join(sorted(TYPES))}",
        )
    return DefinitionError(
        f"the schema is not valid: {message:.200}", place=where, fix="see JSON Schema 2020-12"
    )
