"""One directory of the host, held open for as long as anybody works below it.

Knows its handle and how it is treated; what lies below is opened elsewhere.
"""

from __future__ import annotations

import os
from typing import Final

from toolhaft.errors import FilesystemError
from toolhaft.resources.at_hand import flags_at_once
from toolhaft.resources.limits import FileLimits
from toolhaft.resources.system import System

_CLOSED: Final = -1


class HostRoot:
    """The handle is taken once: what the path means later, or who swaps it for another, changes nothing."""

    __slots__ = ("_handle", "flags_at_once", "is_durable", "limits", "system")

    flags_at_once: int | None
    """How to read without waiting; None where what answers may be far away, or asleep."""

    def __init__(self, path: str, *, system: System, is_durable: bool, limits: FileLimits) -> None:
        self._handle = _CLOSED
        self.system = system
        self.is_durable = is_durable
        self.limits = limits
        self._handle = system.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.flags_at_once = flags_at_once(self._handle)

    @property
    def handle(self) -> int:
        """What everything is opened below.

        Raises:
            FilesystemError: once it is closed.
        """
        if self._handle == _CLOSED:
            raise FilesystemError("The filesystem is closed")
        return self._handle

    def close(self) -> None:
        """Give the handle back; safe to repeat."""
        handle, self._handle = self._handle, _CLOSED
        if handle != _CLOSED:
            self.system.close(handle)

    def __del__(self) -> None:
        self.close()
