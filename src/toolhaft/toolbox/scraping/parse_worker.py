"""Runs the page reader in a worker process, so that a page built to hang the HTML library can be stopped.

All scrapers share the workers. The first page starts one; it stays warm for the next.
"""

from __future__ import annotations

from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Lock, Thread
from typing import Final, cast

from toolhaft.backends.process import ProcessJob, ProcessPool
from toolhaft.core.context import ToolContext
from toolhaft.errors import ToolExecutionError, ToolTimeoutError
from toolhaft.toolbox.scraping.page_reader import PageRequest, PageText, read_page

PARSE_TIMEOUT_S: Final = 10.0
"""Time for one page; nearly all take milliseconds."""
MEMORY_BYTES: Final = 1024**3
_CHECK_EVERY_S: Final = 0.1
"""How soon a worker is killed after its call was cancelled."""
_GIVE_UP: Final = "; it may be built to stop programs that read it: look for another address"


class ParseWorkers:
    """Worker processes that read pages, started on first use and ended with the interpreter.

    Args:
        timeout_s: for one page.
        memory_bytes: for each worker.
    """

    __slots__ = ("_lock", "_memory_bytes", "_pool", "timeout_s")

    def __init__(self, *, timeout_s: float = PARSE_TIMEOUT_S, memory_bytes: int = MEMORY_BYTES) -> None:
        self.timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._lock = Lock()
        self._pool: ProcessPool | None = None

    def read(self, request: PageRequest, context: ToolContext) -> PageText:
        """Read a page in a worker, which is killed when its time is over or the call has ended.

        Raises:
            ToolExecutionError: if the page takes too long or too much memory, or cannot be read.
            ToolTimeoutError: if the deadline of the call passes.
            CallEndedError: if the call was cancelled.
        """
        pool = self.pool
        left_s = None if context.time_limit is None else context.time_limit.remaining()
        timeout_s = self.timeout_s if left_s is None else min(self.timeout_s, left_s)
        job = ProcessJob(handler=pool.check(read_page), args=(request,), timeout_s=timeout_s)
        try:
            return _run(pool, job, context)
        except ToolTimeoutError:
            if job.ending != "timeout" or timeout_s < self.timeout_s:
                raise
            raise ToolExecutionError(f"the page could not be read within {timeout_s:g} s{_GIVE_UP}") from None
        except MemoryError:
            raise self._crashed() from None
        except ToolExecutionError as error:
            if job.ending == "died":
                raise self._crashed() from error
            raise

    @property
    def pool(self) -> ProcessPool:
        """The worker processes."""
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPool(memory_bytes=self._memory_bytes)
            return self._pool

    def close(self) -> None:
        """End the workers; the next page starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _crashed(self) -> ToolExecutionError:
        limit = f"{self._memory_bytes // 1024**2:,} MB"
        return ToolExecutionError(
            f"the page could not be read: it takes more than {limit} of memory or stops the parser{_GIVE_UP}"
        )


def _run(pool: ProcessPool, job: ProcessJob, context: ToolContext) -> PageText:
    """Run a job on another thread, so that this one can notice that the call has ended."""
    outcome: Future[object] = Future()

    def run() -> None:
        try:
            outcome.set_result(pool.run(job))
        except BaseException as error:  # noqa: BLE001 -- raised again on the thread that waits
            outcome.set_exception(error)

    Thread(target=run, name="toolhaft-parse", daemon=True).start()
    try:
        while not wait([outcome], timeout=_CHECK_EVERY_S).done:
            context.beat()
    except BaseException:
        job.kill()
        with suppress(Exception):
            outcome.result()
        raise
    return cast("PageText", outcome.result())


parse_workers: Final = ParseWorkers()
