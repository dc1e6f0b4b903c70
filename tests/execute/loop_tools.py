"""Async tools that harm the loop that they run on, or will not leave it."""

import asyncio
import sys
import time

from tests.execute.world import Latch, scribble
from toolhaft import ToolContext, tool

REVERSIBLE = {"effect": "reversible", "timeout_s": 0.1}


@tool(effect="reversible")
async def close_loop(context: ToolContext) -> int:
    """Close the loop that runs this."""
    scribble(context, "new")
    asyncio.get_running_loop().close()
    return 1


@tool(effect="reversible")
async def stop_loop(context: ToolContext) -> int:
    """Stop the loop that runs this, then fail."""
    scribble(context, "new")
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    raise ValueError("stopped")


async def leave():
    """Exit, out of a task."""
    sys.exit(3)


@tool(effect="reversible")
async def exit_in_a_task(context: ToolContext) -> int:
    """Start a task that exits: asyncio raises that out of the loop as well."""
    scribble(context, "new")
    await asyncio.create_task(leave())
    return 1


@tool(**REVERSIBLE)
async def swallow(context: ToolContext) -> int:
    """Go on through every cancellation."""
    scribble(context, "new")
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue


@tool(**REVERSIBLE)
async def swallow_and_answer(context: ToolContext) -> int:
    """Answer a cancellation with a value, as if nothing had happened."""
    scribble(context, "new")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return 1


@tool(**REVERSIBLE)
async def spin(context: ToolContext) -> int:
    """Never wait for anything."""
    scribble(context, "new")
    end = time.monotonic() + 30
    while time.monotonic() < end:  # noqa: ASYNC110 -- the fault under test
        await asyncio.sleep(0)
    return 1


@tool(effect="reversible")
async def cancel_itself(context: ToolContext) -> int:
    """Cancel the task that runs this."""
    scribble(context, "new")
    asyncio.current_task().cancel()
    await asyncio.sleep(60)
    return 1


@tool(**REVERSIBLE)
async def block_briefly(context: ToolContext) -> int:
    """Block the loop past the limit."""
    scribble(context, "new")
    time.sleep(0.2)  # noqa: ASYNC251 -- the fault under test
    return 1


latch = Latch()


@tool(**REVERSIBLE)
async def block(context: ToolContext) -> int:
    """Block the loop until the test says otherwise."""
    scribble(context, "new")
    latch.wait()
    return 1


LOOP_TOOLS = (
    exit_in_a_task,
    block,
    block_briefly,
    cancel_itself,
    close_loop,
    spin,
    stop_loop,
    swallow,
    swallow_and_answer,
)
