"""How an event changes a slice: the built-in ways, and the mark for functions and methods of one's own.

Does not know which reducers a session has.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from typing import Final, NoReturn, TypeAlias, TypeVar, cast

from toolhaft.errors import SessionError
from toolhaft.session.freezing import Custody
from toolhaft.session.key_index import Key
from toolhaft.session.operations import Append, KeepLatest, Operation, ReplaceLatest, Upsert
from toolhaft.session.vector import Vector
from toolhaft.session.views import SliceView

FunctionT = TypeVar("FunctionT")
Step: TypeAlias = Callable[[Vector, object], Vector]
"""The items of a slice and an event; the items afterwards."""
Reduce: TypeAlias = Callable[[object, object], object]
"""A function of the view and the event, or a method of the latest item and the event."""

MARK: Final = "__toolhaft_reduces__"

reducing: Final[set[int]] = set()
"""The threads that are inside a reducer: there nothing may be written."""


class _InsideReducer:
    """Where a user's function runs that may write nothing."""

    __slots__ = ()

    def __enter__(self) -> None:
        reducing.add(get_ident())

    def __exit__(self, *_: object) -> None:
        reducing.discard(get_ident())


_inside_reducer: Final = _InsideReducer()


class Policy:
    """What a slice does with each item of its own type."""

    __slots__ = ("_name", "_operations", "_origin", "step")

    def __init__(
        self,
        step: Step,
        operations: Callable[[object], tuple[Operation, ...]],
        *,
        name: str,
        origin: str | tuple[object, ...],
    ) -> None:
        self.step = step
        self._operations = operations
        self._name = name
        self._origin = origin

    def __call__(self, view: SliceView[object], event: object) -> tuple[Operation, ...]:  # noqa: ARG002 -- the shape of every reducer
        """The same as operations, for a reducer that wants to add to it."""
        return self._operations(event)

    def __reduce__(self) -> str | tuple[object, ...]:
        return self._origin

    def __repr__(self) -> str:
        return self._name


append_all: Final = Policy(
    Vector.append, lambda event: (Append(event),), name="append_all", origin="append_all"
)
"""Keep every item."""

replace_latest: Final = Policy(
    Vector.replace_latest,
    lambda event: (ReplaceLatest(event),),
    name="replace_latest",
    origin="replace_latest",
)
"""Keep one item: the newest takes the place of the one before."""


def upsert_by(key: Key) -> Policy:
    """Keep one item a key, which is the name of an attribute or a function of the item.

    Raises:
        SessionError: where it is neither.
    """
    if not (isinstance(key, str) or callable(key)) or isinstance(key, type):
        raise SessionError(
            f"upsert_by: {key!r} is no key. Fix: give the name of an attribute, or a function of the item"
        )

    def step(items: Vector, item: object) -> Vector:
        return items.upsert(item, key)

    def guarded_step(items: Vector, item: object) -> Vector:
        with _inside_reducer:
            return items.upsert(item, key)

    said = repr(key) if isinstance(key, str) else getattr(key, "__qualname__", repr(key))
    return Policy(
        step if isinstance(key, str) else guarded_step,
        lambda event: (Upsert(event, key),),
        name=f"upsert_by({said})",
        origin=(upsert_by, (key,)),
    )


def keep_latest(count: int) -> Policy:
    """Keep the newest `count` items.

    Raises:
        SessionError: for a count that is not 1 or more.
    """
    if type(count) is not int or count < 1:
        raise SessionError(f"keep_latest: {count!r} is no number of items. Fix: give 1 or more")

    def step(items: Vector, item: object) -> Vector:
        return items.append(item).keep_latest(count)

    return Policy(
        step,
        lambda event: (Append(event), KeepLatest(count)),
        name=f"keep_latest({count})",
        origin=(keep_latest, (count,)),
    )


def reducer(*, on: type) -> Callable[[FunctionT], FunctionT]:
    """Mark a function, or a method of the slice's own type, as what an event of a type does to a slice.

    A function is handed a view of the slice and the event, a method the latest item and the event. The answer
    is an operation, several in a list or tuple, an item that takes the place of the latest, or None.

    Raises:
        SessionError: where `on` is no type.
    """
    if not isinstance(on, type):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
        raise SessionError(
            f"@reducer: {on!r} is no event type. Fix: name the class of the event: @reducer(on=AddStep)"
        )

    def mark(function: FunctionT) -> FunctionT:
        setattr(function, MARK, (*marks_of(function), on))
        return function

    return mark


def marks_of(function: object) -> tuple[type, ...]:
    """The event types that a function is marked for."""
    return cast("tuple[type, ...]", getattr(function, MARK, ()))


def refuse_type(kind: type, item: object) -> NoReturn:
    """Say that a slice does not hold such items."""
    raise SessionError(
        f"slice {kind.__qualname__}: holds items of type {kind.__qualname__}, not {type(item).__qualname__}. "
        f"Fix: session[{type(item).__qualname__}] is the slice for it"
    )


class Keeper:
    """Takes in what one slice may hold, and nothing else."""

    __slots__ = ("_custody", "_kind")

    def __init__(self, kind: type, custody: Custody) -> None:
        self._kind = kind
        self._custody = custody

    def take(self, item: object) -> object:
        """What to keep of an item.

        Raises:
            SessionError: where the slice holds another type.
        """
        if not isinstance(item, self._kind):
            refuse_type(self._kind, item)
        return self._custody.take(item)

    def give(self, item: object) -> object:
        """What to show of an item that is kept."""
        return self._custody.give(item)


def function_step(kind: type, function: Reduce, custody: Custody) -> Step:
    """The step of a function that is handed a view of the slice."""

    def reduce(items: Vector, event: object) -> object:
        return function(SliceView[object](items, custody), event)

    return _guarded(kind, function, reduce, custody)


def method_step(kind: type, function: Reduce, custody: Custody) -> Step:
    """The step of a method of the latest item."""

    def reduce(items: Vector, event: object) -> object:
        if not items.size:
            raise SessionError(
                f"slice {kind.__qualname__}: {_name(function)} changes the latest {kind.__qualname__}, and "
                f"there is none. Fix: append or seed one before {type(event).__qualname__} is dispatched"
            )
        return function(custody.give(items.latest()), event)

    return _guarded(kind, function, reduce, custody)


def _guarded(
    kind: type, function: Reduce, reduce: Callable[[Vector, object], object], custody: Custody
) -> Step:
    keeper = Keeper(kind, custody)

    def step(items: Vector, event: object) -> Vector:
        with _inside_reducer:
            answer = reduce(items, custody.give(event))
            if answer is None:
                return items
            if isinstance(answer, kind) and not isinstance(answer, Operation):
                return items.replace_latest(keeper.take(answer))
            for operation in _operations(kind, function, answer):
                items = operation.apply(items, keeper)
        return items

    return step


def _operations(kind: type, function: Reduce, answer: object) -> list[Operation]:
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
        f"slice {name}: reducer {_name(function)} gave {given}, which says no change. Fix: give an "
        f"operation such as Append(item), several in a list, an item of type {name}, or None"
    )


def _name(function: object) -> str:
    return cast("str", getattr(function, "__qualname__", repr(function)))
