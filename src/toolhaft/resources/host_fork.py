"""The changes of one fork of the host files: made, committed or undone under one lock."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from stat import S_ISDIR
from threading import Lock, get_ident
from typing import Final, NamedTuple

from toolhaft.core.limits import Deadline
from toolhaft.core.ports import WriteMode
from toolhaft.errors import FilesystemError
from toolhaft.resources import file_errors
from toolhaft.resources.changes import Changes, ChangeTarget, check_write, inspect_new_target, inspect_target
from toolhaft.resources.host_handles import HostRoot
from toolhaft.resources.journal import Journal, PathClaimedError
from toolhaft.resources.journal_log import Claims, FileChange
from toolhaft.resources.paths import Parts
from toolhaft.resources.recovery import recover

_NO_CALL_S: Final = 2.0
"""The longest wait for a path outside a call."""
_FIRST_S: Final = 0.001
_LONGEST_S: Final = 0.02
_PART: Final = 0.9
"""Of the time that a call has left: the rest is for a failed result that says what it waited for."""


class _ClaimWait:
    """The wait for a path that another call has claimed, in growing steps.

    It ends shortly before the deadline of this call. If this call has claimed other paths, it ends earlier,
    at a random time: two calls that wait for each other would otherwise both fail.
    """

    __slots__ = ("_began", "_longest_s", "_step_s")

    def __init__(self, deadline: Deadline | None, *, holds_others: bool) -> None:
        self._longest_s = _NO_CALL_S if deadline is None else deadline.remaining() * _PART
        if holds_others:
            self._longest_s *= random.uniform(0.3, 0.7)  # noqa: S311 -- spreads load, guards nothing
        self._began = time.monotonic()
        self._step_s = _FIRST_S

    def next_s(self, path: str) -> float:
        """How many seconds to wait before the next try.

        Raises:
            FileBusyError: if there is no time left.
        """
        waited_s = time.monotonic() - self._began
        if waited_s >= self._longest_s:
            raise file_errors.busy(path, waited_s)
        step_s, self._step_s = self._step_s, min(2 * self._step_s, _LONGEST_S)
        return min(step_s, self._longest_s - waited_s)


class _DelayedChange(NamedTuple):
    """A change that waits for another call, since it was made on an event loop, which must not be blocked."""

    fork: HostFork
    parts: Parts
    path: str
    make: Callable[[], None]
    wait: _ClaimWait


class HostFork:
    """The changes of one fork; nested forks share the journal and the lock of the outermost one."""

    __slots__ = (
        "changes",
        "claims",
        "deadline",
        "delayed",
        "host",
        "inner",
        "is_ended",
        "journal",
        "lock",
        "outer",
    )

    def __init__(self, host: HostRoot, outer: HostFork | None = None) -> None:
        self.host = host
        self.outer = outer
        self.deadline: Deadline | None = None if outer is None else outer.deadline
        """Of the call that this fork belongs to."""
        self.is_ended = False
        self.claims: Claims | None = None
        self.changes: list[FileChange] = []
        self.lock = Lock() if outer is None else outer.lock
        self.delayed: list[_DelayedChange] = [] if outer is None else outer.delayed
        """Of all nested forks, the oldest first."""
        # used only in the outermost fork:
        self.journal: Journal | None = None
        self.inner: list[HostFork] = []

    def write(self, parts: Parts, data: bytes, mode: WriteMode, path: str) -> None:
        """Write a file and create missing directories above it."""
        most = self.host.limits.max_file_bytes
        if len(data) > most:
            raise file_errors.too_large_to_write(path, len(data), most)
        self._queue(parts, path, lambda: self._write(parts, data, mode, path))

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
        self._queue(parts, path, lambda: self._remove(parts, path, recursive=recursive))

    def _remove(self, parts: Parts, path: str, *, recursive: bool) -> None:
        self._check_remove(inspect_target(self.host, parts, path), parts, path, recursive=recursive)
        with self._changing(parts, path) as changes:
            self._check_remove(inspect_target(self.host, parts, path), parts, path, recursive=recursive)
            changes.remove(parts, recursive=recursive)

    def make_directory(self, parts: Parts, path: str) -> None:
        """Create a directory and those above it."""
        self._queue(parts, path, lambda: self._make_directory(parts, path))

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

    def _queue(self, parts: Parts, path: str, change: Callable[[], None]) -> None:
        """Make a change as soon as no other call has claimed the path, unless that takes too long.

        On the event loop of a call it is delayed instead, as are all changes after it.
        """
        wait: _ClaimWait | None = None
        try:
            while True:
                with self.lock:
                    self._check_open(path)
                    try:
                        self._make_delayed()
                        change()
                    except PathClaimedError as claimed:
                        wait = wait or _ClaimWait(self.deadline, holds_others=self._holds_others())
                        must_not_block = bool(self.delayed) or _is_on_event_loop()
                        if not claimed.can_wait or (must_not_block and self.deadline is None):
                            raise file_errors.busy(path) from None
                        if must_not_block:
                            self.delayed.append(_DelayedChange(self, parts, path, change, wait))
                            return
                    else:
                        return
                time.sleep(wait.next_s(path))
        finally:
            if wait is not None:
                with self.lock:
                    self._leave_queue()

    def _make_delayed(self) -> None:
        while self.delayed:
            with file_errors.TranslateErrors(self.delayed[0].path):
                self.delayed[0].make()
            del self.delayed[0]

    def catch_up(self) -> float:
        """Make the delayed changes; returns after how many seconds to try again, 0 if all are made.

        Those of the forks around this one may stay delayed.

        Raises:
            FilesystemError: if one cannot be made, or its path was not free in time.
        """
        if not self.delayed:
            return 0.0
        with self.lock:
            self._check_open("")
            with suppress(PathClaimedError):
                self._make_delayed()
            first = self._first_delayed()
            if first is None:
                self._leave_queue()
                return 0.0
            busy = self.delayed[0].path
        return first.wait.next_s(busy)

    def _first_delayed(self) -> _DelayedChange | None:
        """The oldest delayed change of this fork, or of one inside it."""
        return next((change for change in self.delayed if self in change.fork.chain()), None)

    def check_current(self, parts: Parts, path: str) -> None:
        """Refuse to read what a delayed change will replace.

        Raises:
            FileBusyError: if there is one.
        """
        try:
            self.catch_up()
        finally:
            with self.lock:
                self._leave_queue()  # the next try may be much later
        if any(parts[: len(other.parts)] == other.parts[: len(parts)] for other in self.delayed):
            raise file_errors.busy(path)

    def _holds_others(self) -> bool:
        journal = self.top.journal
        return journal is not None and journal.has_claims

    def _leave_queue(self) -> None:
        """Let others go first until the next try."""
        journal = self.top.journal
        if journal is not None and not journal.is_lost:
            with suppress(OSError):  # then they wait until this call ends
                journal.give_up()

    def commit(self) -> None:
        """Commit the changes; those of a nested fork become changes of the outer one.

        Raises:
            CallEndedError: if the fork has ended.
            FilesystemError: if the commit failed; the changes are undone then.
        """
        self.catch_up()
        with self.lock:
            self._check_open("")
            if self._first_delayed() is not None:
                raise file_errors.busy(self.delayed[0].path)
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
            self.delayed[:] = [change for change in self.delayed if self not in change.fork.chain()]
            self._leave_queue()
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
                self.journal = None
            if isinstance(error, OSError):
                why = error.strerror or type(error).__name__
                raise FilesystemError(
                    f"The changes could not be committed, and were undone: {why}"
                ) from error
            raise
        finally:
            if journal.is_done:
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
        changes = [change for fork in forks for change in fork.changes]
        if journal is None and changes:  # an earlier try failed, and left the journal to a recovery
            recover(self.host).check()
        elif journal is not None and not journal.is_lost:
            try:
                journal.undo(sorted(changes, key=lambda change: change.number))
            except FilesystemError:
                if top in forks and journal.leave():
                    top.journal = None
                raise
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


def _is_on_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None  # noqa: SLF001 -- its public twin raises


def _is_directory(target: ChangeTarget, path: str) -> bool:
    """True if the directory exists; raises if something else does."""
    if target.info is None:
        return False
    if not S_ISDIR(target.info.st_mode):
        raise file_errors.not_directory(path)
    return True
