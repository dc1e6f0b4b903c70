"""What was asked of a session, written down so that it can be done again.

Does not know who asked, or whose state it is.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from toolhaft.session.rules import Targets
from toolhaft.session.vector import EMPTY, Vector

Verb: TypeAlias = Literal["append", "clear", "dispatch", "keep", "register", "seed"]
"""`keep` is what is left of a dispatch that was dropped: the part of it that went to logs."""
Write: TypeAlias = tuple[Verb, type | None, object, Targets]
"""What was asked for, of which slice, with what, and what it does."""
Slices: TypeAlias = Mapping[type, Vector]

_log: Final = logging.getLogger("toolhaft")


def replay(slices: Slices, writes: Iterable[Write]) -> Slices:
    """The state after some writes."""
    after = dict(slices)
    for _, _, payload, targets in writes:
        for kind, step in targets:
            after[kind] = step(after.get(kind, EMPTY), payload)
    return after


def replay_what_can_be(slices: Slices, writes: Iterable[Write]) -> Slices:
    """The state after some writes, without those that raise."""
    for write in writes:
        try:
            slices = replay(slices, (write,))
        except Exception:  # noqa: BLE001 -- a user's reducer: a rollback must not fail because of a log
            _log.exception("a log could not keep the %s of %s", write[0], type(write[2]).__qualname__)
    return slices


def within(write: Write, kinds: Collection[type]) -> Write:
    """What a write does to some slices."""
    verb, kind, payload, targets = write
    return verb, kind, payload, tuple(target for target in targets if target[0] in kinds)


def for_logs(journal: Iterable[Write], logs: frozenset[type]) -> list[Write]:
    """What of some writes went to logs."""
    kept: list[Write] = []
    for write in journal if logs else ():
        verb, kind, payload, targets = write
        if verb == "register":
            if kind in logs:
                kept.append(write)
            continue
        part = within(write, logs)
        if len(part[3]) == len(targets):
            kept.append(write)
        elif part[3]:
            kept.append(("keep", kind, payload, part[3]))
    return kept
