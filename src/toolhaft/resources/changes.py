"""Makes changes below a root directory; a journal first records how to undo each one."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

from toolhaft.core.ports import WriteMode
from toolhaft.resources import file_errors
from toolhaft.resources.host_handles import HostRoot, HostSource
from toolhaft.resources.journal import Journal
from toolhaft.resources.journal_log import FileChange, FileEnd, JournalFiles
from toolhaft.resources.paths import Parts
from toolhaft.resources.recovery import stat_or_none
from toolhaft.resources.system import APPENDED, DIRECTORY, NEW_FILE, REGULAR, ClosingHandle, System

_NO_LINKS: Final = {errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""Errors of systems that cannot create a hard link to a file."""
_TAKEN: Final = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}
"""Errors if something exists at the path of a new directory."""
_EFFECTIVE: Final = os.access in os.supports_effective_ids
_CHUNK_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTarget:
    """The state of a path before a change: missing parent directories, and what exists there."""

    missing: tuple[Parts, ...]
    info: os.stat_result | None


def inspect_target(host: HostRoot, parts: Parts, path: str) -> ChangeTarget:
    """Look at a path that is to be changed.

    Raises:
        FilesystemError: if nothing can be changed there.
    """
    if not parts:
        raise file_errors.denied(path)
    try:
        opened = host.open_directory(parts[:-1])
    except FileNotFoundError:
        return ChangeTarget(missing=_missing(host, parts[:-1]), info=None)
    with opened as parent:
        info = stat_or_none(host.system, parts[-1], parent)
    if info is not None:
        check_kind(info, path)
    return ChangeTarget(missing=(), info=info)


def inspect_new_target(host: HostRoot, parts: Parts, path: str) -> ChangeTarget:
    """Look at a path where something is to be created.

    Raises:
        FilesystemError: if nothing can be created there.
    """
    try:
        return inspect_target(host, parts, path)
    except NotADirectoryError:
        raise file_errors.not_directory(path) from None


def check_write(target: ChangeTarget, mode: WriteMode, path: str) -> None:
    """Refuse to write to a directory, and to create a file that exists."""
    if target.info is None:
        return
    if S_ISDIR(target.info.st_mode):
        raise file_errors.is_directory(path)
    if mode == "create":
        raise file_errors.taken(path)


def check_kind(info: os.stat_result, path: str) -> None:
    """Refuse everything but files and directories.

    Raises:
        FilesystemError: for links, pipes, sockets and devices.
    """
    if S_ISLNK(info.st_mode):
        raise file_errors.denied(path)
    if not (S_ISREG(info.st_mode) or S_ISDIR(info.st_mode)):
        raise file_errors.not_regular(path)


