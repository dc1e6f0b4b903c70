"""Which reducers each slice has: reads the arguments of `register`, and finds the reducers for an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import iscoroutinefunction, signature
from typing import Final, TypeAlias, cast

from toolhaft.errors import SessionError
from toolhaft.session.copying import ItemCopier
from toolhaft.session.persistent_vector import PersistentVector
from toolhaft.session.reducers import (
    BuiltinReducer,
    ReducerFunction,
    SliceTransition,
    append_all,
    function_transition,
    marked_events,
    method_transition,
)

Targets: TypeAlias = tuple[tuple[type, SliceTransition], ...]
"""The effect of a write: slices, each with a transition, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducerEntry:
    """One reducer of one slice."""

    on: type
    function: object
    transition: SliceTransition
    is_builtin: bool = False

    def replaces(self, other: ReducerEntry) -> bool:
        """True for the same reducer again, and for a built-in reducer after another."""
        if self.on is not other.on:
            return False
        return self.function == other.function or (self.is_builtin and other.is_builtin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Reducers for a slice, and whether it is a log."""

    kind: type
    arguments: tuple[object, ...]
    """The positional arguments of `register`."""
    log: bool | None = None
    entries: tuple[ReducerEntry, ...] = field(compare=False)


class ReducerTable:
    """The reducers of all slices; immutable, so forks share it."""

    __slots__ = ("_append_targets", "_by_kind", "_dispatch_targets", "history", "logs")

    def __init__(
        self,
        by_kind: Mapping[type, tuple[ReducerEntry, ...]],
        logs: frozenset[type],
        history: tuple[Registration, ...],
    ) -> None:
        self._by_kind = by_kind
        self.logs = logs
        """The slices that do not roll back."""
        self.history = history
        """All registrations, in order."""
        self._dispatch_targets: dict[type, Targets] = {}
        self._append_targets: dict[tuple[type, type], Targets] = {}

    @property
    def kinds(self) -> tuple[type, ...]:
        """The slices that have a registration."""
        return tuple(self._by_kind)

    @property
    def event_types(self) -> tuple[type, ...]:
        """The types that the reducers take."""
        return tuple(entry.on for entries in self._by_kind.values() for entry in entries)

    def with_registration(self, new: Registration) -> ReducerTable:
        """This table with one more registration."""
        entries = list(self._by_kind.get(new.kind, ()))
        for entry in new.entries:
            replaced = [place for place, old in enumerate(entries) if entry.replaces(old)]
            if replaced:
                entries[replaced[0]] = entry
            else:
                entries.append(entry)
        if not entries:
            entries = [
                ReducerEntry(
                    on=new.kind, function=append_all, transition=append_all.transition, is_builtin=True
                )
            ]
        logs = self.logs
        if new.log is not None:
            logs = logs | {new.kind} if new.log else logs - {new.kind}
        history = tuple(old for old in self.history if old != new)
        return ReducerTable({**self._by_kind, new.kind: tuple(entries)}, logs, (*history, new))

    def append_targets(self, kind: type, item_type: type) -> Targets:
        """The effect of appending an item to a slice."""
        targets = self._append_targets.get((kind, item_type))
        if targets is None:
            targets = self._targets(kind, item_type) or ((kind, PersistentVector.append),)
            self._append_targets[kind, item_type] = targets
        return targets

    def dispatch_targets(self, event_type: type) -> Targets:
        """The effect of dispatching an event: in each slice, the reducers for its type or nearest base."""
        targets = self._dispatch_targets.get(event_type)
        if targets is None:
            found = [target for kind in self._by_kind for target in self._targets(kind, event_type)]
            targets = tuple(found) or ((event_type, PersistentVector.append),)
            self._dispatch_targets[event_type] = targets
        return targets

    def reduces(self, event_type: type) -> bool:
        """True if a slice of this type is registered, or a slice has a reducer for this type."""
        return event_type in self._by_kind or any(self._targets(kind, event_type) for kind in self._by_kind)

    def _targets(self, kind: type, event_type: type) -> Targets:
        entries = self._by_kind.get(kind, ())
        for base in event_type.__mro__:
            found = tuple((kind, entry.transition) for entry in entries if entry.on is base)
            if found:
                return found
        return ()


EMPTY_TABLE: Final = ReducerTable({}, frozenset(), ())


def read_registration(
    kind: type, arguments: tuple[object, ...], *, log: bool | None, copier: ItemCopier
) -> Registration:
    """The registration that the arguments of `register` describe.

    Raises:
        SessionError: for an argument that is not a reducer, or not one for this slice.
    """
    if len(arguments) == 2 and isinstance(arguments[0], type):  # noqa: PLR2004 -- an event and its reducer
        entries = [_entry(kind, arguments[0], arguments[1], copier)]
    elif arguments:
        entries = [entry for part in arguments for entry in _marked_entries(kind, part, copier)]
    else:
        entries = _method_entries(kind, copier)
        if not entries and log is None:
            name = kind.__qualname__
            raise SessionError(
                f"slice {name}: no method of {name} is marked with @reducer. Fix: mark one with "
                f"@reducer(on=Event), or give a reducer: session[{name}].register(append_all)"
            )
    return Registration(kind=kind, arguments=arguments, log=log, entries=tuple(entries))


def _marked_entries(kind: type, function: object, copier: ItemCopier) -> list[ReducerEntry]:
    if isinstance(function, BuiltinReducer):
        return [_entry(kind, kind, function, copier)]
    events = marked_events(function)
    if not events:
        name = getattr(function, "__qualname__", repr(function))
        raise SessionError(
            f"slice {kind.__qualname__}: {name} does not say which event it reduces. Fix: mark it with "
            f"@reducer(on=Event), or name the event: session[{kind.__qualname__}].register(Event, {name})"
        )
    return [_entry(kind, event, function, copier) for event in events]


def _entry(kind: type, event: type, function: object, copier: ItemCopier) -> ReducerEntry:
    if isinstance(function, BuiltinReducer):
        if not issubclass(event, kind):
            name = kind.__qualname__
            raise SessionError(
                f"slice {name}: {function!r} stores the event itself, and {event.__qualname__} is not a "
                f"{name}. Fix: give a function that makes a {name} from the event"
            )
        return ReducerEntry(on=event, function=function, transition=function.transition, is_builtin=True)
    reduce = _checked_function(kind, function, "the view and the event")
    return ReducerEntry(on=event, function=function, transition=function_transition(kind, reduce, copier))


def _method_entries(kind: type, copier: ItemCopier) -> list[ReducerEntry]:
    members: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        members.update(vars(base))
    entries: list[ReducerEntry] = []
    for member in members.values():
        # @reducer may be above or below @staticmethod
        inner = cast("object", getattr(member, "__func__", member))
        for event in dict.fromkeys((*marked_events(member), *marked_events(inner))):
            if isinstance(member, staticmethod):
                entries.append(_entry(kind, event, inner, copier))
            else:
                method = _checked_function(kind, member, "self and the event")
                transition = method_transition(kind, method, copier)
                entries.append(ReducerEntry(on=event, function=method, transition=transition))
    return entries


def _checked_function(kind: type, function: object, parameters: str) -> ReducerFunction:
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function) or isinstance(function, type):
        raise SessionError(
            f"slice {kind.__qualname__}: {name} cannot reduce an event. Fix: give a function of {parameters}"
        )
    if iscoroutinefunction(function):
        raise SessionError(
            f"slice {kind.__qualname__}: reducer {name} is async, and reducers cannot wait. Fix: write it "
            "with `def`, and wait before dispatching"
        )
    try:
        signature(function).bind(None, None)
    except TypeError as error:
        raise SessionError(
            f"slice {kind.__qualname__}: reducer {name} cannot be called with {parameters}: {error}. Fix: "
            f"write `def {name.rpartition('.')[2]}({'self' if 'self' in parameters else 'view'}, event)`"
        ) from error
    except ValueError:  # a builtin without a known signature
        pass
    return cast("ReducerFunction", function)
