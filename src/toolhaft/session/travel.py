"""A session, and what was done to a fork of it, as plain parts that another process can be sent.

Does not know how they are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from toolhaft.session.branch import Branch, Family
from toolhaft.session.dispatcher import dispatch
from toolhaft.session.freezing import Custody
from toolhaft.session.rules import Registration
from toolhaft.session.slices import Slice
from toolhaft.session.writes import Verb, within

Change: TypeAlias = tuple[Verb, type | None, object]
"""What was asked for, of which slice, with what."""
Given: TypeAlias = tuple[tuple[object, ...], bool | None]
"""What `register` was given, and whether the slice is a log."""
Packed: TypeAlias = tuple[str, tuple[Change, ...], Mapping[type, tuple[object, ...]]]
"""A session's id, registrations and items."""


def changes_of(branch: Branch) -> tuple[Change, ...]:
    """What was written through a fork so far."""
    return tuple(
        (verb, kind, _given(payload) if isinstance(payload, Registration) else payload)
        for verb, kind, payload, _ in branch.journal or ()
    )


def redo(branch: Branch, changes: Iterable[Change]) -> None:
    """Write what was written elsewhere, by the reducers that are here; all of it, or nothing."""
    fork = branch.fork(None)
    for change in changes:
        _redo(fork, change)
    fork.commit(None)


def pack(branch: Branch) -> Packed:
    """A session without its subscribers."""
    registered: list[Change] = [("register", new.kind, _given(new)) for new in branch.rules.history]
    return branch.family.id, tuple(registered), {kind: tuple(items) for kind, items in branch.slices.items()}


def unpack(packed: Packed) -> Branch:
    """The session that was packed, as a root."""
    id, registered, slices = packed
    branch = Branch(Family(id, Custody()), {})
    redo(branch, registered)
    for kind, items in slices.items():
        Slice(branch, kind).seed(iter(items))
    return branch


def _given(registration: Registration) -> Given:
    return registration.parts, registration.log


def _redo(branch: Branch, change: Change) -> None:
    verb, kind, payload = change
    if verb == "dispatch":
        dispatch(branch, payload)
        return
    if verb == "keep":
        taken = branch.family.custody.take(payload)
        whole = branch.rules.route(type(payload))
        branch.write(within(("keep", None, taken, whole), branch.rules.logs))
        return
    items = Slice(branch, cast("type[object]", kind))
    match verb:
        case "append":
            items.append(payload)
        case "seed":
            items.seed(iter(cast("Iterable[object]", payload)))
        case "clear":
            items.clear(cast("None", payload))
        case "register":
            parts, log = cast("Given", payload)
            items.register(*parts, log=log)
