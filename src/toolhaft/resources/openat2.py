"""The Linux call that opens a path below a handle and follows no link on the way, without waiting if asked.

Knows no paths of ours; other systems and old kernels do without it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Final

OpenBeneath = Callable[[int, str, int, int], int]
"""Handle, path, flags and further bounds to a new handle."""

_NUMBER: Final = 437
"""The same on every architecture that Python runs on."""
_NO_OTHER_DISK: Final = 0x01
_NO_MAGIC_LINKS: Final = 0x02
_NO_SYMLINKS: Final = 0x04
_BENEATH: Final = 0x08
_IN_MEMORY: Final = 0x20
AT_ONCE: Final = _IN_MEMORY | _NO_OTHER_DISK
"""Bounds: only where the system knows the whole way (EAGAIN else), and on the disk of the handle (EXDEV)."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def find_openat2() -> OpenBeneath | None:
    """The call, if this kernel has it and lets us use it."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    call = library.syscall
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    call.restype = ctypes.c_long
    size = ctypes.sizeof(_How)

    @cache  # few flags are ever asked for, and what is handed over must stay where it is
    def how(flags: int, bounds: int) -> tuple[int, _How]:
        made = _How(flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGIC_LINKS | bounds)
        return ctypes.addressof(made), made

    def open_beneath(handle: int, path: str, flags: int, bounds: int) -> int:
        opened: int = call(_NUMBER, handle, os.fsencode(path), how(flags, bounds)[0], size)
        if opened < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        return opened

    return open_beneath if _works(open_beneath) else None


def _works(open_beneath: OpenBeneath) -> bool:
    here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.close(open_beneath(here, ".", os.O_RDONLY | os.O_CLOEXEC, 0))
    except OSError:  # an old kernel, or a sandbox that does not know the call
        return False
    finally:
        os.close(here)
    return True
