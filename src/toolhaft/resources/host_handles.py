"""Open handles of the host: the root directory of a filesystem, and files being read."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG
from typing import Final, Self

from toolhaft.errors import FilesystemError
from toolhaft.resources import file_errors
from toolhaft.resources.pages import FileLimits
from toolhaft.resources.paths import Parts
from toolhaft.resources.system import DIRECTORY, ClosingHandle, System

_CLOSED: Final = -1
_CHUNK_BYTES: Final = 1024 * 1024


class HostRoot:
    """The open root directory. It is opened once, so renaming or replacing its path has no effect."""

    __slots__ = ("_handle", "_inode", "is_durable", "limits", "path", "system")

    def __init__(self, path: str, *, system: System, is_durable: bool, limits: FileLimits) -> None:
        self._handle = _CLOSED
        self._inode: int | None = None
        self.path = path
        self.system = system
        self.is_durable = is_durable
        self.limits = limits
        self._handle = system.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    @property
    def handle(self) -> int:
        """The handle below which all paths are opened.

        Raises:
            FilesystemError: if it is closed.
        """
        if self._handle == _CLOSED:
            raise FilesystemError("The filesystem is closed")
        return self._handle

    @property
    def inode(self) -> int:
        """The inode of the root, which names it in the codes of journals."""
        if self._inode is None:
            self._inode = self.system.fstat(self.handle).st_ino
        return self._inode

    def open_directory(self, parts: Parts) -> ClosingHandle:
        """Open a directory below the root, to be closed by a `with` block."""
        return ClosingHandle(self.system, self.system.open_beneath(self.handle, parts, DIRECTORY))

    def close(self) -> None:
        """Close the handle; safe to repeat."""
        handle, self._handle = self._handle, _CLOSED
        if handle != _CLOSED:
            self.system.close(handle)

    def __del__(self) -> None:
        self.close()


class HostSource:
    """A regular file that is open for reading; closes its handle at the end of a `with` block.

    Raises:
        FileKindError: if it is not a regular file.
    """

    __slots__ = ("_handle", "_path", "_system", "info")

    info: os.stat_result
    """The result of `fstat` when the file was opened."""

    def __init__(self, system: System, handle: int, path: str) -> None:
        self._system = system
        self._handle = handle
        self._path = path
        try:
            self.info = system.fstat(handle)
            _check_regular(self.info, path)
        except BaseException:
            system.close(handle)
            raise

    @property
    def size_bytes(self) -> int:
        """The size when the file was opened."""
        return self.info.st_size

    def read_at(self, offset: int, count: int) -> bytes:
        """Read up to `count` bytes; fewer only at the end of the file."""
        pieces: list[bytes] = []
        wanted = count
        # one byte more than the file has: if it does not arrive, this was the end
        ask = max(self.size_bytes - offset, 0) + 1
        while wanted > 0:
            ask = min(wanted, ask)
            with file_errors.TranslateErrors(self._path):
                piece = self._system.pread(self._handle, ask, offset)
            pieces.append(piece)
            if len(piece) < ask:
                break
            offset += ask
            wanted -= ask
            ask = _CHUNK_BYTES
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._system.close(self._handle)


def _check_regular(info: os.stat_result, path: str) -> None:
    if S_ISDIR(info.st_mode):
        raise file_errors.is_directory(path)
    if not S_ISREG(info.st_mode):
        raise file_errors.not_regular(path)