class Changes:
    """Makes the changes of one operation; each is first recorded in the journal and in `recorded`."""

    __slots__ = ("_host", "_journal", "_path", "_recorded")

    def __init__(self, host: HostRoot, journal: Journal, recorded: list[FileChange], path: str) -> None:
        self._host = host
        self._journal = journal
        self._recorded = recorded
        self._path = path

    def write(self, parts: Parts, data: bytes, mode: WriteMode, target: ChangeTarget) -> None:
        """Write a file by moving a complete new one into place, so that nobody sees a half-written file."""
        host, journal = self._host, self._journal
        if mode == "append" and target.info is not None and self._append(parts, data):
            return
        made = self._prepare_directories(target.missing)
        change = journal.new_change("make" if target.info is None else "replace", parts)
        self._write_new(change, data, mode, target.info)
        if target.info is None:
            self._record([*made, change])
            self._move_directories(made)
        with host.open_directory(parts[:-1]) as parent:
            if target.info is None:
                self._link_new(change, parent, mode)
                return
            self._save_old(change, parent)
            self._record([change])
            host.system.rename(
                self._files.new(change), parts[-1], src_dir_fd=self._files.directory, dst_dir_fd=parent
            )

    def _append(self, parts: Parts, data: bytes) -> bool:
        """Append to a file in place; False if it has other names, which must keep the old content."""
        host, system, files = self._host, self._host.system, self._files
        handle = system.open_beneath(host.handle, parts, APPENDED)
        with HostSource(system, handle, self._path) as file:
            if file.info.st_nlink > 1 + self._is_made_here(file.info):
                return False
            end = FileEnd(file.info.st_ino, file.size_bytes, file.info.st_mtime_ns)
            change = replace(self._journal.new_change("append", parts), end=end)
            # an undo removes this mark: it must not cut off what is appended after it
            system.close(system.open(files.old(change), NEW_FILE, 0o600, dir_fd=files.directory))
            self._record([change])
            _write_all(system, handle, data)
            if host.is_durable:
                system.fsync(handle)
        return True

    def _is_made_here(self, info: os.stat_result) -> bool:
        """True for a file that this call created, which has a second name in the journal."""
        change = self._journal.made.get(info.st_ino)
        if change is None:
            return False
        other = stat_or_none(self._host.system, self._files.new(change), self._files.directory)
        return other is not None and os.path.samestat(other, info)

    def remove(self, parts: Parts, *, recursive: bool) -> None:
        """Remove a file or directory by moving it to the journal."""
        change = self._journal.new_change("remove", parts)
        self._record([change])
        with self._host.open_directory(parts[:-1]) as parent:
            self._host.system.rename(
                parts[-1], self._files.old(change), src_dir_fd=parent, dst_dir_fd=self._files.directory
            )
        if not recursive and self._is_not_empty(change):
            raise file_errors.not_empty(self._path)  # somebody put a file into it meanwhile

    def make_directories(self, directories: tuple[Parts, ...]) -> None:
        """Create directories, the topmost first."""
        made = self._prepare_directories(directories)
        self._record(made)
        self._move_directories(made)

    @property
    def _files(self) -> JournalFiles:
        return self._journal.files

    def _record(self, changes: list[FileChange]) -> None:
        self._recorded += changes
        self._journal.record(changes)

    def _prepare_directories(self, directories: tuple[Parts, ...]) -> list[FileChange]:
        """Create directories in the journal, so that a recovery sees whether they were moved into place."""
        made = [self._journal.new_change("mkdir", directory) for directory in directories]
        for change in made:
            self._host.system.mkdir(self._files.new(change), 0o777, dir_fd=self._files.directory)
        return made

    def _move_directories(self, made: list[FileChange]) -> None:
        system, files = self._host.system, self._files
        for change in made:
            with self._host.open_directory(change.parts[:-1]) as above:
                try:
                    system.rename(
                        files.new(change), change.parts[-1], src_dir_fd=files.directory, dst_dir_fd=above
                    )
                except OSError as error:
                    if error.errno in _TAKEN:  # somebody else created one meanwhile
                        raise file_errors.busy(self._path) from None
                    raise

    def _write_new(
        self, change: FileChange, data: bytes, mode: WriteMode, old: os.stat_result | None
    ) -> None:
        host, system = self._host, self._host.system
        with ClosingHandle(
            system, system.open(self._files.new(change), NEW_FILE, 0o666, dir_fd=self._files.directory)
        ) as handle:
            if old is None:
                self._journal.made[system.fstat(handle).st_ino] = change
            elif mode == "append":
                current = system.open_beneath(host.handle, change.parts, REGULAR)
                with HostSource(system, current, self._path) as source:
                    _copy(system, source, handle)
            _write_all(system, handle, data)
            if old is not None:
                # fails for a file of another user: the new one belongs to this user, as with any editor
                with suppress(PermissionError):
                    system.fchown(handle, old.st_uid, old.st_gid)
                system.fchmod(handle, S_IMODE(old.st_mode) & 0o777)
            if host.is_durable:
                system.fsync(handle)

    def _link_new(self, change: FileChange, parent: int, mode: WriteMode) -> None:
        """Link the new file into place; fails if somebody else created one there meanwhile."""
        system, folder, name = self._host.system, self._files.directory, change.parts[-1]
        try:
            system.link(
                self._files.new(change), name, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False
            )
        except FileExistsError:
            raise (file_errors.taken if mode == "create" else file_errors.busy)(self._path) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            system.rename(self._files.new(change), name, src_dir_fd=folder, dst_dir_fd=parent)

    def _save_old(self, change: FileChange, parent: int) -> None:
        """Save the old file in the journal, as a hard link or else as a copy."""
        system, folder, name = self._host.system, self._files.directory, change.parts[-1]
        if not system.access(name, os.W_OK, dir_fd=parent, effective_ids=_EFFECTIVE):
            raise file_errors.denied(self._path)  # replacing the file would bypass its permissions
        try:
            system.link(
                name, self._files.old(change), src_dir_fd=parent, dst_dir_fd=folder, follow_symlinks=False
            )
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._copy_old(change, parent)
        info = system.stat(self._files.old(change), dir_fd=folder, follow_symlinks=False)
        if not S_ISREG(info.st_mode):
            raise file_errors.denied(self._path)  # replaced since it was checked

    def _copy_old(self, change: FileChange, parent: int) -> None:
        system, folder = self._host.system, self._files.directory
        with (
            HostSource(system, system.open(change.parts[-1], REGULAR, dir_fd=parent), self._path) as old,
            ClosingHandle(
                system, system.open(self._files.old(change), NEW_FILE, 0o600, dir_fd=folder)
            ) as copy,
        ):
            _copy(system, old, copy)
            system.fchmod(copy, S_IMODE(old.info.st_mode))
            system.utime(copy, ns=(old.info.st_atime_ns, old.info.st_mtime_ns))
            if self._host.is_durable:
                system.fsync(copy)

    def _is_not_empty(self, change: FileChange) -> bool:
        system = self._host.system
        try:
            moved = system.open(self._files.old(change), DIRECTORY, dir_fd=self._files.directory)
        except NotADirectoryError:
            return False
        with ClosingHandle(system, moved):
            return bool(system.listdir(moved))


def _missing(host: HostRoot, parts: Parts) -> tuple[Parts, ...]:
    """The missing directories of a path, the topmost first."""
    for end in range(1, len(parts)):
        try:
            with host.open_directory(parts[:end]):
                pass
        except FileNotFoundError:
            return tuple(parts[:upto] for upto in range(end, len(parts) + 1))
    return (parts,)


def _copy(system: System, source: HostSource, handle: int) -> None:
    at = 0
    while piece := source.read_at(at, _CHUNK_BYTES):
        _write_all(system, handle, piece)
        at += len(piece)


def _write_all(system: System, handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[system.write(handle, left) :]
