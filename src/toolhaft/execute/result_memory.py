"""Remembers results: by idempotency key, or by arguments for the cache of a read-only tool."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from threading import Lock
from typing import Final, NamedTuple

from toolhaft.core.conversion import AnyResult
from toolhaft.core.result import RareFields, ToolResult, failed_result
from toolhaft.execute.failures import clip
from toolhaft.execute.throttling import FairSemaphore, Ticket

MOST_REMEMBERED: Final = 10_000
"""Results that are only kept for speed, or that are large."""
MOST_KEYS: Final = 1_000_000
"""Keys of calls that must never run again; about half a kilobyte each, with a small result."""
_SMALL: Final = 2_000
"""Characters of a result that is kept with its key."""
_FORGOTTEN: Final = "This call ran before with the same key. Its result was large and is no longer kept."
_IMMUTABLE: Final = frozenset((bool, float, int, str, type(None)))


class RecordedResult(NamedTuple):
    """A result, the digest of the arguments that it belongs to, and the handler that returned it."""

    result: AnyResult
    arguments: str
    expires_at: float | None
    handler: object

    def without_value(self) -> RecordedResult:
        """The record with a note in place of the result; a failure keeps its message and its advice."""
        message, failure = self.result.message, self.result.failure
        note: AnyResult = ToolResult(message=_FORGOTTEN)
        if failure is not None:
            note = failed_result(clip(message), replace(failure, cause=None))
        return self._replace(result=note)


def own_copy(result: AnyResult) -> AnyResult:
    """A copy whose value can be changed without changing the original."""
    copy = result.with_fields()
    if type(result.value) not in _IMMUTABLE:
        with suppress(Exception):  # a value that cannot be copied is shared
            copy.value = deepcopy(result.value)
    return copy


class ResultMemory:
    """The most recently used results, all keys that must never be used again, and queues of equal keys."""

    __slots__ = ("_clock", "_kept", "_large", "_lock", "_results", "most", "most_keys", "queues")

    def __init__(
        self,
        most: int = MOST_REMEMBERED,
        clock: Callable[[], float] = time.monotonic,
        most_keys: int = MOST_KEYS,
    ) -> None:
        self.most = most
        self.most_keys = most_keys
        self._kept: dict[str, RecordedResult] = {}
        self._large: OrderedDict[str, None] = OrderedDict()
        """The keys in `_kept` whose results are large, the oldest first."""
        self.queues: dict[str, FairSemaphore] = {}
        self._clock = clock
        self._results: OrderedDict[str, RecordedResult] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> RecordedResult | None:
        """The result under a key, unless it has expired."""
        with self._lock:
            found = self._kept.get(key) or self._results.get(key)
            if found is not None and found.expires_at is not None and found.expires_at <= self._clock():
                del self._results[key]
                return None
            if key in self._results:
                self._results.move_to_end(key)
            return found

    @property
    def is_full(self) -> bool:
        """True if no further key can be kept forever."""
        return len(self._kept) >= self.most_keys

    def _keep(self, key: str, recorded: RecordedResult) -> None:
        """Remember a call that must never run again; a large result is replaced by a note in the end."""
        result = recorded.result
        is_large = result.rare != RareFields() or len(result.render()) > _SMALL
        with self._lock:
            self._kept[key] = recorded
            if is_large:
                self._large[key] = None
                if len(self._large) > self.most:
                    oldest, _ = self._large.popitem(last=False)
                    self._kept[oldest] = self._kept[oldest].without_value()

    def put(
        self,
        key: str,
        result: AnyResult,
        arguments: str,
        keep_s: float | None,
        handler: object = None,
        *,
        forever: bool = False,
    ) -> None:
        """Remember a result forever, for `keep_s` seconds, or until it is the oldest of too many."""
        expires_at = None if keep_s is None else self._clock() + keep_s
        recorded = RecordedResult(own_copy(result), arguments, expires_at, handler)
        if forever:
            self._keep(key, recorded)
            return
        with self._lock:
            self._results[key] = recorded
            self._results.move_to_end(key)
            while len(self._results) > self.most:
                self._results.popitem(last=False)

    def forget_results(self) -> None:
        """Drop what is kept for speed, and large results; keys of calls that must never run again stay."""
        with self._lock:
            self._results.clear()
            for key in self._large:
                self._kept[key] = self._kept[key].without_value()
            self._large.clear()

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
