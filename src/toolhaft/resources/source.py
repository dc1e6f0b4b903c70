"""A file of the host that is open for reading.

Knows its handle only; the path is for refusals.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG
from typing import Final, Self

from toolhaft.resources import refusals
from toolhaft.resources.system import System

_CHUNK_BYTES: Final = 1024 * 1024
_SHORT: Final = 128 * 1024
_ROOM: Final = 2 * 1024 * 1024
_rooms: Final[list[bytearray]] = []
"""Where the bytes of a text are until they are decoded. Getting memory anew for each file takes longer than
reading it: the system clears it first. One is kept; whoever finds none has to make another."""


class HostSource:
    """Reads by offset; closes its handle at the end of the block.

    Raises:
        FileKindError: where it is no regular file.
    """

    __slots__ = ("_handle", "_path", "_system", "facts")

    facts: os.stat_result
    """As they were when it was opened."""

    def __init__(self, system: System, handle: int, path: str) -> None:
        self._system = system
        self._handle = handle
        self._path = path
        try:
            self.facts = system.fstat(handle)
            _check_regular(self.facts, path)
        except BaseException:
            system.close(handle)
            raise

    @property
    def size_bytes(self) -> int:
        """As it was when opened."""
        return self.facts.st_size

    def read_at(self, offset: int, count: int) -> bytes:
        """At most that many bytes; fewer only at the end."""
        pieces: list[bytes] = []
        wanted = count
        # one byte more than the file has: if it does not come, this was the end
        ask = max(self.size_bytes - offset, 0) + 1
        while wanted > 0:
            ask = min(wanted, ask)
            with refusals.Told(self._path):
                piece = self._system.pread(self._handle, ask, offset)
            pieces.append(piece)
            if len(piece) < ask:
                break
            offset += ask
            wanted -= ask
            ask = _CHUNK_BYTES
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def text(self) -> tuple[str, int] | None:
        """All of it as text, and how many bytes that was; None where that saves nothing.

        Raises:
            UnicodeDecodeError: where it is not UTF-8.
        """
        if not _SHORT < self.size_bytes < _ROOM:
            return None
        with refusals.Told(self._path):
            return self._in_room(0)

    def text_at_once(self, flags: int) -> tuple[str, int] | None:
        """The same, where the whole of it comes without waiting, as these flags have it."""
        try:
            found = self._in_room(flags)
        except (OSError, UnicodeDecodeError):
            return None
        return None if found is None or found[1] < self.size_bytes else found

    def _in_room(self, flags: int) -> tuple[str, int] | None:
        """All of it, read into a room; None where it has grown."""
        size_bytes, preadv = self.size_bytes, self._system.preadv
        if preadv is None:
            return None
        room = _borrow(size_bytes + 1)  # one byte more than it had: if that comes, it goes on
        try:
            view = memoryview(room)
            count = preadv(self._handle, [view[: size_bytes + 1]], 0, flags)
            return (str(view[:count], "utf-8"), count) if count <= size_bytes else None
        finally:
            if not _rooms:
                _rooms.append(room)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._system.close(self._handle)


def _borrow(size: int) -> bytearray:
    # no lock: one that an interruption leaves locked would stay so
    try:
        room = _rooms.pop()
    except IndexError:
        room = bytearray()
    return room if len(room) >= size else bytearray(1 << (size - 1).bit_length())


def _check_regular(facts: os.stat_result, path: str) -> None:
    if S_ISDIR(facts.st_mode):
        raise refusals.is_directory(path)
    if not S_ISREG(facts.st_mode):
        raise refusals.not_regular(path)
