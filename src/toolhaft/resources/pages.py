"""Pages of a file: characters of a text, or bytes.

Reads from anything that gives bytes at an offset; does not know where they are kept.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Final, Protocol

from toolhaft.core.ports import FileText, WriteMode
from toolhaft.errors import FilesystemError
from toolhaft.resources import refusals
from toolhaft.resources.limits import FileLimits

CHUNK_BYTES: Final = 256 * 1024


class Source(Protocol):
    """An open file."""

    @property
    def size_bytes(self) -> int:
        """As it was when opened."""
        ...

    def read_at(self, offset: int, count: int) -> bytes:
        """At most that many bytes; fewer only at the end."""
        ...

    def text(self) -> tuple[str, int] | None:
        """All of it as text, and how many bytes that was; None where that saves nothing.

        Raises:
            UnicodeDecodeError: where it is not UTF-8.
        """
        ...


def read_text(
    source: Source, path: str, limits: FileLimits, *, offset: int = 0, limit: int | None = None
) -> FileText:
    """A page of a UTF-8 text.

    Raises:
        FileTooLargeError: for a large file without a limit, and for a page too deep in one.
        FileKindError: where the bytes are no text.
    """
    check_span(offset, limit)
    most = limits.max_file_bytes
    if limit is not None and source.size_bytes > most:
        return _read_large(source, path, limits, offset, min(limit, most))
    try:
        text, size_bytes = _whole_text(source, path, limits)
    except UnicodeDecodeError as error:
        raise refusals.not_text(path, error.start) from None
    end = len(text) if limit is None else min(offset + limit, len(text))
    return FileText(text[offset:end], size_bytes, end if end < len(text) else None)


def _whole_text(source: Source, path: str, limits: FileLimits) -> tuple[str, int]:
    found = source.text() if source.size_bytes <= limits.max_file_bytes else None
    if found is not None:
        return found
    data = read_whole(source, path, limits)
    return data.decode(), len(data)


def read_span(
    source: Source, path: str, limits: FileLimits, *, offset: int = 0, limit: int | None = None
) -> bytes:
    """A page of bytes.

    Raises:
        FileTooLargeError: where there are too many, and no limit was given.
    """
    check_span(offset, limit)
    most = limits.max_file_bytes
    if limit is not None:
        return source.read_at(offset, min(limit, most))
    data = source.read_at(offset, most + 1)
    if len(data) > most:
        raise refusals.too_large(path, source.size_bytes, most)
    return data


def read_whole(source: Source, path: str, limits: FileLimits) -> bytes:
    """All bytes.

    Raises:
        FileTooLargeError: where there are too many.
    """
    most = limits.max_file_bytes
    size_bytes = source.size_bytes
    # one byte more than allowed: a file may grow after its size was taken, and some have none at all
    data = source.read_at(0, most + 1) if size_bytes <= most else b""
    if size_bytes > most or len(data) > most:
        raise refusals.too_large(path, max(size_bytes, len(data)), most)
    return data


def to_bytes(content: str | bytes, path: str, mode: WriteMode) -> bytes:
    """What is written for a content.

    Raises:
        FilesystemError: for a text that UTF-8 cannot say, for what is neither text nor bytes, and for a mode
            that there is not: taking it for another could lose a file.
    """
    if mode not in ("create", "overwrite", "append"):
        raise FilesystemError(f"Invalid mode: {mode!r:.40}; use create, overwrite or append")
    if not isinstance(content, str | bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise FilesystemError(
            f"Cannot write: {refusals.shown(path)}: a {type(content).__name__} is neither text nor bytes"
        )
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError as error:
            what = f"character {error.start} of the text is half a surrogate pair"
            raise FilesystemError(f"Cannot write: {refusals.shown(path)}: {what}") from None
    return bytes(memoryview(content))


def check_span(offset: int, limit: int | None) -> None:
    """Refuse numbers that count nothing."""
    if offset < 0 or (limit is not None and limit < 0):
        raise FilesystemError("offset and limit must be 0 or more")


def _read_large(source: Source, path: str, limits: FileLimits, offset: int, limit: int) -> FileText:
    """A page of a file that is not held in memory as a whole."""
    passed = 0
    wanted = limit + 1  # one more than the page, to know whether there is a next
    pieces: list[str] = []
    for text in _decoded(source, path, limits.max_scan_bytes):
        piece = text[max(offset - passed, 0) :][:wanted]
        passed += len(text)
        wanted -= len(piece)
        pieces.append(piece)
        if not wanted:
            break
    page = "".join(pieces)
    end = offset + limit if len(page) > limit else None
    return FileText(page[:limit], source.size_bytes, end)


def _decoded(source: Source, path: str, most_bytes: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    at = 0
    while True:
        if at >= most_bytes:
            raise refusals.too_far(path, most_bytes)
        data = source.read_at(at, CHUNK_BYTES)
        held = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise refusals.not_text(path, at - held + error.start) from None
        at += len(data)
        yield text
        if not data:
            return
