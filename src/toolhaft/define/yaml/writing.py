"""Writes a tool of any door as the text or the fields of a YAML file.

Knows texts; does not know files.
"""

from __future__ import annotations

from typing import TypeVar, cast

from toolhaft.core.conversion import to_tool
from toolhaft.core.tool import Tool
from toolhaft.define.yaml.document import Node, read_document
from toolhaft.define.yaml.events import Flaw
from toolhaft.define.yaml.fields import FIELDS
from toolhaft.define.yaml.parsing import make
from toolhaft.define.yaml.said import cannot_say, fields_of, has_same_schemas, is_same, words_of
from toolhaft.define.yaml.text import change_text, write_mapping
from toolhaft.define.yaml.tool import YamlTool
from toolhaft.schema.json_value import JSONObject

ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")


def write_tool(tool: object) -> str:
    """The text of a YAML file for a tool of any door, as `dump_tool` writes it.

    Raises:
        DefinitionError: where the tool cannot be said in YAML, telling what.
    """
    made = to_tool(tool)
    text = _write(made)
    _check_said(made, text)
    return text


def tool_fields(tool: object) -> JSONObject:
    """The fields of a YAML file for a tool of any door, as JSON, in the file's order; defaults are left out.

    Raises:
        DefinitionError: with everything about the tool that has no place in YAML.
    """
    return fields_of(to_tool(tool))


def _write(tool: Tool[ParamsT, ResultT]) -> str:
    if not isinstance(tool, YamlTool):
        return write_mapping(fields_of(tool))
    text = tool.text
    root, _ = read_document(text)
    before = words_of(cast("Tool[object, object]", make(text, tool.source, [], None)))
    changes = {key: value for key, value in words_of(tool).items() if not is_same(value, before[key])}
    return change_text(text, cast("Node", root), changes, tuple(FIELDS)) if changes else text


def _check_said(tool: Tool[ParamsT, ResultT], text: str) -> None:
    """Nothing is written that does not read back as the same tool."""
    flaws: list[Flaw] = []
    again = make(text, tool.source, flaws, None)
    if again is None:
        raise cannot_say(tool.name, [flaw for flaw in flaws if flaw.level == "error"])
    told, read = words_of(tool), words_of(again)
    changed = [key for key, value in told.items() if not is_same(value, read[key])]
    if not has_same_schemas(tool, cast("Tool[ParamsT, ResultT]", again)):
        changed.append("parameters")
    if changed:
        fix = "write the file by hand, without anchors around that"
        raise cannot_say(
            tool.name, [Flaw(line=0, what=f"{key} would read back as another", fix=fix) for key in changed]
        )
