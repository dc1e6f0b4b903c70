"""Undoes changes from a journal: those of a failed call, and those of a process that died."""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB
from shlex import quote
from stat import S_ISREG
from typing import Final, Literal

from toolhaft.errors import FilesystemError
from toolhaft.resources import file_errors
from toolhaft.resources.host_handles import HostRoot
from toolhaft.resources.journal_log import (
    Claims,
    FileChange,
    FileEnd,
    JournalFiles,
    JournalLog,
    JournalSeal,
    read_log,
)
from toolhaft.resources.paths import RESERVED, Parts, join
from toolhaft.resources.state_key import is_open, journal_key, mark_ended
from toolhaft.resources.system import APPENDED, DIRECTORY, ClosingHandle, System

JOURNAL_DIRECTORY: Final = RESERVED
"""The directory of journals in the root; it exists only while there are journals."""
MAX_LOG_BYTES: Final = 256 * 1024 * 1024
_LOCKED_FILE: Final = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_OURS: Final = {
    errno.ENOENT,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ELOOP,
    errno.EISDIR,
    errno.ENXIO,
}
"""Errors of opening a log that was removed meanwhile, belongs to somebody else, or cannot be changed."""
_ASIDE_NAME = re.compile(r"([0-9a-f]{16})\.aside")
_LOG: Final = logging.getLogger("toolhaft")
_JOURNAL_NAME = re.compile(r"([0-9a-f]{16})\.(?:log|void)")


_STUCK: Final = (
    "%s: a file that an interrupted call changed cannot be restored (%s); until then it cannot be changed. "
    f"Fix: {file_errors.RESTORE} %s; with --drop it stays as it is"
)

JournalKind = Literal["alive", "undone", "gone", "stuck", "aside"]
"""Of a living process; undone; removed, or of another user; impossible to undo; of an unknown writer."""


@dataclass(slots=True, kw_only=True)
class JournalState:
    """What was found out about a journal."""

    kind: JournalKind
    claims: Claims = field(default_factory=Claims)
    """The paths that nobody else can change."""
    waiting: Mapping[Parts, int] = field(default_factory=dict[Parts, int])
    """The paths that a living call waits for, and since when."""
    reason: str = ""
    """Why it could not be undone."""


@dataclass(slots=True, kw_only=True)
class Recovery:
    """What a recovery of a folder did."""

    undone: int = 0
    """Interrupted calls that were undone."""
    stuck: list[str] = field(default_factory=list[str])
    """Why others could not be."""
    aside: int = 0
    """Journals of unknown writers, which changed nothing."""

    def check(self) -> int:
        """Return how many calls were undone.

        Raises:
            FilesystemError: if others could not be.
        """
        if self.stuck:
            raise FilesystemError(
                f"Could not restore {self.stuck[0]}. Fix: {file_errors.RESTORE} on the folder"
            )
        return self.undone


def recover(host: HostRoot, *, accept: bool = False, drop: bool = False) -> Recovery:
    """Undo every journal of this user whose process is dead.

    Args:
        host: the root directory.
        accept: undo those that were set aside too.
        drop: remove those that cannot be undone, and keep the files as they are.
    """
    found = Recovery()
    try:
        directory = host.system.open(JOURNAL_DIRECTORY, DIRECTORY, dir_fd=host.handle)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM):
            raise
        return found  # there are no journals
    with ClosingHandle(host.system, directory):
        if accept:
            _accept(host, directory)
        for files in list_journals(host.system, directory):
            state = recover_journal(host, files, accept=accept, drop=drop)
            found.undone += state.kind == "undone"
            if state.kind == "stuck":
                found.stuck.append(state.reason)
                _LOG.warning(_STUCK, host.path, state.reason, quote(host.path))
        found.aside = sum(name.endswith(".aside") for name in host.system.listdir(directory))
    remove_journal_directory(host)
    return found


def _accept(host: HostRoot, directory: int) -> None:
    """Make the journals that were set aside ordinary ones again."""
    for name in host.system.listdir(directory):
        match = _ASIDE_NAME.fullmatch(name)
        if match is not None:
            host.system.rename(name, f"{match[1]}.log", src_dir_fd=directory, dst_dir_fd=directory)


def recover_journal(
    host: HostRoot, files: JournalFiles, *, accept: bool = False, drop: bool = False
) -> JournalState:
    """Undo the journal of a dead process, or return the claims of a living one."""
    system = host.system
    for name in (files.log, files.void):
        handle = _open_file(system, name, files.directory)
        if handle is None:
            continue
        with ClosingHandle(system, handle):
            owner = _owner(system, name, files.directory, handle)
            if name == files.log and owner == "alive":
                log = _read_log(system, handle, None)
                return JournalState(kind="alive", claims=log.claims, waiting=log.waiting)
            if name == files.log and owner == "dead":
                return _recover_log(host, files, handle, accept=accept, drop=drop)
            if owner == "dead":
                mark_ended(files.key)
                remove_files(system, files)
    return JournalState(kind="gone")


