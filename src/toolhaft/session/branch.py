"""The state of a session or of a fork of it: written, committed and discarded as one.

Knows slices by their type and steps that change them; knows no API and no JSON.
"""

from __future__ import annotations

from _thread import RLock, get_ident
from collections.abc import Callable, Iterable
from itertools import count
from typing import Final, NoReturn

from toolhaft.errors import CallEndedError, ReadOnlyError, SessionError
from toolhaft.session.freezing import Custody
from toolhaft.session.reducers import reducing
from toolhaft.session.rules import NO_RULES, Registration, Rules
from toolhaft.session.subscribers import Subscribers
from toolhaft.session.writes import Slices, Write, for_logs, replay, replay_what_can_be, within

ENDED: Final = "the call that this session view belongs to has ended; nothing was changed"
READS_ONLY: Final = "this call may only read: its tool declares effect='read'"

_PATIENCE: Final = 8
"""How often a race is lost before the work is done under the lock, where nobody else can win."""


class Family:
    """What a session shares with all of its forks."""

    __slots__ = ("custody", "id", "subscribers")

    def __init__(self, id: str, custody: Custody) -> None:
        self.id = id
        self.custody = custody
        self.subscribers = Subscribers()


class Branch:
    """One line of writes. `slices` is replaced and never changed, so that it is read without a lock.

    Where two locks are held, the fork's was taken before its parent's.
    """

    __slots__ = ("base", "family", "gate", "is_busy", "journal", "lock", "parent", "rules", "slices")

    def __init__(
        self,
        family: Family,
        slices: Slices,
        rules: Rules = NO_RULES,
        parent: Branch | None = None,
        gate: str | None = None,
    ) -> None:
        self.family = family
        self.slices = self.base = slices
        self.rules = rules
        self.parent = parent
        self.gate = gate
        """Why nothing may be written here; None where it may."""
        self.is_busy = False
        """True while this branch or a fork of it is committed: a write from inside of that would be lost."""
        self.journal: list[Write] | None = None
        """What a fork has to do again where another was faster."""
        self.lock = RLock()

    def fork(self, gate: str | None) -> Branch:
        """A branch of this one; it may write nothing that this one may not."""
        return Branch(self.family, self.slices, self.rules, self, self.gate or gate)

    def write(self, *writes: Write) -> None:
        """Make some changes, or none at all where a step raises.

        Steps may be anybody's code, so they run outside of the lock: one that hangs holds up nobody, and
        finds out afterwards that the branch has ended.

        Raises:
            CallEndedError: where this fork is over.
            ReadOnlyError: where this fork may only read, and a slice is no log.
            SessionError: inside a reducer.
        """
        if reducing:
            refuse_reducers()
        if self.gate is not None:
            self._refuse(writes)
        for attempt in count():
            before = self.slices
            after = replay(before, writes) if attempt < _PATIENCE else before
            with self.lock:
                if self.gate is not None or self.is_busy:
                    self._refuse(writes)
                if attempt >= _PATIENCE:
                    before = self.slices
                    after = replay(before, writes)
                if self.slices is before:
                    self.slices = after
                    if self.parent is not None:
                        self.note(writes)
                    return

    def register(self, registration: Registration) -> None:
        """Add reducers; through a fork, they are there for others once it is committed."""
        writes: tuple[Write, ...] = (("register", registration.kind, registration, ()),)
        if reducing:
            refuse_reducers()
        with self.lock:
            if self.gate is not None or self.is_busy:
                self._refuse(writes)
            self.rules = self.rules.with_registration(registration)
            if self.parent is not None:
                self.note(writes)
                return
        self.family.subscribers.changed()

    def note(self, writes: Iterable[Write]) -> None:
        """Remember what was written."""
        if self.journal is None:
            self.journal = list(writes)
        else:
            self.journal.extend(writes)

    def commit(self, also: Callable[[], object] | None) -> None:
        """Give every change to the parent and end this branch, or do neither where something raises."""
        parent = self.parent or self._refuse_root("commit")
        if reducing:
            refuse_reducers()
        with self.lock:
            if self.gate is ENDED:
                raise CallEndedError(ENDED)
            if self.is_busy:
                raise SessionError(_BUSY)
            journal = self.journal
            if journal is not None or also is not None:
                self.is_busy = True
                try:
                    self._hand_over(parent, journal or [], replay, also)
                finally:
                    self.is_busy = False
            self._end()
        if journal is not None:
            parent.tell(journal)

    def discard(self) -> None:
        """Drop every change but those of logs, and end this branch."""
        parent = self.parent or self._refuse_root("discard")
        if reducing:
            refuse_reducers()
        kept: list[Write] = []
        with self.lock:
            if self.gate is ENDED:
                return
            if self.is_busy:
                raise SessionError(_BUSY)
            if self.journal is not None:
                self._lend_indexes()
                kept = self._leave_logs(parent, self.journal)
            self._end()
        if kept:
            parent.tell(kept)

    def tell(self, writes: Iterable[Write]) -> None:
        """Tell subscribers what became true, in order; nothing has before it reaches the root."""
        if self.parent is not None:
            return
        has_new_rules = False
        for verb, _, payload, _ in writes:
            if verb == "dispatch":
                self.family.subscribers.tell(self.family.custody.give(payload))
            elif verb == "register":
                has_new_rules = True
        if has_new_rules:
            self.family.subscribers.changed()

    def land(self, slices: Slices, writes: list[Write]) -> None:
        """Take over the state that a fork made by these writes."""
        for verb, _, payload, _ in writes:
            if verb == "register" and isinstance(payload, Registration):
                self.rules = self.rules.with_registration(payload)
        self.slices = slices
        if self.parent is not None:
            self.note(writes)

    def _refuse_root(self, verb: str) -> NoReturn:
        raise SessionError(
            f"{verb}: this session is no fork, so there is nothing to {verb}. Fix: work on session.fork()"
        )

    def _hand_over(
        self,
        parent: Branch,
        writes: list[Write],
        again: Callable[[Slices, Iterable[Write]], Slices],
        also: Callable[[], object] | None = None,
    ) -> None:
        for attempt in count():
            theirs = parent.slices
            slices = self._merged(theirs, writes, again) if attempt < _PATIENCE else theirs
            with parent.lock:
                if parent.gate is ENDED:
                    raise CallEndedError(ENDED)
                if parent.is_busy:
                    raise SessionError(_BUSY)
                if attempt >= _PATIENCE:
                    theirs = parent.slices
                    slices = self._merged(theirs, writes, again)
                if parent.slices is theirs:
                    parent.is_busy = True
                    try:
                        if also is not None:
                            also()
                        parent.land(slices, writes)
                    finally:
                        parent.is_busy = False
                    return

    def _leave_logs(self, parent: Branch, journal: list[Write]) -> list[Write]:
        kept = for_logs(journal, self.rules.logs)
        try:
            if kept:
                self._hand_over(parent, kept, replay_what_can_be)
        except CallEndedError:  # the call around this one: its logs are closed
            return []
        return kept

    def _merged(
        self, theirs: Slices, writes: list[Write], again: Callable[[Slices, Iterable[Write]], Slices]
    ) -> Slices:
        """The parent's state with some writes of this branch: done again only where it changed meanwhile."""
        if not writes:
            return theirs
        if theirs is self.base and writes is self.journal:
            return self.slices
        touched = {kind for write in writes for kind, _ in write[3]}
        moved = {kind for kind in touched if theirs.get(kind) is not self.base.get(kind)}
        slices = {**theirs, **{kind: self.slices[kind] for kind in touched - moved}}
        return again(slices, [within(write, moved) for write in writes]) if moved else slices

    def _lend_indexes(self) -> None:
        for kind, items in self.slices.items():
            base = self.base.get(kind)
            if items.indexes and base is not None and base is not items:
                base.lend_indexes(items)

    def _end(self) -> None:
        self.gate = ENDED
        self.journal = None
        self.base = self.slices  # a thread that outlives its call should not hold on to more than it sees

    def _refuse(self, writes: Iterable[Write]) -> None:
        """Raise for what may not be written; what goes to logs may, through a fork that only reads."""
        if self.gate is ENDED:
            raise CallEndedError(ENDED)
        if self.is_busy:
            raise SessionError(_BUSY)
        logs = self.rules.logs
        for verb, _, _, targets in writes:
            if verb == "register" or any(kind not in logs for kind, _ in targets):
                raise ReadOnlyError(self.gate)


_BUSY: Final = (
    "this session is taking over the changes of a fork, and cannot be written meanwhile by what runs "
    "inside of that; nothing was changed. Fix: write before the commit, or after it"
)


def refuse_reducers() -> None:
    """Raise where this thread is inside a reducer.

    Raises:
        SessionError: there.
    """
    if get_ident() in reducing:
        raise SessionError(
            "a reducer wrote to a session; nothing was changed. Fix: let it answer with the change; another "
            "slice can have its own reducer for the same event"
        )
