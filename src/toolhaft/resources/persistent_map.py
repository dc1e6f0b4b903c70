"""An immutable map from names to values; a changed copy shares most of its structure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Generic, TypeVar, cast

ValueT = TypeVar("ValueT")

_BITS: Final = 5
_FANOUT: Final = 1 << _BITS
_MASK: Final = _FANOUT - 1
_BUCKET_SIZE: Final = 16
"""The most names in a bucket; small, because a change copies the bucket."""
_MAX_DEPTH: Final = 12
"""The most levels; names with the same hash bits stay in one bucket."""

_Branch = list[object]  # never modified; a list is twice as fast to copy as a tuple
_Path = list[tuple[_Branch, int]]


class PersistentMap(Generic[ValueT]):
    """A hash tree with small dictionaries as leaves."""

    __slots__ = ("_size", "_top")

    def __init__(self, top: object, size: int) -> None:
        self._top = top
        self._size = size

    @classmethod
    def of(cls, items: Mapping[str, ValueT]) -> PersistentMap[ValueT]:
        """A map with these items."""
        return cls(_split(dict(items), 0), len(items))

    def get(self, name: str) -> ValueT | None:
        """The value of a name; None if there is none."""
        bits = hash(name)
        node = self._top
        while type(node) is list:
            node = cast("_Branch", node)[bits & _MASK]
            bits >>= _BITS
        return cast("dict[str, ValueT]", node).get(name)

    def set(self, name: str, value: ValueT) -> PersistentMap[ValueT]:
        """A map with one name changed or added."""
        path, bucket = self._path_to(name)
        changed = {**bucket, name: value}
        grown: object = _split(changed, len(path)) if len(changed) > _BUCKET_SIZE else changed
        return PersistentMap(_rebuild(path, grown), self._size + len(changed) - len(bucket))

    def without(self, name: str) -> PersistentMap[ValueT]:
        """A map without a name."""
        path, bucket = self._path_to(name)
        if name not in bucket:
            return self
        changed = dict(bucket)
        del changed[name]
        return PersistentMap(_rebuild(path, changed), self._size - 1)

    def items(self) -> Iterator[tuple[str, ValueT]]:
        """The names and their values, in any order."""
        waiting = [self._top]
        while waiting:
            node = waiting.pop()
            if type(node) is list:
                waiting += cast("_Branch", node)
            else:
                yield from cast("dict[str, ValueT]", node).items()

    def _path_to(self, name: str) -> tuple[_Path, dict[str, ValueT]]:
        """The branches from the top to the bucket of a name, and the bucket."""
        bits = hash(name)
        node = self._top
        path: _Path = []
        while type(node) is list:
            branch = cast("_Branch", node)
            index = bits & _MASK
            path.append((branch, index))
            node = branch[index]
            bits >>= _BITS
        return path, cast("dict[str, ValueT]", node)

    def __len__(self) -> int:
        return self._size


def _rebuild(path: _Path, node: object) -> object:
    """The top of the tree after the node at the end of a path was replaced."""
    for branch, index in reversed(path):
        copy = branch[:]
        copy[index] = node
        node = copy
    return node


def _split(bucket: dict[str, ValueT], depth: int) -> object:
    """The bucket, or a branch if it is too large."""
    if len(bucket) <= _BUCKET_SIZE or depth >= _MAX_DEPTH:
        return bucket
    parts: list[dict[str, ValueT]] = [{} for _ in range(_FANOUT)]
    shift = _BITS * depth
    for name, value in bucket.items():
        parts[(hash(name) >> shift) & _MASK][name] = value
    return [_split(part, depth + 1) for part in parts]
