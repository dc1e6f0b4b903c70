"""The writes of a fork, recorded so that they can be applied again to a newer state."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from toolhaft.session.persistent_vector import EMPTY, PersistentVector
from toolhaft.session.reducer_table import Registration, Targets

WriteKind: TypeAlias = Literal["append", "clear", "dispatch", "keep", "register", "seed"]
"""`keep` is what remains of a dispatch in a discarded fork: its changes to logs."""
SessionWrite: TypeAlias = tuple[WriteKind, object, Targets]
"""The kind of write, its payload, and the transitions that it makes."""
Slices: TypeAlias = Mapping[type, PersistentVector]

_log: Final = logging.getLogger("toolhaft")


def replay(slices: Slices, writes: Iterable[SessionWrite]) -> Slices:
    """The state after some writes."""
    after = dict(slices)
    for _, payload, targets in writes:
        for kind, transition in targets:
            after[kind] = transition(after.get(kind, EMPTY), payload)
    return after


def replay_skipping_errors(slices: Slices, writes: Iterable[SessionWrite]) -> Slices:
    """The state after some writes, without those that raise."""
    for write in writes:
        try:
            slices = replay(slices, (write,))
        except Exception:  # noqa: BLE001 -- a user's reducer: a rollback must not fail because of a log
            _log.exception("a log could not keep the %s of %s", write[0], type(write[1]).__qualname__)
    return slices


def restricted_to(write: SessionWrite, kinds: Collection[type]) -> SessionWrite:
    """The part of a write that changes these slices."""
    verb, payload, targets = write
    return verb, payload, tuple(target for target in targets if target[0] in kinds)


def log_part(journal: Iterable[SessionWrite], logs: frozenset[type]) -> list[SessionWrite]:
    """The part of some writes that went to logs."""
    kept: list[SessionWrite] = []
    for write in journal if logs else ():
        verb, payload, targets = write
        if verb == "register" and isinstance(payload, Registration):
            if payload.kind in logs:
                kept.append(write)
            continue
        _, _, part = restricted_to(write, logs)
        if len(part) == len(targets):
            kept.append(write)
        elif part:
            kept.append(("keep", payload, part))
    return kept
