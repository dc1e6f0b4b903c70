"""Runs a coroutine of somebody else's for a call: on the caller's loop, or on the background one.

Knows ports; does not know tools.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, Final

from toolhaft.backends.loop import GRACE_S, LoopJob, TimeIsUpError, background, drive
from toolhaft.execute.waiting import Port

_PATIENCE_S: Final = 1.0  # beyond limit and grace: the loop itself must be blocked


async def run_coroutine(
    port: Port,
    start: Callable[[], Coroutine[Any, Any, Any]],
    limit_s: float,
    note_end: Callable[[], None] | None = None,
) -> object:
    """What the coroutine gives back; `note_end` is called where it ran elsewhere, as soon as it has ended.

    Raises:
        TimeIsUpError: where it was stopped at its limit.
    """
    if port.is_loop:
        return await drive(start(), limit_s)
    job = LoopJob(start, limit_s, copy_context())
    loop = background()

    def arm(wake: Callable[[], None]) -> None:
        def tell() -> None:
            if note_end is not None:
                note_end()
            wake()

        job.wake = tell
        loop.submit(job)

    try:
        woken = await port.wait(arm, limit_s + GRACE_S + _PATIENCE_S)
    except BaseException:
        loop.cancel(job)
        raise
    if not woken:
        loop.leave(job)
        raise TimeIsUpError(was_abandoned=True)
    if job.error is not None:
        raise job.error
    return job.value
