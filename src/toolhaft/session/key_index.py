"""Tells where an item with a key may be, so that nobody has to look at all of them.

Knows no vectors: one index serves all that were made from one another, and each checks what it is told.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Final, TypeAlias

from toolhaft.errors import SessionError

Key: TypeAlias = str | Callable[[object], object]
"""What an item is known by: the name of an attribute, or a function of the item."""

_SLACK: Final = 64


class KeyIndex:
    """Every place where some vector of a family has, or had, an item with a key.

    A place is only added, never taken back, so a vector finds all of its own items here whatever others do;
    places of others do not stand the vector's check. Where those are the most, a vector starts a new index.
    """

    __slots__ = ("_get", "_lock", "_moved", "_places", "by")

    def __init__(self, by: Key, items: Iterable[object], start: int) -> None:
        self.by = by
        self._get: Callable[[object], object] = attrgetter(by) if isinstance(by, str) else by
        self._places: dict[object, int | list[int]] = {}
        self._moved = 0
        self._lock = allocate_lock()
        for position, item in enumerate(items, start):
            self.add(self.key_of(item), position)

    def key_of(self, item: object) -> object:
        """The key of an item.

        Raises:
            SessionError: where it has none, or one that cannot be hashed.
        """
        try:
            key = self._get(item)
            hash(key)
        except (AttributeError, TypeError) as error:
            raise SessionError(
                f"an item of type {type(item).__qualname__} has no key by {self._said()}: {error}. "
                "Fix: upsert by an attribute or function whose value can be hashed, such as an id"
            ) from error
        return key

    def note(self, item: object, position: int) -> bool:
        """Add a place; False where the item's key cannot be told."""
        try:
            self.add(self._get(item), position)
        except Exception:  # noqa: BLE001 -- a user's function: the next upsert asks it again, and tells
            return False
        return True

    def places(self, key: object) -> Sequence[int]:
        """Where an item with this key may be, the newest first."""
        found = self._places.get(key, ())
        return (found,) if isinstance(found, int) else sorted(found, reverse=True)

    def has(self, item: object, key: object) -> bool:
        """True if this is the item's key."""
        found = self._get(item)
        return found is key or found == key

    def is_fit(self, size: int) -> bool:
        """False where most places are not those of a vector of this size."""
        return len(self._places) + self._moved <= 2 * size + _SLACK

    def add(self, key: object, position: int) -> None:
        """Add a place for a key."""
        # one step that no other thread can come between; the lock is for the rare key that moves
        if self._places.setdefault(key, position) == position:
            return
        with self._lock:
            known = self._places[key]
            if isinstance(known, int):
                self._places[key] = [known, position]
            elif position in known:
                return
            else:
                known.append(position)
            self._moved += 1

    def _said(self) -> str:
        return repr(self.by) if isinstance(self.by, str) else getattr(self.by, "__qualname__", repr(self.by))
