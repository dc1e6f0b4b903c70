"""Undoes changes from a journal: those of a failed call, and those of a process that died."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB
from stat import S_ISREG
from typing import Final, Literal

from toolhaft.errors import FilesystemError
from toolhaft.resources.host_handles import HostRoot
from toolhaft.resources.journal_log import Claims, FileChange, JournalFiles, JournalLog, read_log
from toolhaft.resources.paths import RESERVED, join
from toolhaft.resources.system import DIRECTORY, ClosingHandle, System

JOURNAL_DIRECTORY: Final = RESERVED
"""The directory of journals in the root; it exists only while there are journals."""
MAX_LOG_BYTES: Final = 256 * 1024 * 1024
_LOCKED_FILE: Final = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_JOURNAL_NAME = re.compile(r"([0-9a-f]{16})\.(?:log|void)")


def recover(host: HostRoot) -> int:
    """Undo every journal whose process is dead, and return how many there were.

    Raises:
        FilesystemError: if something could not be undone; the next recovery continues from there.
    """
    try:
        directory = host.system.open(JOURNAL_DIRECTORY, DIRECTORY, dir_fd=host.handle)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return 0  # there are no journals
    with ClosingHandle(host.system, directory):
        results = [recover_journal(host, files) for files in list_journals(host.system, directory)]
    remove_journal_directory(host)
    return results.count("undone")


def recover_journal(host: HostRoot, files: JournalFiles) -> Claims | Literal["undone", "gone"]:
    """Undo the journal of a dead process, or return the claims of a living one.

    Raises:
        FilesystemError: if something could not be undone.
    """
    system = host.system
    for name in (files.log, files.void):
        handle = _open_file(system, name, files.directory)
        if handle is None:
            continue
        with ClosingHandle(system, handle):
            owner = _owner(system, name, files.directory, handle)
            if name == files.log and owner != "gone":
                return _recover_log(host, files, handle, is_alive=owner == "alive")
            if owner == "dead":
                remove_files(system, files)
    return "gone"


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


def _recover_log(
    host: HostRoot, files: JournalFiles, log: int, *, is_alive: bool
) -> Claims | Literal["undone"]:
    log_content = _read_log(host.system, log)
    if is_alive:
        return log_content.claims
    failures = undo(host, files, log_content.changes.values())
    if failures:
        change, error = failures[0]
        raise FilesystemError(
            f"Could not restore {join(change.parts)} after an interrupted call: "
            f"{error.strerror or type(error).__name__}; the next start tries again"
        ) from error
    void_log(host, files)
    remove_files(host.system, files)
    return "undone"


def _read_log(system: System, log: int) -> JournalLog:
    size_bytes = system.fstat(log).st_size
    if size_bytes > MAX_LOG_BYTES:
        raise FilesystemError(
            f"A journal is larger than {MAX_LOG_BYTES:,} bytes, so toolhaft did not write it"
        )
    return read_log(system.pread(log, size_bytes, 0))


def _open_file(system: System, name: str, directory: int) -> int | None:
    try:
        handle = system.open(name, _LOCKED_FILE, dir_fd=directory)
    except (FileNotFoundError, PermissionError):
        return None  # removed meanwhile, or it belongs to another user, who has to recover it
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
    new = stat_or_none(system, files.new(change), files.directory)
    with suppress(FileNotFoundError, NotADirectoryError), host.open_directory(change.parts[:-1]) as parent:
        if new is None:
            _move_back(system, files, change, parent)
        elif change.kind == "make" and _is_same(new, stat_or_none(system, name, parent)):
            system.unlink(name, dir_fd=parent)


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
