"""Files of the host below one directory: nothing outside it is reached, and every change can be undone.

Does not know what a call is, only views whose changes are kept or dropped as one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from operator import attrgetter
from stat import S_ISDIR, S_ISREG
from typing import Final, Self

from toolhaft.core.ports import FileList, FileStat, FileText, WriteMode
from toolhaft.errors import FilesystemError
from toolhaft.resources import refusals
from toolhaft.resources.changes import check_kind
from toolhaft.resources.filesystem import TreeFilesystem
from toolhaft.resources.host_fork import HostFork
from toolhaft.resources.host_root import HostRoot
from toolhaft.resources.limits import DEFAULT_ENTRIES, DEFAULT_FILE_BYTES, MOST_AT_ONCE, FileLimits
from toolhaft.resources.pages import to_bytes
from toolhaft.resources.paths import RESERVED, Parts, absolute_parts, join, locate
from toolhaft.resources.recovery import recover
from toolhaft.resources.search import Visits
from toolhaft.resources.source import HostSource
from toolhaft.resources.system import DIRECTORY, REGULAR, System, opened
from toolhaft.resources.system import system as usual_system

_NAME: Final = attrgetter("name")


class HostFilesystem(TreeFilesystem):
    """Files below a directory of the host.

    A write shows at once, to everybody; `discard` puts the old files back, and so does the next start after a
    process was killed in the middle. Links are not followed, only regular files are opened, and a file is
    replaced as a whole, so that another hard link to it keeps its content.

    Args:
        root: the directory; it must be there. Calls that a dead process left half-done are undone first.
        read_only: every write raises ReadOnlyError.
        durable: False does not wait for the disk: safe when the process dies, not when the machine does.
        max_file_bytes: read or written in one piece.
        max_entries: listed or matched by one operation.
        system: the calls to the operating system, for tests.

    Raises:
        FilesystemError: where the root cannot be opened, or what a dead process changed cannot be put back.
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
        path = os.path.abspath(root)  # noqa: PTH100 -- what the caller's own text leads to, links and all
        self.read_only = read_only
        self._limits = FileLimits(max_file_bytes=max_file_bytes, max_entries=max_entries)
        self._homes = tuple({absolute_parts(home): None for home in (path, os.path.realpath(path))})
        with refusals.Told(os.fspath(root)):
            self._host = HostRoot(
                path, system=system or usual_system(), is_durable=durable, limits=self._limits
            )
            recover(self._host)
        self._fork: HostFork | None = None

    @classmethod
    def recover(cls, root: str | os.PathLike[str]) -> int:
        """Put back what processes that died in the middle of a call had changed; says how many calls.

        Making a HostFilesystem does this too. Calls of living processes are left alone.

        Raises:
            FilesystemError: where something could not be put back.
        """
        path = os.fspath(root)
        with refusals.Told(path):
            host = HostRoot(path, system=usual_system(), is_durable=True, limits=FileLimits())
            try:
                return recover(host)
            finally:
                host.close()

    def look(self, parts: Parts, path: str) -> FileStat:
        """What is at a place."""
        system, handle = self._host.system, self._host.handle
        with refusals.Told(path):
            if len(parts) > 1:
                with opened(system, system.open_beneath(handle, parts[:-1], DIRECTORY)) as parent:
                    facts = system.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
            elif parts:
                facts = system.stat(parts[0], dir_fd=handle, follow_symlinks=False)
            else:
                facts = system.fstat(handle)
            check_kind(facts, path)
        return _told(join(parts), facts)

    def scan(self, parts: Parts, path: str, visits: Visits, most: int | None = None) -> FileList:
        """The files and directories in a directory; links and whatever else is there are passed over."""
        system = self._host.system
        with (
            refusals.Told(path),
            opened(system, system.open_beneath(self._host.handle, parts, DIRECTORY)) as handle,
            system.scandir(handle) as entries,
        ):
            met = list(islice(entries, visits.left + 1))
            visits.left -= len(met)
            seen = [entry for entry in met if _is_seen(entry, is_at_root=not parts)]
            is_cut = visits.left < 0
            if most is not None and len(seen) > most:
                is_cut, seen = True, nsmallest(most, seen, key=_NAME)
            return FileList(_told_all("/".join((*parts, "")), seen), is_cut=is_cut)

    def open(self, parts: Parts, path: str) -> HostSource:
        """A regular file to read from."""
        system = self._host.system
        with refusals.Told(path):
            return HostSource(system, system.open_beneath(self._host.handle, parts, REGULAR), path)

    def read_at_once(self, path: str) -> FileText | None:
        """A UTF-8 text file, if the system has it in memory; None where it would wait, or refuse."""
        host = self._host
        if host.flags_at_once is None:
            return None
        try:
            handle = host.system.open_at_once(host.handle, locate(path, self._homes))
            if handle is None:
                return None
            with HostSource(host.system, handle, path) as source:
                is_small = source.size_bytes <= min(self._limits.max_file_bytes, MOST_AT_ONCE)
                found = source.text_at_once(host.flags_at_once) if is_small else None
        except FilesystemError:
            return None
        return None if found is None else FileText(*found, None)

    def write(self, path: str, content: str | bytes, *, mode: WriteMode = "overwrite") -> int:
        """Write a file, its parent directories too; says how many bytes were written.

        Raises:
            FilesystemError: where it cannot be written; nothing is changed then.
        """
        data = to_bytes(content, path, mode)
        self._change(path, lambda fork, parts: fork.write(parts, data, mode, path))
        return len(data)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file or an empty directory, or all that is in it.

        Raises:
            FilesystemError: where it cannot be removed; nothing is changed then.
        """
        self._change(path, lambda fork, parts: fork.remove(parts, path, recursive=recursive))

    def mkdir(self, path: str) -> None:
        """Make a directory, its parents too; one that is there is fine.

        Raises:
            FilesystemError: where it cannot be made; nothing is changed then.
        """
        self._change(path, lambda fork, parts: fork.make_directory(parts, path))

    def fork(self, *, read_only: bool = False) -> Self:
        """A view whose writes are kept or dropped as one.

        They show at once, outside the view too. A path that one open view changed is FileBusyError for every
        other, of any process, until that view ends.
        """
        view = object.__new__(type(self))
        view.read_only = read_only or self.read_only
        view._limits = self._limits
        view._homes = self._homes
        view._host = self._host
        view._fork = HostFork(self._host, self._fork)
        return view

    def commit(self) -> None:
        """Keep every write of this view and end it; where nothing was forked there is nothing to keep.

        Raises:
            CallEndedError: where the view has ended before.
            FilesystemError: where the writes cannot be kept; they are taken back then.
        """
        if self._fork is not None:
            self._fork.commit()

    def discard(self) -> None:
        """Put back what this view changed and end it; safe to repeat.

        Raises:
            FilesystemError: where something could not be put back; the next start tries again.
        """
        if self._fork is not None:
            self._fork.discard()

    def close(self) -> None:
        """Give the handle of the root back, which ends its views too; closing a view alone does nothing."""
        if self._fork is None:
            self._host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _change(self, path: str, make: Callable[[HostFork, Parts], None]) -> None:
        if self.read_only:
            raise refusals.read_only(path)
        parts = locate(path, self._homes)
        with refusals.Told(path):
            if self._fork is not None:
                make(self._fork, parts)
                return
            alone = HostFork(self._host)
            try:
                make(alone, parts)
            except BaseException:
                alone.discard()
                raise
            alone.commit()


def _is_seen(entry: os.DirEntry[str], *, is_at_root: bool) -> bool:
    """True for an entry that tools may see."""
    name = entry.name
    if is_at_root and name.casefold().startswith(RESERVED):
        return False
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        return False  # bytes that are no text: no path that anybody writes leads to it
    return entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)


def _told_all(prefix: str, entries: Iterable[os.DirEntry[str]]) -> Iterator[FileStat]:
    """What is known of each; nothing of what is gone, or has become something else, since it was met."""
    for entry in entries:
        try:
            facts = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if S_ISREG(facts.st_mode) or S_ISDIR(facts.st_mode):
            yield _told(prefix + entry.name, facts)


def _told(path: str, facts: os.stat_result) -> FileStat:
    if S_ISDIR(facts.st_mode):
        return FileStat(path, "directory", 0, facts.st_mtime)
    return FileStat(path, "file", facts.st_size, facts.st_mtime)
