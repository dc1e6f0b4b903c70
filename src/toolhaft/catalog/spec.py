"""A tool as the plain JSON document of seed 001, and back.

Knows the document's fields; does not know registries or wires.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_core import to_jsonable_python

from toolhaft.core.policy import settle_options
from toolhaft.core.tool import OPTION_NAMES, Tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.expected import known_names
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest

AnyTool = Tool[Any, Any]

_REQUIRED: Final = ("name", "description", "input_schema")
_FIELDS: Final = (*_REQUIRED, "output_schema", *OPTION_NAMES)


def spec_of(tool: AnyTool) -> JSONObject:
    """The seed's document: name, description, input schema, and metadata and examples where there are any."""
    spec: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": {
            "type": "object",
            "properties": {},
            **cast("JSONObject", copy.deepcopy(tool.input_schema)),
        },
    }
    if tool.when_to_use:
        spec["when_to_use"] = tool.when_to_use
    if tool.examples:
        spec["examples"] = _examples(tool)
    if tool.metadata:
        spec["metadata"] = cast("JSONValue", to_jsonable_python(tool.metadata))
    return spec


def full_spec_of(tool: AnyTool) -> JSONObject:
    """The same with everything else that the tool says of itself, as far as it differs from the defaults."""
    spec = spec_of(tool)
    if tool.output_schema is not None:
        spec["output_schema"] = cast("JSONValue", copy.deepcopy(tool.output_schema))
    for name, default in settle_options({}).items():
        value = getattr(tool, name)
        if name not in spec and value != default:
            spec[name] = cast("JSONValue", to_jsonable_python(value))
    return spec


def _examples(tool: AnyTool) -> list[JSONValue]:
    """Each example without the parts that it leaves empty, as the seed writes them."""
    found: list[JSONValue] = []
    for example in tool.examples:
        written: JSONObject = {"description": example.description} if example.description else {}
        written["input"] = cast("JSONValue", to_jsonable_python(example.input))
        if example.output is not None:
            written["output"] = cast("JSONValue", to_jsonable_python(example.output))
        found.append(written)
    return found


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
    for field in _REQUIRED:
        if field not in document:
            return f"Missing required field '{field}'"
    for field in ("name", "description"):
        if not isinstance(document[field], str) or not cast("str", document[field]).strip():
            return f"Field '{field}' must be a non-empty string"
    return _schema_problem(document["input_schema"]) or _unknown_field(document) or _deep_problem(document)


def _unknown_field(document: Mapping[str, object]) -> str | None:
    for key in document:
        if key not in _FIELDS:
            close = nearest(str(key), _FIELDS)
            return f"Unknown field '{key}'" + (f"; did you mean '{close}'?" if close else "")
    return None


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