def seal_of(host: HostRoot, files: JournalFiles) -> JournalSeal:
    """What makes the codes of a journal."""
    return JournalSeal(journal_key(), root=host.inode, journal=files.key)


def list_journals(system: System, directory: int) -> list[JournalFiles]:
    """The journals in the directory; other files in it are ignored."""
    matches = map(_JOURNAL_NAME.fullmatch, system.listdir(directory))
    return [JournalFiles(directory, match[1]) for match in matches if match]


def remove_journal_directory(host: HostRoot) -> None:
    """Remove the directory of journals, if it is empty."""
    with suppress(OSError):
        host.system.rmdir(JOURNAL_DIRECTORY, dir_fd=host.handle)


def void_log(host: HostRoot, files: JournalFiles) -> None:
    """Make a journal void, in one atomic step: after that its changes are not undone."""
    host.system.rename(files.log, files.void, src_dir_fd=files.directory, dst_dir_fd=files.directory)
    if host.is_durable:
        host.system.fsync(files.directory)
    mark_ended(files.key)


def remove_files(system: System, files: JournalFiles) -> None:
    """Remove all files of a void journal; leftovers are harmless, and the next recovery tries again."""
    with suppress(OSError):
        waiting = [
            name
            for name in system.listdir(files.directory)
            if name.startswith(f"{files.key}.") and name not in (files.void, files.log)
        ]
        while waiting:
            name = waiting.pop()
            if not _unlink(system, name, files.directory):
                waiting += _flatten(system, name, files)
                system.rmdir(name, dir_fd=files.directory)
        _unlink(system, files.void, files.directory)  # the last one: it marks the others as removable


def undo(
    host: HostRoot, files: JournalFiles, changes: Iterable[FileChange]
) -> list[tuple[FileChange, OSError]]:
    """Undo changes, the newest first, and return those that failed with their errors.

    If a change cannot be undone, older changes of the same path are left for the next try too: undoing them
    first would restore a state that never existed.

    Args:
        host: the root of the tree.
        files: the journal with the old contents.
        changes: in the order in which they were made.
    """
    failures: list[tuple[FileChange, OSError]] = []
    failed = Claims()
    undone: list[FileChange] = []
    for change in reversed(list(changes)):
        if failed.conflicts(change.parts):
            continue
        try:
            _undo_one(host, files, change)
            undone.append(change)
        except OSError as error:
            failures.append((change, error))
            failed.add(change.parts)
    if host.is_durable and not failures:
        try:
            sync_parents(host, undone)
        except OSError as error:
            failures.append((undone[0], error))
    return failures


def sync_parents(host: HostRoot, changes: Iterable[FileChange]) -> None:
    """Flush the directories whose entries were changed to disk."""
    for parts in {change.parts[:-1] for change in changes}:
        # a directory may have been removed meanwhile: then its parent is flushed
        with suppress(FileNotFoundError, NotADirectoryError), host.open_directory(parts) as handle:
            host.system.fsync(handle)


def stat_or_none(system: System, name: str, handle: int) -> os.stat_result | None:
    """Stat a name in a directory without following links; None if it does not exist."""
    try:
        return system.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _recover_log(host: HostRoot, files: JournalFiles, log: int, *, accept: bool, drop: bool) -> JournalState:
    system, info = host.system, host.system.fstat(log)
    content = _read_log(system, log, None if accept else seal_of(host, files))
    is_ours = content.is_ours and info.st_size <= MAX_LOG_BYTES
    if content.changes and not accept:
        is_ours = is_ours and is_open(files.key)
    if info.st_uid != system.fstat(files.directory).st_uid or (not is_ours and info.st_uid != os.geteuid()):
        return JournalState(kind="gone")  # of another user, who has to recover it
    if not is_ours:
        return _set_aside(host, files)
    failures = undo(host, files, content.changes.values())
    if failures and not drop:
        return _stuck(failures)
    try:
        void_log(host, files)
    except OSError as error:  # all is restored, and restoring it again does nothing
        return JournalState(kind="stuck", reason=f"the journal: {error.strerror or type(error).__name__}")
    remove_files(system, files)
    return JournalState(kind="undone")


def _stuck(failures: list[tuple[FileChange, OSError]]) -> JournalState:
    """The state of a journal that blocks the paths that could not be restored, until somebody helps."""
    claims = Claims()
    for change, _ in failures:
        claims.add(change.parts)
    change, error = failures[0]
    reason = f"{join(change.parts)}: {error.strerror or type(error).__name__}"
    return JournalState(kind="stuck", claims=claims, reason=reason)


def _set_aside(host: HostRoot, files: JournalFiles) -> JournalState:
    """Rename the log of an unknown writer, so that it is kept and never undone automatically."""
    with suppress(OSError):  # else it is ignored again the next time
        if stat_or_none(host.system, files.aside, files.directory) is None:
            host.system.rename(files.log, files.aside, src_dir_fd=files.directory, dst_dir_fd=files.directory)
            _LOG.warning(
                "%s: a journal of an interrupted call was copied here, or written by another user or on "
                "another machine; it is set aside, and nothing was changed. If you trust the folder, "
                "`lk files recover %s --accept` undoes that call",
                host.path,
                quote(host.path),
            )
    return JournalState(kind="aside")


