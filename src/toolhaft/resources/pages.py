"""Reads a file in pages of characters or bytes, within size limits."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from toolhaft.core.ports import FileText, WriteMode
from toolhaft.errors import FilesystemError
from toolhaft.resources import file_errors

DEFAULT_FILE_BYTES: Final = 10 * 1024 * 1024
DEFAULT_ENTRIES: Final = 10_000

CHUNK_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """The limits of file operations; all of them follow from two numbers."""

    max_file_bytes: int = DEFAULT_FILE_BYTES
    """The largest file to read or write as a whole; also the largest page of a larger file."""
    max_entries: int = DEFAULT_ENTRIES
    """The largest number of entries that one operation lists or matches."""

    @property
    def max_visited(self) -> int:
        """How many entries one search may look at."""
        return 10 * self.max_entries

    @property
    def max_scan_bytes(self) -> int:
        """How many bytes one search may read, and how many may be skipped to reach a page."""
        return 25 * self.max_file_bytes


class ByteSource(Protocol):
    """A file that is open for reading."""

    @property
    def size_bytes(self) -> int:
        """The size when the file was opened."""
        ...

    def read_at(self, offset: int, count: int) -> bytes:
        """Read up to `count` bytes; fewer only at the end of the file."""
        ...


def read_text(
    source: ByteSource, path: str, limits: FileLimits, *, offset: int = 0, limit: int | None = None
) -> FileText:
    """Read a page of a UTF-8 text.

    Raises:
        FileTooLargeError: for a large file without a limit, and for a page too far into one.
        FileKindError: if the bytes are not UTF-8.
    """
    check_span(offset, limit)
    most = limits.max_file_bytes
    if limit is not None and source.size_bytes > most:
        return _read_large(source, path, limits, offset, min(limit, most))
    data = read_whole(source, path, limits)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise file_errors.not_text(path, error.start) from None
    end = len(text) if limit is None else min(offset + limit, len(text))
    return FileText(text[offset:end], len(data), end if end < len(text) else None)


def read_span(
    source: ByteSource, path: str, limits: FileLimits, *, offset: int = 0, limit: int | None = None
) -> bytes:
    """Read a page of bytes.

    Raises:
        FileTooLargeError: if there are too many and no limit was given.
    """
    check_span(offset, limit)
    most = limits.max_file_bytes
    if limit is not None:
        return source.read_at(offset, min(limit, most))
    data = source.read_at(offset, most + 1)
    if len(data) > most:
        raise file_errors.too_large(path, source.size_bytes, most)
    return data


def read_whole(source: ByteSource, path: str, limits: FileLimits) -> bytes:
    """Read all bytes.

    Raises:
        FileTooLargeError: if there are too many.
    """
    most = limits.max_file_bytes
    size_bytes = source.size_bytes
    # one byte more than allowed: a file may have grown since, and special files report no size
    data = source.read_at(0, most + 1) if size_bytes <= most else b""
    if size_bytes > most or len(data) > most:
        raise file_errors.too_large(path, max(size_bytes, len(data)), most)
    return data


def to_bytes(content: str | bytes, path: str, mode: WriteMode) -> bytes:
    """The bytes to write for a content.

    Raises:
        FilesystemError: for text that cannot be UTF-8, for a content that is neither text nor bytes, and for
            an unknown mode.
    """
    if mode not in ("create", "overwrite", "append"):
        raise FilesystemError(f"Invalid mode: {mode!r:.40}; use create, overwrite or append")
    if not isinstance(content, str | bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise FilesystemError(
            f"Cannot write: {file_errors.display(path)}: a {type(content).__name__} is neither text nor bytes"
        )
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError as error:
            what = f"character {error.start} of the text is half a surrogate pair"
            raise FilesystemError(f"Cannot write: {file_errors.display(path)}: {what}") from None
    return bytes(memoryview(content))


def check_span(offset: int, limit: int | None) -> None:
    """Refuse negative numbers."""
    if offset < 0 or (limit is not None and limit < 0):
        raise FilesystemError("offset and limit must be 0 or more")


def _read_large(source: ByteSource, path: str, limits: FileLimits, offset: int, limit: int) -> FileText:
    """Read a page of a file that is too large to hold in memory."""
    passed = 0
    wanted = limit + 1  # one more than the page, to know whether there is another
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


def _decoded(source: ByteSource, path: str, most_bytes: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    at = 0
    while True:
        if at >= most_bytes:
            raise file_errors.too_far(path, most_bytes)
        data = source.read_at(at, CHUNK_BYTES)
        held = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise file_errors.not_text(path, at - held + error.start) from None
        at += len(data)
        yield text
        if not data:
            return
