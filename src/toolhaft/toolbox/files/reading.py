"""read_file: the content of a text file, exact, with what it was read as.

Knows texts and how much of one is given at once; does not know where files are kept.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.at_once import at_once
from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.ports import Filesystem, Ready
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import FileKindError, FileTooLargeError, ToolExecutionError
from toolhaft.resources.at_once import read_at_once
from toolhaft.resources.refusals import shown
from toolhaft.toolbox.files import folded
from toolhaft.toolbox.files.encodings import Decoded, NotTextError, all_shown, decode, read_as_utf_8
from toolhaft.toolbox.files.notes import MUCH, counted, hidden_in
from toolhaft.toolbox.files.reach import Reached
from toolhaft.toolbox.outside import from_outside

MOST_BYTES: Final = 2_000_000
"""Of a file, given at once."""


def _read_at_once(asked: dict[str, object], resources: Ready) -> ToolResult[dict[str, object]] | None:
    path = cast("str", asked["path"])
    page = read_at_once(resources.ready(Filesystem), path)
    # what is hidden is named by the handler: that may take long
    if page is None or page.size_bytes > MOST_BYTES or hidden_in(page.content):
        return None
    decoded = all_shown(page.content)
    return None if decoded is None else _answer(path, page.size_bytes, decoded, hidden="")


@at_once(_read_at_once)
def _read(asked: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path = cast("str", asked["path"])
    try:
        with Reached(context) as files:
            size = files.stat(path).size_bytes
            if size <= MOST_BYTES and (whole := _quickly(files, path)) is not None:
                return _answer(path, *whole)
            data = files.read_bytes(path, limit=MOST_BYTES + 1)
        size = max(size, len(data))
        if len(data) == size <= MOST_BYTES:
            return _answer(path, size, decode(data))
        return _cut(path, size, data[:MOST_BYTES])
    except NotTextError as error:
        raise ToolExecutionError(f"Not a text file: {shown(path)}: {error}") from error


def _quickly(files: Filesystem, path: str) -> tuple[int, Decoded] | None:
    """The size and text of a file in UTF-8, as nearly all are; None where its bytes must be looked at."""
    try:
        page = files.read(path)
    except (FileKindError, FileTooLargeError):
        return None
    decoded = None if page.size_bytes > MOST_BYTES else read_as_utf_8(page.content)
    return None if decoded is None else (page.size_bytes, decoded)


def _cut(path: str, size: int, data: bytes) -> ToolResult[dict[str, object]]:
    """The beginning of a large file, so many whole lines as it has room for."""
    decoded = decode(data, is_whole=False)
    # lines are counted in the bytes in which file_reader counts them
    body, codec = (decoded.text.encode(), "utf-8") if decoded.is_wide else (data, decoded.codec)
    lines, end = folded.skip(body, len(body), is_last=False)
    if not lines:  # from a filesystem that gives less at once than one long line has
        return _answer(path, size, decoded, "cut: the beginning of its first line; read it with file_reader")
    told = f"cut: its first {counted(lines, 'line')}; go on with file_reader, offset {lines}"
    return _answer(path, size, decoded._replace(text=body[:end].decode(codec)), told)


def _answer(
    path: str, size: int, decoded: Decoded, advice: str = "", hidden: str | None = None
) -> ToolResult[dict[str, object]]:
    if not advice and len(decoded.text) > MUCH:
        advice = "it is long; if you do not see its end, page through it with file_reader"
    if hidden is None:
        hidden = hidden_in(decoded.text)
    notes = (f"{counted(size, 'byte')}, {decoded.note}", advice, hidden)
    return from_outside({"content": decoded.text, "size": size}, shown(path), *filter(None, notes))


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
