"""A filesystem in memory, for tests and for tools that need no disk."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from heapq import nsmallest
from itertools import islice
from threading import Lock
from typing import Self

from toolhaft.core.ports import Clock, FileList, FileStat, WriteMode
from toolhaft.resources import file_errors
from toolhaft.resources.clock import SystemClock
from toolhaft.resources.filesystem import TreeFilesystem
from toolhaft.resources.memory_tree import (
    Directory,
    FileData,
    MemoryFile,
    TreeNode,
    build_tree,
    empty_directory,
    find_node,
    merge_trees,
    put_node,
    remove_node,
)
from toolhaft.resources.pages import DEFAULT_ENTRIES, DEFAULT_FILE_BYTES, FileLimits, to_bytes
from toolhaft.resources.paths import Parts, join, locate
from toolhaft.resources.search import VisitBudget

_HOMES: tuple[Parts, ...] = ((),)
_CLOCK = SystemClock()


class MemoryFilesystem(TreeFilesystem):
    """Files in memory; the root is '/'.

    The changes of a fork become visible to others when it commits. Changes of different paths are merged; if
    the same path was changed outside the fork meanwhile, the commit fails and changes nothing.

    Args:
        files: initial contents by path.
        read_only: every write raises ReadOnlyError.
        max_file_bytes: the largest file to read or write as a whole.
        max_entries: the most entries that one operation lists or matches.
        clock: provides the modification times.

    Raises:
        FilesystemError: for a path that is not valid.
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
        self._tree = _initial_tree(files or {}, self._limits, clock.time())
        self._base = self._tree

    def look(self, parts: Parts, path: str) -> FileStat:
        """Stat a file or directory."""
        node = find_node(self._tree, parts)
        if node is None:
            raise file_errors.missing(path)
        return _file_stat(join(parts), node)

    def scan(self, parts: Parts, path: str, visits: VisitBudget, most: int | None = None) -> FileList:
        """The files and directories in a directory."""
        node = find_node(self._tree, parts)
        if not isinstance(node, Directory):
            raise file_errors.missing(path)
        found = list(islice(node.entries.items(), visits.left + 1))
        visits.left -= len(found)
        is_cut = visits.left < 0
        if most is not None and len(found) > most:
            is_cut, found = True, nsmallest(most, found)
        prefix = "/".join((*parts, ""))
        return FileList((_file_stat(prefix + name, entry) for name, entry in found), is_cut=is_cut)

    def open(self, parts: Parts, path: str) -> nullcontext[FileData]:
        """Open a file for reading."""
        node = find_node(self._tree, parts)
        if node is None:
            raise file_errors.missing(path)
        if isinstance(node, Directory):
            raise file_errors.is_directory(path)
        return nullcontext(node.data)

    def write(self, path: str, content: str | bytes, *, mode: WriteMode = "overwrite") -> int:
        """Write a file and create its parent directories; returns the number of bytes written.

        Raises:
            FilesystemError: if it cannot be written; nothing is changed then.
        """
        added = to_bytes(content, path, mode)
        with self._changing(path) as parts:
            if not parts:
                raise file_errors.denied(path)
            old = self._at(parts, path)
            if isinstance(old, Directory):
                raise file_errors.is_directory(path)
            if old is not None and mode == "create":
                raise file_errors.taken(path)
            if len(added) > self._limits.max_file_bytes:
                raise file_errors.too_large_to_write(path, len(added), self._limits.max_file_bytes)
            data = FileData(added) if old is None or mode != "append" else old.data.plus(added)
            now = self._clock.time()
            self._tree = put_node(self._tree, parts, MemoryFile(data, now), now)
            self._record({parts: path})
        return len(added)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file or an empty directory; with `recursive`, also its content.

        Raises:
            FilesystemError: if it cannot be removed; nothing is changed then.
        """
        with self._changing(path) as parts:
            if not parts:
                raise file_errors.denied(path)
            node = find_node(self._tree, parts)
            if node is None:
                raise file_errors.missing(path)
            if isinstance(node, Directory) and len(node.entries) and not recursive:
                raise file_errors.not_empty(path)
            self._tree = remove_node(self._tree, parts, self._clock.time())
            self._record({parts: path})

    def mkdir(self, path: str) -> None:
        """Create a directory and its parents; it may exist already.

        Raises:
            FilesystemError: if it cannot be created; nothing is changed then.
        """
        with self._changing(path) as parts:
            node = self._at(parts, path)
            if node is None:
                now = self._clock.time()
                self._tree = put_node(self._tree, parts, empty_directory(now), now)
                self._record({parts: path})
            elif not isinstance(node, Directory):
                raise file_errors.not_directory(path)

    def fork(self, *, read_only: bool = False) -> Self:
        """A view whose writes are committed or discarded together, and invisible outside until then."""
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
        """Commit all writes of this view and end it; does nothing outside a fork.

        Raises:
            CallEndedError: if the view has ended.
            FileBusyError: if a path was also changed outside the view; all its writes are discarded.
        """
        outer = self._outer
        if outer is None:
            return
        with self._lock:
            self._check_open("")
            self._is_ended = True
            if self._touched:
                outer.merge(self._base, self._tree, self._touched)

    def discard(self) -> None:
        """Discard all writes of this view and end it; safe to repeat."""
        if self._outer is not None:
            with self._lock:
                self._is_ended = True
                self._tree = self._base

    def merge(self, base: Directory, tree: Directory, touched: Mapping[Parts, str]) -> None:
        """Apply the changes of a fork; called by its `commit`."""
        with self._lock:
            self._check_open("")
            self._tree = tree if self._tree is base else merge_trees(base, tree, self._tree, touched)
            self._record(touched)

    def _record(self, touched: Mapping[Parts, str]) -> None:
        if self._outer is not None:  # outside a fork nobody needs it, and it would grow forever
            self._touched.update(touched)

    @property
    def is_ended(self) -> bool:
        """True once this view, or one around it, was committed or discarded."""
        return self._is_ended or (self._outer is not None and self._outer.is_ended)

    @contextmanager
    def _changing(self, path: str) -> Generator[Parts]:
        if self.read_only:
            raise file_errors.read_only(path)
        parts = locate(path, _HOMES)
        with self._lock:
            self._check_open(path)
            yield parts

    def _check_open(self, path: str) -> None:
        if self.is_ended:
            raise file_errors.ended(path)

    def _at(self, parts: Parts, path: str) -> TreeNode | None:
        """The node at a path that is to be changed; raises if a file is above it."""
        node: TreeNode | None = self._tree
        for name in parts:
            if isinstance(node, MemoryFile):
                raise file_errors.not_directory(path)
            if node is None:
                return None
            node = node.entries.get(name)
        return node


def _file_stat(path: str, node: TreeNode) -> FileStat:
    if isinstance(node, Directory):
        return FileStat(path, "directory", 0, node.modified_at)
    return FileStat(path, "file", node.data.size_bytes, node.modified_at)


def _initial_tree(files: Mapping[str, str | bytes], limits: FileLimits, now: float) -> Directory:
    placed: dict[Parts, bytes] = {}
    for path, content in files.items():
        parts = locate(path, _HOMES)
        data = to_bytes(content, path, "create")
        if not parts:
            raise file_errors.is_directory(path)
        if len(data) > limits.max_file_bytes:
            raise file_errors.too_large_to_write(path, len(data), limits.max_file_bytes)
        placed[parts] = data
    try:
        return build_tree(placed, now)
    except ValueError as error:
        raise file_errors.not_directory(str(error)) from None
