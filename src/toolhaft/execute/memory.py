"""Remembers results: by idempotency key for repeats, by arguments for caches.

Knows keys and results; does not know who asks.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from threading import Lock
from typing import Final, NamedTuple

from toolhaft.core.conversion import AnyResult

MOST_REMEMBERED: Final = 10_000
_ATOMS: Final = frozenset((bool, float, int, str, type(None)))


class Memo(NamedTuple):
    """A recorded result, the digest of the arguments that it belongs to, and the handler that gave it."""

    result: AnyResult
    arguments: str
    expires_at: float | None
    handler: object


def own_copy(result: AnyResult) -> AnyResult:
    """The result with a value of its own: what one caller does to it is not another one's."""
    copy = result.with_rest()
    if type(result.value) not in _ATOMS:
        with suppress(Exception):  # what cannot be copied is shared
            copy.value = deepcopy(result.value)
    return copy


class Memory:
    """The newest results, a bounded number of them."""

    __slots__ = ("_clock", "_lock", "_memos", "most")

    def __init__(self, most: int = MOST_REMEMBERED, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._memos: OrderedDict[str, Memo] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> Memo | None:
        """What is remembered under a key and has not expired."""
        with self._lock:
            memo = self._memos.get(key)
            if memo is not None and memo.expires_at is not None and memo.expires_at <= self._clock():
                del self._memos[key]
                return None
            if memo is not None:
                self._memos.move_to_end(key)
            return memo

    def put(
        self, key: str, result: AnyResult, arguments: str, keep_s: float | None, handler: object = None
    ) -> None:
        """Remember a result, for so many seconds or until it is the oldest of too many."""
        expires_at = None if keep_s is None else self._clock() + keep_s
        with self._lock:
            self._memos[key] = Memo(own_copy(result), arguments, expires_at, handler)
            self._memos.move_to_end(key)
            while len(self._memos) > self.most:
                self._memos.popitem(last=False)
