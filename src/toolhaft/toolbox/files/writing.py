"""The tool `write_file`: creates a text file or replaces its content, as a whole or not at all."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import ToolExecutionError
from toolhaft.resources.file_errors import display
from toolhaft.toolbox.files.call_files import call_filesystem
from toolhaft.toolbox.untrusted_text import counted


def _write(input: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path, content = cast("str", input["path"]), cast("str", input["content"])
    with call_filesystem(context) as files:
        existed = files.exists(path)
        if path.endswith(("/", "/.")) and not existed:
            raise ToolExecutionError(f"Is a directory: {display(path)}; give the path of a file")
        written = files.write(path, content)
    done = "Overwrote" if existed else "Created"
    return ToolResult(
        message=f"{done} {display(path)}: {counted(written, 'byte')}, UTF-8.",
        value={"bytesWritten": written},
    )


write_file: Final = create_tool(
    ToolConfig(
        name="write_file",
        title="Write file",
        description="Write a text file: create it, or replace its whole content.",
        when_to_use="To save text. Directories on the way are made; read a file first to change part of it.",
        input_schema={
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"],
        },
        output_schema={"type": "object", "properties": {"bytesWritten": {"type": "integer"}}},
        execute=_write,
        effect="reversible",
        timeout_s=5,
        retryable=False,
        examples=[
            ToolExample(
                description="Save a note",
                input={"path": "notes/today.txt", "content": "Buy tea.\n"},
                output={"bytesWritten": 9},
            )
        ],
        tags=["files"],
    )
)