def _read_log(system: System, log: int, seal: JournalSeal | None) -> JournalLog:
    return read_log(system.pread(log, min(system.fstat(log).st_size, MAX_LOG_BYTES), 0), seal)


def _open_file(system: System, name: str, directory: int) -> int | None:
    """Open a file of a journal; None if there is none that this user can lock."""
    info = stat_or_none(system, name, directory)
    if info is None or not S_ISREG(info.st_mode):
        return None
    try:
        handle = system.open(name, _LOCKED_FILE, dir_fd=directory)
    except OSError as error:
        if error.errno in _NOT_OURS:
            return None
        raise
    if not S_ISREG(system.fstat(handle).st_mode):
        system.close(handle)
        return None
    return handle


def _owner(system: System, name: str, directory: int, handle: int) -> Literal["alive", "dead", "gone"]:
    """Try to lock the file of a journal: a living owner holds it. "gone" if it was removed or replaced."""
    try:
        system.flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return "alive"
    there = stat_or_none(system, name, directory)
    return "dead" if there is not None and os.path.samestat(there, system.fstat(handle)) else "gone"


def _undo_one(host: HostRoot, files: JournalFiles, change: FileChange) -> None:
    """Undo one change; does nothing if it was not made, or was undone before.

    The files of the journal show this: a recovery may run again after it was interrupted, and must not undo
    a change twice.
    """
    system, name = host.system, change.parts[-1]
    if change.kind in ("replace", "remove"):
        if stat_or_none(system, files.old(change), files.directory) is not None:
            with host.open_directory(change.parts[:-1]) as parent:
                system.rename(files.old(change), name, src_dir_fd=files.directory, dst_dir_fd=parent)
        return
    if change.end is not None:
        _cut_off(host, files, change, change.end)
        return
    new = stat_or_none(system, files.new(change), files.directory)
    with suppress(FileNotFoundError, NotADirectoryError), host.open_directory(change.parts[:-1]) as parent:
        if new is None:
            _move_back(system, files, change, parent)
        elif change.kind == "make" and _is_same(new, stat_or_none(system, name, parent)):
            system.unlink(name, dir_fd=parent)


def _cut_off(host: HostRoot, files: JournalFiles, change: FileChange, end: FileEnd) -> None:
    """Undo an append, if the journal still has its mark and the file is still the same."""
    system = host.system
    if stat_or_none(system, files.old(change), files.directory) is None:
        return
    with (
        suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError),
        ClosingHandle(system, system.open_beneath(host.handle, change.parts, APPENDED)) as handle,
    ):
        info = system.fstat(handle)
        if info.st_ino == end.inode and S_ISREG(info.st_mode) and info.st_size > end.size_bytes:
            system.ftruncate(handle, end.size_bytes)
            system.utime(handle, ns=(info.st_atime_ns, end.modified_ns))
            if host.is_durable:
                system.fsync(handle)
    _unlink(system, files.old(change), files.directory)


def _is_same(new: os.stat_result, there: os.stat_result | None) -> bool:
    return there is not None and os.path.samestat(new, there)


def _move_back(system: System, files: JournalFiles, change: FileChange, parent: int) -> None:
    """Move a created file or directory back to the journal, unless others put something into it."""
    name, new = change.parts[-1], files.new(change)
    if change.kind == "mkdir" and not _is_empty(system, name, parent):
        return
    system.rename(name, new, src_dir_fd=parent, dst_dir_fd=files.directory)
    if change.kind == "mkdir" and not _is_empty(system, new, files.directory):  # changed meanwhile
        system.rename(new, name, src_dir_fd=files.directory, dst_dir_fd=parent)


def _is_empty(system: System, name: str, handle: int) -> bool:
    with ClosingHandle(system, system.open(name, DIRECTORY, dir_fd=handle)) as directory:
        return not system.listdir(directory)


def _unlink(system: System, name: str, handle: int) -> bool:
    """Remove a file; False for a directory."""
    try:
        system.unlink(name, dir_fd=handle)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):  # systems report different errors for a directory
        return False
    return True


def _flatten(system: System, name: str, files: JournalFiles) -> list[str]:
    """Empty a directory and move its subdirectories next to it, so that no tree is too deep to remove."""
    moved: list[str] = []
    with ClosingHandle(system, _open_writable(system, name, files.directory)) as handle:
        for inner in system.listdir(handle):
            if not _unlink(system, inner, handle):
                system.close(_open_writable(system, inner, handle))
                moved.append(f"{files.key}.junk-{os.urandom(8).hex()}")
                system.rename(inner, moved[-1], src_dir_fd=handle, dst_dir_fd=files.directory)
    return moved


def _open_writable(system: System, name: str, handle: int) -> int:
    """Open a directory to empty or move it, and make it writable."""
    directory = system.open(name, DIRECTORY, dir_fd=handle)
    with suppress(PermissionError):
        system.fchmod(directory, 0o700)
    return directory
