"""The subscribers of a session's events, and callbacks for changes of the subscriptions."""

from __future__ import annotations

import logging
from _thread import allocate_lock
from collections.abc import Callable
from inspect import iscoroutinefunction, ismethod
from typing import Final, TypeAlias, cast
from weakref import WeakMethod

from toolhaft.errors import SessionError

Subscriber: TypeAlias = Callable[[object], object]
OnChange: TypeAlias = Callable[[], object]

_log: Final = logging.getLogger("toolhaft")


class _Subscription:
    """One subscription; the same function can have several."""

    __slots__ = ("event_type", "subscriber")

    def __init__(self, event_type: type, subscriber: Subscriber) -> None:
        self.event_type = event_type
        self.subscriber = subscriber


class Subscribers:
    """The subscribers of one session and all of its forks."""

    __slots__ = ("_by_type", "_changes", "_lock", "_subscriptions")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._subscriptions: tuple[_Subscription, ...] = ()
        self._by_type: dict[type, tuple[Subscriber, ...]] = {}
        self._changes: tuple[Callable[[], OnChange | None], ...] = ()

    def subscribe(self, event_type: type, subscriber: Subscriber) -> Callable[[], None]:
        """Call a function with every event of a type or a subclass; the returned function unsubscribes it.

        Raises:
            SessionError: if the type is not a class, or the subscriber is not callable.
        """
        if not isinstance(event_type, type):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
            raise SessionError(
                f"subscribe: {event_type!r} is not an event type. Fix: name a class: subscribe(Event, fn)"
            )
        if not callable(subscriber) or iscoroutinefunction(subscriber):
            raise SessionError(
                f"subscribe: {subscriber!r} cannot receive {event_type.__qualname__}. Fix: give a plain "
                "function of the event; one that has to wait can start a task"
            )
        subscription = _Subscription(event_type, subscriber)
        with self._lock:
            self._set((*self._subscriptions, subscription))
        self.changed()

        def undo() -> None:
            self._remove(subscription)

        return undo

    def unsubscribe(self, event_type: type, subscriber: Subscriber) -> bool:
        """Remove one subscription; False if there was none."""
        for known in self._subscriptions:
            if known.event_type is event_type and known.subscriber == subscriber:
                return self._remove(known)
        return False

    def has_listener(self, event_type: type) -> bool:
        """True if there is a subscriber for this type or a base of it."""
        return bool(self._of(event_type))

    def notify(self, event: object) -> None:
        """Call every subscriber of an event, in the order of subscription."""
        for subscriber in self._of(type(event)):
            try:
                subscriber(event)
            except Exception:  # noqa: BLE001 -- a user's function: its failure is logged, and changes no outcome
                _log.exception("subscriber %r failed on %s", subscriber, type(event).__qualname__)

    def on_change(self, callback: OnChange) -> Callable[[], None]:
        """Call back when subscriptions or registrations change; the returned function stops that.

        A bound method is held weakly, so its object can be collected.
        """
        bound = WeakMethod(callback) if ismethod(callback) else None
        resolve = cast("Callable[[], OnChange | None]", bound) if bound else lambda: callback
        with self._lock:
            alive = [known for known in self._changes if known() is not None]
            self._changes = (*alive, resolve)

        def undo() -> None:
            with self._lock:
                self._changes = tuple(known for known in self._changes if known is not resolve)

        return undo

    def changed(self) -> None:
        """Call the callbacks of `on_change`, and drop those whose objects are gone."""
        for resolve in self._changes:
            callback = resolve()
            if callback is None:
                with self._lock:
                    self._changes = tuple(known for known in self._changes if known is not resolve)
                continue
            try:
                callback()
            except Exception:  # noqa: BLE001 -- a user's function: its failure is logged, and changes no outcome
                _log.exception("callback %r failed on a change of subscriptions", callback)

    def _of(self, event_type: type) -> tuple[Subscriber, ...]:
        by_type = self._by_type
        found = by_type.get(event_type)
        if found is None:
            bases = event_type.__mro__
            found = tuple(known.subscriber for known in self._subscriptions if known.event_type in bases)
            by_type[event_type] = found
        return found

    def _remove(self, subscription: _Subscription) -> bool:
        with self._lock:
            rest = tuple(known for known in self._subscriptions if known is not subscription)
            if len(rest) == len(self._subscriptions):
                return False
            self._set(rest)
        self.changed()
        return True

    def _set(self, subscriptions: tuple[_Subscription, ...]) -> None:
        self._subscriptions = subscriptions
        self._by_type = {}  # a new dictionary: a thread that reads the old one may still add to it
