"""Writes any tool as a YAML document, with notes on what YAML cannot express."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from toolhaft.catalog.published import AnyYamlTool
from toolhaft.core.conversion import AnyTool
from toolhaft.core.options import Options
from toolhaft.core.tool import OPTION_NAMES, Tool
from toolhaft.define.running.platform_settings import RUN_PATH
from toolhaft.define.yaml import YamlTool, parse_tool, write_tool
from toolhaft.define.yaml.fields import MAX_DESCRIPTION
from toolhaft.errors import DefinitionError
from toolhaft.formats.description_text import description_with_result
from toolhaft.schema.json_value import JSONObject, JSONValue

_OMITTED_OPTIONS: Final = ("isolation", "stall_s", "title")
"""`isolation` and `stall_s` concern the tool's own code, not its endpoint; the title is set separately."""
_SIMPLE_KEYWORDS: Final = ("type", "description", "title", "enum", "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivatedYaml:
    """The text of a new YAML document, its endpoint if anything runs the tool, and notes."""

    text: str
    endpoint: str | None
    is_run: bool
    """True if something runs the tool."""
    is_active: bool
    """True if something runs the tool and it is not switched off."""
    notes: tuple[str, ...]
    """What the document leaves out of the tool."""


def activated_yaml(tool: AnyTool, *, id: str, url: str) -> ActivatedYaml:
    """The document of a tool under that id, with the endpoint that runs it.

    A copy under a new id has no owner and is private; with a `run`, it needs no endpoint. Otherwise, the
    endpoint of an installed tool is that on the platform at `url`. A tool that is switched off stays so, and
    one that nothing runs has no endpoint.

    Raises:
        DefinitionError: if YAML cannot express the tool.
    """
    notes: list[str] = []
    source = _as_yaml_tool(tool, notes)
    is_run = tool.is_active or source.run is not None or source.endpoint is not None
    endpoint = source.endpoint or f"{url}{RUN_PATH}{tool.name}" if is_run else None
    if id != tool.name and source.run is not None:
        endpoint = None
    is_off = source.is_active_in_file is False
    changes: dict[str, object] = {"is_active": False if is_off else is_run or None, "endpoint": endpoint}
    if id != tool.name:
        changes |= {"name": id, "owner": None, "created_at": None, "updated_at": None, "share": "private"}
    elif source is not tool:  # an installed tool, which is public
        changes["share"] = "public"
    return ActivatedYaml(
        text=write_tool(source.replace(**changes)),
        endpoint=endpoint,
        is_run=is_run,
        is_active=is_run and not is_off,
        notes=tuple(notes),
    )


def installed_yaml(tool: AnyTool, *, endpoint: str, share: str) -> str:
    """The document of a tool that is installed on a platform and was not published.

    If YAML cannot express its parameters, they are left out.

    Raises:
        DefinitionError: if YAML cannot express its name or description.
    """
    try:
        source = _as_yaml_tool(tool, [])
    except DefinitionError:
        source = parse_tool(write_tool(_without_parameters(tool)), f"{tool.name}.yaml")
    no_owner = {"owner": None, "created_at": None, "updated_at": None}
    return write_tool(source.replace(is_active=True, endpoint=endpoint, share=share, **no_owner))


def tool_yaml(tool: AnyTool) -> str:
    """The document of a tool, unchanged.

    Raises:
        DefinitionError: if YAML cannot express the tool.
    """
    return write_tool(tool if isinstance(tool, YamlTool) else _simplify(tool, []))


def yaml_compatible(tool: AnyTool) -> tuple[AnyTool, tuple[str, ...]]:
    """The tool with schemas that YAML can express, and notes on what was left out."""
    notes: list[str] = []
    return _simplify(tool, notes), tuple(notes)


def _without_parameters(tool: AnyTool) -> AnyTool:
    empty: JSONObject = {"type": "object", "properties": {}}
    return Tool(
        name=tool.name, description=tool.description, input_schema=empty, title=tool.title or tool.name
    )


def _as_yaml_tool(tool: AnyTool, notes: list[str]) -> AnyYamlTool:
    if isinstance(tool, YamlTool):
        return cast("AnyYamlTool", tool)
    return parse_tool(write_tool(_simplify(tool, notes)), f"{tool.name}.yaml")


def _simplify(tool: AnyTool, notes: list[str]) -> AnyTool:
    """The tool with schemas that YAML can express: they may accept more, never less.

    The tool at the endpoint still checks everything that is left out here.
    """
    options = {key: getattr(tool, key) for key in OPTION_NAMES if key not in _OMITTED_OPTIONS}
    if tool.timeout_s is None:
        notes.append("the file has the default time limit: a request to an endpoint cannot beat")
    title = tool.title or tool.name.replace("_", " ").replace("-", " ").capitalize()
    return Tool(
        name=tool.name,
        description=_description(tool, notes),
        input_schema=_object_schema(cast("JSONObject", tool.input_schema), notes),
        output_schema=_output_schema(tool.output_schema, notes),
        **cast("Options", {**options, "title": title}),
    )


def _description(tool: AnyTool, notes: list[str]) -> str:
    """The description with that of the result as a whole, for which a file has no field."""
    whole = description_with_result(tool)
    if len(whole) <= MAX_DESCRIPTION or whole == tool.description:
        return whole
    notes.append(f"its result is not described: the description may have {MAX_DESCRIPTION:,} characters")
    return tool.description


def _output_schema(schema: object, notes: list[str]) -> JSONObject | None:
    """The output fields, if YAML can express them all: a field that is not listed would be dropped."""
    declared = cast("JSONObject", schema) if isinstance(schema, dict) else {}
    fields = cast("JSONObject", declared.get("properties", {}))
    if declared.get("type") != "object" or not fields:
        return None
    resolved = {name: _resolve(field, declared) for name, field in fields.items()}
    untyped = [name for name, field in resolved.items() if not isinstance(field.get("type"), str)]
    if untyped:
        notes.append(f"its result is not described: no single type for {', '.join(untyped)}")
        return None
    # the default of an output field means nothing to a reader
    without_defaults: JSONObject = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in resolved.items()
    }
    return _object_schema({**declared, "properties": without_defaults}, notes)


