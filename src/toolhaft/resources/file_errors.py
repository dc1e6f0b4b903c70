"""The errors of filesystems, with the same messages for every kind of filesystem."""

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

MAX_DISPLAYED: Final = 500
"""The most characters of a path in a message, which costs the model tokens."""
RESTORE: Final = "remove what is in the way, or create the folder that is missing, then run lk files recover"
"""What the user does about a file that cannot be restored; the folder of the filesystem follows."""

_SHORTEST_WAIT_S: Final = 0.1


def display(path: str) -> str:
    """The path as the caller wrote it, shortened, with invisible characters escaped."""
    text = path if len(path) <= MAX_DISPLAYED else f"{path[:MAX_DISPLAYED]}..."
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else f"<U+{ord(letter):04X}>" for letter in text)
    return text if text.strip() == text else repr(text)


def missing(path: str) -> FileMissingError:
    """Nothing exists at the path."""
    return FileMissingError(f"File not found: {display(path)}")


def denied(path: str) -> FileDeniedError:
    """The path is outside the root, is a link, or this user has no permission."""
    return FileDeniedError(f"Permission denied: {display(path)}")


def taken(path: str) -> FileTakenError:
    """The file to be created exists already."""
    return FileTakenError(f"File exists: {display(path)}; use mode 'overwrite' or 'append' to change it")


def is_directory(path: str) -> FileKindError:
    """A file was expected."""
    return FileKindError(f"Is a directory: {display(path)}")


def not_directory(path: str) -> FileKindError:
    """A directory was expected, at the path or above it."""
    return FileKindError(f"Not a directory: {display(path)}, or one of its parents is a file")


def not_regular(path: str) -> FileKindError:
    """A pipe, a socket or a device."""
    return FileKindError(f"Not a regular file: {display(path)}")


def not_text(path: str, position: int) -> FileKindError:
    """Text was expected, but the bytes are not UTF-8."""
    return FileKindError(
        f"Not a text file: {display(path)}: byte {position} is not UTF-8; read its bytes instead"
    )


def not_empty(path: str) -> FilesystemError:
    """The directory is not empty, and the removal is not recursive."""
    return FilesystemError(
        f"Directory not empty: {display(path)}; use recursive=True to remove all that is in it"
    )


def invalid(path: str, reason: str) -> FilesystemError:
    """The path is not valid."""
    return FilesystemError(f"Invalid path: {display(path)!r}: {reason}")


def busy(path: str, waited_s: float = 0.0) -> FileBusyError:
    """Another open call has changed the path, or a path below or above it."""
    waited = f"; waited {waited_s:.1f} s" if waited_s >= _SHORTEST_WAIT_S else ""
    return FileBusyError(
        f"File busy: {display(path)} is being changed by another call{waited}; try again when that has ended"
    )


def unsettled(path: str, reason: str) -> FilesystemError:
    """An interrupted call changed the path, or one below or above it, and it could not be restored."""
    return FilesystemError(
        f"{display(path)} cannot be changed: an interrupted call changed it and it could not be restored "
        f"({display(reason)}). Fix: {RESTORE} on the folder"
    )


def too_large(path: str, size_bytes: int, most_bytes: int) -> FileTooLargeError:
    """The file is too large to read as a whole."""
    return FileTooLargeError(
        f"File too large: {display(path)} has {size_bytes:,} bytes, at most {most_bytes:,} are read at once; "
        "read it in pages, with offset and limit"
    )


def too_large_to_write(path: str, size_bytes: int, most_bytes: int) -> FileTooLargeError:
    """More bytes than the limit are to be written at once."""
    return FileTooLargeError(
        f"File too large: {size_bytes:,} bytes for {display(path)}, at most {most_bytes:,} are written at "
        "once; append it in parts, or write several smaller files"
    )


def too_far(path: str, most_bytes: int) -> FileTooLargeError:
    """The page is too far into the file: all text before it would have to be read."""
    return FileTooLargeError(
        f"File too large: {display(path)}: text is paged in the first {most_bytes:,} bytes only; "
        "read its bytes, with offset and limit"
    )


def too_many(path: str, most: int) -> FileTooLargeError:
    """There are more entries than the limit."""
    return FileTooLargeError(
        f"Too many entries: {display(path)} holds more than {most:,}; "
        "name a directory inside it, or narrow the pattern"
    )


def too_much(path: str, most_bytes: int) -> FileTooLargeError:
    """There is more text than one search may read."""
    return FileTooLargeError(
        f"Too much to search: {display(path)} has more than {most_bytes:,} bytes of text; "
        "name a directory inside it, or give a glob"
    )


def read_only(path: str) -> ReadOnlyError:
    """Only reading is allowed."""
    return ReadOnlyError(f"Read-only: {display(path)} cannot be changed, only reading is allowed here")


def ended(path: str = "") -> CallEndedError:
    """The call that the view belongs to has ended."""
    what = f"{display(path)} was not changed: " if path else ""
    return CallEndedError(f"{what}the call that this filesystem belongs to has ended")


_BY_NUMBER: Final = {
    errno.ENOENT: missing,
    errno.EACCES: denied,
    errno.EPERM: denied,
    errno.EROFS: denied,
    errno.ELOOP: denied,
    errno.EISDIR: is_directory,
    errno.ENOTDIR: missing,  # a path below a file does not exist
    errno.ENXIO: not_regular,
    errno.ENODEV: not_regular,
    errno.ENOTEMPTY: not_empty,
}


def translate(error: OSError, path: str) -> FilesystemError:
    """The FilesystemError for an error of the operating system."""
    make = _BY_NUMBER.get(error.errno or 0)
    if make is not None:
        return make(path)
    if error.errno == errno.EXDEV:
        return FilesystemError(
            f"Cannot change: {display(path)} is on another device than the root, so it could not be undone"
        )
    return FilesystemError(f"{error.strerror or type(error).__name__}: {display(path)}")


class TranslateErrors:
    """A block that translates errors of the operating system to FilesystemErrors about one path."""

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
