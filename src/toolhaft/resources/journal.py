"""The journal of one call that has not ended: what it takes to undo its changes, durable before each is made.

Knows how to keep and to forget; what is changed, and when, is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN
from time import monotonic, sleep
from typing import Final
from weakref import WeakSet

from toolhaft.errors import FilesystemError
from toolhaft.resources import refusals
from toolhaft.resources.claims import Claims
from toolhaft.resources.host_root import HostRoot
from toolhaft.resources.log import Change, ChangeKind, Store, change_line, claim_line, undone_line
from toolhaft.resources.paths import Parts, join
from toolhaft.resources.recovery import HOME, make_void, remove_home, settle, stores
from toolhaft.resources.system import DIRECTORY
from toolhaft.resources.undo import facts_at, sweep, sync_parents, undo

_ATTEMPTS: Final = 100
_LONGEST_TURN_S: Final = 5.0


class Journal:
    """Files of its own in a directory at the root, held by a lock for as long as its owner lives."""

    __slots__ = (
        "__weakref__",
        "_claims",
        "_end",
        "_handles",
        "_host",
        "_kept",
        "_number",
        "_system",
        "is_done",
        "store",
    )

    store: Store
    """Where contents are kept, new ones and old ones."""
    is_done: bool
    """True once the changes are kept for good."""

    def __init__(self, host: HostRoot) -> None:
        self._host = host
        self._system = host.system
        self._claims = Claims()
        self._end = 0
        self._number = 0
        self._kept: Sequence[Change] = ()
        self.is_done = False
        self._handles: list[int] = []
        for _ in range(_ATTEMPTS):
            try:
                if self._begin():
                    break
            except (FileNotFoundError, BlockingIOError):
                pass  # another process cleaned up what it took for a left-over
            except BaseException:
                self.leave()
                raise
            self.leave()
        else:
            raise FilesystemError("Could not begin a journal: the root is gone, or others kept removing it")
        _open_journals.add(self)

    def _begin(self) -> bool:
        system = self._system
        with suppress(FileExistsError):
            system.mkdir(HOME, 0o777, dir_fd=self._host.handle)
        self._handles.append(system.open(HOME, DIRECTORY, dir_fd=self._host.handle))
        self.store = Store(self._handles[0], os.urandom(8).hex())
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._handles.append(system.open(self.store.log, flags, 0o600, dir_fd=self.store.home))
        system.flock(self._log, LOCK_EX | LOCK_NB)
        if not system.fstat(self._log).st_nlink:
            return False
        if self._host.is_durable:
            system.fsync(self._host.handle)
        return True

    @property
    def _log(self) -> int:
        return self._handles[1]

    @property
    def is_lost(self) -> bool:
        """True in a child process, whose parent goes on with it."""
        return not self._handles

    def claim(self, parts: Parts, path: str) -> None:
        """Keep every other call, of any process, from changing a path until this one ends.

        Raises:
            FileBusyError: where another call is changing it.
        """
        if self._claims.covers(parts):
            return
        with self._turn(path):
            for store in stores(self._system, self.store.home):
                if store != self.store and self._meets(store, parts):
                    raise refusals.busy(path)
            self._append(claim_line(parts))
        self._claims.add(parts)

    def _meets(self, store: Store, parts: Parts) -> bool:
        said = settle(self._host, store)
        return isinstance(said, Claims) and said.meets(parts)

    @contextmanager
    def _turn(self, path: str) -> Generator[None]:
        """One claim at a time, over all processes."""
        give_up_at = monotonic() + _LONGEST_TURN_S
        while True:
            try:
                self._system.flock(self.store.home, LOCK_EX | LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() > give_up_at:  # its holder was stopped in the middle
                    raise refusals.busy(path) from None
                sleep(0.001)
            except OSError:
                break  # no locks on directories here: two claims in one instant may both succeed
        try:
            yield
        finally:
            with suppress(OSError):
                self._system.flock(self.store.home, LOCK_UN)

    def change(self, kind: ChangeKind, parts: Parts) -> Change:
        """A change to come, with names for what is kept for it."""
        self._number += 1
        return Change(number=self._number, kind=kind, parts=parts)

    def write_down(self, changes: Sequence[Change]) -> None:
        """Make it durable how to undo changes; only then may they be made."""
        self._append(b"".join(change_line(change) for change in changes))
        if self._host.is_durable:
            self._system.fsync(self._log)
            self._system.fsync(self.store.home)

    def _append(self, lines: bytes) -> None:
        written = 0
        try:
            while written < len(lines):
                written += self._system.pwrite(self._log, lines[written:], self._end + written)
        except OSError:
            with suppress(OSError):  # else it is written over by the next, and what is left of it is no line
                self._system.ftruncate(self._log, self._end)
            raise
        self._end += written

    def take_back(self, changes: Sequence[Change]) -> None:
        """Undo some of the changes, newest first.

        Raises:
            FilesystemError: where that failed; it may be tried again, and the next start will.
        """
        if not changes:
            return
        failures = self._revive() or undo(self._host, self.store, changes)
        if failures:
            paths = ", ".join(join(change.parts) for change, _ in failures[:3])
            error = failures[0][1]
            raise FilesystemError(
                f"Could not put back {refusals.shown(paths)}: {error.strerror or type(error).__name__}; "
                "its old content is kept, and the next start tries again"
            ) from error
        with suppress(OSError):  # for the next start only, which may as well undo them twice
            self._append(undone_line(changes))

    def keep(self, changes: Sequence[Change]) -> None:
        """Make the changes durable and the journal void.

        Raises:
            OSError: where that failed; they can still be taken back then.
        """
        if self._host.is_durable:
            sync_parents(self._host, changes)
        self._kept = changes
        make_void(self._host, self.store)
        self.is_done = True
        self._remove()

    def _revive(self) -> list[tuple[Change, OSError]]:
        """Have the log again where making it void went half-way: without it, half an undo would be a mix."""
        store = self.store
        try:
            if self._kept and facts_at(self._system, store.log, store.home) is None:
                self._system.rename(store.void, store.log, src_dir_fd=store.home, dst_dir_fd=store.home)
        except OSError as error:
            return [(change, error) for change in self._kept]
        return []

    def forget(self) -> None:
        """End a journal of which every change is undone."""
        with suppress(OSError):  # else the next start finds nothing left to undo, and removes it
            make_void(self._host, self.store)
            self._remove()
        self.leave()

    def _remove(self) -> None:
        with suppress(OSError):  # what is left over harms nobody, and is tried again at the next start
            sweep(self._system, self.store)
        self.leave()
        remove_home(self._host)

    def leave(self) -> None:
        """Let go of the journal, as if its owner had died."""
        handles, self._handles = self._handles, []
        for handle in handles:
            self._system.close(handle)

    def __del__(self) -> None:
        self.leave()


_open_journals: WeakSet[Journal] = WeakSet()


def _leave_to_parent() -> None:
    """A child must not hold the locks of its parent's journals: they would outlive the parent."""
    for journal in list(_open_journals):
        journal.leave()
    _open_journals.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
