"""Whether what is kept in memory is still what the database says.

Knows the revision; does not know what changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from toolhaft.serve.waits import LONGEST_S, too_slow

_OLDEST_S: Final = 0.5
_OLDEST_NEAR_S: Final = 0.002
_SHORTEST_S: Final = 0.05


class Newest:
    """The revision of the database: at most two milliseconds old on SQLite, half a second on PostgreSQL.

    SQLite is asked right here, since that takes microseconds; a server elsewhere is asked off the loop.
    """

    __slots__ = ("_asked_at", "_asking", "_asking_since", "_is_near", "_last", "_read", "_thread")

    def __init__(self, read: Callable[[], int], *, is_near: bool) -> None:
        self._read = read
        self._is_near = is_near
        self._last = -1
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[int] | None = None
        self._asking_since = 0.0
        # of its own: reads that hang must not keep this one from being asked
        self._thread = ThreadPoolExecutor(1, "toolhaft-newest")

    def peek(self) -> int | None:
        """The revision, None where the database must be asked off the loop.

        Raises:
            StorageError: where the database cannot be asked.
        """
        now = time.monotonic()
        if now - self._asked_at <= (_OLDEST_NEAR_S if self._is_near else _OLDEST_S):
            return self._last
        if not self._is_near:
            return None
        self._last = self._read()
        self._asked_at = now
        return self._last

    async def get(self, within_s: float = LONGEST_S) -> int:
        """The revision; a question that hangs is waited for once, and not again by each who comes later.

        Raises:
            StorageError: where the database cannot be asked, or does not answer in time.
        """
        known = self.peek()
        if known is not None:
            return known
        if self._asking is None:
            self._asking_since = time.monotonic()
            self._asking = asyncio.create_task(self._ask())
        left_s = within_s - (time.monotonic() - self._asking_since)
        try:
            async with asyncio.timeout(max(left_s, _SHORTEST_S)):
                # whoever is cancelled meanwhile must not take the answer from the others
                return await asyncio.shield(self._asking)
        except TimeoutError:
            raise too_slow(within_s) from None

    def close(self) -> None:
        """Ask no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def expire(self) -> None:
        """Ask again at the next request: something was changed from here."""
        self._asked_at = float("-inf")

    async def _ask(self) -> int:
        began = time.monotonic()
        try:
            self._last = await asyncio.get_running_loop().run_in_executor(self._thread, self._read)
            self._asked_at = began
            return self._last
        finally:
            self._asking = None
