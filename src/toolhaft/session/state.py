"""The state of a session or of a fork: written, committed and discarded as a whole."""

from __future__ import annotations

from _thread import RLock, get_ident
from collections.abc import Callable, Iterable
from itertools import count
from typing import Final, NoReturn

from toolhaft.errors import CallEndedError, ReadOnlyError, SessionError
from toolhaft.session.copying import ItemCopier
from toolhaft.session.journal import (
    SessionWrite,
    Slices,
    log_part,
    replay,
    replay_skipping_errors,
    restricted_to,
)
from toolhaft.session.reducer_table import EMPTY_TABLE, ReducerTable, Registration
from toolhaft.session.reducers import threads_in_reducers
from toolhaft.session.subscribers import Subscribers

ENDED: Final = "the call that this session view belongs to has ended; nothing was changed"
READS_ONLY: Final = "this call may only read: its tool declares effect='read'"
_COMMITTING: Final = (
    "this session is committing a fork, and code that runs during the commit cannot write to it; nothing "
    "was changed. Fix: write before the commit, or after it"
)

_MAX_LOCK_FREE_ATTEMPTS: Final = 8
"""After losing this many races, the work is done while holding the lock, where no other thread can win."""


class SharedParts:
    """What a session shares with all of its forks."""

    __slots__ = ("copier", "id", "subscribers")

    def __init__(self, id: str, copier: ItemCopier) -> None:
        self.id = id
        self.copier = copier
        self.subscribers = Subscribers()


