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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._system.close(self._handle)


def _check_regular(facts: os.stat_result, path: str) -> None:
    if S_ISDIR(facts.st_mode):
        raise refusals.is_directory(path)
    if not S_ISREG(facts.st_mode):
        raise refusals.not_regular(path)
