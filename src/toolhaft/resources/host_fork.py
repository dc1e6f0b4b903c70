"""The changes of one fork of the host files: made, committed or undone under one lock."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from stat import S_ISDIR
from threading import Lock, get_ident

from toolhaft.core.limits import Deadline
from toolhaft.core.ports import WriteMode
from toolhaft.errors import FilesystemError
from toolhaft.resources import file_errors
from toolhaft.resources.changes import Changes, ChangeTarget, check_write, inspect_new_target, inspect_target
from toolhaft.resources.claim_wait import ClaimWait
from toolhaft.resources.host_handles import HostRoot
from toolhaft.resources.journal import Journal, PathClaimedError
from toolhaft.resources.journal_log import Claims, FileChange
from toolhaft.resources.paths import Parts


class HostFork:
    """The changes of one fork; nested forks share the journal and the lock of the outermost one."""

    __slots__ = ("changes", "claims", "deadline", "host", "inner", "is_ended", "journal", "lock", "outer")

    def __init__(self, host: HostRoot, outer: HostFork | None = None) -> None:
        self.host = host
        self.outer = outer
        self.deadline: Deadline | None = None if outer is None else outer.deadline
        """Of the call that this fork belongs to."""
        self.is_ended = False
        self.claims: Claims | None = None
        self.changes: list[FileChange] = []
        self.lock = Lock() if outer is None else outer.lock
        # used only in the outermost fork:
        self.journal: Journal | None = None
        self.inner: list[HostFork] = []

    def write(self, parts: Parts, data: bytes, mode: WriteMode, path: str) -> None:
        """Write a file and create missing directories above it."""
        most = self.host.limits.max_file_bytes
        if len(data) > most:
            raise file_errors.too_large_to_write(path, len(data), most)
        self._queue(path, lambda: self._write(parts, data, mode, path))

    def _write(self, parts: Parts, data: bytes, mode: WriteMode, path: str) -> None:
        before = inspect_new_target(self.host, parts, path)
        check_write(before, mode, path)
        with self._changing((*before.missing, parts)[0], path) as changes:
            # again: others could change it before the claim
            target = inspect_new_target(self.host, parts, path)
            check_write(target, mode, path)
            if target.missing:
                self._claim(target.missing[0], path)
            changes.write(parts, data, mode, target)

    def remove(self, parts: Parts, path: str, *, recursive: bool) -> None:
        """Remove a file or a directory."""
        self._queue(path, lambda: self._remove(parts, path, recursive=recursive))

    def _remove(self, parts: Parts, path: str, *, recursive: bool) -> None:
        self._check_remove(inspect_target(self.host, parts, path), parts, path, recursive=recursive)
        with self._changing(parts, path) as changes:
            self._check_remove(inspect_target(self.host, parts, path), parts, path, recursive=recursive)
            changes.remove(parts, recursive=recursive)

    def make_directory(self, parts: Parts, path: str) -> None:
        """Create a directory and those above it."""
        self._queue(path, lambda: self._make_directory(parts, path))

    def _make_directory(self, parts: Parts, path: str) -> None:
        if not parts:
            return
        before = inspect_new_target(self.host, parts, path)
        if _is_directory(before, path):
            return
        with self._changing((*before.missing, parts)[0], path) as changes:
            target = inspect_new_target(self.host, parts, path)
            if not _is_directory(target, path):
                directories = (*target.missing, parts)
                self._claim(directories[0], path)
                changes.make_directories(directories)

    def _queue(self, path: str, change: Callable[[], None]) -> None:
        """Make a change as soon as no other call has claimed the path, unless that takes too long."""
        wait: ClaimWait | None = None
        try:
            while True:
                try:
                    with self.lock:
                        self._check_open(path)
                        change()
                        return
                except PathClaimedError as claimed:
                    wait = wait or ClaimWait(self.deadline, holds_others=self._holds_others())
                    if not claimed.can_wait or not wait.sleep():
                        can_wait = claimed.can_wait and wait.is_on_loop
                        raise file_errors.busy(path, wait.waited_s, can_wait=can_wait) from None
        finally:
            if wait is not None:
                self._leave_queue()

    def _holds_others(self) -> bool:
        journal = self.top.journal
        return journal is not None and journal.has_claims

    def _leave_queue(self) -> None:
        with self.lock:
            journal = self.top.journal
            if journal is not None and not journal.is_lost:
                journal.give_up()

    def commit(self) -> None:
        """Commit the changes; those of a nested fork become changes of the outer one.

        Raises:
            CallEndedError: if the fork has ended.
            FilesystemError: if the commit failed; the changes are undone then.
        """
        with self.lock:
            self._check_open("")
            self.is_ended = True
            self._undo(self._inner())
            if self.outer is not None:
                self.outer.adopt(self)
            elif self.journal is not None:
                self._commit(self.journal)

    def discard(self) -> None:
        """Undo the changes; safe to repeat.

        Raises:
            FilesystemError: if that failed; it can be repeated, and the next start does.
        """
        with self.lock:
            self.is_ended = True
            self._undo([self, *self._inner()])
            top = self.top
            if self is top and top.journal is not None:
                if not top.journal.is_lost:
                    top.journal.close_undone()
                top.journal = None

    def _commit(self, journal: Journal) -> None:
        try:
            journal.commit(self.changes)
        except BaseException as error:
            if not journal.is_done:
                self._undo([self])
                journal.close_undone()
            if isinstance(error, OSError):
                why = error.strerror or type(error).__name__
                raise FilesystemError(
                    f"The changes could not be committed, and were undone: {why}"
                ) from error
            raise
        finally:
            if journal.is_done or journal.is_lost:
                self.changes, self.journal = [], None

    @contextmanager
    def _changing(self, parts: Parts, path: str) -> Generator[Changes]:
        """A block that changes one path; its changes are undone if it fails."""
        start = len(self.changes)
        journal = self._claim(parts, path)
        try:
            yield Changes(self.host, journal, self.changes, path)
        except BaseException:
            journal.undo(self.changes[start:])
            del self.changes[start:]
            raise

    def _claim(self, parts: Parts, path: str) -> Journal:
        top = self.top
        chain = self.chain()
        for other in top.inner:
            if other not in chain and other.claims is not None and other.claims.conflicts(parts):
                raise file_errors.busy(path)
        if top.journal is None:
            top.journal = Journal(self.host)
        top.journal.claim(parts, path, owner=(get_ident(), self.deadline))
        self._claims().add(parts)
        return top.journal

    def _claims(self) -> Claims:
        if self.claims is None:
            self.claims = Claims()
            if self.outer is not None:
                self.top.inner.append(self)
        return self.claims

    def _check_open(self, path: str) -> None:
        journal = self.top.journal
        if (journal is not None and journal.is_lost) or any(fork.is_ended for fork in self.chain()):
            raise file_errors.ended(path)

    def _check_remove(self, target: ChangeTarget, parts: Parts, path: str, *, recursive: bool) -> None:
        if target.info is None:
            raise file_errors.missing(path)
        if recursive or not S_ISDIR(target.info.st_mode):
            return
        with self.host.open_directory(parts) as handle:
            if self.host.system.listdir(handle):
                raise file_errors.not_empty(path)

    @property
    def top(self) -> HostFork:
        """The outermost fork, which owns the journal."""
        return self.chain()[-1]

    def chain(self) -> list[HostFork]:
        """This fork and the forks around it, outwards."""
        chain: list[HostFork] = [self]
        while chain[-1].outer is not None:
            chain.append(chain[-1].outer)
        return chain

    def _inner(self) -> list[HostFork]:
        """All open forks inside this one that have changes."""
        return [fork for fork in self.top.inner if fork is not self and self in fork.chain()]

    def _undo(self, forks: list[HostFork]) -> None:
        top = self.top
        journal = top.journal
        if journal is not None and not journal.is_lost:
            changes = [change for fork in forks for change in fork.changes]
            journal.undo(sorted(changes, key=lambda change: change.number))
        for fork in forks:
            fork.is_ended = True
            fork.changes = []
        top.inner = [fork for fork in top.inner if fork not in forks]

    def adopt(self, inner: HostFork) -> None:
        """Take the changes of a nested fork, to commit or undo with those of this one."""
        if inner.claims is None:
            return
        self._claims().update(inner.claims)
        self.changes += inner.changes
        inner.changes = []
        self.top.inner.remove(inner)


def _is_directory(target: ChangeTarget, path: str) -> bool:
    """True if the directory exists; raises if something else does."""
    if target.info is None:
        return False
    if not S_ISDIR(target.info.st_mode):
        raise file_errors.not_directory(path)
    return True
