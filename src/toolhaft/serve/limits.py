"""The limits of the platform: sizes of caches, requests per key and time, calls that run at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from toolhaft.execute.throttling import TokenBucket
from toolhaft.serve.responses import retry_later

_MAX_KEYS: Final = 10_000
K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(OrderedDict[K, V]):
    """A dictionary of at most `max_entries`; a new entry beyond that drops the oldest one."""

    def __init__(self, max_entries: int) -> None:
        super().__init__()
        self._max_entries = max_entries

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._max_entries:
            self.popitem(last=False)


class KeyRates:
    """One rate limit per key."""

    __slots__ = ("_buckets", "_rate")

    def __init__(self, rate: str | None) -> None:
        self._rate = rate
        self._buckets: BoundedCache[str, TokenBucket] = BoundedCache(_MAX_KEYS)

    def check(self, key_id: str) -> None:
        """Count one request.

        Raises:
            HttpProblem: 429 when there were too many.
        """
        wait_s = self.count(key_id)
        if wait_s:
            raise retry_later(429, f"this key may send at most {self._rate}", wait_s, kind="rate")

    def count(self, key_id: str) -> float:
        """Count one request; returns the seconds to wait when there were too many, else 0."""
        if self._rate is None:
            return 0.0
        bucket = self._buckets.get(key_id)
        if bucket is None:
            bucket = self._buckets[key_id] = TokenBucket(self._rate)
        return bucket.take()


class ParallelLimit:
    """How many calls may run at once, in all and per key; one too many is refused, not queued."""

    __slots__ = ("_by_key", "_max", "_max_per_key", "_noun", "running")

    def __init__(self, maximum: int, max_per_key: int, noun: str = "calls") -> None:
        self._noun = noun
        self._max = maximum
        self._max_per_key = max_per_key
        self._by_key: dict[str, int] = {}
        self.running = 0

    def acquire(self, key_id: str) -> None:
        """Take a slot for one call; `release` returns it.

        Raises:
            HttpProblem: 429 when none is free.
        """
        own = self._by_key.get(key_id, 0)
        if self.running >= self._max:
            message = f"{self.running} {self._noun} are already running on this platform"
            raise retry_later(429, message, 1, kind="rate")
        if own >= self._max_per_key:
            raise retry_later(429, f"{own} {self._noun} of this key are already running", 1, kind="rate")
        self.running += 1
        self._by_key[key_id] = own + 1

    def count(self, key_id: str) -> int:
        """How many slots a key holds."""
        return self._by_key.get(key_id, 0)

    def release(self, key_id: str) -> None:
        """Return a slot."""
        self.running -= 1
        left = self._by_key[key_id] - 1
        if left:
            self._by_key[key_id] = left
        else:
            del self._by_key[key_id]


class PerKeyQueue:
    """Slow work, one piece at a time per key; a few requests wait, the rest are refused."""

    __slots__ = ("_limit", "_locks")

    def __init__(self, limit: ParallelLimit) -> None:
        self._limit = limit
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def turn(self, key_id: str) -> AsyncGenerator[None]:
        """Wait until no other request of the key has its turn.

        Raises:
            HttpProblem: 429 when too many are waiting already.
        """
        self._limit.acquire(key_id)
        lock = self._locks.setdefault(key_id, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            self._limit.release(key_id)
            if not self._limit.count(key_id):  # no other request holds or awaits the lock
                self._locks.pop(key_id, None)
