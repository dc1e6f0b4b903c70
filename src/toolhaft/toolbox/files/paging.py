"""The tool `file_reader`: some lines of a text file, found without loading the whole file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.ports import Filesystem
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import FileTooLargeError, ToolExecutionError, ToolValidationError
from toolhaft.resources.file_errors import display
from toolhaft.toolbox.files.call_files import call_filesystem, hidden_note
from toolhaft.toolbox.files.lines import LONGEST_LINE, skip_lines, take_lines
from toolhaft.toolbox.text_encoding import (
    SAMPLE_BYTES,
    DecodedText,
    NotTextError,
    decode_text,
    decode_text_part,
    detect_wide_codec,
    refuse_binary_start,
)
from toolhaft.toolbox.untrusted_text import counted, untrusted_result

DEFAULT_LINES: Final = 200
MAX_LINES: Final = 2_000
MAX_BYTES: Final = LONGEST_LINE
"""Of a page, so that its JSON fits into what a model gets; enough for at least one line."""
MAX_OFFSET: Final = 1_000_000_000
_FIRST_CHUNK: Final = 256 * 1024
_CHUNK: Final = 1024 * 1024
_PAGE_S: Final = 0.5
"""Time of the call that is reserved for the page itself."""
_MAX_SKIPPED_BYTES: Final = 1_000_000_000
"""Skipping more than this would take too long."""

_Read = Callable[[int, int], bytes]
"""Takes an offset and a number of bytes; returns no bytes at the end."""


class _Opened(NamedTuple):
    """A file that is read in parts; UTF-16 and UTF-32 are converted to UTF-8."""

    read: _Read
    head: bytes
    wide: DecodedText | None = None
    """The whole text, if it is UTF-16 or UTF-32."""


class _Part(NamedTuple):
    """Bytes of a file, starting at a line."""

    data: bytes
    is_last: bool


class _Page(NamedTuple):
    """Whole lines of a file."""

    data: bytes
    at: int
    lines: int
    has_more: bool


def _read_page(input: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path = cast("str", input["path"])
    offset, limit = cast("int", input.get("offset", 0)), cast("int", input.get("limit", DEFAULT_LINES))
    try:
        with call_filesystem(context) as files:
            opened = _opened(files, path)
            page = _find_page(opened.read, path, offset, limit, context)
            size = files.stat(path).size_bytes
            decoded = _decoded(opened, page)
    except NotTextError as error:
        raise ToolExecutionError(f"Not a text file: {display(path)}: {error}") from error
    return _answer(path, size, offset, page, decoded)


def _opened(files: Filesystem, path: str) -> _Opened:
    head = files.read_bytes(path, limit=SAMPLE_BYTES)
    if detect_wide_codec(head) is None:
        refuse_binary_start(head)

        def read(offset: int, count: int) -> bytes:
            return files.read_bytes(path, offset=offset, limit=count)

        return _Opened(read, head)
    try:
        decoded = decode_text(files.read_bytes(path))
    except FileTooLargeError as error:
        raise ToolExecutionError(
            f"File too large: {display(path)} is in {detect_wide_codec(head)}, so only smaller files are "
            "paged; convert it to UTF-8"
        ) from error
    body = decoded.text.encode()

    def read_decoded(offset: int, count: int) -> bytes:
        return body[offset : offset + count]

    return _Opened(read_decoded, head, decoded)


def _decoded(opened: _Opened, page: _Page) -> DecodedText:
    """The text of a page; the bytes around it help to judge bytes that are not UTF-8."""
    if opened.wide is not None:
        return opened.wide._replace(text=page.data.decode())

    def around() -> bytes:
        begin = max(0, page.at - _FIRST_CHUNK)
        return opened.head + _read_part(opened.read, begin, page.at - begin + _FIRST_CHUNK).data

    return decode_text_part(page.data, at=page.at, around=around)


def _find_page(read: _Read, path: str, offset: int, limit: int, context: ToolContext) -> _Page:
    """The page that starts at a line."""
    passed, at = 0, 0
    part = _read_part(read, at, _FIRST_CHUNK)
    while True:
        lines, used = skip_lines(part.data, offset - passed, is_last=part.is_last)
        passed, at = passed + lines, at + used
        if passed == offset:
            break
        if part.is_last:
            raise _beyond_end(path, offset, passed)
        _check_limits(path, passed, at, context)
        part = _read_part(read, at, _CHUNK)
    rest = part.data[used:]
    if not part.is_last and len(rest) <= MAX_BYTES:
        rest, is_last = _read_part(read, at, _FIRST_CHUNK)
    else:
        is_last = part.is_last
    if is_last and not rest and offset:
        raise _beyond_end(path, offset, passed)
    taken, end = take_lines(rest, limit, MAX_BYTES, is_last=is_last)
    return _Page(rest[:end], at, taken, not is_last or end < len(rest))


def _read_part(read: _Read, at: int, count: int) -> _Part:
    """Read `count` bytes, or up to the end; a filesystem may return fewer at a time."""
    pieces: list[bytes] = []
    missing = count
    while missing > 0:
        piece = read(at + count - missing, missing)
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    return _Part(data, missing > 0)


def _check_limits(path: str, passed: int, at: int, context: ToolContext) -> None:
    """Raise if the call has ended, or the page is too far into the file."""
    context.beat()
    if at > _MAX_SKIPPED_BYTES:
        raise ToolExecutionError(
            f"File too large: {display(path)}: lines are counted in its first {_MAX_SKIPPED_BYTES:,} bytes "
            f"only, where there are {passed:,}; ask for an offset before that"
        )
    if context.time_limit is not None and context.time_limit.remaining() < _PAGE_S:
        raise ToolExecutionError(
            f"File too large: {display(path)}: only {passed:,} lines ({at:,} bytes) could be skipped in "
            "time; ask for an offset before that"
        )


def _beyond_end(path: str, offset: int, lines: int) -> ToolValidationError:
    last = f", the last one at offset {lines - 1}" if lines else ""
    return ToolValidationError(
        f"offset: {offset:,} is beyond the end: {display(path)} has {counted(lines, 'line')}{last}"
    )


def _answer(
    path: str, size: int, offset: int, page: _Page, decoded: DecodedText
) -> ToolResult[dict[str, object]]:
    value: dict[str, object] = {"content": decoded.text, "size": size}
    following = offset + page.lines
    is_all = not offset and not page.has_more
    if page.lines:
        span = f"lines {offset + 1:,} to {following:,}" if page.lines > 1 else f"line {following:,}"
    else:
        span = "it is empty"
    notes = [f"{span} ({counted(size, 'byte')} in all, {_encoding_note(decoded, is_all=is_all)})"]
    if page.has_more:
        value["next_offset"] = following
        notes.append(f"there is more: continue with offset {following}")
    else:
        notes.append("this is the end")
    if page.lines and not page.data.endswith(b"\n") and page.has_more:
        notes.append(f"a line of over {LONGEST_LINE:,} bytes is returned in parts, each counted as a line")
    hidden = hidden_note(decoded.text, begins_file=not page.at)
    return untrusted_result(value, display(path), *notes, *([hidden] if hidden else []))


def _encoding_note(decoded: DecodedText, *, is_all: bool) -> str:
    """The encoding of a page; it says nothing about the rest of the file."""
    if is_all or decoded.is_wide:
        return decoded.note
    return f"here {'ASCII' if decoded.text.isascii() else decoded.note}"


file_reader: Final = create_tool(
    ToolConfig(
        name="file_reader",
        title="File reader",
        description="Read contents from local files, some lines at a time.",
        when_to_use="To page through a long text file; go on with next_offset as long as there is one.",
        input_schema={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File path to read"},
                "offset": {
                    "type": "integer",
                    "description": "How many lines to skip",
                    "minimum": 0,
                    "maximum": MAX_OFFSET,
                    "default": 0,
                },
                "limit": {
                    "type": "integer",
                    "description": "How many lines to read; a page of long lines ends earlier",
                    "minimum": 1,
                    "maximum": MAX_LINES,
                    "default": DEFAULT_LINES,
                },
            },
            "required": ["path"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "content": {"type": "string", "description": "The lines, with their line ends"},
                "size": {"type": "integer", "description": "Bytes of the whole file"},
                "next_offset": {
                    "type": "integer",
                    "description": "Where the next page begins; absent at the end",
                },
            },
            "required": ["content", "size"],
            "additionalProperties": False,
        },
        execute=_read_page,
        effect="read",
        timeout_s=5,
        examples=[
            ToolExample(
                description="The first lines of a log",
                input={"path": "logs/app.log", "limit": 2},
                output={"content": "started\nlistening\n", "size": 4096, "next_offset": 2},
            ),
            ToolExample(
                description="The lines after that",
                input={"path": "logs/app.log", "offset": 2},
                output={"content": "stopped\n", "size": 26},
            ),
        ],
        tags=["files"],
    )
)
