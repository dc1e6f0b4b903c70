"""Whether what is kept in memory is still what the database says.

Knows the revision; does not know what changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

_OLDEST_S: Final = 0.5
_OLDEST_NEAR_S: Final = 0.002


class Newest:
    """The revision of the database: at most two milliseconds old on SQLite, half a second on PostgreSQL.

    SQLite is asked right here, since that takes microseconds; a server elsewhere is asked off the loop.
    """

    __slots__ = ("_asked_at", "_asking", "_is_near", "_last", "_read")

    def __init__(self, read: Callable[[], int], *, is_near: bool) -> None:
        self._read = read
        self._is_near = is_near
        self._last = -1
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[int] | None = None

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

    async def get(self) -> int:
        """The revision.

        Raises:
            StorageError: where the database cannot be asked.
        """
        known = self.peek()
        if known is not None:
            return known
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        # whoever is cancelled meanwhile must not take the answer from the others
        return await asyncio.shield(self._asking)

    def expire(self) -> None:
        """Ask again at the next request: something was changed from here."""
        self._asked_at = float("-inf")

    async def _ask(self) -> int:
        began = time.monotonic()
        try:
            self._last = await asyncio.to_thread(self._read)
            self._asked_at = began
            return self._last
        finally:
            self._asking = None