class SessionState:
    """The slices of one session or fork. `slices` is replaced, never mutated, so reading it needs no lock.

    A thread that needs two locks takes the fork's before its parent's.
    """

    __slots__ = (
        "base",
        "closed_reason",
        "is_committing",
        "journal",
        "lock",
        "parent",
        "shared",
        "slices",
        "table",
    )

    def __init__(
        self,
        shared: SharedParts,
        slices: Slices,
        table: ReducerTable = EMPTY_TABLE,
        parent: SessionState | None = None,
        closed_reason: str | None = None,
    ) -> None:
        self.shared = shared
        self.slices = self.base = slices
        self.table = table
        self.parent = parent
        self.closed_reason = closed_reason
        """Why nothing may be written; None if writing is allowed."""
        self.is_committing = False
        """True during a commit of this state or a fork: a write from inside the commit would be lost."""
        self.journal: list[SessionWrite] | None = None
        """What a fork has to apply again if another fork commits first."""
        self.lock = RLock()

    def fork(self, closed_reason: str | None) -> SessionState:
        """A fork of this state; if this state may not be written, neither may the fork."""
        return SessionState(self.shared, self.slices, self.table, self, self.closed_reason or closed_reason)

    def dispatch(self, event: object) -> None:
        """Apply an event's reducers; if this is the root, notify its subscribers as well.

        Raises:
            SessionError: if it is not an event.
        """
        if event is None or isinstance(event, type):
            hint = f"{event.__qualname__}(...)" if isinstance(event, type) else "an object of your own type"
            raise SessionError(f"{event!r} is not an event. Fix: dispatch {hint}")
        shared = self.shared
        self.write(("dispatch", shared.copier.copy_in(event), self.table.dispatch_targets(type(event))))
        if self.parent is None:
            shared.subscribers.notify(event)

    def write(self, *writes: SessionWrite) -> None:
        """Apply all writes, or none of them if a transition raises.

        Transitions may be a user's code, so they run without the lock: one that hangs blocks nobody, and
        afterwards finds that the fork has ended.

        Raises:
            CallEndedError: if this fork has ended.
            ReadOnlyError: if this fork is read-only, and a slice is not a log.
            SessionError: inside a reducer.
        """
        if threads_in_reducers:
            refuse_inside_reducer()
        if self.closed_reason is not None:
            self._refuse(writes)
        for attempt in count():
            before = self.slices
            after = replay(before, writes) if attempt < _MAX_LOCK_FREE_ATTEMPTS else before
            with self.lock:
                if self.closed_reason is not None or self.is_committing:
                    self._refuse(writes)
                if attempt >= _MAX_LOCK_FREE_ATTEMPTS:
                    before = self.slices
                    after = replay(before, writes)
                if self.slices is before:
                    self.slices = after
                    if self.parent is not None:
                        self.record(writes)
                    return

    def register(self, registration: Registration) -> None:
        """Add reducers; those added through a fork become visible to others when it is committed."""
        writes: tuple[SessionWrite, ...] = (("register", registration, ()),)
        if threads_in_reducers:
            refuse_inside_reducer()
        with self.lock:
            if self.closed_reason is not None or self.is_committing:
                self._refuse(writes)
            self.table = self.table.with_registration(registration)
            if self.parent is not None:
                self.record(writes)
                return
        self.shared.subscribers.changed()

    def record(self, writes: Iterable[SessionWrite]) -> None:
        """Add writes to the journal."""
        if self.journal is None:
            self.journal = list(writes)
        else:
            self.journal.extend(writes)

    def commit(self, also: Callable[[], object] | None) -> None:
        """Apply every change to the parent and end this fork; do neither if something raises."""
        parent = self.parent or self._refuse_root("commit")
        if threads_in_reducers:
            refuse_inside_reducer()
        with self.lock:
            self.check_open()
            journal = self.journal
            if journal is not None or also is not None:
                self.is_committing = True
                try:
                    self._commit_to(parent, journal or [], replay, also)
                finally:
                    self.is_committing = False
            self._end()
        if journal is not None:
            parent.notify(journal)

    def discard(self) -> None:
        """Drop every change except those to logs, and end this fork."""
        parent = self.parent or self._refuse_root("discard")
        if threads_in_reducers:
            refuse_inside_reducer()
        kept: list[SessionWrite] = []
        with self.lock:
            if self.closed_reason is ENDED:
                return
            self.check_open()
            if self.journal is not None:
                self._share_indexes()
                kept = self._commit_logs(parent, self.journal)
            self._end()
        if kept:
            parent.notify(kept)

    def notify(self, writes: Iterable[SessionWrite]) -> None:
        """Notify subscribers of committed writes, in order; does nothing until they reach the root."""
        if self.parent is not None:
            return
        has_new_reducers = False
        for verb, payload, _ in writes:
            if verb == "dispatch":
                self.shared.subscribers.notify(self.shared.copier.copy_out(payload))
            elif verb == "register":
                has_new_reducers = True
        if has_new_reducers:
            self.shared.subscribers.changed()

    def accept(self, slices: Slices, writes: list[SessionWrite]) -> None:
        """Take over the slices that a fork computed with these writes."""
        for verb, payload, _ in writes:
            if verb == "register" and isinstance(payload, Registration):
                self.table = self.table.with_registration(payload)
        self.slices = slices
        if self.parent is not None:
            self.record(writes)

    def check_open(self) -> None:
        """Raise if this state has ended, or is being committed by the code that runs now.

        Raises:
            CallEndedError: if it has ended.
            SessionError: if it is being committed.
        """
        if self.closed_reason is ENDED:
            raise CallEndedError(ENDED)
        if self.is_committing:
            raise SessionError(_COMMITTING)

    def _refuse_root(self, verb: str) -> NoReturn:
        raise SessionError(
            f"{verb}: this session is not a fork, so there is nothing to {verb}. Fix: work on session.fork()"
        )

    def _commit_to(
        self,
        parent: SessionState,
        writes: list[SessionWrite],
        apply: Callable[[Slices, Iterable[SessionWrite]], Slices],
        also: Callable[[], object] | None = None,
    ) -> None:
        for attempt in count():
            theirs = parent.slices
            is_lock_free = attempt < _MAX_LOCK_FREE_ATTEMPTS
            slices = self._merged(theirs, writes, apply) if is_lock_free else theirs
            with parent.lock:
                parent.check_open()
                if not is_lock_free:
                    theirs = parent.slices
                    slices = self._merged(theirs, writes, apply)
                if parent.slices is theirs:
                    parent.is_committing = True
                    try:
                        if also is not None:
                            also()
                        parent.accept(slices, writes)
                    finally:
                        parent.is_committing = False
                    return

    def _commit_logs(self, parent: SessionState, journal: list[SessionWrite]) -> list[SessionWrite]:
        kept = log_part(journal, self.table.logs)
        try:
            if kept:
                self._commit_to(parent, kept, replay_skipping_errors)
        except CallEndedError:  # the call around this one has ended, and its logs with it
            return []
        return kept

    def _merged(
        self,
        theirs: Slices,
        writes: list[SessionWrite],
        apply: Callable[[Slices, Iterable[SessionWrite]], Slices],
    ) -> Slices:
        """The parent's slices with some writes of this fork, replayed only in slices that changed since."""
        if not writes:
            return theirs
        if theirs is self.base and writes is self.journal:
            return self.slices
        touched = {kind for write in writes for kind, _ in write[2]}
        moved = {kind for kind in touched if theirs.get(kind) is not self.base.get(kind)}
        slices = {**theirs, **{kind: self.slices[kind] for kind in touched - moved}}
        return apply(slices, [restricted_to(write, moved) for write in writes]) if moved else slices

    def _share_indexes(self) -> None:
        for kind, items in self.slices.items():
            base = self.base.get(kind)
            if items.indexes and base is not None and base is not items:
                base.build_indexes_of(items)

    def _end(self) -> None:
        self.closed_reason = ENDED
        self.journal = None
        self.base = self.slices  # a thread that outlives its call must not keep the older items alive

    def _refuse(self, writes: Iterable[SessionWrite]) -> None:
        """Raise for writes that are not allowed; a read-only fork may still write to logs."""
        self.check_open()
        logs = self.table.logs
        for verb, _, targets in writes:
            if verb == "register" or any(kind not in logs for kind, _ in targets):
                raise ReadOnlyError(self.closed_reason)


def refuse_inside_reducer() -> None:
    """Raise if this thread is inside a reducer.

    Raises:
        SessionError: if it is.
    """
    if get_ident() in threads_in_reducers:
        raise SessionError(
            "a reducer wrote to a session; nothing was changed. Fix: return the change from the reducer "
            "instead of writing to the session; another slice can have its own reducer for the same event"
        )
