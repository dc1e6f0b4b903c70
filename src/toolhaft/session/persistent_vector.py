"""An immutable sequence: each append or replacement returns a new one that shares most of its tree."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from operator import attrgetter
from typing import Final, TypeAlias, cast

from toolhaft.errors import SessionError

Key: TypeAlias = str | Callable[[object], object]
"""What identifies an item: the name of an attribute, or a function of the item."""

_BITS: Final = 5
_WIDTH: Final = 1 << _BITS
_MASK: Final = _WIDTH - 1
_MAX_INDEXES: Final = 4
"""Per vector; a key function that is created anew for each upsert must not add an index each time."""
_INDEX_SLACK: Final = 64

_Node = tuple[object, ...]


class KeyIndex:
    """Maps a key to every position where some version of a vector has, or had, an item with that key.

    All versions of a vector share one index, and each checks the positions against its own items. Positions
    are only added, never removed, so every version finds all its items. A vector starts a new index when
    most positions belong to other versions.
    """

    __slots__ = ("_get", "_lock", "_positions", "_repeats", "by")

    def __init__(self, by: Key, items: Iterable[object], start: int) -> None:
        self.by = by
        self._get: Callable[[object], object] = attrgetter(by) if isinstance(by, str) else by
        self._positions: dict[object, int | list[int]] = {}
        self._repeats = 0
        self._lock = allocate_lock()
        for position, item in enumerate(items, start):
            self.add(self.key_of(item), position)

    def key_of(self, item: object) -> object:
        """The key of an item.

        Raises:
            SessionError: if the item has no key, or one that is not hashable.
        """
        try:
            key = self._get(item)
            hash(key)
        except (AttributeError, TypeError) as error:
            by = self.by
            name = repr(by) if isinstance(by, str) else getattr(by, "__qualname__", repr(by))
            raise SessionError(
                f"an item of type {type(item).__qualname__} has no key by {name}: {error}. "
                "Fix: upsert by an attribute or function whose value can be hashed, such as an id"
            ) from error
        return key

    def try_add(self, item: object, position: int) -> bool:
        """Add an item's position; False if its key cannot be computed."""
        try:
            self.add(self._get(item), position)
        except Exception:  # noqa: BLE001 -- a user's function: the next upsert calls it again, and reports
            return False
        return True

    def positions(self, key: object) -> Sequence[int]:
        """Where an item with this key may be, newest first."""
        found = self._positions.get(key, ())
        return (found,) if isinstance(found, int) else sorted(found, reverse=True)

    def has_key(self, item: object, key: object) -> bool:
        """True if this is the item's key."""
        found = self._get(item)
        return found is key or found == key

    def is_efficient(self, size: int) -> bool:
        """False if most positions belong to other versions than a vector of this size."""
        return len(self._positions) + self._repeats <= 2 * size + _INDEX_SLACK

    def add(self, key: object, position: int) -> None:
        """Add a position for a key."""
        # setdefault is atomic; the lock is only needed for a key that has more than one position
        if self._positions.setdefault(key, position) == position:
            return
        with self._lock:
            known = self._positions[key]
            if isinstance(known, int):
                self._positions[key] = [known, position]
            elif position in known:
                return
            else:
                known.append(position)
            self._repeats += 1