def _object_schema(schema: JSONObject, notes: list[str]) -> JSONObject:
    required = cast("list[JSONValue]", schema.get("required", []))
    properties = cast("JSONObject", schema.get("properties", {}))
    return {
        "type": "object",
        "properties": {
            name: _property(name, own, schema, is_required=name in required, notes=notes)
            for name, own in properties.items()
        },
        "required": required,
    }


def _property(
    name: str, own: JSONValue, root: JSONObject, *, is_required: bool, notes: list[str]
) -> JSONValue:
    """A property with its own type and a description."""
    if not isinstance(own, dict):
        return own
    not_null = _without_null(own)
    if not_null is not own and own.get("default", ...) is not None:
        notes.append(f"{name}: the file does not allow null")
    schema = _resolve(not_null, root)
    if _has_reference(schema) or ("required" in schema and is_required is ("default" in schema)):
        notes.append(f"{name}: its inner schema is left out")
        schema = {key: value for key, value in schema.items() if key in _SIMPLE_KEYWORDS}
    schema["description"] = schema.get("description") or schema.get("title") or name.replace("_", " ")
    return schema


def _resolve(own: JSONValue, root: JSONObject) -> JSONObject:
    """A property with the schema that it refers to merged in."""
    if not isinstance(own, dict):
        return {}
    reference = own.get("$ref")
    definitions = cast("JSONObject", root.get("$defs", {}))
    found = definitions.get(reference.removeprefix("#/$defs/")) if isinstance(reference, str) else None
    referred = found if isinstance(found, dict) else {}
    return {**referred, **{key: value for key, value in own.items() if key != "$ref"}}


def _has_reference(value: JSONValue) -> bool:
    """True if a schema refers to a definition, which a YAML file does not have."""
    if isinstance(value, dict):
        return "$ref" in value or any(map(_has_reference, value.values()))
    return isinstance(value, list) and any(map(_has_reference, value))


def _without_null(own: JSONObject) -> JSONObject:
    """A property that may be null, without the null."""
    choices = own.get("anyOf")
    if isinstance(choices, list):
        kept = [choice for choice in choices if choice != {"type": "null"}]
        if len(kept) == 1 and len(choices) > 1 and isinstance(kept[0], dict):
            return {**kept[0], **{key: value for key, value in own.items() if key != "anyOf"}}
    types = own.get("type")
    if isinstance(types, list):
        others = [one for one in types if one != "null"]
        return {**own, "type": others[0]} if len(others) == 1 else own
    return own
