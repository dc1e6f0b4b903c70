"""Typed state that a call can change as a whole or not at all.

Knows no tools and no executor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from toolhaft.schema.json_value import JSONObject
from toolhaft.session.branch import READS_ONLY, Branch, Family
from toolhaft.session.dispatcher import Dispatcher, dispatch
from toolhaft.session.freezing import Custody
from toolhaft.session.slices import Slice, set_to, slice_of
from toolhaft.session.travel import Change, Packed, changes_of, pack, redo, unpack
from toolhaft.session.writes import Write

ThingT = TypeVar("ThingT")

_new: Final = object.__new__


class Session:
    """Slices of typed items, their reducers, and the events that change them.

    A fork is a session too: what is written through it shows nowhere else until `commit`, and is dropped by
    `discard`. Safe to use from several threads.
    """

    __slots__ = ("__weakref__", "_branch")

    def __init__(self, *, id: str | None = None) -> None:
        self._branch = Branch(Family(id or _new_id(), Custody()), {})

    @property
    def id(self) -> str:
        """What the session and all of its forks are known by."""
        return self._branch.family.id

    @property
    def dispatcher(self) -> Dispatcher:
        """Where events are published and heard."""
        return Dispatcher(self._branch)

    def __getitem__(self, kind: type[ThingT]) -> Slice[ThingT]:
        return slice_of(self._branch, kind)

    def dispatch(self, event: object) -> None:
        """Hand an event to every reducer for its type, or append it to its own slice; then tell subscribers.

        Raises:
            CallEndedError: where the call that this view belongs to has ended.
            ReadOnlyError: where the call may only read.
        """
        dispatch(self._branch, event)

    def register(self, kind: type, *reducers: object, log: bool | None = None) -> None:
        """Give a slice reducers: `session[kind].register(...)`, said in one.

        Raises:
            SessionError: for what is no reducer, or none for this slice.
        """
        slice_of(self._branch, kind).register(*reducers, log=log)

    def hears(self, event_type: type) -> bool:
        """True if somebody subscribed to this type, or a slice was registered for it or reduces it."""
        return self._branch.family.subscribers.hears(event_type) or self.reduces(event_type)

    def reduces(self, event_type: type) -> bool:
        """True if a slice was registered for this type, or reduces it."""
        return self._branch.rules.knows(event_type)

    def fork(self, *, read_only: bool = False, read_only_reason: str = READS_ONLY) -> Session:
        """A session that starts from this state and whose changes are kept or dropped as one."""
        return _session(self._branch.fork(read_only_reason if read_only else None))

    def commit(self, also: Callable[[], object] | None = None) -> None:
        """Give every change to the session that this one was forked from, and end this one.

        `also` is called once the new state is known and before anybody sees it; where it raises, nothing is
        changed and the fork lives on, as where a reducer raises.

        Raises:
            CallEndedError: where this fork, or the session that it was forked from, has ended.
        """
        self._branch.commit(also)

    def discard(self) -> None:
        """Drop every change but those of logs, and end this fork; nothing where it has ended."""
        self._branch.discard()

    def clone(self) -> Session:
        """A session of its own with the same state and reducers, and no subscribers."""
        branch = self._branch
        family = Family(_new_id(), branch.family.custody)
        return _session(Branch(family, branch.slices, branch.rules))

    def snapshot(self, *, include_logs: bool = False) -> JSONObject:
        """The state as JSON: every slice that is no log, or all of them; fit for `restore`.

        Raises:
            SessionError: for an item that JSON cannot hold, or not without loss.
        """
        from toolhaft.session.snapshot import encode  # noqa: PLC0415 -- pydantic, for those who need it

        logs = frozenset[type]() if include_logs else self._branch.rules.logs
        slices = self._branch.slices.items()
        return encode({kind: tuple(items) for kind, items in slices if kind not in logs})

    def restore(self, snapshot: object, /, *, types: Iterable[type] = ()) -> None:
        """Bring back the state of a snapshot, as object or text; logs only where they are in it.

        Only types that the session knows, because they were registered, seeded or appended before, and those
        in `types` are found by their names; nothing is imported. Fields that a dataclass has no longer are
        left out.

        Raises:
            SessionError: where it is no snapshot, or does not fit the types; nothing is changed then.
        """
        from toolhaft.session.snapshot import decode  # noqa: PLC0415 -- pydantic, for those who need it

        branch = self._branch
        custody = branch.family.custody
        known = (*types, *branch.rules.kinds, *branch.slices, *custody.known_types())
        found = decode(snapshot, known)
        gone = [kind for kind in branch.slices if kind not in found and kind not in branch.rules.logs]
        writes: list[Write] = [
            ("seed", kind, tuple(map(custody.take, items)), ((kind, set_to),))
            for kind, items in {**found, **dict.fromkeys(gone, ())}.items()
        ]
        branch.write(*writes)

    def changes(self) -> tuple[Change, ...]:
        """What was written through this fork so far, to be redone elsewhere; pickled if its items can be."""
        return changes_of(self._branch)

    def redo(self, changes: Iterable[Change]) -> None:
        """Write what was written through a fork in another process; all of it, or nothing."""
        redo(self._branch, changes)

    def __reduce__(self) -> tuple[Callable[[Packed], Session], tuple[Packed]]:
        return _unpacked, (pack(self._branch),)

    def __repr__(self) -> str:
        slices = self._branch.slices.items()
        said = ", ".join(f"{kind.__qualname__}: {items.size}" for kind, items in slices)
        return f"<{'Session' if self._branch.parent is None else 'Fork of session'} {self.id} ({said})>"


def _session(branch: Branch) -> Session:
    session = _new(Session)
    session._branch = branch  # noqa: SLF001 -- a constructor # pyright: ignore[reportPrivateUsage] -- the same
    return session


def _unpacked(packed: Packed) -> Session:
    return _session(unpack(packed))


def _new_id() -> str:
    return os.urandom(8).hex()
