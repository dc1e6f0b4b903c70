"""The undo journal of one open call, which is on disk before each change is made."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from errno import ELOOP, ENOTDIR
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN
from time import monotonic, monotonic_ns, sleep
from typing import Final
from weakref import WeakSet

from toolhaft.errors import FilesystemError
from toolhaft.resources import file_errors, recovery
from toolhaft.resources.host_handles import HostRoot
from toolhaft.resources.journal_log import (
    ChangeKind,
    Claims,
    FileChange,
    JournalFiles,
    change_line,
    claim_line,
    give_up_line,
    undone_line,
    wait_line,
)
from toolhaft.resources.paths import Parts, join
from toolhaft.resources.state_key import is_open, mark_open
from toolhaft.resources.system import DIRECTORY

_ATTEMPTS: Final = 100
_MAX_CLAIM_WAIT_S: Final = 5.0

_open_journals: WeakSet[Journal] = WeakSet()


class PathClaimedError(Exception):
    """Another call has claimed the path; `can_wait` is False if it is this call, which would never end."""

    def __init__(self, can_wait: bool) -> None:  # noqa: FBT001 -- the only argument
        super().__init__(can_wait)
        self.can_wait = can_wait


class Journal:
    """A journal in the directory of journals; its log is locked as long as its process lives."""

    __slots__ = (
        "__weakref__",
        "_claims",
        "_committing",
        "_end",
        "_handles",
        "_host",
        "_is_marked",
        "_next_number",
        "_seal",
        "_since_ns",
        "_system",
        "files",
        "is_done",
        "made",
        "owner",
    )

    files: JournalFiles
    """The files of this journal."""
    is_done: bool
    """True once the changes are committed."""
    made: dict[int, FileChange]
    """By inode, the files that this call created."""
    owner: object
    """The thread and the call that claimed a path last: they cannot wait for themselves."""

    def __init__(self, host: HostRoot) -> None:
        self._host = host
        self._system = host.system
        self._claims = Claims()
        self._end = 0
        self._next_number = 0
        self._committing: Sequence[FileChange] = ()
        self._since_ns = 0
        self._is_marked = False
        self.is_done = False
        self.made = {}
        self.owner = None
        self._handles: list[int] = []
        for _ in range(_ATTEMPTS):
            try:
                if self._create():
                    break
            except (FileNotFoundError, BlockingIOError):
                pass  # another process removed it, because it was not locked yet
            except BaseException:
                self.release()
                raise
            self.release()
        else:
            raise FilesystemError(
                "Could not create a journal: the root was removed, or other processes keep removing it"
            )
        _open_journals.add(self)

    def _create(self) -> bool:
        system = self._system
        with suppress(FileExistsError):
            system.mkdir(recovery.JOURNAL_DIRECTORY, 0o777, dir_fd=self._host.handle)
        try:
            folder = system.open(recovery.JOURNAL_DIRECTORY, DIRECTORY, dir_fd=self._host.handle)
        except OSError as error:
            if error.errno not in (ENOTDIR, ELOOP):
                raise
            raise FilesystemError(
                f"Nothing can be changed here: {recovery.JOURNAL_DIRECTORY} in the root is not a folder. "
                "Fix: remove it"
            ) from error
        self._handles.append(folder)
        self.files = JournalFiles(self._handles[0], os.urandom(8).hex())
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._handles.append(system.open(self.files.log, flags, 0o600, dir_fd=self.files.directory))
        system.flock(self._log, LOCK_EX | LOCK_NB)
        info = system.fstat(self._log)
        if not info.st_nlink:
            return False
        if system.fstat(self.files.directory).st_uid != info.st_uid:
            system.unlink(self.files.log, dir_fd=self.files.directory)
            raise FilesystemError(
                f"Nothing can be changed here: the folder {recovery.JOURNAL_DIRECTORY} in the root belongs "
                "to another user, who is changing files, or has to run `lk files recover`"
            )
        self._seal = recovery.seal_of(self._host, self.files)
        if self._host.is_durable:
            system.fsync(self._host.handle)
        return True

    @property
    def _log(self) -> int:
        return self._handles[1]

    @property
    def is_lost(self) -> bool:
        """True in a forked child process: the journal belongs to the parent."""
        return not self._handles

    def claim(self, parts: Parts, path: str, owner: object = None) -> None:
        """Claim a path: no other call, of any process, can change it until this one ends.

        Raises:
            PathClaimedError: if another call is changing it, or has waited for it longer. This call is in the
                queue now, until it claims the path, gives up or ends.
        """
        if self._claims.covers(parts):
            return
        since_ns = self._since_ns or monotonic_ns()
        with self._claim_lock(path):
            for files in recovery.list_journals(self._system, self.files.directory):
                if files == self.files:
                    continue
                state = recovery.recover_journal(self._host, files)
                if state.kind == "stuck" and state.claims.conflicts(parts):
                    raise file_errors.unsettled(path, state.reason)
                if state.claims.conflicts(parts) or self._is_later(state, parts, since_ns):
                    if not self._since_ns:
                        self._append([wait_line(parts, since_ns)])
                        self._since_ns = since_ns
                    raise PathClaimedError(_owner_of(files) != owner)
            self._append([claim_line(parts)])
        self._claims.add(parts)
        self._since_ns = 0
        self.owner = owner

    def _is_later(self, state: recovery.JournalState, parts: Parts, since_ns: int) -> bool:
        """True if a living call waits for the path, or one above or below it, and began before this one.

        A call that has claimed something goes first, since others may be waiting for it.
        """
        if self._claims:
            return False
        waits = [waiting for waiting, since in state.waiting.items() if since < since_ns]
        return any(parts[: len(waiting)] == waiting or waiting[: len(parts)] == parts for waiting in waits)

    @property
    def has_claims(self) -> bool:
        """True if this call has claimed a path."""
        return bool(self._claims)

    def give_up(self) -> None:
        """Leave the queue."""
        if self._since_ns:
            self._since_ns = 0
            self._append([give_up_line()])

    @contextmanager
    def _claim_lock(self, path: str) -> Generator[None]:
        """Let one process at a time claim a path."""
        give_up_at = monotonic() + _MAX_CLAIM_WAIT_S
        while True:
            try:
                self._system.flock(self.files.directory, LOCK_EX | LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() > give_up_at:  # the process that holds the lock was stopped
                    raise file_errors.busy(path) from None
                sleep(0.001)
            except OSError:
                break  # this system cannot lock directories: two simultaneous claims may both succeed
        try:
            yield
        finally:
            with suppress(OSError):
                self._system.flock(self.files.directory, LOCK_UN)

    def new_change(self, kind: ChangeKind, parts: Parts) -> FileChange:
        """A change to be made, with the next number."""
        self._next_number += 1
        return FileChange(number=self._next_number, kind=kind, parts=parts)

    def record(self, changes: Sequence[FileChange]) -> None:
        """Write to disk how to undo changes, before they are made."""
        if not self._is_marked:
            mark_open(self.files.key, durable=self._host.is_durable)
            self._is_marked = True
        self._append([change_line(change) for change in changes])
        if self._host.is_durable:
            self._system.fsync(self._log)
            self._system.fsync(self.files.directory)

    def _append(self, texts: Sequence[bytes]) -> None:
        lines = self._seal.lines(texts, self._end)
        written = 0
        try:
            while written < len(lines):
                written += self._system.pwrite(self._log, lines[written:], self._end + written)
        except OSError:
            with suppress(OSError):  # if it fails, the next line overwrites this one; the rest is invalid
                self._system.ftruncate(self._log, self._end)
            raise
        self._end += written

    def undo(self, changes: Sequence[FileChange]) -> None:
        """Undo some of the changes, the newest first.

        Raises:
            FilesystemError: if that failed; it can be repeated, and the next start does.
        """
        if not changes:
            return
        failures = self._restore_log() or recovery.undo(self._host, self.files, changes)
        if failures:
            paths = ", ".join(join(change.parts) for change, _ in failures[:3])
            error = failures[0][1]
            why = error.strerror or type(error).__name__
            raise FilesystemError(
                f"Could not restore {file_errors.display(paths)}: {why}; the journal keeps the old content. "
                f"Fix: {file_errors.RESTORE} on the folder"
            ) from error
        with suppress(OSError):  # only a recovery reads it, and undoing a change again does nothing
            self._append([undone_line(changes)])

    def commit(self, changes: Sequence[FileChange]) -> None:
        """Flush the changes to disk and make the journal void.

        Raises:
            OSError: if that failed; the changes can still be undone.
        """
        if self._host.is_durable:
            recovery.sync_parents(self._host, changes)
        self._committing = changes
        recovery.void_log(self._host, self.files)
        self.is_done = True
        self._remove()

    def _restore_log(self) -> list[tuple[FileChange, OSError]]:
        """Rename the log back after a failed commit: without it an interrupted undo could not be finished."""
        files = self.files
        try:
            if self._committing and recovery.stat_or_none(self._system, files.log, files.directory) is None:
                self._system.rename(
                    files.void, files.log, src_dir_fd=files.directory, dst_dir_fd=files.directory
                )
        except OSError as error:
            return [(change, error) for change in self._committing]
        return []

    def leave(self) -> bool:
        """Let the next recovery undo the changes, as if the process had died; False if it could not."""
        files = self.files
        with suppress(OSError):
            # after a failed commit there may be no log, so that only this process can undo them
            if recovery.stat_or_none(self._system, files.log, files.directory) and is_open(files.key):
                self.release()
        return self.is_lost

    def close_undone(self) -> None:
        """Remove the journal after all its changes were undone."""
        with suppress(OSError):  # otherwise the next recovery removes it
            recovery.void_log(self._host, self.files)
            self._remove()
        self.release()

    def _remove(self) -> None:
        recovery.remove_files(self._system, self.files)
        self.release()
        recovery.remove_journal_directory(self._host)

    def release(self) -> None:
        """Close the handles without removing anything, as if the process had died."""
        handles, self._handles = self._handles, []
        for handle in handles:
            self._system.close(handle)

    def __del__(self) -> None:
        self.release()


def _owner_of(files: JournalFiles) -> object:
    """The owner of a journal of this process."""
    return next((journal.owner for journal in list(_open_journals) if journal.files.key == files.key), None)


def _release_in_child() -> None:
    """A forked child must not hold the locks of its parent: they would outlive the parent."""
    for journal in list(_open_journals):
        journal.release()
    _open_journals.clear()


os.register_at_fork(after_in_child=_release_in_child)
