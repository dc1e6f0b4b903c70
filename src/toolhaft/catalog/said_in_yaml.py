"""What a YAML document says of a tool of any door: active, with its endpoint.

Knows tools and the YAML door; does not know files or platforms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from toolhaft.core.conversion import AnyTool
from toolhaft.core.options import Options
from toolhaft.core.tool import OPTION_NAMES, Tool
from toolhaft.define.yaml import YamlTool, parse_tool, write_tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_value import JSONObject, JSONValue

_LEFT_BEHIND: Final = ("isolation", "title")
"""How the tool's own code is run is not the business of whoever calls its endpoint."""
_PLAIN: Final = ("type", "description", "title", "enum", "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The text of a new document."""

    text: str
    endpoint: str
    notes: tuple[str, ...]
    """What the tool has and the document does not say."""


def active_text(tool: AnyTool, *, id: str, url: str) -> Made:
    """The document of a tool, under that id.

    A copy belongs to nobody yet and is private. Where the tool has nothing to run of its own, the copy's
    endpoint is the original's.

    Raises:
        DefinitionError: where YAML cannot say the tool.
    """
    notes: list[str] = []
    source = _source(tool, notes)
    endpoint = source.endpoint or f"{url}/v3/tool/{tool.name}"
    changes: dict[str, object] = {"is_active": True, "endpoint": endpoint}
    if id != tool.name:
        changes |= {"name": id, "owner": None, "created_at": None, "updated_at": None, "share": "private"}
    elif source is not tool:  # an installed one, which is everybody's
        changes["share"] = "public"
    return Made(text=write_tool(source.replace(**changes)), endpoint=endpoint, notes=tuple(notes))


def offered_text(tool: AnyTool, *, endpoint: str, share: str) -> str:
    """The document of a tool that a platform has without anybody having published it.

    What YAML cannot say of a tool is left out: its parameters, where these are it.

    Raises:
        DefinitionError: where YAML cannot even say its name.
    """
    try:
        source = _source(tool, [])
    except DefinitionError:
        source = parse_tool(write_tool(_bare(tool)), f"{tool.name}.yaml")
    nobodys = {"owner": None, "created_at": None, "updated_at": None}
    return write_tool(source.replace(is_active=True, endpoint=endpoint, share=share, **nobodys))


def sayable_text(tool: AnyTool) -> str:
    """The YAML of a tool of any door, as it is.

    Raises:
        DefinitionError: where YAML cannot say the tool.
    """
    return write_tool(tool if isinstance(tool, YamlTool) else _sayable(tool, []))


def sayable(tool: AnyTool) -> tuple[Tool[object, object], tuple[str, ...]]:
    """A tool of any door in words that YAML has, and what it has that these do not say."""
    notes: list[str] = []
    return _sayable(tool, notes), tuple(notes)


def _bare(tool: AnyTool) -> Tool[object, object]:
    nothing: JSONObject = {"type": "object", "properties": {}}
    return Tool(
        name=tool.name, description=tool.description, input_schema=nothing, title=tool.title or tool.name
    )


def _source(tool: AnyTool, notes: list[str]) -> YamlTool[dict[str, object], object]:
    if isinstance(tool, YamlTool):
        return cast("YamlTool[dict[str, object], object]", tool)
    return parse_tool(write_tool(_sayable(tool, notes)), f"{tool.name}.yaml")


def _sayable(tool: AnyTool, notes: list[str]) -> Tool[object, object]:
    """The tool in words that YAML has: wider in places, never narrower.

    The tool itself stands behind the endpoint, so what is left out here is still checked there.
    """
    options = {key: getattr(tool, key) for key in OPTION_NAMES if key not in _LEFT_BEHIND}
    title = tool.title or tool.name.replace("_", " ").replace("-", " ").capitalize()
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=_members(cast("JSONObject", tool.input_schema), notes),
        output_schema=_returns(tool.output_schema, notes),
        **cast("Options", {**options, "title": title}),
    )


def _returns(schema: object, notes: list[str]) -> JSONObject | None:
    """The fields of the output, if all of them can be said: one that is not listed would be left out."""
    said = cast("JSONObject", schema) if isinstance(schema, dict) else {}
    fields = cast("JSONObject", said.get("properties", {}))
    if said.get("type") != "object" or not fields:
        return None
    unsaid = [
        name for name, own in fields.items() if not isinstance(_followed_by(own, said).get("type"), str)
    ]
    if unsaid:
        notes.append(f"what it gives is not listed: no one type for {', '.join(unsaid)}")
        return None
    # what a field holds by default is of no use to whoever reads the output
    bare = {name: {**_followed_by(own, said), "default": None} for name, own in fields.items()}
    return _members({**said, "properties": cast("JSONObject", bare)}, notes)


def _members(schema: JSONObject, notes: list[str]) -> JSONObject:
    required = cast("list[JSONValue]", schema.get("required", []))
    properties = cast("JSONObject", schema.get("properties", {}))
    return {
        "type": "object",
        "properties": {
            name: _member(name, own, schema, is_required=name in required, notes=notes)
            for name, own in properties.items()
        },
        "required": required,
    }


def _member(name: str, own: JSONValue, root: JSONObject, *, is_required: bool, notes: list[str]) -> JSONValue:
    """A property with a type of its own and a description."""
    if not isinstance(own, dict):
        return own
    bare = _without_null(own)
    if bare is not own and own.get("default", ...) is not None:
        notes.append(f"{name}: null cannot be given through the file")
    said = _followed_by(bare, root)
    if _refers(said) or (not is_required and "required" in said):
        notes.append(f"{name}: what is inside it is not written out")
        said = {key: value for key, value in said.items() if key in _PLAIN}
    if said.get("default", ...) is None:
        del said["default"]
    said["description"] = said.get("description") or said.get("title") or name.replace("_", " ")
    return said


def _followed_by(own: JSONValue, root: JSONObject) -> JSONObject:
    """A property with what it refers to written into it."""
    if not isinstance(own, dict):
        return {}
    where = own.get("$ref")
    kept = cast("JSONObject", root.get("$defs", {}))
    found = kept.get(where.removeprefix("#/$defs/")) if isinstance(where, str) else None
    inside = found if isinstance(found, dict) else {}
    return {**inside, **{key: value for key, value in own.items() if key != "$ref"}}


def _refers(value: JSONValue) -> bool:
    """True if a schema leads to another place, which a file does not have."""
    if isinstance(value, dict):
        return "$ref" in value or any(map(_refers, value.values()))
    return isinstance(value, list) and any(map(_refers, value))


def _without_null(own: JSONObject) -> JSONObject:
    """A property that may also be null, without that."""
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
