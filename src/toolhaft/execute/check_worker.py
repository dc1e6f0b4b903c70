"""Checks arguments and outputs in a worker process, if checking them here could take too long.

The validators cannot be interrupted and hold the interpreter's lock, so that a thread would not help.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import cache
from typing import Final

from toolhaft.backends.process import ProcessJob, ProcessPool
from toolhaft.backends.threads import Job
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import ToolTimeoutError
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.handlers import limit_of
from toolhaft.execute.setup import Setup

_MEMORY_BYTES: Final = 1024**3
_KILL_S: Final = 5.0


@cache
def _pool() -> ProcessPool:
    """The workers, started on first use and shared by all executors."""
    return ProcessPool(memory_bytes=_MEMORY_BYTES)


async def check_in_worker(
    check: Callable[..., object], args: tuple[str, str], tool: AnyTool, setup: Setup, active: ActiveCall
) -> object:
    """Run a check in a worker, which is killed at the end of the call's time or if the call is cancelled.

    Raises:
        ToolTimeoutError: if it took too long.
        ToolExecutionError: if it took too much memory, or no worker could be started.
    """
    limit_s = limit_of(tool, active)
    if limit_s <= 0:
        raise ToolTimeoutError("the deadline has passed")
    work = ProcessJob(handler=_pool().check(check), args=args, timeout_s=limit_s)
    job = Job(lambda: _pool().run(work), copy_context())

    def submit(wake: Callable[[], None]) -> None:
        job.wake = wake
        setup.workers.threads.submit(job)

    try:
        await active.waiter.wait(submit, limit_s + _KILL_S)
    except BaseException:
        work.kill()
        raise
    if job.abandon():
        work.kill()
        raise ToolTimeoutError("the worker process does not answer")
    if job.error is not None:
        raise job.error
    return job.value
