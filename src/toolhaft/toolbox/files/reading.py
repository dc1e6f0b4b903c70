"""The tool `read_file`: the exact content of a text file, and its encoding."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import ToolExecutionError
from toolhaft.resources.file_errors import display
from toolhaft.toolbox.files.call_files import LONG_OUTPUT, call_filesystem, hidden_note
from toolhaft.toolbox.files.lines import skip_lines
from toolhaft.toolbox.text_encoding import DecodedText, NotTextError, decode_text
from toolhaft.toolbox.untrusted_text import counted, untrusted_result

MAX_BYTES: Final = 2_000_000
"""Of a larger file, only the beginning is returned."""


def _read(input: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path = cast("str", input["path"])
    with call_filesystem(context) as files:
        size = files.stat(path).size_bytes
        data = files.read_bytes(path, limit=MAX_BYTES + 1)
    size = max(size, len(data))
    try:
        if len(data) == size <= MAX_BYTES:
            return _result(path, size, decode_text(data))
        return _beginning(path, size, data[:MAX_BYTES])
    except NotTextError as error:
        raise ToolExecutionError(f"Not a text file: {display(path)}: {error}") from error


def _beginning(path: str, size: int, data: bytes) -> ToolResult[dict[str, object]]:
    """The first whole lines of a large file."""
    decoded = decode_text(data, is_whole=False)
    # counts lines in the same bytes as file_reader does
    body, codec = (decoded.text.encode(), "utf-8") if decoded.is_wide else (data, decoded.codec)
    lines, end = skip_lines(body, len(body), is_last=False)
    if not lines:  # from a filesystem that returns less than one long line at a time
        return _result(path, size, decoded, "cut: the beginning of its first line; read it with file_reader")
    advice = f"cut: its first {counted(lines, 'line')}; continue with file_reader, offset {lines}"
    return _result(path, size, decoded._replace(text=body[:end].decode(codec)), advice)


def _result(path: str, size: int, decoded: DecodedText, advice: str = "") -> ToolResult[dict[str, object]]:
    if not advice and len(decoded.text) > LONG_OUTPUT:
        advice = "it is long; if you do not see its end, page through it with file_reader"
    notes = (f"{counted(size, 'byte')}, {decoded.note}", advice, hidden_note(decoded.text))
    return untrusted_result({"content": decoded.text, "size": size}, display(path), *filter(None, notes))


read_file: Final = create_tool(
    ToolConfig(
        name="read_file",
        title="Read file",
        description="Read a text file.",
        when_to_use="To see the whole content of a text file; use file_reader to page through a long one.",
        input_schema={
            "type": "object",
            "properties": {"path": {"type": "string", "description": "File path to read"}},
            "required": ["path"],
        },
        output_schema={
            "type": "object",
            "properties": {"content": {"type": "string"}, "size": {"type": "integer"}},
        },
        execute=_read,
        effect="read",
        timeout_s=5,
        examples=[
            ToolExample(
                description="Read a note",
                input={"path": "notes/today.txt"},
                output={"content": "Buy tea.\n", "size": 9},
            )
        ],
        tags=["files"],
    )
)
