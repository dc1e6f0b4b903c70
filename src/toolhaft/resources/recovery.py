"""Puts back what a process that died in the middle of a call had changed.

Knows journals on disk; those of living processes, held by their locks, are left alone.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB
from stat import S_ISREG
from typing import Final, Literal

from toolhaft.errors import FilesystemError
from toolhaft.resources.claims import Claims
from toolhaft.resources.host_root import HostRoot
from toolhaft.resources.log import Log, Store, read_log
from toolhaft.resources.paths import RESERVED, join
from toolhaft.resources.system import DIRECTORY, System, opened
from toolhaft.resources.undo import facts_at, sweep, undo

HOME: Final = RESERVED
"""The directory at the root where journals are kept; there while one is needed."""
LARGEST_LOG: Final = 256 * 1024 * 1024

_LOCKED_FILE: Final = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_HEAD = re.compile(r"([0-9a-f]{16})\.(?:log|void)")


def recover(host: HostRoot) -> int:
    """Undo every journal whose owner is dead, and say how many there were.

    Raises:
        FilesystemError: where something could not be put back; the next try goes on from there.
    """
    try:
        home = host.system.open(HOME, DIRECTORY, dir_fd=host.handle)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return 0  # nothing of ours
    with opened(host.system, home):
        settled = [settle(host, store) for store in stores(host.system, home)]
    remove_home(host)
    return settled.count("undone")


def stores(system: System, home: int) -> list[Store]:
    """The journals that are there; whatever else somebody put beside them is not ours."""
    heads = map(_HEAD.fullmatch, system.listdir(home))
    return [Store(home, head[1]) for head in heads if head]


def remove_home(host: HostRoot) -> None:
    """Remove the directory of journals, if it is empty."""
    with suppress(OSError):
        host.system.rmdir(HOME, dir_fd=host.handle)


def make_void(host: HostRoot, store: Store) -> None:
    """The one step from which on a journal means nothing."""
    host.system.rename(store.log, store.void, src_dir_fd=store.home, dst_dir_fd=store.home)
    if host.is_durable:
        host.system.fsync(store.home)


def settle(host: HostRoot, store: Store) -> Claims | Literal["undone", "gone"]:
    """Finish the journal of a dead process, or say which paths a living one is changing.

    Raises:
        FilesystemError: where something could not be put back.
    """
    system = host.system
    for name in (store.log, store.void):
        head = _open_head(system, name, store.home)
        if head is None:
            continue
        with opened(system, head):
            owner = _owner(system, name, store.home, head)
            if name == store.log and owner != "gone":
                return _settle_log(host, store, head, is_alive=owner == "alive")
            if owner == "dead":
                _sweep(system, store)
    return "gone"


def _settle_log(host: HostRoot, store: Store, log: int, *, is_alive: bool) -> Claims | Literal["undone"]:
    said = _read(host.system, log)
    if is_alive:
        return said.claims
    failures = undo(host, store, said.changes.values())
    if failures:
        change, error = failures[0]
        raise FilesystemError(
            f"Could not put back {join(change.parts)} after a call that was cut short: "
            f"{error.strerror or type(error).__name__}; the next start tries again"
        ) from error
    make_void(host, store)
    _sweep(host.system, store)
    return "undone"


def _sweep(system: System, store: Store) -> None:
    with suppress(OSError):  # what is left over harms nobody, and is tried again at the next start
        sweep(system, store)


def _open_head(system: System, name: str, home: int) -> int | None:
    try:
        handle = system.open(name, _LOCKED_FILE, dir_fd=home)
    except (FileNotFoundError, PermissionError):
        return None  # gone since it was seen, or another user's, which only they can put right
    if not S_ISREG(system.fstat(handle).st_mode):
        system.close(handle)
        return None
    return handle


def _owner(system: System, name: str, home: int, handle: int) -> Literal["alive", "dead", "gone"]:
    """Take the lock of a journal's file, unless its owner has it; gone if the name means another by then."""
    try:
        system.flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return "alive"
    there = facts_at(system, name, home)
    return "dead" if there is not None and os.path.samestat(there, system.fstat(handle)) else "gone"


def _read(system: System, log: int) -> Log:
    size_bytes = system.fstat(log).st_size
    if size_bytes > LARGEST_LOG:
        raise FilesystemError(f"A journal is larger than {LARGEST_LOG:,} bytes: it is none of ours")
    return read_log(system.pread(log, size_bytes, 0))
