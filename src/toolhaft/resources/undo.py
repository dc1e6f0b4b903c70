"""Takes changes back by what a journal kept for them; can be cut short at any point and repeated.

Does not know who made them: a call that failed, or one whose process died.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress

from toolhaft.resources.claims import Claims
from toolhaft.resources.host_root import HostRoot
from toolhaft.resources.log import Change, Store
from toolhaft.resources.paths import Parts
from toolhaft.resources.system import DIRECTORY, System, opened


def facts_at(system: System, name: str, handle: int) -> os.stat_result | None:
    """What is known of a name in a directory, links not followed; None where there is nothing."""
    try:
        return system.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return None


def undo(host: HostRoot, store: Store, changes: Iterable[Change]) -> list[tuple[Change, OSError]]:
    """Take changes back, the newest first, and say which could not be.

    A change that stands in the way of one that failed is left for the next try too: out of order it would
    bring back a state that never was.

    Args:
        host: the root of the tree.
        store: what was there before.
        changes: in the order in which they were made.
    """
    failures: list[tuple[Change, OSError]] = []
    stuck = Claims()
    undone: list[Change] = []
    for change in reversed(list(changes)):
        if stuck.meets(change.parts):
            continue
        try:
            _undo_one(host, store, change)
            undone.append(change)
        except OSError as error:
            failures.append((change, error))
            stuck.add(change.parts)
    if host.is_durable and not failures:
        try:
            sync_parents(host, undone)
        except OSError as error:
            failures.append((undone[0], error))
    return failures


def sync_parents(host: HostRoot, changes: Iterable[Change]) -> None:
    """Have the disk know of every name that the changes made or removed."""
    system = host.system
    for parts in {change.parts[:-1] for change in changes}:
        with (
            suppress(FileNotFoundError, NotADirectoryError),  # removed since: its own parent tells that
            opened(system, system.open_beneath(host.handle, parts, DIRECTORY)) as handle,
        ):
            system.fsync(handle)


def _undo_one(host: HostRoot, store: Store, change: Change) -> None:
    """Take one change back, or do nothing where it was not made, or was taken back before.

    What the journal has tells which: a second recovery, after one that was cut short, must not take for the
    change what older content was put in its place meanwhile.
    """
    system, name = host.system, change.parts[-1]
    if change.kind in ("replace", "remove"):
        if facts_at(system, store.old(change), store.home) is not None:
            with _parent(host, change.parts) as parent:
                system.rename(store.old(change), name, src_dir_fd=store.home, dst_dir_fd=parent)
        return
    new = facts_at(system, store.new(change), store.home)
    with suppress(FileNotFoundError, NotADirectoryError), _parent(host, change.parts) as parent:
        if new is None:
            _move_back(system, store, change, parent)
        elif change.kind == "make" and _is_same(new, facts_at(system, name, parent)):
            system.unlink(name, dir_fd=parent)


def _is_same(new: os.stat_result, there: os.stat_result | None) -> bool:
    return there is not None and os.path.samestat(new, there)


def _move_back(system: System, store: Store, change: Change, parent: int) -> None:
    """Move what a change made to where it came from, unless others put something into it."""
    name, new = change.parts[-1], store.new(change)
    if change.kind == "mkdir" and not _is_empty(system, name, parent):
        return
    system.rename(name, new, src_dir_fd=parent, dst_dir_fd=store.home)
    if change.kind == "mkdir" and not _is_empty(system, new, store.home):  # since we looked
        system.rename(new, name, src_dir_fd=store.home, dst_dir_fd=parent)


def _is_empty(system: System, name: str, handle: int) -> bool:
    with opened(system, system.open(name, DIRECTORY, dir_fd=handle)) as directory:
        return not system.listdir(directory)


@contextmanager
def _parent(host: HostRoot, parts: Parts) -> Generator[int]:
    with opened(host.system, host.system.open_beneath(host.handle, parts[:-1], DIRECTORY)) as handle:
        yield handle


def sweep(system: System, store: Store) -> None:
    """Remove a journal that means nothing any more, and all that it kept."""
    waiting = [
        name
        for name in system.listdir(store.home)
        if name.startswith(f"{store.key}.") and name not in (store.void, store.log)
    ]
    while waiting:
        name = waiting.pop()
        if not _unlinked(system, name, store.home):
            waiting += _flatten(system, name, store)
            system.rmdir(name, dir_fd=store.home)
    _unlinked(system, store.void, store.home)  # the last: it says that the rest may go


def _unlinked(system: System, name: str, handle: int) -> bool:
    """Remove a file; False for a directory."""
    try:
        system.unlink(name, dir_fd=handle)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):  # systems differ in what they say of a directory
        return False
    return True


def _flatten(system: System, name: str, store: Store) -> list[str]:
    """Empty a directory, its own directories moved up beside it: no tree is too deep for that."""
    moved: list[str] = []
    with opened(system, _open_writable(system, name, store.home)) as handle:
        for inner in system.listdir(handle):
            if not _unlinked(system, inner, handle):
                system.close(_open_writable(system, inner, handle))
                moved.append(f"{store.key}.junk-{os.urandom(8).hex()}")
                system.rename(inner, moved[-1], src_dir_fd=handle, dst_dir_fd=store.home)
    return moved


def _open_writable(system: System, name: str, handle: int) -> int:
    """Open a directory that is to be emptied or moved, which takes the right to write to it."""
    opened_one = system.open(name, DIRECTORY, dir_fd=handle)
    with suppress(PermissionError):
        system.fchmod(opened_one, 0o700)
    return opened_one
