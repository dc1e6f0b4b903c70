"""write_file: a text file, written as a whole or not at all.

Knows what is told of a write; how it is made, kept and undone is the filesystem's.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import ToolExecutionError
from toolhaft.resources.refusals import shown
from toolhaft.toolbox.files.notes import counted
from toolhaft.toolbox.files.reach import Reached


def _write(asked: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path, content = cast("str", asked["path"]), cast("str", asked["content"])
    with Reached(context) as files:
        was_there = files.exists(path)
        if path.endswith(("/", "/.")) and not was_there:
            raise ToolExecutionError(f"Is a directory: {shown(path)}; give the path of a file")
        written = files.write(path, content)
    done = "Overwrote" if was_there else "Created"
    return ToolResult(
        message=f"{done} {shown(path)}: {counted(written, 'byte')}, UTF-8.",
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
