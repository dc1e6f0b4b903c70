"""Reads the revision of the database, which tells whether cached rows are still current."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from toolhaft.serve.storage_threads import REVISION_TIMEOUT_S, storage_timeout

_MAX_AGE_S: Final = 0.5
_MAX_AGE_LOCAL_S: Final = 0.002
_MIN_WAIT_S: Final = 0.05


class RevisionReader:
    """The revision of the database: at most two milliseconds old on SQLite, half a second on PostgreSQL.

    SQLite is read on the event loop, since that takes microseconds; a remote server is read on a thread.
    """

    __slots__ = ("_is_local", "_last", "_pending", "_pending_since", "_read", "_read_at", "_thread")

    def __init__(self, read: Callable[[], int], *, is_local: bool) -> None:
        self._read = read
        self._is_local = is_local
        self._last = -1
        self._read_at = float("-inf")
        self._pending: asyncio.Task[int] | None = None
        self._pending_since = 0.0
        # a separate thread: other reads that hang must not delay this one
        self._thread = ThreadPoolExecutor(1, "toolhaft-revision")

    def read_now(self) -> int | None:
        """The revision; None when it has to be read on the thread.

        Raises:
            StorageError: when the database cannot be read.
        """
        now = time.monotonic()
        if now - self._read_at <= (_MAX_AGE_LOCAL_S if self._is_local else _MAX_AGE_S):
            return self._last
        if not self._is_local:
            return None
        self._last = self._read()
        self._read_at = now
        return self._last

    async def read(self, timeout_s: float = REVISION_TIMEOUT_S) -> int:
        """The revision; all requests that wait share one read, and its time limit.

        Raises:
            StorageError: when the database cannot be read, or does not answer in time.
        """
        known = self.read_now()
        if known is not None:
            return known
        if self._pending is None:
            self._pending_since = time.monotonic()
            self._pending = asyncio.create_task(self._read_on_thread())
        left_s = timeout_s - (time.monotonic() - self._pending_since)
        try:
            async with asyncio.timeout(max(left_s, _MIN_WAIT_S)):
                # shielded: a request that is cancelled must not cancel the read of the others
                return await asyncio.shield(self._pending)
        except TimeoutError:
            raise storage_timeout(timeout_s) from None

    def close(self) -> None:
        """Start no more reads."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def expire(self) -> None:
        """Read again at the next request: this process changed something."""
        self._read_at = float("-inf")

    async def _read_on_thread(self) -> int:
        started = time.monotonic()
        try:
            self._last = await asyncio.get_running_loop().run_in_executor(self._thread, self._read)
            self._read_at = started
            return self._last
        finally:
            self._pending = None
