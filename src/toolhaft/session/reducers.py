"""How an event changes a slice: the built-in reducers, and the mark for a user's functions and methods."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar, cast

from toolhaft.errors import SessionError
from toolhaft.session.copying import ItemCopier
from toolhaft.session.operations import (
    Append,
    KeepLatest,
    Operation,
    ReplaceLatest,
    SliceCopier,
    SliceView,
    Upsert,
)
from toolhaft.session.persistent_vector import Key, PersistentVector

FunctionT = TypeVar("FunctionT")
SliceTransition: TypeAlias = Callable[[PersistentVector, object], PersistentVector]
"""Takes the items of a slice and an event; returns the items afterwards."""
ReducerFunction: TypeAlias = Callable[[object, object], object]
"""A function of the view and the event, or a method of the latest item and the event."""

MARK: Final = "__toolhaft_reduces__"

threads_in_reducers: Final[set[int]] = set()
"""The threads that are inside a reducer, where no session may be written."""


class _InsideReducer:
    """Marks the current thread as inside a reducer."""

    __slots__ = ()

    def __enter__(self) -> None:
        threads_in_reducers.add(get_ident())

    def __exit__(self, *_: object) -> None:
        threads_in_reducers.discard(get_ident())


_inside_reducer: Final = _InsideReducer()


class BuiltinReducer:
    """What a slice does with each item of its own type."""

    __slots__ = ("_name", "_operations", "_origin", "transition")

    def __init__(
        self,
        transition: SliceTransition,
        operations: Callable[[object], tuple[Operation, ...]],
        *,
        name: str,
        origin: tuple[object, ...] | None = None,
    ) -> None:
        self.transition = transition
        self._operations = operations
        self._name = name
        self._origin = origin or name

    def __call__(self, view: SliceView[object], event: object) -> tuple[Operation, ...]:  # noqa: ARG002 -- the signature of every reducer
        """The same change as operations, for a user's reducer that adds others to them."""
        return self._operations(event)

    def __reduce__(self) -> str | tuple[object, ...]:
        return self._origin

    def __repr__(self) -> str:
        return self._name


append_all: Final = BuiltinReducer(PersistentVector.append, lambda event: (Append(event),), name="append_all")
"""Keep every item."""

replace_latest: Final = BuiltinReducer(
    PersistentVector.replace_latest, lambda event: (ReplaceLatest(event),), name="replace_latest"
)
"""Keep one item: each new one replaces the one before."""


def upsert_by(key: Key) -> BuiltinReducer:
    """Keep one item per key, which is the name of an attribute or a function of the item.

    Raises:
        SessionError: if the key is neither.
    """
    if not (isinstance(key, str) or callable(key)) or isinstance(key, type):
        raise SessionError(
            f"upsert_by: {key!r} is not a key. Fix: give the name of an attribute, or a function of the item"
        )

    def upsert(items: PersistentVector, item: object) -> PersistentVector:
        return items.upsert(item, key)

    def guarded_upsert(items: PersistentVector, item: object) -> PersistentVector:
        with _inside_reducer:
            return items.upsert(item, key)

    return BuiltinReducer(
        upsert if isinstance(key, str) else guarded_upsert,
        lambda event: (Upsert(event, key),),
        name=f"upsert_by({repr(key) if isinstance(key, str) else _name(key)})",
        origin=(upsert_by, (key,)),
    )


def keep_latest(count: int) -> BuiltinReducer:
    """Keep the newest `count` items.

    Raises:
        SessionError: for a count that is not 1 or more.
    """
    if type(count) is not int or count < 1:
        raise SessionError(f"keep_latest: {count!r} is not a number of items. Fix: give 1 or more")

    def append_and_drop(items: PersistentVector, item: object) -> PersistentVector:
        return items.append(item).keep_latest(count)

    return BuiltinReducer(
        append_and_drop,
        lambda event: (Append(event), KeepLatest(count)),
        name=f"keep_latest({count})",
        origin=(keep_latest, (count,)),
    )


def reducer(*, on: type) -> Callable[[FunctionT], FunctionT]:
    """Mark a function, or a method of the slice's type, as the reducer for events of a type.

    A function is called with a view of the slice and the event, a method with the latest item as `self` and
    the event. It returns an operation, several in a list or tuple, an item that replaces the latest, or None.

    Raises:
        SessionError: if `on` is not a type.
    """
    if not isinstance(on, type):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
        raise SessionError(
            f"@reducer: {on!r} is not an event type. Fix: name the class of the event: @reducer(on=AddStep)"
        )

    def mark(function: FunctionT) -> FunctionT:
        setattr(function, MARK, (*marked_events(function), on))
        return function

    return mark


def marked_events(function: object) -> tuple[type, ...]:
    """The event types that a function is marked for."""
    return cast("tuple[type, ...]", getattr(function, MARK, ()))


def function_transition(kind: type, function: ReducerFunction, copier: ItemCopier) -> SliceTransition:
    """The transition of a function that is called with a view of the slice."""

    def reduce(items: PersistentVector, event: object) -> object:
        return function(SliceView[object](items, copier), event)

    return _guarded(kind, function, reduce, copier)


def method_transition(kind: type, function: ReducerFunction, copier: ItemCopier) -> SliceTransition:
    """The transition of a method of the latest item."""

    def reduce(items: PersistentVector, event: object) -> object:
        if not items.size:
            raise SessionError(
                f"slice {kind.__qualname__}: {_name(function)} changes the latest {kind.__qualname__}, and "
                f"there is none. Fix: append or seed one before {type(event).__qualname__} is dispatched"
            )
        return function(copier.copy_out(items.latest()), event)

    return _guarded(kind, function, reduce, copier)


def _guarded(
    kind: type,
    function: ReducerFunction,
    reduce: Callable[[PersistentVector, object], object],
    copier: ItemCopier,
) -> SliceTransition:
    slice_copier = SliceCopier(kind, copier)

    def transition(items: PersistentVector, event: object) -> PersistentVector:
        with _inside_reducer:
            answer = reduce(items, copier.copy_out(event))
            if answer is None:
                return items
            if isinstance(answer, kind) and not isinstance(answer, Operation):
                return items.replace_latest(slice_copier.take(answer))
            for operation in _operations(kind, function, answer):
                items = operation.apply(items, slice_copier)
        return items

    return transition


def _operations(kind: type, function: ReducerFunction, answer: object) -> list[Operation]:
    if isinstance(answer, Operation):
        return [answer]
    given = type(answer).__qualname__
    if isinstance(answer, list | tuple):
        several = list(cast("tuple[object, ...]", answer))
        operations = [part for part in several if isinstance(part, Operation)]
        if len(operations) == len(several):
            return operations
    name = kind.__qualname__
    raise SessionError(
        f"slice {name}: reducer {_name(function)} returned {given}, which is not a change. "
        f"Fix: return an operation such as Append(item), several in a list, an item of type {name}, or None"
    )


def _name(function: object) -> str:
    return cast("str", getattr(function, "__qualname__", repr(function)))
