"""The wording of every refusal of a filesystem, once for all kinds of them.

Knows no filesystem; a path is shown as the caller wrote it.
"""

from __future__ import annotations

import errno
from types import TracebackType
from typing import Final

from toolhaft.errors import (
    CallEndedError,
    FileBusyError,
    FileDeniedError,
    FileKindError,
    FileMissingError,
    FilesystemError,
    FileTakenError,
    FileTooLargeError,
    ReadOnlyError,
    ToolhaftError,
)

LONGEST_SHOWN: Final = 500
"""Characters of a path in a message; a model reads it, and pays for it."""


def shown(path: str) -> str:
    """The path as the caller wrote it, cut where it is absurdly long, all that is in it visible."""
    text = path if len(path) <= LONGEST_SHOWN else f"{path[:LONGEST_SHOWN]}..."
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else f"<U+{ord(letter):04X}>" for letter in text)
    return text if text.strip() == text else repr(text)


def missing(path: str) -> FileMissingError:
    """There is nothing at the path."""
    return FileMissingError(f"File not found: {shown(path)}")


def denied(path: str) -> FileDeniedError:
    """The path is outside the root, is a link, or belongs to somebody else."""
    return FileDeniedError(f"Permission denied: {shown(path)}")


def taken(path: str) -> FileTakenError:
    """The file was to be created, and is there."""
    return FileTakenError(f"File exists: {shown(path)}; use mode 'overwrite' or 'append' to change it")


def is_directory(path: str) -> FileKindError:
    """A file was wanted."""
    return FileKindError(f"Is a directory: {shown(path)}")


def not_directory(path: str) -> FileKindError:
    """A directory was wanted, at the path or above it."""
    return FileKindError(f"Not a directory: {shown(path)}, or one of its parents is a file")


def not_regular(path: str) -> FileKindError:
    """A pipe, a socket or a device."""
    return FileKindError(f"Not a regular file: {shown(path)}")


def not_text(path: str, position: int) -> FileKindError:
    """Text was wanted, and the bytes are not UTF-8."""
    return FileKindError(
        f"Not a text file: {shown(path)}: byte {position} is not UTF-8; read its bytes instead"
    )


def not_empty(path: str) -> FilesystemError:
    """A directory with something in it, and nobody said to remove that too."""
    return FilesystemError(
        f"Directory not empty: {shown(path)}; use recursive=True to remove all that is in it"
    )


def invalid(path: str, reason: str) -> FilesystemError:
    """A path that names nothing, anywhere."""
    return FilesystemError(f"Invalid path: {shown(path)!r}: {reason}")


def busy(path: str) -> FileBusyError:
    """Another call that has not ended changed the path, or something under or above it."""
    return FileBusyError(
        f"File busy: {shown(path)} is being changed by another call; try again when that has ended"
    )


def too_large(path: str, size_bytes: int, most_bytes: int) -> FileTooLargeError:
    """A file that is not read in one piece."""
    return FileTooLargeError(
        f"File too large: {shown(path)} has {size_bytes:,} bytes, at most {most_bytes:,} are read at once; "
        "read it in pages, with offset and limit"
    )


def too_large_to_write(path: str, size_bytes: int, most_bytes: int) -> FileTooLargeError:
    """A file that would grow over the limit."""
    return FileTooLargeError(
        f"File too large: {shown(path)} would have {size_bytes:,} bytes, at most {most_bytes:,} are allowed; "
        "write several smaller files"
    )


def too_far(path: str, most_bytes: int) -> FileTooLargeError:
    """A page so deep in a file that finding it would mean reading for ever."""
    return FileTooLargeError(
        f"File too large: {shown(path)}: text is paged in the first {most_bytes:,} bytes only; "
        "read its bytes, with offset and limit"
    )


def too_many(path: str, most: int) -> FileTooLargeError:
    """More entries than anybody could look at."""
    return FileTooLargeError(
        f"Too many entries: {shown(path)} holds more than {most:,}; "
        "name a directory inside it, or narrow the pattern"
    )


def too_much(path: str, most_bytes: int) -> FileTooLargeError:
    """More text than one search looks through."""
    return FileTooLargeError(
        f"Too much to search: {shown(path)} has more than {most_bytes:,} bytes of text; "
        "name a directory inside it, or give a glob"
    )


def read_only(path: str) -> ReadOnlyError:
    """A write where only reading is allowed."""
    return ReadOnlyError(f"Read-only: {shown(path)} cannot be changed, only reading is allowed here")


def ended(path: str = "") -> CallEndedError:
    """A change through a view whose call is over."""
    what = f"{shown(path)} was not changed: " if path else ""
    return CallEndedError(f"{what}the call that this filesystem belongs to has ended")


_BY_NUMBER: Final = {
    errno.ENOENT: missing,
    errno.EACCES: denied,
    errno.EPERM: denied,
    errno.EROFS: denied,
    errno.ELOOP: denied,
    errno.EISDIR: is_directory,
    errno.ENOTDIR: missing,  # what lies below a file is not there
    errno.ENXIO: not_regular,
    errno.ENODEV: not_regular,
    errno.ENOTEMPTY: not_empty,
}


def translate(error: OSError, path: str) -> FilesystemError:
    """The refusal that stands for an error of the operating system."""
    make = _BY_NUMBER.get(error.errno or 0)
    if make is not None:
        return make(path)
    if error.errno == errno.EXDEV:
        return FilesystemError(
            f"Cannot change: {shown(path)} is on another device than the root, so it could not be put back"
        )
    return FilesystemError(f"{error.strerror or type(error).__name__}: {shown(path)}")


class Told:
    """A block whose errors of the operating system come out as refusals about one path."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if isinstance(error, OSError) and not isinstance(error, ToolhaftError):
            raise translate(error, self._path) from error
