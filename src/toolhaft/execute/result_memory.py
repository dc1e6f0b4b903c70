"""Remembers results: by idempotency key, or by arguments for the cache of a read-only tool."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from threading import Lock
from typing import Final, NamedTuple

from toolhaft.core.conversion import AnyResult
from toolhaft.execute.throttling import FairSemaphore, Ticket

MOST_REMEMBERED: Final = 10_000
_IMMUTABLE: Final = frozenset((bool, float, int, str, type(None)))


class RecordedResult(NamedTuple):
    """A result, the digest of the arguments that it belongs to, and the handler that returned it."""

    result: AnyResult
    arguments: str
    expires_at: float | None
    handler: object


def own_copy(result: AnyResult) -> AnyResult:
    """A copy whose value can be changed without changing the original."""
    copy = result.with_fields()
    if type(result.value) not in _IMMUTABLE:
        with suppress(Exception):  # a value that cannot be copied is shared
            copy.value = deepcopy(result.value)
    return copy


class ResultMemory:
    """The most recently used results, and the queues of calls that have the same key."""

    __slots__ = ("_clock", "_lock", "_results", "most", "queues")

    def __init__(self, most: int = MOST_REMEMBERED, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.queues: dict[str, FairSemaphore] = {}
        self._clock = clock
        self._results: OrderedDict[str, RecordedResult] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> RecordedResult | None:
        """The result under a key, unless it has expired."""
        with self._lock:
            found = self._results.get(key)
            if found is not None and found.expires_at is not None and found.expires_at <= self._clock():
                del self._results[key]
                return None
            if found is not None:
                self._results.move_to_end(key)
            return found

    def put(
        self, key: str, result: AnyResult, arguments: str, keep_s: float | None, handler: object = None
    ) -> None:
        """Remember a result for `keep_s` seconds, or until it is the oldest of too many."""
        expires_at = None if keep_s is None else self._clock() + keep_s
        with self._lock:
            self._results[key] = RecordedResult(own_copy(result), arguments, expires_at, handler)
            self._results.move_to_end(key)
            while len(self._results) > self.most:
                self._results.popitem(last=False)

    def join_queue(self, key: str) -> tuple[FairSemaphore, Ticket]:
        """Join the queue of the calls with this key."""
        with self._lock:
            queue = self.queues.setdefault(key, FairSemaphore())
            return queue, queue.join()

    def leave_queue(self, key: str, ticket: Ticket) -> None:
        """Leave the queue; the last one removes it."""
        with self._lock:
            queue = self.queues[key]
            queue.leave(ticket)
            if queue.is_unused:
                del self.queues[key]
