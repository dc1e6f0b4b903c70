"""Functions of misbehaving tools."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from toolhaft import ToolContext
from toolhaft.errors import ToolError


def leave(text=""):
    """End the program."""
    sys.exit(3)


async def leave_on_loop(text=""):
    """End the program from the event loop."""
    sys.exit(3)


def interrupt(text=""):
    """Act as if somebody pressed Ctrl-C."""
    raise KeyboardInterrupt


async def interrupt_on_loop(text=""):
    """The same from the event loop."""
    raise KeyboardInterrupt


def interrupt_with_context(context: ToolContext, text=""):
    """The same, with a context."""
    raise KeyboardInterrupt


async def interrupt_on_loop_with_context(context: ToolContext, text=""):
    """The same, both."""
    raise KeyboardInterrupt


async def stay(text=""):
    """Touch a file, and go on for a while, whoever cancels it."""
    Path(text).touch()  # noqa: ASYNC240 -- a test waits for it
    for _ in range(10):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.1)
    return "stayed"


def not_a_number(text=""):
    """Give back what JSON has no word for."""
    return {"value": float("nan")}


def an_object(text=""):
    """Give back what only Python knows."""
    return {"value": object()}


def long_text(text=""):
    """Give back more than anybody takes."""
    return "x" * 30_000_000


async def write_then_wait(text, context: ToolContext):
    """Write a file, and wait for a `.go`; leave a mark at the beginning, when cancelled and at the end."""
    with suppress(ToolError, OSError):  # what only reads may write nothing
        context.filesystem.write("note.txt", "half done")
    mark = Path(text)
    mark.touch()  # noqa: ASYNC240 -- a test waits for it
    try:
        while not mark.with_suffix(".go").exists():  # noqa: ASYNC110 -- made by the test
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        mark.with_suffix(".cancelled").touch()
        raise
    mark.with_suffix(".done").touch()
    return "kept"
