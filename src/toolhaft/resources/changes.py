"""Makes changes below a root, each written down in a journal first, so that it can be undone.

Knows no forks and no locks: who may change what, and until when, is settled before.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

from toolhaft.core.ports import WriteMode
from toolhaft.resources import refusals
from toolhaft.resources.host_root import HostRoot
from toolhaft.resources.journal import Journal
from toolhaft.resources.log import Change, Store
from toolhaft.resources.pages import read_whole
from toolhaft.resources.paths import Parts
from toolhaft.resources.source import HostSource
from toolhaft.resources.system import DIRECTORY, NEW_FILE, REGULAR, System, opened
from toolhaft.resources.undo import facts_at

_NO_LINKS: Final = {errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""What a system says that cannot, or will not, make a hard link to a file."""
_TAKEN: Final = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}
"""What it says where a new directory would stand in another's place."""
_EFFECTIVE: Final = os.access in os.supports_effective_ids
_CHUNK_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a change meets: the directories to make first, and what is there."""

    missing: tuple[Parts, ...]
    facts: os.stat_result | None


def survey(host: HostRoot, parts: Parts, path: str) -> Place:
    """Look at a place before it is changed.

    Raises:
        FilesystemError: where nothing may be changed there, by anybody.
    """
    if not parts:
        raise refusals.denied(path)
    system = host.system
    try:
        parent = system.open_beneath(host.handle, parts[:-1], DIRECTORY)
    except FileNotFoundError:
        return Place(missing=_missing(host, parts[:-1]), facts=None)
    with opened(system, parent):
        facts = facts_at(system, parts[-1], parent)
    if facts is not None:
        check_kind(facts, path)
    return Place(missing=(), facts=facts)


def survey_to_make(host: HostRoot, parts: Parts, path: str) -> Place:
    """Look at a place where something is to be made.

    Raises:
        FilesystemError: where nothing may be made there.
    """
    try:
        return survey(host, parts, path)
    except NotADirectoryError:
        raise refusals.not_directory(path) from None


def check_kind(facts: os.stat_result, path: str) -> None:
    """Let files and directories pass.

    Raises:
        FilesystemError: for links, pipes, sockets and devices.
    """
    if S_ISLNK(facts.st_mode):
        raise refusals.denied(path)
    if not (S_ISREG(facts.st_mode) or S_ISDIR(facts.st_mode)):
        raise refusals.not_regular(path)


def _missing(host: HostRoot, parts: Parts) -> tuple[Parts, ...]:
    """The directories on the way to a place that are not there, the uppermost first."""
    for end in range(1, len(parts)):
        try:
            host.system.close(host.system.open_beneath(host.handle, parts[:end], DIRECTORY))
        except FileNotFoundError:
            return tuple(parts[:upto] for upto in range(end, len(parts) + 1))
    return (parts,)


def check_write(place: Place, mode: WriteMode, path: str) -> None:
    """Refuse to write where there is a directory, or a file that was to be created."""
    if place.facts is None:
        return
    if S_ISDIR(place.facts.st_mode):
        raise refusals.is_directory(path)
    if mode == "create":
        raise refusals.taken(path)


class Changes:
    """The changes of one call; each is added to `noted` before it is made."""

    __slots__ = ("_host", "_journal", "_noted", "_path")

    def __init__(self, host: HostRoot, journal: Journal, noted: list[Change], path: str) -> None:
        self._host = host
        self._journal = journal
        self._noted = noted
        self._path = path

    def write(self, parts: Parts, data: bytes, mode: WriteMode, place: Place) -> None:
        """Put a whole new file in place; nobody ever sees half of it."""
        host, journal = self._host, self._journal
        if mode == "append" and place.facts is not None:
            data = self._content(parts) + data
        if len(data) > host.limits.max_file_bytes:
            raise refusals.too_large_to_write(self._path, len(data), host.limits.max_file_bytes)
        made = self._new_directories(place.missing)
        change = journal.change("make" if place.facts is None else "replace", parts)
        self._write_new(change, data, place.facts)
        if place.facts is None:
            self._write_down([*made, change])
            self._make_directories(made)
        with opened(host.system, host.system.open_beneath(host.handle, parts[:-1], DIRECTORY)) as parent:
            if place.facts is None:
                self._give_name(change, parent, mode)
                return
            self._save_old(change, parent)
            self._write_down([change])
            host.system.rename(
                self._store.new(change), parts[-1], src_dir_fd=self._store.home, dst_dir_fd=parent
            )

    def remove(self, parts: Parts, *, recursive: bool) -> None:
        """Move a file, or a directory with all that is in it, out of sight."""
        system, journal = self._host.system, self._journal
        change = journal.change("remove", parts)
        self._write_down([change])
        with opened(system, system.open_beneath(self._host.handle, parts[:-1], DIRECTORY)) as parent:
            system.rename(parts[-1], self._store.old(change), src_dir_fd=parent, dst_dir_fd=self._store.home)
        if not recursive and self._holds_something(change):
            raise refusals.not_empty(self._path)  # somebody put it there since we looked

    def make_directories(self, directories: tuple[Parts, ...]) -> None:
        """Make directories, the uppermost first."""
        made = self._new_directories(directories)
        self._write_down(made)
        self._make_directories(made)

    @property
    def _store(self) -> Store:
        return self._journal.store

    def _write_down(self, changes: list[Change]) -> None:
        self._noted += changes
        self._journal.write_down(changes)

    def _new_directories(self, directories: tuple[Parts, ...]) -> list[Change]:
        """Directories in the journal, to be put in place as files are: so it shows whether one was."""
        made = [self._journal.change("mkdir", directory) for directory in directories]
        for change in made:
            self._host.system.mkdir(self._store.new(change), 0o777, dir_fd=self._store.home)
        return made

    def _make_directories(self, made: list[Change]) -> None:
        system, store = self._host.system, self._store
        for change in made:
            above = system.open_beneath(self._host.handle, change.parts[:-1], DIRECTORY)
            with opened(system, above):
                try:
                    system.rename(
                        store.new(change), change.parts[-1], src_dir_fd=store.home, dst_dir_fd=above
                    )
                except OSError as error:
                    if error.errno in _TAKEN:  # somebody else made one since we looked
                        raise refusals.busy(self._path) from None
                    raise

    def _content(self, parts: Parts) -> bytes:
        host = self._host
        handle = host.system.open_beneath(host.handle, parts, REGULAR)
        with HostSource(host.system, handle, self._path) as source:
            return read_whole(source, self._path, host.limits)

    def _write_new(self, change: Change, data: bytes, old: os.stat_result | None) -> None:
        host, system = self._host, self._host.system
        with opened(
            system, system.open(self._store.new(change), NEW_FILE, 0o666, dir_fd=self._store.home)
        ) as handle:
            _write_all(system, handle, data)
            if old is not None:
                with suppress(PermissionError):  # another's file; it becomes ours, as with any editor
                    system.fchown(handle, old.st_uid, old.st_gid)
                system.fchmod(handle, S_IMODE(old.st_mode) & 0o777)
            if host.is_durable:
                system.fsync(handle)

    def _give_name(self, change: Change, parent: int, mode: WriteMode) -> None:
        """Make the new content appear, unless somebody else made a file there since we looked."""
        system, folder, name = self._host.system, self._store.home, change.parts[-1]
        try:
            system.link(
                self._store.new(change), name, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False
            )
        except FileExistsError:
            raise (refusals.taken if mode == "create" else refusals.busy)(self._path) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            system.rename(self._store.new(change), name, src_dir_fd=folder, dst_dir_fd=parent)

    def _save_old(self, change: Change, parent: int) -> None:
        """Keep what is there under a second name, which costs nothing, or as a copy."""
        system, folder, name = self._host.system, self._store.home, change.parts[-1]
        if not system.access(name, os.W_OK, dir_fd=parent, effective_ids=_EFFECTIVE):
            raise refusals.denied(self._path)  # a new file in its place would get around that
        try:
            system.link(
                name, self._store.old(change), src_dir_fd=parent, dst_dir_fd=folder, follow_symlinks=False
            )
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._copy_old(change, parent)
        facts = system.stat(self._store.old(change), dir_fd=folder, follow_symlinks=False)
        if not S_ISREG(facts.st_mode):
            raise refusals.denied(self._path)  # it was a file when we looked

    def _copy_old(self, change: Change, parent: int) -> None:
        system, folder = self._host.system, self._store.home
        with (
            HostSource(system, system.open(change.parts[-1], REGULAR, dir_fd=parent), self._path) as old,
            opened(system, system.open(self._store.old(change), NEW_FILE, 0o600, dir_fd=folder)) as copy,
        ):
            at = 0
            while piece := old.read_at(at, _CHUNK_BYTES):
                _write_all(system, copy, piece)
                at += len(piece)
            system.fchmod(copy, S_IMODE(old.facts.st_mode))
            system.utime(copy, ns=(old.facts.st_atime_ns, old.facts.st_mtime_ns))
            if self._host.is_durable:
                system.fsync(copy)

    def _holds_something(self, change: Change) -> bool:
        system = self._host.system
        try:
            moved = system.open(self._store.old(change), DIRECTORY, dir_fd=self._store.home)
        except NotADirectoryError:
            return False
        with opened(system, moved):
            return bool(system.listdir(moved))


def _write_all(system: System, handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[system.write(handle, left) :]
