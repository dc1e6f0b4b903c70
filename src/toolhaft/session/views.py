"""What a slice looks like to whoever reads it.

Does not know how the items change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar, cast

from toolhaft.session.freezing import Custody
from toolhaft.session.vector import Vector

ThingT = TypeVar("ThingT")


class Items(Generic[ThingT]):
    """All items of one type, oldest first."""

    __slots__ = ("_custody",)

    _custody: Custody

    @abstractmethod
    def _items(self) -> Vector: ...

    def latest(self) -> ThingT | None:
        """The newest item, None where there is none."""
        items = self._items()
        return cast("ThingT", self._custody.give(items.tail[-1])) if items.size else None

    def all(self) -> tuple[ThingT, ...]:
        """Every item."""
        return cast("tuple[ThingT, ...]", self._custody.give_all(self._items()))

    def where(self, predicate: Callable[[ThingT], object]) -> tuple[ThingT, ...]:
        """The items that the predicate is true for."""
        return tuple(filter(predicate, self.all()))

    def __iter__(self) -> Iterator[ThingT]:
        return iter(self.all())

    def __len__(self) -> int:
        return self._items().size

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} items>"


class SliceView(Items[ThingT]):
    """A slice at one moment, as a reducer sees it."""

    __slots__ = ("_vector",)

    def __init__(self, items: Vector, custody: Custody) -> None:
        self._vector = items
        self._custody = custody

    def _items(self) -> Vector:
        return self._vector
