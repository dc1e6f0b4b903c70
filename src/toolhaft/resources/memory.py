"""Files in memory, for tests and for tools that need no disk; a fork costs the same whatever its size.

Knows nothing of the host's files.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from heapq import nsmallest
from itertools import islice
from threading import Lock
from typing import Self

from toolhaft.core.ports import Clock, FileList, FileStat, FileText, WriteMode
from toolhaft.errors import FilesystemError
from toolhaft.resources import refusals
from toolhaft.resources.clock import SystemClock
from toolhaft.resources.filesystem import TreeFilesystem
from toolhaft.resources.limits import DEFAULT_ENTRIES, DEFAULT_FILE_BYTES, MOST_AT_ONCE, FileLimits
from toolhaft.resources.memory_merge import merge
from toolhaft.resources.memory_tree import Directory, MemoryFile, Node, build, empty, find, put, remove
from toolhaft.resources.pages import to_bytes
from toolhaft.resources.paths import Parts, join, locate
from toolhaft.resources.search import Visits

_HOMES: tuple[Parts, ...] = ((),)
_CLOCK = SystemClock()


class MemoryFilesystem(TreeFilesystem):
    """Files in memory; the root is '/'.

    What a fork changed shows to others when it commits. Where what it forked from has changed meanwhile, both
    changes are kept if they are about different paths; else the commit is refused and changes nothing.

    Args:
        files: paths and contents to begin with.
        read_only: every write raises ReadOnlyError.
        max_file_bytes: read or written in one piece.
        max_entries: listed or matched by one operation.
        clock: where the times of files come from.

    Raises:
        FilesystemError: for a path that no file can have.
    """

    __slots__ = ("_base", "_clock", "_is_ended", "_lock", "_outer", "_touched", "_tree")

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        read_only: bool = False,
        max_file_bytes: int = DEFAULT_FILE_BYTES,
        max_entries: int = DEFAULT_ENTRIES,
        clock: Clock = _CLOCK,
    ) -> None:
        self.read_only = read_only
        self._limits = FileLimits(max_file_bytes=max_file_bytes, max_entries=max_entries)
        self._homes = _HOMES
        self._clock = clock
        self._lock = Lock()
        self._outer: MemoryFilesystem | None = None
        self._is_ended = False
        self._touched: dict[Parts, str] = {}
        self._tree = _tree_of(files or {}, self._limits, clock.time())
        self._base = self._tree

    def look(self, parts: Parts, path: str) -> FileStat:
        """What is at a place."""
        node = find(self._tree, parts)
        if node is None:
            raise refusals.missing(path)
        return _told(join(parts), node)

    def scan(self, parts: Parts, path: str, visits: Visits, most: int | None = None) -> FileList:
        """The files and directories in a directory."""
        node = find(self._tree, parts)
        if not isinstance(node, Directory):
            raise refusals.missing(path)
        met = list(islice(node.entries.items(), visits.left + 1))
        visits.left -= len(met)
        is_cut = visits.left < 0
        if most is not None and len(met) > most:
            is_cut, met = True, nsmallest(most, met)
        prefix = "/".join((*parts, ""))
        return FileList((_told(prefix + name, entry) for name, entry in met), is_cut=is_cut)

    def open(self, parts: Parts, path: str) -> nullcontext[MemorySource]:
        """A file to read from."""
        node = find(self._tree, parts)
        if node is None:
            raise refusals.missing(path)
        if isinstance(node, Directory):
            raise refusals.is_directory(path)
        return nullcontext(MemorySource(node.data))

    def read_at_once(self, path: str) -> FileText | None:
        """A UTF-8 text file; None where it is large, or reading it is refused."""
        try:
            return self.read(path) if self.stat(path).size_bytes <= MOST_AT_ONCE else None
        except FilesystemError:
            return None

    def write(self, path: str, content: str | bytes, *, mode: WriteMode = "overwrite") -> int:
        """Write a file, its parent directories too; says how many bytes were written.

        Raises:
            FilesystemError: where it cannot be written; nothing is changed then.
        """
        added = to_bytes(content, path, mode)
        with self._changing(path) as parts:
            if not parts:
                raise refusals.denied(path)
            old = self._at(parts, path)
            if isinstance(old, Directory):
                raise refusals.is_directory(path)
            if old is not None and mode == "create":
                raise refusals.taken(path)
            data = old.data + added if old is not None and mode == "append" else added
            if len(data) > self._limits.max_file_bytes:
                raise refusals.too_large_to_write(path, len(data), self._limits.max_file_bytes)
            now = self._clock.time()
            self._tree = put(self._tree, parts, MemoryFile(data, now), now)
            self._note({parts: path})
        return len(added)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file or an empty directory, or all that is in it.

        Raises:
            FilesystemError: where it cannot be removed; nothing is changed then.
        """
        with self._changing(path) as parts:
            if not parts:
                raise refusals.denied(path)
            node = find(self._tree, parts)
            if node is None:
                raise refusals.missing(path)
            if isinstance(node, Directory) and len(node.entries) and not recursive:
                raise refusals.not_empty(path)
            self._tree = remove(self._tree, parts, self._clock.time())
            self._note({parts: path})

    def mkdir(self, path: str) -> None:
        """Make a directory, its parents too; one that is there is fine.

        Raises:
            FilesystemError: where it cannot be made; nothing is changed then.
        """
        with self._changing(path) as parts:
            node = self._at(parts, path)
            if node is None:
                now = self._clock.time()
                self._tree = put(self._tree, parts, empty(now), now)
                self._note({parts: path})
            elif not isinstance(node, Directory):
                raise refusals.not_directory(path)

    def fork(self, *, read_only: bool = False) -> Self:
        """A view whose writes are kept or dropped as one; nobody else sees them before they are kept."""
        view = object.__new__(type(self))
        view.read_only = read_only or self.read_only
        view._limits = self._limits
        view._homes = _HOMES
        view._clock = self._clock
        view._lock = Lock()
        view._outer = self
        view._is_ended = False
        view._touched = {}
        view._base = view._tree = self._tree
        return view

    def commit(self) -> None:
        """Keep every write of this view and end it; where nothing was forked there is nothing to keep.

        Raises:
            CallEndedError: where the view has ended before.
            FileBusyError: where something that it changed was changed outside it too; its writes are dropped.
        """
        outer = self._outer
        if outer is None:
            return
        with self._lock:
            self._check_open("")
            self._is_ended = True
            if self._touched:
                outer.take(self._base, self._tree, self._touched)

    def discard(self) -> None:
        """Drop what this view changed and end it; safe to repeat."""
        if self._outer is not None:
            with self._lock:
                self._is_ended = True
                self._tree = self._base

    def take(self, base: Directory, tree: Directory, touched: Mapping[Parts, str]) -> None:
        """Have the changes of a fork: for a fork's `commit`."""
        with self._lock:
            self._check_open("")
            self._tree = tree if self._tree is base else merge(base, tree, self._tree, touched)
            self._note(touched)

    def _note(self, touched: Mapping[Parts, str]) -> None:
        if self._outer is not None:  # else nobody will ask, and it would grow for ever
            self._touched.update(touched)

    @property
    def is_ended(self) -> bool:
        """True once this view, or one that it is within, was kept or dropped."""
        return self._is_ended or (self._outer is not None and self._outer.is_ended)

    @contextmanager
    def _changing(self, path: str) -> Generator[Parts]:
        if self.read_only:
            raise refusals.read_only(path)
        parts = locate(path, _HOMES)
        with self._lock:
            self._check_open(path)
            yield parts

    def _check_open(self, path: str) -> None:
        if self.is_ended:
            raise refusals.ended(path)

    def _at(self, parts: Parts, path: str) -> Node | None:
        """What is at a place that is to be changed; refused where a file stands above it."""
        node: Node | None = self._tree
        for name in parts:
            if isinstance(node, MemoryFile):
                raise refusals.not_directory(path)
            if node is None:
                return None
            node = node.entries.get(name)
        return node


class MemorySource:
    """A file's bytes, to read by offset."""

    __slots__ = ("_data", "size_bytes")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size_bytes = len(data)

    def read_at(self, offset: int, count: int) -> bytes:
        """At most that many bytes; fewer only at the end."""
        return self._data[offset : offset + count]

    def text(self) -> None:
        """Nothing: it is in memory already."""


def _told(path: str, node: Node) -> FileStat:
    if isinstance(node, Directory):
        return FileStat(path, "directory", 0, node.modified_at)
    return FileStat(path, "file", len(node.data), node.modified_at)


def _tree_of(files: Mapping[str, str | bytes], limits: FileLimits, now: float) -> Directory:
    placed: dict[Parts, bytes] = {}
    for path, content in files.items():
        parts = locate(path, _HOMES)
        data = to_bytes(content, path, "create")
        if not parts:
            raise refusals.is_directory(path)
        if len(data) > limits.max_file_bytes:
            raise refusals.too_large_to_write(path, len(data), limits.max_file_bytes)
        placed[parts] = data
    try:
        return build(placed, now)
    except ValueError as error:
        raise refusals.not_directory(str(error)) from None
