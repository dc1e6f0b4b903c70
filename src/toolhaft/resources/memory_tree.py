"""Immutable trees of files and directories in memory, and merging two changed trees."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple, cast

from toolhaft.resources import file_errors
from toolhaft.resources.paths import Parts
from toolhaft.resources.persistent_map import PersistentMap


class FileData:
    """The bytes of one version of a file; immutable. Versions that were appended to share one buffer."""

    __slots__ = ("_buffer", "_lock", "size_bytes")

    def __init__(self, buffer: bytes | bytearray, lock: Lock | None = None) -> None:
        self._buffer = buffer
        self._lock = lock or Lock()
        self.size_bytes = len(buffer)

    def plus(self, data: bytes) -> FileData:
        """The version with more bytes at its end; copies only if another version was appended to before."""
        with self._lock:
            if isinstance(self._buffer, bytearray) and len(self._buffer) == self.size_bytes:
                self._buffer += data
                return FileData(self._buffer, self._lock)
        return FileData(bytearray(self.read_at(0, self.size_bytes)) + data)

    def read_at(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from an offset."""
        end = min(offset + count, self.size_bytes)
        if isinstance(self._buffer, bytes):
            return self._buffer[offset:end]
        with self._lock:
            return bytes(self._buffer[offset:end])


class MemoryFile(NamedTuple):
    """One version of a file."""

    data: FileData
    modified_at: float


class Directory(NamedTuple):
    """A directory with its content."""

    entries: PersistentMap[TreeNode]
    modified_at: float


TreeNode = MemoryFile | Directory

_NO_ENTRIES = PersistentMap[TreeNode].of({})


def empty_directory(now: float) -> Directory:
    """A directory without entries."""
    return Directory(_NO_ENTRIES, now)


def find_node(tree: Directory, parts: Parts) -> TreeNode | None:
    """The file or directory at a path; None if there is none."""
    node: TreeNode | None = tree
    for name in parts:
        if not isinstance(node, Directory):
            return None
        node = node.entries.get(name)
    return node


def put_node(tree: Directory, parts: Parts, node: TreeNode, now: float) -> Directory:
    """The tree with a node at a path; missing directories are created."""
    ancestors = _ancestors(tree, parts[:-1], now)
    changed = Directory(ancestors.pop().entries.set(parts[-1], node), now)
    return _rebuilt(ancestors, parts, changed)


def remove_node(tree: Directory, parts: Parts, now: float) -> Directory:
    """The tree without the node at a path."""
    if find_node(tree, parts) is None:
        return tree
    ancestors = _ancestors(tree, parts[:-1], now)
    changed = Directory(ancestors.pop().entries.without(parts[-1]), now)
    return _rebuilt(ancestors, parts, changed)


def _ancestors(tree: Directory, parts: Parts, now: float) -> list[Directory]:
    """The directories from the root to a path."""
    ancestors = [tree]
    for name in parts:
        below = ancestors[-1].entries.get(name)
        ancestors.append(below if isinstance(below, Directory) else empty_directory(now))
    return ancestors


def _rebuilt(ancestors: list[Directory], parts: Parts, changed: Directory) -> Directory:
    """The tree with another directory at the end of the path."""
    for directory, name in zip(reversed(ancestors), reversed(parts[:-1]), strict=True):
        changed = Directory(directory.entries.set(name, changed), directory.modified_at)
    return changed


def build_tree(files: Mapping[Parts, bytes], now: float) -> Directory:
    """A tree with these files.

    Raises:
        ValueError: with the path, if one is both a file and a directory.
    """
    root: dict[str, object] = {}
    for parts, data in files.items():
        level = root
        for name in parts[:-1]:
            below = level.setdefault(name, {})
            if not isinstance(below, dict):
                raise ValueError("/".join(parts))  # noqa: TRY004 -- the path is wrong, not a type
            level = cast("dict[str, object]", below)
        if parts[-1] in level:
            raise ValueError("/".join(parts))
        level[parts[-1]] = MemoryFile(FileData(data), now)
    return _to_directory(root, now)


def _to_directory(level: dict[str, object], now: float) -> Directory:
    """Convert nested dictionaries, without recursion: they may be very deep."""
    order = [level]
    for found in order:
        order += [cast("dict[str, object]", below) for below in found.values() if isinstance(below, dict)]
    done: dict[int, Directory] = {}
    for found in reversed(order):
        entries = {
            name: below if isinstance(below, MemoryFile) else done[id(below)] for name, below in found.items()
        }
        done[id(found)] = Directory(PersistentMap[TreeNode].of(entries), now)
    return done[id(level)]


def merge_trees(
    base: Directory, ours: Directory, theirs: Directory, touched: Mapping[Parts, str]
) -> Directory:
    """Apply the changes of a fork to a tree that was changed meanwhile.

    Args:
        base: the tree that was forked.
        ours: the tree of the fork.
        theirs: the tree to apply the changes to.
        touched: the paths that the fork changed, as names and as the caller wrote them.

    Raises:
        FileBusyError: if both changed the same path, or one removed a directory that the other changed.
    """
    for parts, path in touched.items():
        if not (_is_unchanged(parts, base, ours, theirs) and _has_parents(parts, base, theirs)):
            raise file_errors.busy(path)
    merged = theirs
    for parts in sorted(touched, key=len):  # directories before their content
        node, there = find_node(ours, parts), find_node(merged, parts)
        if node is None:
            merged = remove_node(merged, parts, ours.modified_at)
        elif not (
            isinstance(node, Directory) and isinstance(there, Directory) and find_node(base, parts) is None
        ):
            merged = put_node(merged, parts, node, ours.modified_at)
    return merged


def _is_unchanged(parts: Parts, base: Directory, ours: Directory, theirs: Directory) -> bool:
    """True if the path is unchanged in `theirs`, or both created a directory there."""
    before, there = find_node(base, parts), find_node(theirs, parts)
    if there is before:
        return True
    return before is None and isinstance(there, Directory) and isinstance(find_node(ours, parts), Directory)


def _has_parents(parts: Parts, base: Directory, theirs: Directory) -> bool:
    """True if no directory above the path was removed in `theirs`, or replaced by a file."""
    for end in range(1, len(parts)):
        there = find_node(theirs, parts[:end])
        if not isinstance(there, Directory) and (
            there is not None or find_node(base, parts[:end]) is not None
        ):
            return False
    return True
