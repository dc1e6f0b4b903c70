"""Takes changes back by what a journal kept for them; can be cut short at any point and repeated.

Does not know who made them: a call that failed, or one whose process died.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress

from toolhaft.resources.claims import Claims
from toolhaft.resources.host_root import HostRoot
from toolhaft.resources.log import Change, Store
from toolhaft.resources.paths import Parts
from toolhaft.resources.system import DIRECTORY, System


@contextmanager
def opened(system: System, handle: int) -> Generator[int]:
    """A handle that is closed at the end of the block."""
    try:
        yield handle
    finally:
        system.close(handle)


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
    system = host.system
    name = change.parts[-1]
    if change.kind in ("replace", "remove"):
        is_changed = change.kind == "remove" or facts_at(system, store.new(change), store.home) is None
        if is_changed and facts_at(system, store.old(change), store.home) is not None:
            with _parent(host, change.parts) as parent:
                system.rename(store.old(change), name, src_dir_fd=store.home, dst_dir_fd=parent)
        return
    with suppress(FileNotFoundError, NotADirectoryError), _parent(host, change.parts) as parent:
        if change.kind == "mkdir":
            _remove_if_empty(system, name, parent)
        elif _is_ours(system, store, change, facts_at(system, name, parent)):
            system.unlink(name, dir_fd=parent)


def _is_ours(system: System, store: Store, change: Change, there: os.stat_result | None) -> bool:
    """True where a file is the one that the change made, and not somebody's since."""
    if there is None:
        return False
    new = facts_at(system, store.new(change), store.home)
    return new is None or os.path.samestat(new, there)


def _remove_if_empty(system: System, name: str, parent: int) -> None:
    try:
        system.rmdir(name, dir_fd=parent)
    except OSError:
        with opened(system, system.open(name, DIRECTORY, dir_fd=parent)) as handle:
            if not system.listdir(handle):  # what somebody else put in it is not ours to remove
                raise


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
    with opened(system, system.open(name, DIRECTORY, dir_fd=store.home)) as handle:
        with suppress(PermissionError):
            system.fchmod(handle, 0o700)
        for inner in system.listdir(handle):
            if not _unlinked(system, inner, handle):
                moved.append(f"{store.key}.junk-{secrets.token_hex(8)}")
                system.rename(inner, moved[-1], src_dir_fd=handle, dst_dir_fd=store.home)
    return moved
