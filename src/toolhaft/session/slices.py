"""One slice of a session: reads its items, writes them, and registers its reducers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from toolhaft.errors import SessionError
from toolhaft.session.operations import Clear, Operation, SliceCopier, SliceReader, refuse_type
from toolhaft.session.persistent_vector import EMPTY, PersistentVector
from toolhaft.session.reducer_table import read_registration
from toolhaft.session.reducers import function_transition
from toolhaft.session.state import SessionState

ItemT = TypeVar("ItemT")


class Slice(SliceReader[ItemT]):
    """All items of one type in a session, oldest first; it always reads the newest state."""

    __slots__ = ("_kind", "_state")

    def __init__(self, state: SessionState, kind: type[ItemT]) -> None:
        self._state = state
        self._kind = kind
        self._copier = state.shared.copier

    def _items(self) -> PersistentVector:
        return self._state.slices.get(self._kind, EMPTY)

    @property
    def is_log(self) -> bool:
        """True if the slice does not roll back."""
        return self._kind in self._state.table.logs

    def append(self, item: ItemT) -> None:
        """Add one item with the reducers that the slice has for its type.

        Raises:
            SessionError: if the slice holds another type.
            CallEndedError: if the call that this view belongs to has ended.
            ReadOnlyError: if the call may only read.
        """
        kind = self._kind
        if not isinstance(item, kind):
            refuse_type(kind, item)
        state = self._state
        state.write(("append", self._copier.copy_in(item), state.table.append_targets(kind, type(item))))

    def seed(self, items: object) -> None:
        """Set the slice to one item or several, without calling reducers.

        Raises:
            SessionError: if the slice holds another type.
        """
        copier = SliceCopier(self._kind, self._copier)
        if isinstance(items, self._kind) or not isinstance(items, Iterable):
            items = (items,)
        stored = tuple(map(copier.take, cast("Iterable[object]", items)))
        self._state.write(("seed", stored, ((self._kind, replace_all),)))

    def clear(self, predicate: Callable[[ItemT], object] | None = None) -> None:
        """Remove every item, or those for which the predicate is true."""
        transition = function_transition(self._kind, _clear, self._copier)
        self._state.write(("clear", predicate, ((self._kind, transition),)))

    def register(self, *reducers: object, log: bool | None = None) -> None:
        """Add reducers to the slice; `log=True` makes it a log, which does not roll back.

        Reducers are one of these:

        - built-in ones for items of the slice's own type: `append_all`, `replace_latest`, `upsert_by(key)`,
          `keep_latest(count)`
        - functions marked with `@reducer(on=Event)`
        - an event type and a function for it
        - nothing, for the marked methods of the slice's type

        Raises:
            SessionError: for an argument that is not a reducer, or not one for this slice.
        """
        registration = read_registration(self._kind, reducers, log=log, copier=self._copier)
        self._state.register(registration)


def slice_of(state: SessionState, kind: type[ItemT]) -> Slice[ItemT]:
    """The slice for a type.

    Raises:
        SessionError: if it is not a type.
    """
    if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
        raise SessionError(f"session[{kind!r}]: a slice is named by a class. Fix: session[Plan]")
    return Slice(state, kind)


def replace_all(_: PersistentVector, items: object) -> PersistentVector:
    """The transition that replaces all items of a slice."""
    return PersistentVector.of(cast("Iterable[object]", items))


def _clear(_: object, where: object) -> Operation:
    return Clear(cast("Callable[[object], object] | None", where))
