"""What a prompt says now, as the fields of a file that somebody will edit.

Knows nodes and tools; does not know where the file goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from toolhaft.core.conversion import AnyTool
from toolhaft.prompt.overrides.digests import section_digest, tool_digest
from toolhaft.prompt.tree import Node
from toolhaft.prompt.troubles import dotted
from toolhaft.schema.json_text import NotJSONError, object_to_text, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue


def overridable(prompt: str, nodes: Iterable[Node]) -> JSONObject:
    """Every text that may be overridden, as it is, with its digest; null stands for what is not said yet."""
    found = [node for root in nodes for node in root.walk()]
    sections: JSONObject = {
        dotted(node.path): _section(node)
        for node in found
        if node.section.accepts_overrides and (node.template, node.summary) != (None, None)
    }
    tools: JSONObject = {}
    for node in found:
        for tool in node.tools:
            # of several with one name the first is shown: a file has one place for it
            if tool.accepts_overrides and tool.name not in tools:
                tools[tool.name] = _tool(tool)
    return {"prompt": prompt, "sections": sections, "tools": tools}


def _section(node: Node) -> JSONObject:
    entry: JSONObject = {"digest": section_digest(node)}
    if node.template is not None:
        entry["text"] = node.template
    if node.summary is not None:
        entry["summary"] = node.summary
    return entry


def _tool(tool: AnyTool) -> JSONObject:
    properties = cast("JSONObject", tool.input_schema.get("properties", {}))
    parameters: JSONObject = {
        name: schema.get("description") or None
        for name, schema in properties.items()
        if isinstance(schema, dict)
    }
    entry: JSONObject = {"digest": tool_digest(tool), "description": tool.description}
    if parameters:
        entry["parameters"] = parameters
    entry["examples"] = _examples(tool)
    return entry


def _examples(tool: AnyTool) -> JSONValue:
    """The examples as JSON; null where JSON cannot say them, so that they stay as they are."""
    said = [
        {"description": example.description, "input": example.input, "output": example.output}
        for example in tool.examples
    ]
    try:
        return read_json(object_to_text(said)) or None
    except (NotJSONError, ValueError):
        return None
