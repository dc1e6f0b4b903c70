"""The resources of one call: forks of shared resources, committed or discarded with the call."""

from __future__ import annotations

import logging
from threading import Lock, RLock
from typing import Final, Protocol, TypeVar, cast, runtime_checkable

from toolhaft.core.limits import Deadline
from toolhaft.core.ports import ResourceKind, Restorable, Snapshotable
from toolhaft.errors import CallEndedError
from toolhaft.resources.providers import Closer, CycleGuard, Provider, raise_all, rollback_method, run_all

ResourceT = TypeVar("ResourceT")
ItemT = TypeVar("ItemT")

_creation_lock = Lock()
_LOG: Final = logging.getLogger("toolhaft")


class _Parent(Protocol):
    """Where the resources of a call come from: the registry, or the outer call."""

    def get(self, kind: ResourceKind[ResourceT]) -> ResourceT: ...

    def __contains__(self, kind: type) -> bool: ...

    def provider_for(self, kind: type) -> Provider | None: ...


@runtime_checkable
class _Waits(Protocol):
    """A resource that other calls can keep busy."""

    def wait_until(self, deadline: Deadline) -> None: ...

    def catch_up(self) -> float: ...


class _Acquired:
    """The resources that a call has used so far."""

    __slots__ = (
        "closers",
        "creation",
        "cycles",
        "forks",
        "lock",
        "made_kinds",
        "resources",
        "snapshots",
        "stays_open",
        "waiting",
    )

    def __init__(self) -> None:
        self.creation = RLock()
        """Held while a resource is created; reentrant, because a factory may get others."""
        self.cycles = CycleGuard()
        self.lock = Lock()
        """Never acquired while a factory runs, so that a call can end while a factory hangs."""
        self.resources: dict[type, object] = {}
        self.forks: list[tuple[object, Snapshotable]] = []
        self.snapshots: list[tuple[Restorable, object]] = []
        self.waiting: list[_Waits] = []
        """Those that may have to wait for other calls."""
        self.closers: list[Closer] = []
        self.made_kinds: set[type] = set()
        """Those of `resources` that were created for the call."""
        self.stays_open = False
        """True if what was created for the call may be needed to commit or discard it."""


