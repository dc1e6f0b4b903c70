"""Reads of the storage that are not waited for without end, and slow work that holds up nothing else.

Knows threads and time; does not know what is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from toolhaft.errors import StorageBusyError

LONGEST_S: Final = 3.0
"""How long a request waits for the storage to say whether something changed."""
_LONGEST_READ_S: Final = 6.0
"""How long it waits for a row: a busy SQLite file gives up by itself before that."""

P = ParamSpec("P")
T = TypeVar("T")


async def read_soon(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a read gives, on a thread.

    Raises:
        StorageBusyError: where it takes too long; its thread is left to come to its end.
    """
    try:
        async with asyncio.timeout(_LONGEST_READ_S):
            return await asyncio.to_thread(read, *args, **kwargs)
    except TimeoutError:
        raise too_slow(_LONGEST_READ_S) from None


def too_slow(seconds: float) -> StorageBusyError:
    """What is said of a storage that does not answer."""
    return StorageBusyError(f"the storage did not answer within {seconds:g} s")


class Bench:
    """A few threads for slow work, so that all others are left to what is quick.

    Args:
        threads: how much is done at once; more waits.
        name: of the threads.
        within_s: how long somebody waits for it; None as long as it takes.
    """

    __slots__ = ("_pool", "_within_s")

    def __init__(self, threads: int, name: str, *, within_s: float | None = None) -> None:
        self._pool = ThreadPoolExecutor(threads, f"toolhaft-{name}")
        self._within_s = within_s

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the work gives.

        Raises:
            StorageBusyError: where it takes too long; its thread is left to come to its end.
        """
        begun = partial(work, *args, **kwargs)
        try:
            async with asyncio.timeout(self._within_s):
                return await asyncio.get_running_loop().run_in_executor(self._pool, begun)
        except TimeoutError:
            raise too_slow(self._within_s or 0.0) from None

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
