"""Tools that wait to be interrupted, and say when they have come so far."""

import asyncio
import os
import signal
import threading
import time

from tests.execute.world import Latch, Note, scribble
from toolhaft import ToolContext, tool
from toolhaft.resources import Filesystem

latch = Latch()


@tool(name="wait_thread", effect="reversible")
def wait_thread(context: ToolContext) -> int:
    """Wait on a thread."""
    scribble(context, "new")
    latch.wait()
    return 1


@tool(effect="reversible")
async def wait_async(context: ToolContext) -> int:
    """Wait on the loop."""
    scribble(context, "new")
    latch.reached.set()
    await asyncio.sleep(60)
    return 1


@tool(effect="reversible", isolation="process")
def wait_process(context: ToolContext) -> int:
    """Wait in a process; the host hears that it has begun from the files."""
    scribble(context, "new", [Filesystem])
    time.sleep(60)
    return 1


@tool(effect="reversible")
async def clean_up(context: ToolContext) -> int:
    """Wait on the loop, and write once more when cancelled."""
    latch.reached.set()
    try:
        await asyncio.sleep(60)
    finally:
        scribble(context, "new")
        await asyncio.sleep(0)
    return 1


@tool(effect="reversible")
async def swallow(context: ToolContext) -> int:
    """Go on through every cancellation."""
    scribble(context, "new")
    latch.reached.set()
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue


@tool(effect="reversible")
async def step_by_step(context: ToolContext) -> int:
    """Let others run between any two changes."""
    for number in range(8):
        context.session[Note].append(Note(f"step {number}"))
        await asyncio.sleep(0)
        context.filesystem.write(f"step/{number}.txt", "new")
    return 8


@tool(effect="idempotent")
async def wait_idempotent(n: int) -> int:
    """Wait on the loop."""
    latch.reached.set()
    await asyncio.sleep(60)
    return n


@tool(effect="read")
async def fail_read() -> int:
    """Fail at once."""
    latch.reached.set()
    raise ValueError("again later")


WAITING = (
    clean_up,
    fail_read,
    step_by_step,
    swallow,
    wait_async,
    wait_idempotent,
    wait_process,
    wait_thread,
)


def interrupt(host_pid):
    """What Ctrl-C does."""
    if host_pid == os.getpid():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    else:
        os.kill(host_pid, signal.SIGINT)


@tool(effect="reversible")
def interrupt_thread(host_pid: int, context: ToolContext) -> int:
    """Interrupt the host's main thread, then wait."""
    scribble(context, "new")
    interrupt(host_pid)
    latch.wait()
    return 1


@tool(effect="reversible")
async def interrupt_async(host_pid: int, context: ToolContext) -> int:
    """Interrupt the host's main thread, then wait."""
    scribble(context, "new")
    interrupt(host_pid)
    await asyncio.sleep(60)
    return 1


@tool(effect="reversible", isolation="process")
def interrupt_process(host_pid: int, context: ToolContext) -> int:
    """Interrupt the host's main thread, then wait."""
    scribble(context, "new", [Filesystem])
    interrupt(host_pid)
    time.sleep(60)
    return 1


INTERRUPTING = (interrupt_thread, interrupt_async, interrupt_process)
