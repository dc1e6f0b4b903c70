"""A filesystem below one directory of the host, in which every change can be undone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from operator import attrgetter
from stat import S_ISDIR, S_ISREG
from typing import Final, Self

from toolhaft.core.limits import Deadline
from toolhaft.core.ports import FileList, FileStat, WriteMode
from toolhaft.resources import file_errors
from toolhaft.resources.changes import check_kind
from toolhaft.resources.filesystem import TreeFilesystem
from toolhaft.resources.host_fork import HostFork
from toolhaft.resources.host_handles import HostRoot, HostSource
from toolhaft.resources.pages import DEFAULT_ENTRIES, DEFAULT_FILE_BYTES, FileLimits, to_bytes
from toolhaft.resources.paths import RESERVED, Parts, absolute_parts, join, locate
from toolhaft.resources.recovery import Recovery, recover
from toolhaft.resources.search import VisitBudget
from toolhaft.resources.system import REGULAR, System, default_system

_NAME: Final = attrgetter("name")


class HostFilesystem(TreeFilesystem):
    """Files below a directory of the host.

    Writes are visible immediately, to everybody. `discard` restores the old files; so does the next start if
    the process was killed before. Links are not followed, and only regular files are opened. A write replaces
    the file, so that other hard links keep the old content.

    Args:
        root: the directory, which must exist. Calls that a killed process did not finish are undone first;
            what cannot be undone blocks only its own paths.
        read_only: every write raises ReadOnlyError, and nothing is undone.
        durable: False does not flush to disk: safe if the process is killed, not if the machine loses power.
        max_file_bytes: the largest file to read or write as a whole.
        max_entries: the most entries that one operation lists or matches.
        system: the calls to the operating system, for tests.

    Raises:
        FilesystemError: if the root cannot be opened.
    """

    __slots__ = ("_fork", "_host")

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        read_only: bool = False,
        durable: bool = True,
        max_file_bytes: int = DEFAULT_FILE_BYTES,
        max_entries: int = DEFAULT_ENTRIES,
        system: System | None = None,
    ) -> None:
        path = os.path.abspath(root)  # noqa: PTH100 -- links in the path stay as the caller wrote them
        self.read_only = read_only
        self._limits = FileLimits(max_file_bytes=max_file_bytes, max_entries=max_entries)
        self._homes = tuple({absolute_parts(home): None for home in (path, os.path.realpath(path))})
        with file_errors.TranslateErrors(os.fspath(root)):
            self._host = HostRoot(
                path, system=system or default_system(), is_durable=durable, limits=self._limits
            )
            if not read_only:
                recover(self._host)
        self._fork: HostFork | None = None

    @classmethod
    def recover(cls, root: str | os.PathLike[str]) -> int:
        """Undo the unfinished calls of killed processes; returns how many there were.

        Creating a HostFilesystem does this too. Calls of living processes are not affected.

        Raises:
            FilesystemError: if something could not be undone.
        """
        return recover_folder(root).check()

    def look(self, parts: Parts, path: str) -> FileStat:
        """Stat a file or directory."""
        self._check_current(parts, path)
        system = self._host.system
        with file_errors.TranslateErrors(path):
            if len(parts) > 1:
                with self._host.open_directory(parts[:-1]) as parent:
                    info = system.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
            elif parts:
                info = system.stat(parts[0], dir_fd=self._host.handle, follow_symlinks=False)
            else:
                info = system.fstat(self._host.handle)
            check_kind(info, path)
        return _file_stat(join(parts), info)

    def scan(self, parts: Parts, path: str, visits: VisitBudget, most: int | None = None) -> FileList:
        """The files and directories in a directory; links and special files are skipped."""
        self._check_current(parts, path)
        with (
            file_errors.TranslateErrors(path),
            self._host.open_directory(parts) as handle,
            self._host.system.scandir(handle) as entries,
        ):
            found = list(islice(entries, visits.left + 1))
            visits.left -= len(found)
            visible = [entry for entry in found if _is_visible(entry, is_at_root=not parts)]
            is_cut = visits.left < 0
            if most is not None and len(visible) > most:
                is_cut, visible = True, nsmallest(most, visible, key=_NAME)
            return FileList(_file_stats("/".join((*parts, "")), visible), is_cut=is_cut)

    def open(self, parts: Parts, path: str) -> HostSource:
        """Open a regular file for reading."""
        self._check_current(parts, path)
        system = self._host.system
        with file_errors.TranslateErrors(path):
            return HostSource(system, system.open_beneath(self._host.handle, parts, REGULAR), path)

    def write(self, path: str, content: str | bytes, *, mode: WriteMode = "overwrite") -> int:
        """Write a file and create its parent directories; returns the number of bytes written.

        Raises:
            FilesystemError: if it cannot be written; nothing is changed then.
        """
        data = to_bytes(content, path, mode)
        self._change(path, lambda fork, parts: fork.write(parts, data, mode, path))
        return len(data)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file or an empty directory; with `recursive`, also its content.

        Raises:
            FilesystemError: if it cannot be removed; nothing is changed then.
        """
        self._change(path, lambda fork, parts: fork.remove(parts, path, recursive=recursive))

    def mkdir(self, path: str) -> None:
        """Create a directory and its parents; it may exist already.

        Raises:
            FilesystemError: if it cannot be created; nothing is changed then.
        """
        self._change(path, lambda fork, parts: fork.make_directory(parts, path))

    def fork(self, *, read_only: bool = False) -> Self:
        """A view whose writes are committed or discarded together.

        Its writes are visible outside immediately. A path that an open view has changed cannot be changed by
        another view, of any process, until that view ends: the other one waits, for at most 2 seconds outside
        a call, and then gets a FileBusyError.
        """
        view = object.__new__(type(self))
        view.read_only = read_only or self.read_only
        view._limits = self._limits
        view._homes = self._homes
        view._host = self._host
        view._fork = HostFork(self._host, self._fork)
        return view

    def wait_until(self, deadline: Deadline) -> None:
        """Let this view wait until shortly before a deadline for paths that other views are changing.

        A change on an event loop, which must not be blocked, is delayed until the path is free; `commit`, and
        reading the path before that, raise FileBusyError.
        """
        if self._fork is not None:
            self._fork.deadline = deadline

    def catch_up(self) -> float:
        """Make the delayed changes; returns after how many seconds to try again, 0 if all are made.

        Raises:
            FilesystemError: if one cannot be made, or its path was not free in time.
        """
        return 0.0 if self._fork is None else self._fork.catch_up()

    def commit(self) -> None:
        """Commit all writes of this view and end it; does nothing outside a fork.

        Raises:
            CallEndedError: if the view has ended.
            FilesystemError: if the commit failed; the writes are undone then.
        """
        if self._fork is not None:
            self._fork.commit()

    def discard(self) -> None:
        """Undo all writes of this view and end it; safe to repeat.

        Raises:
            FilesystemError: if something could not be undone; the next start tries again.
        """
        if self._fork is not None:
            self._fork.discard()

    def close(self) -> None:
        """Close the root directory, which ends all views; closing a view does nothing."""
        if self._fork is None:
            self._host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_current(self, parts: Parts, path: str) -> None:
        if self._fork is not None and self._fork.delayed:
            self._fork.check_current(parts, path)

    def _change(self, path: str, change: Callable[[HostFork, Parts], None]) -> None:
        if self.read_only:
            raise file_errors.read_only(path)
        parts = locate(path, self._homes)
        with file_errors.TranslateErrors(path):
            if self._fork is not None:
                change(self._fork, parts)
                return
            single = HostFork(self._host)
            try:
                change(single, parts)
            except BaseException:
                single.discard()
                raise
            single.commit()


