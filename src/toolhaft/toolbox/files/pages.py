"""file_reader: some lines of a text file, found without loading the file.

Knows lines and how many make a page; does not know where files are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.example import ToolExample
from toolhaft.core.ports import Filesystem
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import FileTooLargeError, ToolExecutionError, ToolValidationError
from toolhaft.resources.refusals import shown
from toolhaft.toolbox.files import folded
from toolhaft.toolbox.files.encodings import (
    SAMPLE_BYTES,
    Decoded,
    NotTextError,
    check_beginning,
    decode,
    decode_part,
    wide_codec,
)
from toolhaft.toolbox.files.notes import counted, hidden_in
from toolhaft.toolbox.files.reach import Reached
from toolhaft.toolbox.outside import from_outside

USUAL_LINES: Final = 200
MOST_LINES: Final = 2_000
MOST_BYTES: Final = folded.LONGEST
"""Of a page. With what writing it as JSON adds, a model is still shown all of it; one line always fits."""
FURTHEST: Final = 1_000_000_000
_FIRST_CHUNK: Final = 256 * 1024
_CHUNK: Final = 1024 * 1024
_REST_S: Final = 0.5
"""Of the time of a call, kept for the page itself."""
_FURTHEST_BYTES: Final = 1_000_000_000
"""Passed on the way to a page; more would take longer than a refusal may."""

_Read = Callable[[int, int], bytes]
"""Bytes from an offset on, so many at most; none at the end."""


class _Opened(NamedTuple):
    """How a file is read in parts; one whose characters are wide, as UTF-8."""

    read: _Read
    head: bytes
    wide: Decoded | None = None
    """All of one whose characters are wide, as it was read."""


class _Part(NamedTuple):
    """Bytes of a file from the beginning of a line on."""

    data: bytes
    is_last: bool


class _Page(NamedTuple):
    """Whole lines of a file."""

    data: bytes
    at: int
    lines: int
    has_more: bool


def _read_page(asked: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    path = cast("str", asked["path"])
    offset, limit = cast("int", asked.get("offset", 0)), cast("int", asked.get("limit", USUAL_LINES))
    try:
        with Reached(context) as files:
            opened = _opened(files, path)
            page = _find(opened.read, path, offset, limit, context)
            size = files.stat(path).size_bytes
            decoded = _decoded(opened, page)
    except NotTextError as error:
        raise ToolExecutionError(f"Not a text file: {shown(path)}: {error}") from error
    return _answer(path, size, offset, page, decoded)


def _opened(files: Filesystem, path: str) -> _Opened:
    head = files.read_bytes(path, limit=SAMPLE_BYTES)
    if wide_codec(head) is None:
        check_beginning(head)
        return _Opened(partial(_read_bytes, files, path), head)
    try:
        decoded = decode(files.read_bytes(path))
    except FileTooLargeError as error:
        raise ToolExecutionError(
            f"File too large: {shown(path)} is in {wide_codec(head)}, in which only smaller files are "
            "paged; convert it to UTF-8"
        ) from error
    return _Opened(partial(_slice, decoded.text.encode()), head, decoded)


def _read_bytes(files: Filesystem, path: str, offset: int, count: int) -> bytes:
    return files.read_bytes(path, offset=offset, limit=count)


def _slice(body: bytes, offset: int, count: int) -> bytes:
    return body[offset : offset + count]


def _decoded(opened: _Opened, page: _Page) -> Decoded:
    """The text of a page; what is no UTF-8 in it is judged by the beginning of the file and what is near."""
    if opened.wide is not None:
        return opened.wide._replace(text=page.data.decode())

    def around() -> bytes:
        begin = max(0, page.at - _FIRST_CHUNK)
        return opened.head + _part(opened.read, begin, page.at - begin + _FIRST_CHUNK).data

    return decode_part(page.data, at=page.at, around=around)


def _find(read: _Read, path: str, offset: int, limit: int, context: ToolContext) -> _Page:
    """The lines from one on."""
    passed, at = 0, 0
    part = _part(read, at, _FIRST_CHUNK)
    while True:
        lines, used = folded.skip(part.data, offset - passed, is_last=part.is_last)
        passed, at = passed + lines, at + used
        if passed == offset:
            break
        if part.is_last:
            raise _beyond(path, offset, passed)
        _heed(path, passed, at, context)
        part = _part(read, at, _CHUNK)
    rest = part.data[used:]
    if not part.is_last and len(rest) <= MOST_BYTES:
        rest, is_last = _part(read, at, _FIRST_CHUNK)
    else:
        is_last = part.is_last
    if is_last and not rest and offset:
        raise _beyond(path, offset, passed)
    taken, end = folded.take(rest, limit, MOST_BYTES, is_last=is_last)
    return _Page(rest[:end], at, taken, not is_last or end < len(rest))


def _part(read: _Read, at: int, count: int) -> _Part:
    """So many bytes from a place on, or all that there are; a filesystem may give fewer at once."""
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


def _heed(path: str, passed: int, at: int, context: ToolContext) -> None:
    """Stop where the call is over, or will be before the page is found."""
    context.beat()
    if at > _FURTHEST_BYTES:
        raise ToolExecutionError(
            f"File too large: {shown(path)}: lines are counted in its first {_FURTHEST_BYTES:,} bytes "
            f"only, where there are {passed:,}; ask for an offset before that"
        )
    if context.deadline is not None and context.deadline.remaining() < _REST_S:
        raise ToolExecutionError(
            f"File too large: {shown(path)}: in the time that there is, {passed:,} lines ({at:,} bytes) "
            "were passed; ask for an offset before that"
        )


def _beyond(path: str, offset: int, lines: int) -> ToolValidationError:
    last = f", the last one at offset {lines - 1}" if lines else ""
    return ToolValidationError(
        f"offset: {offset:,} is beyond the end: {shown(path)} has {counted(lines, 'line')}{last}"
    )


def _answer(
    path: str, size: int, offset: int, page: _Page, decoded: Decoded
) -> ToolResult[dict[str, object]]:
    value: dict[str, object] = {"content": decoded.text, "size": size}
    following = offset + page.lines
    is_all = not offset and not page.has_more
    if page.lines:
        span = f"lines {offset + 1:,} to {following:,}" if page.lines > 1 else f"line {following:,}"
    else:
        span = "it is empty"
    notes = [f"{span} ({counted(size, 'byte')} in all, {_told_encoding(decoded, is_all=is_all)})"]
    if page.has_more:
        value["next_offset"] = following
        notes.append(f"there is more: go on with offset {following}")
    else:
        notes.append("this is the end")
    if page.lines and not page.data.endswith(b"\n") and page.has_more:
        notes.append(f"a line of over {folded.LONGEST:,} bytes is given in parts, each counted as a line")
    hidden = hidden_in(decoded.text, begins_file=not page.at)
    return from_outside(value, shown(path), *notes, *([hidden] if hidden else []))


def _told_encoding(decoded: Decoded, *, is_all: bool) -> str:
    """What a page was read as; of the other lines of the file it says nothing, so it claims nothing."""
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
                    "maximum": FURTHEST,
                    "default": 0,
                },
                "limit": {
                    "type": "integer",
                    "description": "How many lines to read; a page ends earlier where they are long",
                    "minimum": 1,
                    "maximum": MOST_LINES,
                    "default": USUAL_LINES,
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
