"""A session: typed state that a call changes as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar, cast

from toolhaft.schema.json_value import JSONObject
from toolhaft.session.copying import ItemCopier
from toolhaft.session.journal import SessionWrite
from toolhaft.session.slices import Slice, replace_all, slice_of
from toolhaft.session.state import READS_ONLY, SessionState, SharedParts
from toolhaft.session.subscribers import Subscriber

ItemT = TypeVar("ItemT")

_new: Final = object.__new__


class Dispatcher:
    """Publishes the events of a session or fork; subscribers receive the events of the whole session."""

    __slots__ = ("_state",)

    def __init__(self, state: SessionState) -> None:
        self._state = state

    def dispatch(self, event: object) -> None:
        """Call the reducers for an event, or append it to its own slice; then notify subscribers.

        Subscribers receive what is dispatched through a fork when the fork is committed.

        Raises:
            CallEndedError: if the call that this view belongs to has ended.
            ReadOnlyError: if the call may only read.
        """
        self._state.dispatch(event)

    def subscribe(self, event_type: type[ItemT], subscriber: Callable[[ItemT], object]) -> Callable[[], None]:
        """Call a function with every event of a type or a subclass; the returned function unsubscribes it.

        Raises:
            SessionError: if the type is not a class, or the subscriber is not callable.
        """
        return self._state.shared.subscribers.subscribe(event_type, cast("Subscriber", subscriber))

    def unsubscribe(self, event_type: type[ItemT], subscriber: Callable[[ItemT], object]) -> bool:
        """Remove one subscription; False if there was none."""
        return self._state.shared.subscribers.unsubscribe(event_type, cast("Subscriber", subscriber))

    def has_listener(self, event_type: type) -> bool:
        """True if there is a subscriber for this type or a base of it."""
        return self._state.shared.subscribers.has_listener(event_type)

    def on_change(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call back when subscriptions or registrations change; the returned function stops that.

        A bound method is held weakly, so its object can be collected.
        """
        return self._state.shared.subscribers.on_change(callback)


