"""A session, and the changes made through a fork of it, as plain data that can be sent to another process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from toolhaft.session.copying import ItemCopier
from toolhaft.session.journal import WriteKind, restricted_to
from toolhaft.session.reducer_table import Registration
from toolhaft.session.slices import Slice
from toolhaft.session.state import SessionState, SharedParts

SessionChange: TypeAlias = tuple[WriteKind, type | None, object]
"""The kind of write, its slice, and its payload."""
RegisterArguments: TypeAlias = tuple[tuple[object, ...], bool | None]
"""The arguments of `register`: the reducers, and whether the slice is a log."""
PackedSession: TypeAlias = tuple[str, tuple[SessionChange, ...], Mapping[type, tuple[object, ...]]]
"""A session's id, registrations and items."""


def changes_of(state: SessionState) -> tuple[SessionChange, ...]:
    """The changes made through a fork so far."""
    return tuple(
        (verb, kind, _register_arguments(payload) if isinstance(payload, Registration) else payload)
        for verb, kind, payload, _ in state.journal or ()
    )


def redo(state: SessionState, changes: Iterable[SessionChange]) -> None:
    """Apply changes that were made elsewhere, with the reducers of this session; all of them or none."""
    fork = state.fork(None)
    for change in changes:
        _redo(fork, change)
    fork.commit(None)


def pack(state: SessionState) -> PackedSession:
    """A session without its subscribers."""
    registered: list[SessionChange] = [
        ("register", new.kind, _register_arguments(new)) for new in state.table.history
    ]
    return state.shared.id, tuple(registered), {kind: tuple(items) for kind, items in state.slices.items()}


def unpack(packed: PackedSession) -> SessionState:
    """The packed session, which is no fork."""
    id, registered, slices = packed
    state = SessionState(SharedParts(id, ItemCopier()), {})
    redo(state, registered)
    for kind, items in slices.items():
        Slice(state, kind).seed(iter(items))
    return state


def _register_arguments(registration: Registration) -> RegisterArguments:
    return registration.arguments, registration.log


def _redo(state: SessionState, change: SessionChange) -> None:
    verb, kind, payload = change
    if verb == "dispatch":
        state.dispatch(payload)
        return
    if verb == "keep":
        stored = state.shared.copier.copy_in(payload)
        targets = state.table.dispatch_targets(type(payload))
        state.write(restricted_to(("keep", None, stored, targets), state.table.logs))
        return
    items = Slice(state, cast("type[object]", kind))
    match verb:
        case "append":
            items.append(payload)
        case "seed":
            items.seed(iter(cast("Iterable[object]", payload)))
        case "clear":
            items.clear(cast("None", payload))
        case "register":
            reducers, log = cast("RegisterArguments", payload)
            items.register(*reducers, log=log)
