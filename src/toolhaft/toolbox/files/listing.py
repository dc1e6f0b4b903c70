"""list_directory: what is in a directory, named from there.

Knows how much of it is told; does not know where files are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.resources.refusals import shown
from toolhaft.toolbox.files.notes import MUCH, counted, hidden_in_names
from toolhaft.toolbox.files.reach import Reached
from toolhaft.toolbox.outside import from_outside

MOST_ENTRIES: Final = 10_000
_AROUND: Final = 40
"""Characters that are written for an entry beside its name, about."""


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
    is_cut = bool(getattr(found, "is_cut", False))  # a filesystem of somebody's own may give a plain list
    has_below = recursive and any(entry.kind == "directory" for entry in found)
    notes += filter(None, (_advice(names, is_cut=is_cut, has_below=has_below), hidden_in_names(names)))
    return from_outside({"entries": entries}, f"the names in {shown(path)}", *notes)


def _advice(names: Sequence[str], *, is_cut: bool, has_below: bool) -> str:
    """How to reach what is not listed or not shown; empty where all is."""
    if not is_cut and sum(map(len, names)) + _AROUND * len(names) <= MUCH:
        return ""
    ways: list[str] = []
    if has_below:
        ways.append("list the directories in it one by one")
    if not any("/" in name for name in names):  # it holds too many itself, and there is no other list of them
        ways.append("file_info and read_file find files by name")
    state = "cut: there are more" if is_cut else "it is long, and you may not see its end"
    return "; ".join((state, *ways))


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
