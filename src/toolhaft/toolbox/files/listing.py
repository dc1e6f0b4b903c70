"""list_directory: what is in a directory, named from there.

Knows how much of it is told; does not know where files are kept.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.toolbox.files.notes import counted, hidden_in_names
from toolhaft.toolbox.files.reach import Reached
from toolhaft.toolbox.outside import from_outside

MOST_ENTRIES: Final = 10_000


def _list(asked: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path, recursive = cast("str", asked["path"]), cast("bool", asked.get("recursive", False))
    with Reached(context) as files:
        found = files.list(path, recursive=recursive, limit=MOST_ENTRIES)
        place = files.stat(path).path if recursive else ""
    skipped = 0 if place == "." else len(place) + 1
    names = [entry.path[skipped:] if recursive else entry.path.rpartition("/")[2] for entry in found]
    entries: list[dict[str, object]] = [
        {"name": name, "type": entry.kind, "size": entry.size_bytes}
        for name, entry in zip(names, found, strict=True)
    ]
    notes = [counted(len(entries), "entry", "entries")]
    if getattr(found, "is_cut", False):  # a filesystem of somebody's own may give a plain list
        notes.append("cut: there are more; list a directory inside it to see them")
    hidden = hidden_in_names(names)
    if hidden:
        notes.append(hidden)
    return from_outside({"entries": entries}, f"the names in {path}", *notes)


list_directory: Final = create_tool(
    ToolConfig(
        name="list_directory",
        title="List directory",
        description="List the files and directories in a directory.",
        when_to_use="To see what is there. The directory to begin with is '.'; names are relative to path.",
        input_schema={
            "type": "object",
            "properties": {"path": {"type": "string"}, "recursive": {"type": "boolean", "default": False}},
            "required": ["path"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "entries": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "type": {"enum": ["file", "directory"]},
                            "size": {"type": "integer"},
                        },
                    },
                }
            },
        },
        execute=_list,
        effect="read",
        timeout_s=5,
        examples=[
            ToolExample(
                description="What is at hand",
                input={"path": "."},
                output={
                    "entries": [
                        {"name": "notes", "type": "directory", "size": 0},
                        {"name": "readme.md", "type": "file", "size": 120},
                    ]
                },
            )
        ],
        tags=["files"],
    )
)
