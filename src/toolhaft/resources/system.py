"""The calls to the operating system that files on the host are made of.

Knows no journals and no refusals: its errors are the system's own.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from functools import cache
from stat import S_ISLNK, S_ISREG
from typing import Final

from toolhaft.resources.openat2 import AT_ONCE, OpenBeneath, find_openat2
from toolhaft.resources.paths import Parts

_SAFE: Final = os.O_NOFOLLOW | os.O_CLOEXEC
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | _SAFE
REGULAR: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | _SAFE
"""Without waiting: what turns out to be a pipe must not hold the call up."""
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
_LOOK: Final = getattr(os, "O_PATH", 0) | _SAFE
_ON_THE_WAY: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | _SAFE


class System:
    """Each call by its own name; a test puts faults in their way by deriving from this.

    Args:
        openat2: False does without that call, as on a system that has none.
    """

    def __init__(self, *, openat2: bool = True) -> None:
        self._openat2: OpenBeneath | None = _openat2() if openat2 else None

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    pread = staticmethod(os.pread)
    preadv = staticmethod(os.preadv) if hasattr(os, "preadv") else None
    pwrite = staticmethod(os.pwrite)
    write = staticmethod(os.write)
    fsync = staticmethod(os.fsync)
    ftruncate = staticmethod(os.ftruncate)
    fstat = staticmethod(os.fstat)
    stat = staticmethod(os.stat)
    access = staticmethod(os.access)
    fchmod = staticmethod(os.fchmod)
    fchown = staticmethod(os.fchown)
    utime = staticmethod(os.utime)
    mkdir = staticmethod(os.mkdir)
    rmdir = staticmethod(os.rmdir)
    link = staticmethod(os.link)
    rename = staticmethod(os.rename)
    unlink = staticmethod(os.unlink)
    flock = staticmethod(fcntl.flock)

    def scandir(self, handle: int) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """The entries of a directory."""
        return os.scandir(handle)

    def listdir(self, handle: int) -> list[str]:
        """The names in a directory."""
        return os.listdir(handle)

    def open_beneath(self, handle: int, parts: Parts, flags: int) -> int:
        """Open what lies below a directory handle; a link, there or on the way, is an ELOOP."""
        if len(parts) > 1 and self._openat2 is not None:
            with suppress(NotADirectoryError):  # a file, or a link at the end: found out step by step
                return self._openat2(handle, "/".join(parts), flags, 0)
        if not parts:
            return self.open(".", flags, dir_fd=handle)
        at = handle
        try:
            for name in parts[:-1]:
                following = self._open_name(at, name, _ON_THE_WAY)
                if at != handle:
                    self.close(at)
                at = following
            return self._open_name(at, parts[-1], flags)
        finally:
            if at != handle:
                self.close(at)

    def open_at_once(self, handle: int, parts: Parts) -> int | None:
        """Open a regular file below a directory handle; None where that fails, or could wait."""
        if self._openat2 is None:
            return None
        path = "/".join(parts)
        try:
            # looked at before it is opened: whoever waits at the other end of a pipe would be woken
            with opened(self, self._openat2(handle, path, _LOOK, AT_ONCE)) as there:
                if not S_ISREG(self.fstat(there).st_mode):
                    return None
            # noting the time of the reading may wait for the disk
            return self._openat2(handle, path, REGULAR | os.O_NOATIME, AT_ONCE)
        except OSError:
            return None

    def _open_name(self, handle: int, name: str, flags: int) -> int:
        try:
            return self.open(name, flags, dir_fd=handle)
        except NotADirectoryError:
            # where a directory is wanted a link is told as none
            if S_ISLNK(self.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
            raise


class _Opened:
    """A block at whose end a handle is closed."""

    __slots__ = ("_handle", "_system")

    def __init__(self, system: System, handle: int) -> None:
        self._system = system
        self._handle = handle

    def __enter__(self) -> int:
        return self._handle

    def __exit__(self, *_: object) -> None:
        self._system.close(self._handle)


def opened(system: System, handle: int) -> AbstractContextManager[int, None]:
    """A handle that is closed at the end of the block."""
    return _Opened(system, handle)


@cache
def _openat2() -> OpenBeneath | None:
    return find_openat2()


@cache
def system() -> System:
    """The one that everybody uses."""
    return System()
