"""How much a key may ask for, and how many calls run at once.

Knows counts; does not know what is asked for.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final

from toolhaft.execute.steps.rate import Bucket
from toolhaft.serve.problems import wait_first

_MOST_KEYS: Final = 10_000


class Rates:
    """One bucket a key, of the keys that were used last."""

    __slots__ = ("_buckets", "_rate")

    def __init__(self, rate: str | None) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, key_id: str) -> None:
        """Count one request.

        Raises:
            Problem: 429 where there were too many.
        """
        left_s = self.ask(key_id)
        if left_s:
            raise wait_first(429, f"this key may send at most {self._rate}", left_s, kind="rate")

    def ask(self, key_id: str) -> float:
        """Count one request; the seconds to wait where there were too many, else 0."""
        if self._rate is None:
            return 0.0
        bucket = self._buckets.get(key_id)
        if bucket is None:
            bucket = self._buckets[key_id] = Bucket(self._rate)
            if len(self._buckets) > _MOST_KEYS:
                self._buckets.popitem(last=False)
        return bucket.take()


class Seats:
    """Calls that run now, of all keys and of each; a call that finds no seat is refused, not queued."""

    __slots__ = ("_by_key", "_most", "_most_per_key", "_what", "taken")

    def __init__(self, most: int, most_per_key: int, what: str = "calls") -> None:
        self._what = what
        self._most = most
        self._most_per_key = most_per_key
        self._by_key: dict[str, int] = {}
        self.taken = 0

    def take(self, key_id: str) -> Seat:
        """A seat for one call, given back at the end of a `with` block.

        Raises:
            Problem: 429 where all are taken.
        """
        own = self._by_key.get(key_id, 0)
        if self.taken >= self._most:
            raise wait_first(429, f"{self.taken} {self._what} run already on this platform", 1, kind="rate")
        if own >= self._most_per_key:
            raise wait_first(429, f"{own} {self._what} of this key run already", 1, kind="rate")
        self.taken += 1
        self._by_key[key_id] = own + 1
        return Seat(self, key_id)

    def count(self, key_id: str) -> int:
        """How many seats a key has."""
        return self._by_key.get(key_id, 0)

    def give_back(self, key_id: str) -> None:
        """Let another call run."""
        self.taken -= 1
        left = self._by_key[key_id] - 1
        if left:
            self._by_key[key_id] = left
        else:
            del self._by_key[key_id]


class Turns:
    """Slow work: one of each key is done at a time, a few wait for their turn, and the rest are refused."""

    __slots__ = ("_locks", "_seats")

    def __init__(self, seats: Seats) -> None:
        self._seats = seats
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def take(self, key_id: str) -> AsyncGenerator[None]:
        """The turn of one who may work now.

        Raises:
            Problem: 429 where too many wait already.
        """
        with self._seats.take(key_id):
            lock = self._locks.setdefault(key_id, asyncio.Lock())
            try:
                async with lock:
                    yield
            finally:
                if self._seats.count(key_id) == 1:  # nobody else holds or awaits it
                    self._locks.pop(key_id, None)


class Seat:
    """One call's right to run."""

    __slots__ = ("_key_id", "_seats")

    def __init__(self, seats: Seats, key_id: str) -> None:
        self._seats = seats
        self._key_id = key_id

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._seats.give_back(self._key_id)
