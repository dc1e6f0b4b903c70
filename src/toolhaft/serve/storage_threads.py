"""Runs storage reads and slow work on threads, with time limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from toolhaft.errors import StorageBusyError

REVISION_TIMEOUT_S: Final = 3.0
"""How long a request waits for the storage to return its revision."""
_READ_TIMEOUT_S: Final = 6.0
"""How long a request waits for a row; a busy SQLite file gives up before that."""

P = ParamSpec("P")
T = TypeVar("T")


async def read_in_thread(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that reads the storage, on a thread.

    Raises:
        StorageBusyError: when it takes too long; its thread runs on until it ends.
    """
    return await _limit(asyncio.to_thread(read, *args, **kwargs), _READ_TIMEOUT_S)


async def _limit(work: Awaitable[T], timeout_s: float | None) -> T:
    try:
        async with asyncio.timeout(timeout_s):
            return await work
    except TimeoutError:
        raise storage_timeout(timeout_s or 0.0) from None


def storage_timeout(seconds: float) -> StorageBusyError:
    """The error of a storage that does not answer in time."""
    return StorageBusyError(f"the storage did not answer within {seconds:g} s")


class WorkerThreads:
    """A few threads for slow work, so that the default threads stay free for quick work.

    Args:
        threads: how many pieces of work run at once; more of them wait.
        name: the name of the threads.
        timeout_s: how long a caller waits for its work; None for no limit.
    """

    __slots__ = ("_pool", "_timeout_s")

    def __init__(self, threads: int, name: str, *, timeout_s: float | None = None) -> None:
        self._pool = ThreadPoolExecutor(threads, f"toolhaft-{name}")
        self._timeout_s = timeout_s

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on one of the threads.

        Raises:
            StorageBusyError: when it takes too long; its thread runs on until it ends.
        """
        call = partial(work, *args, **kwargs)
        return await _limit(asyncio.get_running_loop().run_in_executor(self._pool, call), self._timeout_s)

    def close(self) -> None:
        """Start no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
