"""The resources of one call: forks of what is shared, kept or dropped with the call.

Does not know why a call ended, only whether its changes are kept.
"""

from __future__ import annotations

import logging
from threading import Lock, RLock
from typing import Final, Protocol, TypeVar, cast

from toolhaft.core.ports import Restorable, Snapshotable
from toolhaft.errors import CallEndedError
from toolhaft.resources.closing import Closer, failures_of, raise_all
from toolhaft.resources.providers import Making, Provider, manner_of

ThingT = TypeVar("ThingT")
ItemT = TypeVar("ItemT")

_first_use = Lock()
_LOG: Final = logging.getLogger("toolhaft")


class _Source(Protocol):
    """Where a call's resources come from: the registry, or the call that this one is within."""

    def get(self, kind: type[ThingT]) -> ThingT: ...

    def provider_for(self, kind: type) -> Provider | None: ...


class _Held:
    """What a call has asked for so far."""

    __slots__ = ("closers", "forks", "lock", "making", "snapshots", "things", "turn")

    def __init__(self) -> None:
        self.turn = RLock()
        """Held by who makes something; a factory gets others meanwhile."""
        self.making = Making()
        self.lock = Lock()
        """Held for a moment, never while others' code runs: a call can end while a factory hangs."""
        self.things: dict[type, object] = {}
        self.forks: list[tuple[object, Snapshotable]] = []
        self.snapshots: list[tuple[Restorable, object]] = []
        self.closers: list[Closer] = []


class CallResources:
    """A call's own view of the resources; nothing is forked or made before it is asked for."""

    __slots__ = ("_held", "_is_ended", "_read_only", "_source", "kept")

    def __init__(self, source: _Source, *, read_only: bool = False) -> None:
        self._source = source
        self._read_only = read_only
        self._held: _Held | None = None
        self._is_ended = False
        self.kept = 0
        """How many resources have kept their changes."""

    def get(self, kind: type[ThingT]) -> ThingT:
        """The call's own view of a resource.

        What can be forked is forked once a call, what can only be restored is remembered as it was, and
        anything else is handed out as it is.

        Raises:
            ResourceError: where none of this kind was given, or it cannot be made.
            CallEndedError: once the call is over.
        """
        held = self._held or self._hold()
        thing = held.things.get(kind)
        if thing is None or self._is_ended:
            with held.turn:
                thing = self._made(kind, held)
        return cast("ThingT", thing)

    def ready(self, kind: type[ThingT]) -> ThingT | None:
        """A resource that this call has asked for, to be read only.

        None for any other, although it may be there: the first to ask pins what the call sees from then on.
        """
        held = self._held
        return None if held is None or self._is_ended else cast("ThingT | None", held.things.get(kind))

    def fork(self, *, read_only: bool = False) -> CallResources:
        """The resources of a call that is made within this one; its changes become this one's."""
        return CallResources(self, read_only=read_only or self._read_only)

    def provider_for(self, kind: type) -> Provider | None:
        """How a resource is made anew for each call or use; None for one that is shared."""
        return self._source.provider_for(kind)

    def commit(self) -> None:
        """Keep every change, in the order in which resources were first asked for, and end the view.

        What was made for the call is closed at last; trouble with that is logged, since the changes are kept.

        Raises:
            CallEndedError: where it has ended before.
            Exception: what a resource raised that could not keep its changes. Those after it are dropped;
                those before it, `kept` in number, cannot be taken back any more.
        """
        if not self._end():
            raise _ended()
        held = self._held
        if held is None:
            return
        for number, (_, fork) in enumerate(held.forks):
            try:
                fork.commit()
            except Exception as error:  # noqa: BLE001 -- whatever it is, the others must be dropped first
                raise_all("changes could not be kept", [error, *_drop(held, first=number)])
            self.kept += 1
        for error in failures_of(reversed(held.closers)):
            _LOG.error("a resource of a call could not be closed", exc_info=error)

    def discard(self) -> None:
        """Drop every change, the newest resource first, and end the view; safe to repeat.

        Raises:
            Exception: what went wrong, when all were tried.
        """
        if self._end() and self._held is not None:
            raise_all("changes could not be taken back", _drop(self._held, first=0))

    def _hold(self) -> _Held:
        with _first_use:
            if self._held is None:
                self._held = _Held()
            return self._held

    def _end(self) -> bool:
        """Let nothing be asked for any more; False where that was so before."""
        with _first_use:
            held = self._held
            if held is None:  # and none will be of use from now on
                was_open, self._is_ended = not self._is_ended, True
                return was_open
        with held.lock:
            was_open, self._is_ended = not self._is_ended, True
            return was_open

    def _made(self, kind: type, held: _Held) -> object:
        if self._is_ended:
            raise _ended()
        thing = held.things.get(kind)
        if thing is not None:
            return thing
        provider = self._source.provider_for(kind)
        if provider is None:
            return self._own(kind, cast("object", self._source.get(kind)), held)
        with held.making.of(kind):
            made, closer = provider.make(self)
        if closer is not None:
            self._add(held.closers, closer, held, closer)
        return self._own(None if provider.scope == "use" else kind, made, held)

    def _own(self, kind: type | None, shared: object, held: _Held) -> object:
        """The call's view of a thing, the same for every kind that it goes by."""
        thing = shared
        match manner_of(shared):
            case "fork":
                thing = next((fork for known, fork in held.forks if known is shared), None)
                if thing is None:
                    thing = cast("Snapshotable", shared).fork(read_only=self._read_only)
                    self._add(held.forks, (shared, thing), held, thing.discard)
            case "restore":
                known = cast("Restorable", shared)
                # a call that only reads has nothing to put back, and runs beside others that do
                if not self._read_only and all(other is not known for other, _ in held.snapshots):
                    self._add(held.snapshots, (known, known.snapshot()), held, None)
            case "plain":
                pass
        if kind is not None:
            held.things[kind] = thing
        return thing

    def _add(self, held_of_its_kind: list[ItemT], item: ItemT, held: _Held, drop: Closer | None) -> None:
        """Hold one more thing for the call, or drop it at once where the call ended while it was made."""
        with held.lock:
            if not self._is_ended:
                held_of_its_kind.append(item)
                return
        if drop is not None:
            drop()
        raise _ended()


def _ended() -> CallEndedError:
    return CallEndedError("the call that these resources belong to has ended")


def _drop(held: _Held, *, first: int) -> list[Exception]:
    """Take back the changes of the resources from one on, and end what was made for the call."""
    steps: list[Closer] = [fork.discard for _, fork in reversed(held.forks[first:])]
    steps += [
        lambda known=known, snapshot=snapshot: known.restore(snapshot)
        for known, snapshot in reversed(held.snapshots)
    ]
    steps += reversed(held.closers)
    return failures_of(steps)
