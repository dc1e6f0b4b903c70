"""What a reducer can ask for: one change to one slice, said as data.

Knows how a change is made; does not know who asks for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from toolhaft.session.key_index import Key
from toolhaft.session.vector import EMPTY, Vector


class Keeping(Protocol):
    """How a slice takes items in and hands them out."""

    def take(self, item: object, /) -> object:
        """What to keep of an item."""
        ...

    def give(self, item: object, /) -> object:
        """What to show of an item that is kept."""
        ...


class Operation(ABC):
    """One change to a slice."""

    __slots__ = ()

    @abstractmethod
    def apply(self, items: Vector, keeping: Keeping) -> Vector:
        """The items after the change."""


# Positional, against the habit of the house: they are verbs with an object, and are read as such.


@dataclass(frozen=True, slots=True)
class Append(Operation):
    """Add one item."""

    item: object

    def apply(self, items: Vector, keeping: Keeping) -> Vector:
        """The items after the change."""
        return items.append(keeping.take(self.item))


@dataclass(frozen=True, slots=True)
class Extend(Operation):
    """Add several items."""

    items: Iterable[object]

    def apply(self, items: Vector, keeping: Keeping) -> Vector:
        """The items after the change."""
        for item in self.items:
            items = items.append(keeping.take(item))
        return items


@dataclass(frozen=True, slots=True)
class ReplaceLatest(Operation):
    """Put an item in the place of the newest, or add it where there is none."""

    item: object

    def apply(self, items: Vector, keeping: Keeping) -> Vector:
        """The items after the change."""
        return items.replace_latest(keeping.take(self.item))


@dataclass(frozen=True, slots=True)
class Replace(Operation):
    """Put these items in the place of all that there are."""

    items: Iterable[object]

    def apply(self, items: Vector, keeping: Keeping) -> Vector:  # noqa: ARG002 -- all of them go
        """The items after the change."""
        return Vector.of(map(keeping.take, self.items))


@dataclass(frozen=True, slots=True)
class Upsert(Operation):
    """Put an item in the place of the newest that has the same key, or add it where none has.

    `by` is the name of an attribute or a function of the item. Name functions once: one that is made anew
    each time is looked up from the start each time.
    """

    item: object
    by: Key

    def apply(self, items: Vector, keeping: Keeping) -> Vector:
        """The items after the change."""
        return items.upsert(keeping.take(self.item), self.by)


@dataclass(frozen=True, slots=True)
class KeepLatest(Operation):
    """Drop all items but the newest `count`."""

    count: int

    def apply(self, items: Vector, keeping: Keeping) -> Vector:  # noqa: ARG002 -- nothing goes in or out
        """The items after the change."""
        return items.keep_latest(self.count)


@dataclass(frozen=True, slots=True)
class Clear(Operation):
    """Remove every item, or those that `where` is true for."""

    where: Callable[[object], object] | None = None

    def apply(self, items: Vector, keeping: Keeping) -> Vector:
        """The items after the change."""
        where = self.where
        if where is None:
            return EMPTY
        return Vector.of(item for item in items if not where(keeping.give(item)))
