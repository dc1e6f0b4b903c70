"""The limits of the platform: sizes of caches, requests per key and time, calls and connections at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import IPv6Address, ip_address
from typing import Final, Protocol, TypeVar

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


MAX_EXTRA_CONNECTIONS: Final = 256
_NETWORK_BITS: Final = 64


def client_network(address: str) -> str:
    """The part of a client's address that its connections and wrong keys are counted by.

    That is the whole address for IPv4. A client of IPv6 usually has 64 bits to itself, so the first 64 count.
    """
    if ":" not in address:
        return address
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    mapped = parsed.ipv4_mapped
    return str(mapped) if mapped else f"{int(parsed) >> _NETWORK_BITS:x}/{_NETWORK_BITS}"


class OpenConnection(Protocol):
    """A connection that can be closed to make room for others."""

    def refuse_crowded(self) -> None:
        """Tell the client that there are too many connections, and close this one."""
        ...


class ConnectionLimit:
    """How many connections may be open, in all and per client network.

    Some extra connections are accepted beyond that, for requests that are always answered. If there are too
    many of these too, the oldest one of the network that has most of them is closed, so that a
    client that opens many loses its own.
    """

    __slots__ = ("_by_network", "_extra", "_max", "_max_per_network", "_total")

    def __init__(self, maximum: int, max_per_network: int) -> None:
        self._max = maximum
        self._max_per_network = max_per_network
        self._total = 0
        self._by_network: dict[str, int] = {}
        self._extra: dict[str, dict[OpenConnection, None]] = {}

    def open(self, connection: OpenConnection, network: str) -> bool:
        """Count a connection; False if it is an extra one."""
        own = self._by_network.get(network, 0)
        if self._total >= self._max or own >= self._max_per_network:
            self._extra.setdefault(network, {})[connection] = None
            return False
        self._total += 1
        self._by_network[network] = own + 1
        return True

    def close(self, network: str) -> None:
        """Stop counting a connection that is not an extra one."""
        self._total -= 1
        left = self._by_network[network] - 1
        if left:
            self._by_network[network] = left
        else:
            del self._by_network[network]

    def close_extra(self, connection: OpenConnection, network: str) -> None:
        """Stop counting an extra connection; harmless if that was done before."""
        extra = self._extra.get(network, {})
        extra.pop(connection, None)
        if not extra:
            self._extra.pop(network, None)

    def refuse_crowded(self) -> None:
        """Close the oldest extra connections if there are too many."""
        for _ in range(sum(map(len, self._extra.values())) - MAX_EXTRA_CONNECTIONS):
            network = max(self._extra, key=lambda one: len(self._extra[one]))
            oldest = next(iter(self._extra[network]))
            self.close_extra(oldest, network)
            oldest.refuse_crowded()
