"""A sequence that never changes: every append or replacement gives a new one that shares the rest.

Knows no sessions, types or reducers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Final, cast

from toolhaft.session.key_index import Key, KeyIndex

_BITS: Final = 5
_WIDTH: Final = 1 << _BITS
_MASK: Final = _WIDTH - 1
_MOST_INDEXES: Final = 4
"""Per vector; a key function that is made anew for each upsert must not leave an index behind each time."""

Node = tuple[object, ...]


class Vector:
    """A tree of tuples, 32 wide, with its last leaf kept apart as `tail`.

    Positions count from the first item that there ever was: `start` is the position of the first one that is
    still in. The tail is empty only where the vector is.
    """

    __slots__ = ("indexes", "root", "shift", "size", "start", "tail")

    def __init__(  # noqa: PLR0917 -- made at each write, and positions cost least
        self,
        size: int,
        start: int,
        shift: int,
        root: Node,
        tail: Node,
        indexes: tuple[KeyIndex, ...],
    ) -> None:
        self.size = size
        self.start = start
        self.shift = shift
        self.root = root
        self.tail = tail
        self.indexes = indexes
        """What this vector is looked up by; a cache, so it may be set at any time by any thread."""

    @classmethod
    def of(cls, items: Iterable[object]) -> Vector:
        """The vector of some items."""
        rest = tuple(items)
        if not rest:
            return EMPTY
        nodes: list[Node] = [rest[at : at + _WIDTH] for at in range(0, len(rest), _WIDTH)]
        tail = nodes.pop()
        shift = _BITS
        while len(nodes) > _WIDTH:
            nodes = [tuple(nodes[at : at + _WIDTH]) for at in range(0, len(nodes), _WIDTH)]
            shift += _BITS
        return cls(len(rest), 0, shift, tuple(nodes), tail, ())

    def latest(self) -> object:
        """The newest item; only where there is one."""
        return self.tail[-1]

    def at(self, position: int) -> object:
        """The item at a position from `start` on."""
        if position >= self.start + self.size - len(self.tail):
            return self.tail[position & _MASK]
        node = self.root
        level = self.shift
        while level:
            node = cast("Node", node[(position >> level) & _MASK])
            level -= _BITS
        return node[position & _MASK]

    def append(self, item: object) -> Vector:
        """These items and one more."""
        indexes = self.indexes
        if indexes:
            indexes = self._noted(indexes, item, self.start + self.size)
        return self._appended(item, indexes)

    def replace_at(self, position: int, item: object) -> Vector:
        """These items, with another one at a position from `start` on."""
        indexes = self.indexes
        if indexes:
            indexes = self._noted(indexes, item, position)
        return self._replaced(position, item, indexes)

    def replace_latest(self, item: object) -> Vector:
        """These items, with another one for the newest; or this one alone where there is none."""
        if not self.size:
            return self.append(item)
        return self.replace_at(self.start + self.size - 1, item)

    def keep_latest(self, count: int) -> Vector:
        """The newest items, `count` of them at most."""
        extra = self.size - count
        if extra <= 0:
            return self
        if count <= 0:
            return EMPTY
        start = self.start + extra
        if start > count + _WIDTH:  # more is dropped than kept: pay once for all that was dropped since
            return Vector.of(islice(self, extra, None))
        return Vector(count, start, self.shift, self.root, self.tail, self.indexes)

    def upsert(self, item: object, by: Key) -> Vector:
        """These items, with this one for the newest that has its key, or after them where none has.

        Raises:
            SessionError: for a key that cannot be told or cannot be hashed.
        """
        if not self.size:
            KeyIndex(by, (), 0).key_of(item)
            return self.append(item)
        indexes, index = self._looked_up_by(by)
        key = index.key_of(item)
        start = self.start
        end = start + self.size
        for position in index.places(key):
            if start <= position < end and index.has(self.at(position), key):
                break
        else:
            position = end
            index.add(key, end)
        if len(indexes) > 1:
            indexes = self._noted(indexes, item, position)
        return self._appended(item, indexes) if position == end else self._replaced(position, item, indexes)

    def lend_indexes(self, other: Vector) -> None:
        """Have this vector looked up by what another one was, so that the work is not done twice."""
        if not self.size:  # the empty vector is everybody's
            return
        for index in other.indexes:
            with suppress(Exception):  # a user's function may not know the items of this one: no index then
                self._looked_up_by(index.by)

    def _looked_up_by(self, by: Key) -> tuple[tuple[KeyIndex, ...], KeyIndex]:
        """All indexes, and the one for a key: made anew where there is none, or one mostly about others.

        Whoever adds an item goes on with the indexes of this answer and tells those of it: `self.indexes` may
        be another thread's by then.
        """
        indexes = self.indexes
        for index in indexes:
            if index.by == by and index.is_fit(self.size):
                return indexes, index
        index = KeyIndex(by, self, self.start)
        others = tuple(known for known in indexes if known.by != by)
        indexes = self.indexes = (*others[1 - _MOST_INDEXES :], index)
        return indexes, index

    def _noted(self, indexes: tuple[KeyIndex, ...], item: object, position: int) -> tuple[KeyIndex, ...]:
        """The indexes, each knowing of one more item; without those that cannot, or are of little use."""
        size = self.size
        return tuple([index for index in indexes if index.is_fit(size) and index.note(item, position)])

    def _appended(self, item: object, indexes: tuple[KeyIndex, ...]) -> Vector:
        tail = self.tail
        if len(tail) < _WIDTH:
            return Vector(self.size + 1, self.start, self.shift, self.root, (*tail, item), indexes)
        last = self.start + self.size - 1
        shift = self.shift
        if last >> shift > _MASK:  # the tree is full: one more level
            root = (self.root, _path(shift, tail))
            shift += _BITS
        else:
            root = _pushed(self.root, shift, last, tail)
        return Vector(self.size + 1, self.start, shift, root, (item,), indexes)

    def _replaced(self, position: int, item: object, indexes: tuple[KeyIndex, ...]) -> Vector:
        tail = self.tail
        root = self.root
        if position >= self.start + self.size - len(tail):
            tail = _with(tail, position & _MASK, item)
        else:
            root = _replaced(root, self.shift, position, item)
        return Vector(self.size, self.start, self.shift, root, tail, indexes)

    def __iter__(self) -> Iterator[object]:
        items = cast("Iterable[object]", self.root)
        for _ in range(0, self.shift, _BITS):
            items = chain.from_iterable(cast("Iterable[Iterable[object]]", items))
        found = chain(items, self.tail)
        return islice(found, self.start, None) if self.start else found

    def __len__(self) -> int:
        return self.size


def _with(node: Node, place: int, item: object) -> Node:
    changed = list(node)
    changed[place] = item
    return tuple(changed)


def _replaced(node: Node, level: int, position: int, item: object) -> Node:
    place = (position >> level) & _MASK
    changed = list(node)
    changed[place] = _replaced(cast("Node", node[place]), level - _BITS, position, item) if level else item
    return tuple(changed)


def _pushed(node: Node, level: int, position: int, leaf: Node) -> Node:
    place = (position >> level) & _MASK
    if place == len(node):
        return (*node, _path(level - _BITS, leaf))
    return _with(node, place, _pushed(cast("Node", node[place]), level - _BITS, position, leaf))


def _path(level: int, leaf: Node) -> Node:
    """A leaf under as many nodes of one child each as the level has."""
    while level:
        leaf = (leaf,)
        level -= _BITS
    return leaf


EMPTY: Final = Vector(0, 0, _BITS, (), (), ())
