"""The tool `list_directory`: the files and directories in a directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.resources.file_errors import display
from toolhaft.toolbox.files.call_files import LONG_OUTPUT, call_filesystem, hidden_names_note
from toolhaft.toolbox.untrusted_text import counted, untrusted_result

MAX_ENTRIES: Final = 10_000
_ENTRY_OVERHEAD: Final = 40
"""About how many characters JSON adds to the name of each entry."""


def _list(input: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path, recursive = cast("str", input["path"]), cast("bool", input.get("recursive", False))
    with call_filesystem(context, is_folder=True) as files:
        found = files.list(path, recursive=recursive, limit=MAX_ENTRIES)
        place = files.stat(path).path if recursive else ""
    skipped = 0 if place == "." else len(place) + 1
    names = [entry.path[skipped:] if recursive else entry.path.rpartition("/")[2] for entry in found]
    entries: list[dict[str, object]] = [
        {"name": name, "type": entry.kind, "size": entry.size_bytes}
        for name, entry in zip(names, found, strict=True)
    ]
    notes = [counted(len(entries), "entry", "entries")]
    is_cut = bool(getattr(found, "is_cut", False))  # a user's filesystem may return a plain list
    has_below = recursive and any(entry.kind == "directory" for entry in found)
    notes += filter(None, (_advice(names, is_cut=is_cut, has_below=has_below), hidden_names_note(names)))
    return untrusted_result({"entries": entries}, f"the names in {display(path)}", *notes)


def _advice(names: Sequence[str], *, is_cut: bool, has_below: bool) -> str:
    """How to find entries that are not listed, or that the model does not get; empty if there are none."""
    if not is_cut and sum(map(len, names)) + _ENTRY_OVERHEAD * len(names) <= LONG_OUTPUT:
        return ""
    ways: list[str] = []
    if has_below:
        ways.append("list the directories in it one by one")
    if not any("/" in name for name in names):  # all of them are in this one directory
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
                description="The top directory",
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