class PersistentVector:
    """A tree of tuples, 32 wide, whose last leaf is held separately as `tail`.

    Positions count from the first item that was ever added: `start` is the position of the first item that
    is still present. The tail is empty only if the vector is.
    """

    __slots__ = ("indexes", "root", "shift", "size", "start", "tail")

    def __init__(  # noqa: PLR0917 -- called for each write, and positional arguments are the fastest
        self,
        size: int,
        start: int,
        shift: int,
        root: _Node,
        tail: _Node,
        indexes: tuple[KeyIndex, ...],
    ) -> None:
        self.size = size
        self.start = start
        self.shift = shift
        self.root = root
        self.tail = tail
        self.indexes = indexes
        """A cache, so any thread may replace it at any time."""

    @classmethod
    def of(cls, items: Iterable[object]) -> PersistentVector:
        """The vector of some items."""
        rest = tuple(items)
        if not rest:
            return EMPTY
        nodes: list[_Node] = [rest[at : at + _WIDTH] for at in range(0, len(rest), _WIDTH)]
        tail = nodes.pop()
        shift = _BITS
        while len(nodes) > _WIDTH:
            nodes = [tuple(nodes[at : at + _WIDTH]) for at in range(0, len(nodes), _WIDTH)]
            shift += _BITS
        return cls(len(rest), 0, shift, tuple(nodes), tail, ())

    def latest(self) -> object:
        """The newest item of a vector that is not empty."""
        return self.tail[-1]

    def at(self, position: int) -> object:
        """The item at a position, which must not be before `start`."""
        if position >= self.start + self.size - len(self.tail):
            return self.tail[position & _MASK]
        node = self.root
        level = self.shift
        while level:
            node = cast("_Node", node[(position >> level) & _MASK])
            level -= _BITS
        return node[position & _MASK]

    def append(self, item: object) -> PersistentVector:
        """These items and one more."""
        indexes = self.indexes
        if indexes:
            indexes = self._updated_indexes(indexes, item, self.start + self.size)
        return self._appended(item, indexes)

    def replace_at(self, position: int, item: object) -> PersistentVector:
        """These items, with another one at a position, which must not be before `start`."""
        indexes = self.indexes
        if indexes:
            indexes = self._updated_indexes(indexes, item, position)
        return self._replaced(position, item, indexes)

    def replace_latest(self, item: object) -> PersistentVector:
        """These items with the newest replaced; the item alone if there are none."""
        if not self.size:
            return self.append(item)
        return self.replace_at(self.start + self.size - 1, item)

    def keep_latest(self, count: int) -> PersistentVector:
        """The newest items, at most `count` of them."""
        extra = self.size - count
        if extra <= 0:
            return self
        if count <= 0:
            return EMPTY
        start = self.start + extra
        if start > count + _WIDTH:  # more is dropped than kept: rebuild once for all that was dropped so far
            return PersistentVector.of(islice(self, extra, None))
        return PersistentVector(count, start, self.shift, self.root, self.tail, self.indexes)

    def upsert(self, item: object, by: Key) -> PersistentVector:
        """These items with the newest that has the same key replaced; or with this one appended.

        Raises:
            SessionError: if an item has no key, or one that is not hashable.
        """
        if not self.size:
            KeyIndex(by, (), 0).key_of(item)
            return self.append(item)
        indexes, index = self._indexed_by(by)
        key = index.key_of(item)
        start = self.start
        end = start + self.size
        for position in index.positions(key):
            if start <= position < end and index.has_key(self.at(position), key):
                break
        else:
            position = end
            index.add(key, end)
        if len(indexes) > 1:
            indexes = self._updated_indexes(indexes, item, position)
        return self._appended(item, indexes) if position == end else self._replaced(position, item, indexes)

    def build_indexes_of(self, other: PersistentVector) -> None:
        """Build the indexes that another version has, so that the next fork need not build them again."""
        if not self.size:  # the empty vector is shared by all slices
            return
        for index in other.indexes:
            with suppress(Exception):  # a user's function may not accept these items: then there is no index
                self._indexed_by(index.by)

    def _indexed_by(self, by: Key) -> tuple[tuple[KeyIndex, ...], KeyIndex]:
        """All indexes, and the one for a key, which is built if it is missing or no longer efficient.

        The caller must go on with the returned indexes: another thread may replace `self.indexes`.
        """
        indexes = self.indexes
        for index in indexes:
            if index.by == by and index.is_efficient(self.size):
                return indexes, index
        index = KeyIndex(by, self, self.start)
        others = tuple(known for known in indexes if known.by != by)
        indexes = self.indexes = (*others[1 - _MAX_INDEXES :], index)
        return indexes, index

    def _updated_indexes(
        self, indexes: tuple[KeyIndex, ...], item: object, position: int
    ) -> tuple[KeyIndex, ...]:
        """The indexes with one more item, without those that cannot take it or are no longer efficient."""
        size = self.size
        return tuple(
            [index for index in indexes if index.is_efficient(size) and index.try_add(item, position)]
        )

    def _appended(self, item: object, indexes: tuple[KeyIndex, ...]) -> PersistentVector:
        tail = self.tail
        if len(tail) < _WIDTH:
            return PersistentVector(self.size + 1, self.start, self.shift, self.root, (*tail, item), indexes)
        last = self.start + self.size - 1
        shift = self.shift
        if last >> shift > _MASK:  # the tree is full: add a level
            root = (self.root, _path(shift, tail))
            shift += _BITS
        else:
            root = _pushed(self.root, shift, last, tail)
        return PersistentVector(self.size + 1, self.start, shift, root, (item,), indexes)

    def _replaced(self, position: int, item: object, indexes: tuple[KeyIndex, ...]) -> PersistentVector:
        tail = self.tail
        root = self.root
        if position >= self.start + self.size - len(tail):
            tail = _with(tail, position & _MASK, item)
        else:
            root = _replaced(root, self.shift, position, item)
        return PersistentVector(self.size, self.start, self.shift, root, tail, indexes)

    def __iter__(self) -> Iterator[object]:
        items = cast("Iterable[object]", self.root)
        for _ in range(0, self.shift, _BITS):
            items = chain.from_iterable(cast("Iterable[Iterable[object]]", items))
        found = chain(items, self.tail)
        return islice(found, self.start, None) if self.start else found

    def __len__(self) -> int:
        return self.size


def _with(node: _Node, place: int, item: object) -> _Node:
    changed = list(node)
    changed[place] = item
    return tuple(changed)


def _replaced(node: _Node, level: int, position: int, item: object) -> _Node:
    place = (position >> level) & _MASK
    changed = _replaced(cast("_Node", node[place]), level - _BITS, position, item) if level else item
    return _with(node, place, changed)


def _pushed(node: _Node, level: int, position: int, leaf: _Node) -> _Node:
    place = (position >> level) & _MASK
    if place == len(node):
        return (*node, _path(level - _BITS, leaf))
    return _with(node, place, _pushed(cast("_Node", node[place]), level - _BITS, position, leaf))


def _path(level: int, leaf: _Node) -> _Node:
    """A leaf below one node per level, each with a single child."""
    while level:
        leaf = (leaf,)
        level -= _BITS
    return leaf


EMPTY: Final = PersistentVector(0, 0, _BITS, (), (), ())
