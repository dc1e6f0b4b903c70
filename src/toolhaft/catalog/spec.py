"""A tool as the plain JSON document of seed 001, and back, with the seed's own checks in its own words.

Does not know registries; what the document holds is the native format's to say.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

from toolhaft.core.conversion import AnyTool
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError
from toolhaft.formats.native import REQUIRED, document_of, full_document_of, unknown_field
from toolhaft.schema.expected import known_names
from toolhaft.schema.json_value import JSONObject


def spec_of(tool: AnyTool) -> JSONObject:
    """The seed's document of a tool, yours to change."""
    return copy.deepcopy(document_of(tool))


def full_spec_of(tool: AnyTool) -> JSONObject:
    """The same with everything else that the tool says of itself, as far as it differs from the defaults."""
    return copy.deepcopy(full_document_of(tool))


def tool_from_spec(spec: object, place: str = "") -> AnyTool:
    """A declaration, without a handler, from its document.

    Raises:
        DefinitionError: where the document is not sound.
    """
    trouble = problem_of(spec)
    if trouble is not None:
        name = cast("Mapping[str, object]", spec).get("name") if isinstance(spec, Mapping) else None
        raise DefinitionError(trouble, tool=name if isinstance(name, str) else "", place=place)
    return Tool(**cast("Mapping[str, Any]", spec))


def problem_of(spec: object) -> str | None:
    """What is wrong with a document, in one sentence; None if it is sound."""
    if not isinstance(spec, Mapping):
        return f"A tool spec must be an object, not {type(spec).__name__}"
    document = cast("Mapping[str, object]", spec)
    for field in REQUIRED:
        if field not in document:
            return f"Missing required field '{field}'"
    for field in ("name", "description"):
        if not isinstance(document[field], str) or not cast("str", document[field]).strip():
            return f"Field '{field}' must be a non-empty string"
    return _schema_problem(document["input_schema"]) or _unknown_field(document) or _deep_problem(document)


def _unknown_field(document: Mapping[str, object]) -> str | None:
    unknown = unknown_field(str(key) for key in document)
    return None if unknown is None else f"Unknown field {unknown}"


def _schema_problem(schema: object) -> str | None:
    """The seed's own checks, in its own words."""
    if not isinstance(schema, Mapping) or cast("Mapping[str, object]", schema).get("type") != "object":
        return "input_schema must be of type 'object'"
    fields = cast("Mapping[str, object]", schema)
    properties = fields.get("properties")
    if not isinstance(properties, Mapping):
        return "input_schema must have an object 'properties'"
    required = fields.get("required", [])
    if not isinstance(required, list):
        return "input_schema 'required' must be a list of names"
    known = known_names(cast("JSONObject", fields), cast("JSONObject", fields))
    for name in cast("list[object]", required):
        if name not in known:
            return f"Required parameter '{name}' not found in properties"
    return None


def _deep_problem(document: Mapping[str, object]) -> str | None:
    """What only making the tool would find: its name, its schemas against the metaschema, its options."""
    try:
        Tool(**cast("Mapping[str, Any]", document))
    except DefinitionError as error:
        return f"{error.place}: {error.problem}" if error.place else error.problem
    return None
