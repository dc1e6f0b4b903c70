"""Hands out what a running call tells, as it comes.

Knows one run and its chain; does not know the steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from toolhaft.core.conversion import AnyResult
from toolhaft.core.events import Chunk, Progress
from toolhaft.execute.run import Run, Step, arrive


async def stream(run: Run, chain: Step) -> AsyncGenerator[Chunk | Progress | AnyResult, None]:
    """Every chunk and every report of progress, then the result; leaving early cancels the call."""
    loop = asyncio.get_running_loop()
    news: asyncio.Queue[Chunk | Progress | None] = asyncio.Queue()

    def emit(item: Chunk | Progress) -> None:
        try:
            loop.call_soon_threadsafe(news.put_nowait, item)
        except RuntimeError:  # the loop is closed: nobody listens any more
            run.is_over = True

    run.emit = emit
    task = asyncio.ensure_future(_started(chain, run))
    task.add_done_callback(lambda _: news.put_nowait(None))
    try:
        while (item := await news.get()) is not None:
            yield item
        result = await task
        result.call = run.call
        yield result
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


async def _started(chain: Step, run: Run) -> AnyResult:
    return await arrive(chain(run))
