"""What a reducer receives, a view of its slice, and what it returns: operations that change the slice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar, cast

from toolhaft.errors import SessionError
from toolhaft.session.copying import ItemCopier
from toolhaft.session.persistent_vector import EMPTY, Key, PersistentVector

ItemT = TypeVar("ItemT")


class SliceReader(Generic[ItemT]):
    """All items of one type, oldest first."""

    __slots__ = ("_copier",)

    _copier: ItemCopier

    @abstractmethod
    def _items(self) -> PersistentVector: ...

    def latest(self) -> ItemT | None:
        """The newest item; None if there are no items."""
        items = self._items()
        return cast("ItemT", self._copier.copy_out(items.tail[-1])) if items.size else None

    def all(self) -> tuple[ItemT, ...]:
        """Every item."""
        return cast("tuple[ItemT, ...]", self._copier.copy_all_out(self._items()))

    def where(self, predicate: Callable[[ItemT], object]) -> tuple[ItemT, ...]:
        """The items for which the predicate is true."""
        return tuple(filter(predicate, self.all()))

    def __iter__(self) -> Iterator[ItemT]:
        return iter(self.all())

    def __len__(self) -> int:
        return self._items().size

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} items>"


class SliceView(SliceReader[ItemT]):
    """A slice at one moment, as a reducer sees it."""

    __slots__ = ("_vector",)

    def __init__(self, items: PersistentVector, copier: ItemCopier) -> None:
        self._vector = items
        self._copier = copier

    def _items(self) -> PersistentVector:
        return self._vector


class SliceCopier:
    """Copies items in and out of one slice, and refuses items of other types; what `Operation.apply` gets."""

    __slots__ = ("_copier", "_kind")

    def __init__(self, kind: type, copier: ItemCopier) -> None:
        self._kind = kind
        self._copier = copier

    def take(self, item: object) -> object:
        """The item, or a copy of it, to store.

        Raises:
            SessionError: if the slice holds another type.
        """
        if not isinstance(item, self._kind):
            refuse_type(self._kind, item)
        return self._copier.copy_in(item)

    def give(self, item: object) -> object:
        """The stored item, or a copy of it, to return."""
        return self._copier.copy_out(item)


def refuse_type(kind: type, item: object) -> NoReturn:
    """Raise the SessionError for an item that does not belong in a slice."""
    raise SessionError(
        f"slice {kind.__qualname__}: holds items of type {kind.__qualname__}, not {type(item).__qualname__}. "
        f"Fix: session[{type(item).__qualname__}] is the slice for it"
    )


class Operation(ABC):
    """One change to a slice."""

    __slots__ = ()

    @abstractmethod
    def apply(self, items: PersistentVector, copier: SliceCopier) -> PersistentVector:
        """The items after the change."""


# Operations also take positional arguments, so that they read as a verb with an object: Append(item).


@dataclass(frozen=True, slots=True)
class Append(Operation):
    """Add one item."""

    item: object

    def apply(self, items: PersistentVector, copier: SliceCopier) -> PersistentVector:
        """The items after the change."""
        return items.append(copier.take(self.item))


@dataclass(frozen=True, slots=True)
class Extend(Operation):
    """Add several items."""

    items: Iterable[object]

    def apply(self, items: PersistentVector, copier: SliceCopier) -> PersistentVector:
        """The items after the change."""
        for item in self.items:
            items = items.append(copier.take(item))
        return items


@dataclass(frozen=True, slots=True)
class ReplaceLatest(Operation):
    """Replace the newest item, or add the item if the slice is empty."""

    item: object

    def apply(self, items: PersistentVector, copier: SliceCopier) -> PersistentVector:
        """The items after the change."""
        return items.replace_latest(copier.take(self.item))


@dataclass(frozen=True, slots=True)
class Replace(Operation):
    """Replace all items."""

    items: Iterable[object]

    def apply(self, items: PersistentVector, copier: SliceCopier) -> PersistentVector:  # noqa: ARG002 -- all old items go
        """The items after the change."""
        return PersistentVector.of(map(copier.take, self.items))


@dataclass(frozen=True, slots=True)
class Upsert(Operation):
    """Replace the newest item that has the same key, or add the item if none has.

    `by` is the name of an attribute or a function of the item. Define such a function once: a new function
    object for each upsert has to index the whole slice each time.
    """

    item: object
    by: Key

    def apply(self, items: PersistentVector, copier: SliceCopier) -> PersistentVector:
        """The items after the change."""
        return items.upsert(copier.take(self.item), self.by)


@dataclass(frozen=True, slots=True)
class KeepLatest(Operation):
    """Drop all items but the newest `count`."""

    count: int

    def apply(self, items: PersistentVector, copier: SliceCopier) -> PersistentVector:  # noqa: ARG002 -- nothing is copied
        """The items after the change."""
        return items.keep_latest(self.count)


@dataclass(frozen=True, slots=True)
class Clear(Operation):
    """Remove every item, or those for which `where` is true."""

    where: Callable[[object], object] | None = None

    def apply(self, items: PersistentVector, copier: SliceCopier) -> PersistentVector:
        """The items after the change."""
        where = self.where
        if where is None:
            return EMPTY
        return PersistentVector.of(item for item in items if not where(copier.give(item)))