class CallResources:
    """The resources as one call sees them; forked or created on first use."""

    __slots__ = ("_acquired", "_is_ended", "_read_only", "_source", "deadline", "kept")

    def __init__(self, source: _Parent, *, read_only: bool = False) -> None:
        self._source = source
        self._read_only = read_only
        self._acquired: _Acquired | None = None
        self._is_ended = False
        self.deadline: Deadline | None = None
        """Until when a resource may wait for other calls; set before the first use."""
        self.kept = 0
        """How many resources were committed."""

    def get(self, kind: ResourceKind[ResourceT]) -> ResourceT:
        """The view that this call has of a resource.

        A resource with `fork` is forked once per call, one with `snapshot` and `restore` is saved, and any
        other is returned as it is.

        Raises:
            ResourceError: if there is none of this type, or it cannot be created.
            CallEndedError: if the call has ended.
        """
        acquired = self._acquired or self._ensure_acquired()
        resource = acquired.resources.get(kind)
        if resource is None or self._is_ended:
            with acquired.creation:
                resource = self._create(kind, acquired)
        return cast("ResourceT", resource)

    def __getitem__(self, kind: ResourceKind[ResourceT]) -> ResourceT:
        return self.get(kind)

    def __contains__(self, kind: type) -> bool:
        return kind in self._source

    def fork(self, *, read_only: bool = False) -> CallResources:
        """The resources of a nested call, whose changes become changes of this call."""
        return CallResources(self, read_only=read_only or self._read_only)

    def provider_for(self, kind: type) -> Provider | None:
        """The provider of a resource that is created per call or use; None for a shared one."""
        return self._source.provider_for(kind)

    def catch_up(self) -> float:
        """Let resources make changes that had to wait for other calls; to be done before `commit`.

        Returns after how many seconds to try again, 0 if all are made.

        Raises:
            Exception: from a resource that could not make its changes.
        """
        waiting = () if self._acquired is None else self._acquired.waiting
        return max([resource.catch_up() for resource in waiting], default=0.0)

    def commit(self) -> None:
        """Commit all changes, in the order in which the resources were first used, and end the view.

        Then closes the resources that were created for the call; errors of that are only logged, because the
        changes are committed by then.

        Raises:
            CallEndedError: if the view has ended.
            Exception: from a resource that could not commit. Later ones are discarded; the first `kept` are
                committed and cannot be undone any more.
        """
        if not self._end():
            raise _ended()
        acquired = self._acquired
        if acquired is None:
            return
        for number, (_, fork) in enumerate(acquired.forks):
            try:
                fork.commit()
            except Exception as error:  # noqa: BLE001 -- the others must be discarded first
                raise_all("changes could not be committed", [error, *_drop(acquired, first=number)])
            self.kept += 1
        _close(acquired.closers)

    def close_unshared(self) -> None:
        """Close what was created for the call, if neither `commit` nor `discard` needs it any more.

        To be called where the handler ran, when it has ended: some resources, such as a connection of
        sqlite3, can be closed only on the thread that opened them. Errors are only logged.
        """
        acquired = self._acquired
        if acquired is None or not acquired.closers or acquired.stays_open:
            return
        with acquired.lock:
            if self._is_ended:  # and what ended it closes them
                return
            closers, acquired.closers = acquired.closers, []
            for kind in acquired.made_kinds:
                acquired.resources.pop(kind, None)
        _close(closers)

    def discard(self) -> None:
        """Discard all changes, the newest resource first, and end the view; safe to repeat.

        Then closes the resources that were created for the call; errors of that are only logged, because
        nothing is left to be undone by then.

        Raises:
            Exception: the errors of the resources, after all were tried.
        """
        if self._end() and self._acquired is not None:
            raise_all("changes could not be undone", _drop(self._acquired, first=0))

    def _ensure_acquired(self) -> _Acquired:
        with _creation_lock:
            if self._acquired is None:
                self._acquired = _Acquired()
            return self._acquired

    def _end(self) -> bool:
        """End the view; False if it had ended before."""
        with _creation_lock:
            acquired = self._acquired
            if acquired is None:  # and none will be created from now on
                was_open, self._is_ended = not self._is_ended, True
                return was_open
        with acquired.lock:
            was_open, self._is_ended = not self._is_ended, True
            return was_open

    def _create(self, kind: type, acquired: _Acquired) -> object:
        if self._is_ended:
            raise _ended()
        resource = acquired.resources.get(kind)
        if resource is not None:
            return resource
        provider = self._source.provider_for(kind)
        if provider is None:
            return self._view_of(kind, cast("object", self._source.get(kind)), acquired)
        with acquired.cycles.creating(kind):
            made, closer = provider.make(self)
        if closer is not None:
            self._add(acquired.closers, closer, acquired, closer)
        acquired.made_kinds.add(kind)
        if rollback_method(made) != "plain":
            acquired.stays_open = True
        return self._view_of(None if provider.scope == "use" else kind, made, acquired)

    def _view_of(self, kind: type | None, shared: object, acquired: _Acquired) -> object:
        """The view that this call has of a resource; one object may be registered under several types."""
        resource = shared
        match rollback_method(shared):
            case "fork":
                resource = next((fork for known, fork in acquired.forks if known is shared), None)
                if resource is None:
                    resource = cast("Snapshotable", shared).fork(read_only=self._read_only)
                    if self.deadline is not None and isinstance(resource, _Waits):
                        resource.wait_until(self.deadline)
                        acquired.waiting.append(resource)
                    self._add(acquired.forks, (shared, resource), acquired, resource.discard)
            case "restore":
                known = cast("Restorable", shared)
                # a read-only call has nothing to undo, and must not undo the changes of parallel calls
                if not self._read_only and all(other is not known for other, _ in acquired.snapshots):
                    self._add(acquired.snapshots, (known, known.snapshot()), acquired, None)
            case "plain":
                pass
        if kind is not None:
            acquired.resources[kind] = resource
        return resource

    def _add(self, items: list[ItemT], item: ItemT, acquired: _Acquired, drop: Closer | None) -> None:
        """Keep an item for the call; if the call ended meanwhile, drop it and raise."""
        with acquired.lock:
            if not self._is_ended:
                items.append(item)
                return
        if drop is not None:
            drop()
        raise _ended()


def _ended() -> CallEndedError:
    return CallEndedError("the call that these resources belong to has ended")


def _drop(acquired: _Acquired, *, first: int) -> list[Exception]:
    """Discard the forks from `first` on, restore all snapshots, and close what was created for the call."""
    steps: list[Closer] = [fork.discard for _, fork in reversed(acquired.forks[first:])]
    steps += [
        lambda known=known, snapshot=snapshot: known.restore(snapshot)
        for known, snapshot in reversed(acquired.snapshots)
    ]
    failures = run_all(steps)
    _close(acquired.closers)
    return failures


def _close(closers: list[Closer]) -> None:
    """Close resources, the newest first; errors are only logged, because the call is decided by then."""
    for error in run_all(reversed(closers)):
        _LOG.error("a resource of a call could not be closed", exc_info=error)
