"""Tells how to read without waiting what lies below a directory, by the kind of its filesystem.

Knows the kinds of Linux only; of any other system it says that it cannot be done.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

_NO_WAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)
_FLAGS: Final[dict[int, int | None]] = {
    # ext2 to ext4, XFS, Btrfs and F2FS: what these hold in memory they give without asking anybody
    0xEF53: _NO_WAIT,
    0x58465342: _NO_WAIT,
    0x9123683E: _NO_WAIT,
    0xF2F52010: _NO_WAIT,
    # tmpfs: all of it is memory, and it does not know the flag
    0x01021994: 0,
}
_WORDS: Final = 32
"""More than the system writes."""


def flags_at_once(handle: int) -> int | None:
    """What to tell `preadv` so that it waits for nothing; None where it might, or that is not known."""
    if not sys.platform.startswith("linux"):
        return None
    facts = (ctypes.c_long * _WORDS)()  # the first is the kind
    if ctypes.CDLL(None).fstatfs(handle, facts) != 0:
        return None
    return _FLAGS.get(facts[0] & 0xFFFFFFFF)
