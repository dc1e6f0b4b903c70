"""The tool `file_info`: whether a path exists, and whether it is a file or a directory."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import FileKindError, FileMissingError
from toolhaft.resources.file_errors import display
from toolhaft.toolbox.files.call_files import call_filesystem
from toolhaft.toolbox.untrusted_text import counted


def _describe(input: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path = cast("str", input["path"])
    size, kind = 0, ""
    with call_filesystem(context) as files:
        try:
            about = files.stat(path)
        except FileMissingError:
            description = "there is nothing"
        except FileKindError:
            kind, description = "other", "neither a file nor a directory: a pipe, a socket or a device"
        else:
            kind, size = about.kind, about.size_bytes
            description = "a directory" if kind == "directory" else f"a file of {counted(size, 'byte')}"
    value: dict[str, object] = {
        "exists": bool(kind),
        "is_file": kind == "file",
        "is_directory": kind == "directory",
        "size": size,
    }
    return ToolResult(message=f"{display(path)}: {description}.", value=value)


file_info: Final = create_tool(
    ToolConfig(
        name="file_info",
        title="File info",
        description="Say whether a file or directory exists, and how large the file is.",
        when_to_use="Before reading or overwriting a path that may not exist.",
        input_schema={
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Path of a file or directory"}},
            "required": ["path"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "exists": {"type": "boolean"},
                "is_file": {"type": "boolean"},
                "is_directory": {"type": "boolean"},
                "size": {"type": "integer", "description": "Bytes; 0 for a directory"},
            },
            "required": ["exists", "is_file", "is_directory", "size"],
            "additionalProperties": False,
        },
        execute=_describe,
        effect="read",
        timeout_s=5,
        examples=[
            ToolExample(
                description="A file that is there",
                input={"path": "readme.md"},
                output={"exists": True, "is_file": True, "is_directory": False, "size": 120},
            ),
            ToolExample(
                description="One that is not",
                input={"path": "nowhere.txt"},
                output={"exists": False, "is_file": False, "is_directory": False, "size": 0},
            ),
        ],
        tags=["files"],
    )
)