class Session:
    """Slices of typed items, their reducers, and the events that change them.

    A fork is a session too: others see its changes only after `commit`, and `discard` drops them. Sessions
    are safe to use from several threads.
    """

    __slots__ = ("__weakref__", "_state")

    def __init__(self, *, id: str | None = None) -> None:
        self._state = SessionState(SharedParts(id or _new_id(), ItemCopier()), {})

    @property
    def id(self) -> str:
        """The id of the session and all of its forks."""
        return self._state.shared.id

    @property
    def dispatcher(self) -> Dispatcher:
        """Publishes events, and takes subscriptions."""
        return Dispatcher(self._state)

    def __getitem__(self, kind: type[ItemT]) -> Slice[ItemT]:
        return slice_of(self._state, kind)

    def dispatch(self, event: object) -> None:
        """Call the reducers for an event, or append it to its own slice; then notify subscribers.

        Raises:
            CallEndedError: if the call that this view belongs to has ended.
            ReadOnlyError: if the call may only read.
        """
        self._state.dispatch(event)

    def register(self, kind: type, *reducers: object, log: bool | None = None) -> None:
        """Short for `session[kind].register(...)`.

        Raises:
            SessionError: for an argument that is not a reducer, or not one for this slice.
        """
        slice_of(self._state, kind).register(*reducers, log=log)

    def has_listener(self, event_type: type) -> bool:
        """True if there is a subscriber for this type, or a slice is registered for it or reduces it."""
        return self._state.shared.subscribers.has_listener(event_type) or self.reduces(event_type)

    def reduces(self, event_type: type) -> bool:
        """True if a slice is registered for this type, or reduces it."""
        return self._state.table.reduces(event_type)

    def fork(self, *, read_only: bool = False, read_only_reason: str = READS_ONLY) -> Session:
        """A session that starts from this state, and whose changes are committed or discarded as a whole."""
        return _session(self._state.fork(read_only_reason if read_only else None))

    def commit(self, also: Callable[[], object] | None = None) -> None:
        """Apply every change to the session that this one was forked from, and end this fork.

        `also` is called after the new state is computed and before it becomes visible. If it or a reducer
        raises, nothing is changed and the fork stays open.

        Raises:
            CallEndedError: if this fork, or the session that it was forked from, has ended.
        """
        self._state.commit(also)

    def discard(self) -> None:
        """Drop every change except those to logs, and end this fork; does nothing if it has ended."""
        self._state.discard()

    def clone(self) -> Session:
        """An independent session with the same state and reducers, and no subscribers."""
        state = self._state
        return _session(SessionState(SharedParts(_new_id(), state.shared.copier), state.slices, state.table))

    def snapshot(self, *, include_logs: bool = False) -> JSONObject:
        """The state as JSON, for `restore`: every slice that is not a log, or all of them.

        Raises:
            SessionError: for an item that cannot be written as JSON without loss.
        """
        from toolhaft.session.snapshot import encode  # noqa: PLC0415 -- loads pydantic

        logs = frozenset[type]() if include_logs else self._state.table.logs
        slices = self._state.slices.items()
        return encode({kind: tuple(items) for kind, items in slices if kind not in logs})

    def restore(self, snapshot: object, /, *, types: Iterable[type] = ()) -> None:
        """Set the state to that of a snapshot, an object or text; logs only if the snapshot has them.

        Types are looked up by name among those in `types` and those that the session knows because they were
        registered, seeded or appended before; nothing is imported. Fields that a dataclass no longer has are
        ignored.

        Raises:
            SessionError: if it is not a snapshot, or does not fit the types; then nothing is changed.
        """
        from toolhaft.session.snapshot import decode  # noqa: PLC0415 -- loads pydantic

        state = self._state
        copier = state.shared.copier
        found = decode(snapshot, (*types, *state.slices, *self.known_types()))
        gone = [kind for kind in state.slices if kind not in found and kind not in state.table.logs]
        writes: list[SessionWrite] = [
            ("seed", tuple(map(copier.copy_in, items)), ((kind, replace_all),))
            for kind, items in {**found, **dict.fromkeys(gone, ())}.items()
        ]
        state.write(*writes)

    def known_types(self) -> tuple[type, ...]:
        """The types that were registered, that reducers take, and of which there are or were items."""
        state = self._state
        # not of a slice that is empty: a process that only named a type could send objects of it
        filled = [kind for kind, items in state.slices.items() if items.size]
        return (*state.table.kinds, *state.table.event_types, *filled, *state.shared.copier.known_types())

    def __reduce__(self) -> tuple[object, ...]:
        """The session without its subscribers; a fork becomes a session."""
        state = self._state
        registered = tuple((new.kind, new.arguments, new.log) for new in state.table.history)
        return _unpack, (self.id, registered, {kind: tuple(items) for kind, items in state.slices.items()})

    def __repr__(self) -> str:
        slices = self._state.slices.items()
        counts = ", ".join(f"{kind.__qualname__}: {items.size}" for kind, items in slices)
        return f"<{'Session' if self._state.parent is None else 'Fork of session'} {self.id} ({counts})>"


def _session(state: SessionState) -> Session:
    session = _new(Session)
    session._state = state  # noqa: SLF001 -- a constructor # pyright: ignore[reportPrivateUsage] -- the same
    return session


def _unpack(
    id: str,
    registered: Iterable[tuple[type, tuple[object, ...], bool | None]],
    slices: Mapping[type, Iterable[object]],
) -> Session:
    session = Session(id=id)
    for kind, reducers, log in registered:
        session.register(kind, *reducers, log=log)
    for kind, items in slices.items():
        session[kind].seed(iter(items))
    return session


def _new_id() -> str:
    return os.urandom(8).hex()
