"""A map from names to values that is never changed: setting a name gives another, which shares the rest.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Generic, TypeVar, cast

ValueT = TypeVar("ValueT")

_BITS: Final = 5
_FANOUT: Final = 1 << _BITS
_MASK: Final = _FANOUT - 1
_FULL: Final = 16
"""Names in a bucket before it is split; small, since a change copies the bucket."""
_DEEPEST: Final = 12
"""Levels that the bits of a hash are enough for; names that share them all stay in one bucket."""

_Branch = list[object]  # never changed once made: copying one costs half of what it does for a tuple
_Way = list[tuple[_Branch, int]]


class PersistentMap(Generic[ValueT]):
    """A tree with dictionaries for leaves, as deep as the number of names asks for."""

    __slots__ = ("_size", "_top")

    def __init__(self, top: object, size: int) -> None:
        self._top = top
        self._size = size

    @classmethod
    def of(cls, items: Mapping[str, ValueT]) -> PersistentMap[ValueT]:
        """A map of many names at once."""
        return cls(_grown(dict(items), 0), len(items))

    def get(self, name: str) -> ValueT | None:
        """The value of a name; None where there is none."""
        bits = hash(name)
        node = self._top
        while type(node) is list:
            node = cast("_Branch", node)[bits & _MASK]
            bits >>= _BITS
        return cast("dict[str, ValueT]", node).get(name)

    def set(self, name: str, value: ValueT) -> PersistentMap[ValueT]:
        """A map that has the value too."""
        way, bucket = self._way(name)
        changed = {**bucket, name: value}
        grown: object = _grown(changed, len(way)) if len(changed) > _FULL else changed
        return PersistentMap(_rebuilt(way, grown), self._size + len(changed) - len(bucket))

    def without(self, name: str) -> PersistentMap[ValueT]:
        """A map that does not have the name."""
        way, bucket = self._way(name)
        if name not in bucket:
            return self
        changed = dict(bucket)
        del changed[name]
        return PersistentMap(_rebuilt(way, changed), self._size - 1)

    def items(self) -> Iterator[tuple[str, ValueT]]:
        """The names and their values, in no order."""
        waiting = [self._top]
        while waiting:
            node = waiting.pop()
            if type(node) is list:
                waiting += cast("_Branch", node)
            else:
                yield from cast("dict[str, ValueT]", node).items()

    def _way(self, name: str) -> tuple[_Way, dict[str, ValueT]]:
        """The branches from the top to the bucket where a name belongs, and that bucket."""
        bits = hash(name)
        node = self._top
        way: _Way = []
        while type(node) is list:
            branch = cast("_Branch", node)
            index = bits & _MASK
            way.append((branch, index))
            node = branch[index]
            bits >>= _BITS
        return way, cast("dict[str, ValueT]", node)

    def __len__(self) -> int:
        return self._size


def _rebuilt(way: _Way, node: object) -> object:
    """The top of a tree like the one that the way leads through, with something else at its end."""
    for branch, index in reversed(way):
        copy = branch[:]
        copy[index] = node
        node = copy
    return node


def _grown(bucket: dict[str, ValueT], depth: int) -> object:
    """The bucket itself, or the branch that it becomes."""
    if len(bucket) <= _FULL or depth >= _DEEPEST:
        return bucket
    parts: list[dict[str, ValueT]] = [{} for _ in range(_FANOUT)]
    shift = _BITS * depth
    for name, value in bucket.items():
        parts[(hash(name) >> shift) & _MASK][name] = value
    return [_grown(part, depth + 1) for part in parts]
