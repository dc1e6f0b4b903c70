"""Runs the requests that change tools or parse documents: one per key at a time, on few threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

from toolhaft.serve.limits import ParallelLimit, PerKeyQueue
from toolhaft.serve.revision import RevisionReader
from toolhaft.serve.storage_threads import WorkerThreads

P = ParamSpec("P")
T = TypeVar("T")
_WRITE_THREADS: Final = 2
"""Documents that are parsed and stored at once: parsing YAML is slow, and slows down running calls."""
_MAX_CHANGES: Final = 64
_MAX_CHANGES_PER_KEY: Final = 8


class ChangeQueue(PerKeyQueue):
    """The waiting requests of each key, and the threads that all of them share."""

    __slots__ = ("_revisions", "_threads")

    def __init__(self, revisions: RevisionReader) -> None:
        super().__init__(ParallelLimit(_MAX_CHANGES, _MAX_CHANGES_PER_KEY, "changes"))
        self._revisions = revisions
        self._threads = WorkerThreads(_WRITE_THREADS, "writing")

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on one of the threads."""
        return await self._threads.run(work, *args, **kwargs)

    async def finish(self, change: Coroutine[Any, Any, T]) -> T:
        """Await a change, which must not stop half way because its client disconnects."""
        task = asyncio.ensure_future(change)
        try:
            return await asyncio.shield(task)
        finally:
            self._revisions.expire()

    def close(self) -> None:
        """Start no more work."""
        self._threads.close()
