"""A file of the host that is open for reading.

Knows its handle only; the path is for refusals.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from stat import S_ISDIR, S_ISREG
from threading import Lock
from typing import Final, Self

from toolhaft.resources import refusals
from toolhaft.resources.system import System

_CHUNK_BYTES: Final = 1024 * 1024
_SHORT: Final = 128 * 1024
_ROOM: Final = 2 * 1024 * 1024
_room = bytearray()
"""Where the bytes of a text are until they are decoded. Getting memory anew for each file takes longer than
reading it: the system clears it first."""
_in_use = Lock()


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
        size_bytes, preadv = self.size_bytes, self._system.preadv
        if preadv is None or not _SHORT < size_bytes < _ROOM:
            return None
        with _lent(size_bytes + 1) as room:
            if room is None:
                return None
            with refusals.Told(self._path):
                count = preadv(self._handle, [room], 0)
            # one byte more than it had: it has grown, and goes on
            return (str(room[:count], "utf-8"), count) if count <= size_bytes else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._system.close(self._handle)


@contextmanager
def _lent(size: int) -> Generator[memoryview | None]:
    """The room, if nobody else is in it."""
    global _room  # noqa: PLW0603 -- one for the process, as large as the largest file asked for
    if not _in_use.acquire(blocking=False):
        yield None
        return
    try:
        if len(_room) < size:
            _room = bytearray(1 << (size - 1).bit_length())
        with memoryview(_room) as whole, whole[:size] as room:
            yield room
    finally:
        _in_use.release()


def _check_regular(facts: os.stat_result, path: str) -> None:
    if S_ISDIR(facts.st_mode):
        raise refusals.is_directory(path)
    if not S_ISREG(facts.st_mode):
        raise refusals.not_regular(path)
