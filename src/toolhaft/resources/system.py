"""The operating system calls for host files, and opening paths without following links."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import cache
from stat import S_ISLNK
from typing import Final

from toolhaft.resources.paths import Parts

OpenBeneath = Callable[[int, str, int], int]
"""Takes a directory handle, a path below it and flags; returns a new handle."""

_SAFE: Final = os.O_NOFOLLOW | os.O_CLOEXEC
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | _SAFE
REGULAR: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | _SAFE
"""Non-blocking: opening a pipe must not hang."""
APPENDED: Final = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | _SAFE
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
_INTERMEDIATE: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | _SAFE

_OPENAT2: Final = 437
"""The system call number, the same on every architecture."""
_NO_MAGIC_LINKS: Final = 0x02
_NO_SYMLINKS: Final = 0x04
_BENEATH: Final = 0x08


class System:
    """Each system call as a method; tests override them to inject faults.

    Args:
        openat2: False emulates a system without this call.
    """

    def __init__(self, *, openat2: bool = True) -> None:
        self._openat2: OpenBeneath | None = find_openat2() if openat2 else None

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    pread = staticmethod(os.pread)
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

    def listdir(self, handle: int) -> list[str]:
        """The names in a directory."""
        return os.listdir(handle)

    def scandir(self, handle: int) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """The entries of a directory."""
        return os.scandir(handle)

    def open_beneath(self, handle: int, parts: Parts, flags: int) -> int:
        """Open a path below a directory handle; a link anywhere in the path is an ELOOP error."""
        if len(parts) > 1 and self._openat2 is not None:
            # raised for a file in the path and for a link at its end: the steps below distinguish them
            with suppress(NotADirectoryError):
                return self._openat2(handle, "/".join(parts), flags)
        if not parts:
            return self.open(".", flags, dir_fd=handle)
        at = handle
        try:
            for name in parts[:-1]:
                following = self._open_name(at, name, _INTERMEDIATE)
                if at != handle:
                    self.close(at)
                at = following
            return self._open_name(at, parts[-1], flags)
        finally:
            if at != handle:
                self.close(at)

    def _open_name(self, handle: int, name: str, flags: int) -> int:
        try:
            return self.open(name, flags, dir_fd=handle)
        except NotADirectoryError:
            # the system also reports this error for a link where a directory is expected
            if S_ISLNK(self.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
            raise


class ClosingHandle:
    """A block that closes a handle at its end."""

    __slots__ = ("_handle", "_system")

    def __init__(self, system: System, handle: int) -> None:
        self._system = system
        self._handle = handle

    def __enter__(self) -> int:
        return self._handle

    def __exit__(self, *_: object) -> None:
        self._system.close(self._handle)


@cache
def default_system() -> System:
    """The shared System."""
    return System()


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def find_openat2() -> OpenBeneath | None:
    """The Linux call openat2, which opens a whole path without following links; None if it is unavailable."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    call = library.syscall
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    call.restype = ctypes.c_long
    size = ctypes.sizeof(_OpenHow)

    @cache  # there are few different flags, and the structure must stay at its address
    def how(flags: int) -> tuple[int, _OpenHow]:
        made = _OpenHow(flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGIC_LINKS)
        return ctypes.addressof(made), made

    def open_beneath(handle: int, path: str, flags: int) -> int:
        opened: int = call(_OPENAT2, handle, os.fsencode(path), how(flags)[0], size)
        if opened < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        return opened

    return open_beneath if _works(open_beneath) else None


def _works(open_beneath: OpenBeneath) -> bool:
    current = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.close(open_beneath(current, ".", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:  # an old kernel, or a sandbox that forbids the call
        return False
    finally:
        os.close(current)
    return True