def recover_folder(root: str | os.PathLike[str], *, accept: bool = False, drop: bool = False) -> Recovery:
    """Undo the unfinished calls of killed processes in a folder.

    Args:
        root: the folder.
        accept: also those whose journal was copied, or written by another user or on another machine.
        drop: forget those that cannot be undone, and keep the files as they are.
    """
    path = os.path.abspath(root)  # noqa: PTH100 -- a text
    with file_errors.TranslateErrors(os.fspath(root)):
        host = HostRoot(path, system=default_system(), is_durable=True, limits=FileLimits())
        try:
            return recover(host, accept=accept, drop=drop)
        finally:
            host.close()


def _is_visible(entry: os.DirEntry[str], *, is_at_root: bool) -> bool:
    """True for an entry that tools can see."""
    name = entry.name
    if is_at_root and name.casefold().startswith(RESERVED):
        return False
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        return False  # not valid UTF-8: no path of a caller can name it
    return entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)


def _file_stats(prefix: str, entries: Iterable[os.DirEntry[str]]) -> Iterator[FileStat]:
    """Stat entries; skips those that were removed or replaced meanwhile."""
    for entry in entries:
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if S_ISREG(info.st_mode) or S_ISDIR(info.st_mode):
            yield _file_stat(prefix + entry.name, info)


def _file_stat(path: str, info: os.stat_result) -> FileStat:
    if S_ISDIR(info.st_mode):
        return FileStat(path, "directory", 0, info.st_mtime)
    return FileStat(path, "file", info.st_size, info.st_mtime)
