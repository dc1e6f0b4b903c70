"""How much a key may ask for, and how many calls run at once.

Knows counts; does not know what is asked for.
"""

from __future__ import annotations

from collections import OrderedDict
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
        if self._rate is None:
            return
        bucket = self._buckets.get(key_id)
        if bucket is None:
            bucket = self._buckets[key_id] = Bucket(self._rate)
            if len(self._buckets) > _MOST_KEYS:
                self._buckets.popitem(last=False)
        left_s = bucket.take()
        if left_s:
            raise wait_first(429, f"this key may send at most {self._rate}", left_s, kind="rate")


class Seats:
    """Calls that run now, of all keys and of each; a call that finds no seat is refused, not queued."""

    __slots__ = ("_by_key", "_most", "_most_per_key", "taken")

    def __init__(self, most: int, most_per_key: int) -> None:
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
            raise wait_first(429, f"{self.taken} calls run already on this platform", 1, kind="rate")
        if own >= self._most_per_key:
            raise wait_first(429, f"{own} calls of this key run already", 1, kind="rate")
        self.taken += 1
        self._by_key[key_id] = own + 1
        return Seat(self, key_id)

    def give_back(self, key_id: str) -> None:
        """Let another call run."""
        self.taken -= 1
        left = self._by_key[key_id] - 1
        if left:
            self._by_key[key_id] = left
        else:
            del self._by_key[key_id]


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
