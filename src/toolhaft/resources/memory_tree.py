"""Files and directories in memory as values: a change gives a new tree, and the old one stays as it was.

Knows names and bytes; who holds which tree, and what a path is, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

from toolhaft.resources.paths import Parts
from toolhaft.resources.persistent_map import PersistentMap


class MemoryFile(NamedTuple):
    """A file; another object is another version of it."""

    data: bytes
    modified_at: float


class Directory(NamedTuple):
    """A directory with all that is in it."""

    entries: PersistentMap[Node]
    modified_at: float


Node = MemoryFile | Directory

_NOTHING = PersistentMap[Node].of({})


def empty(now: float) -> Directory:
    """A directory with nothing in it."""
    return Directory(_NOTHING, now)


def find(tree: Directory, parts: Parts) -> Node | None:
    """What is at a place."""
    node: Node | None = tree
    for name in parts:
        if not isinstance(node, Directory):
            return None
        node = node.entries.get(name)
    return node


def put(tree: Directory, parts: Parts, node: Node, now: float) -> Directory:
    """The tree with something at a place; directories that are not on the way there yet are made."""
    way = _way(tree, parts[:-1], now)
    changed = Directory(way.pop().entries.set(parts[-1], node), now)
    return _rebuilt(way, parts, changed)


def remove(tree: Directory, parts: Parts, now: float) -> Directory:
    """The tree without what was at a place."""
    if find(tree, parts) is None:
        return tree
    way = _way(tree, parts[:-1], now)
    changed = Directory(way.pop().entries.without(parts[-1]), now)
    return _rebuilt(way, parts, changed)


def _way(tree: Directory, parts: Parts, now: float) -> list[Directory]:
    """The directories from the root to a place."""
    way = [tree]
    for name in parts:
        below = way[-1].entries.get(name)
        way.append(below if isinstance(below, Directory) else empty(now))
    return way


def _rebuilt(way: list[Directory], parts: Parts, changed: Directory) -> Directory:
    """The tree with another directory at the end of the way."""
    for directory, name in zip(reversed(way), reversed(parts[:-1]), strict=True):
        changed = Directory(directory.entries.set(name, changed), directory.modified_at)
    return changed


def build(files: Mapping[Parts, bytes], now: float) -> Directory:
    """A tree of many files at once.

    Raises:
        ValueError: with the place, where one is both a file and a directory.
    """
    root: dict[str, object] = {}
    for parts, data in files.items():
        level = root
        for name in parts[:-1]:
            below = level.setdefault(name, {})
            if not isinstance(below, dict):
                raise ValueError("/".join(parts))  # noqa: TRY004 -- it is the place that is wrong
            level = cast("dict[str, object]", below)
        if parts[-1] in level:
            raise ValueError("/".join(parts))
        level[parts[-1]] = MemoryFile(data, now)
    return _frozen(root, now)


def _frozen(level: dict[str, object], now: float) -> Directory:
    """A directory from nested dictionaries, without recursion: they may be as deep as a path is long."""
    order = [level]
    for found in order:
        order += [cast("dict[str, object]", below) for below in found.values() if isinstance(below, dict)]
    done: dict[int, Directory] = {}
    for found in reversed(order):
        entries = {
            name: below if isinstance(below, MemoryFile) else done[id(below)] for name, below in found.items()
        }
        done[id(found)] = Directory(PersistentMap[Node].of(entries), now)
    return done[id(level)]
