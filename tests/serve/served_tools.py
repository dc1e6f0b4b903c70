"""Functions that the published tools of the tests run."""

import asyncio
import os
import threading
import time
from pathlib import Path

from toolhaft import Image, ToolContext, ToolResult
from toolhaft.errors import DeadlineExceededError, ToolAuthorizationError, ToolExecutionError


def shout(text, times=1):
    """Say it loudly."""
    return {"said": " ".join([text.upper()] * int(times))}


def tell(**given):
    """Count what was given."""
    return {"count": len(given)}


def fail(text=""):
    """Fail."""
    raise ToolExecutionError(f"it went wrong: {text}")


def refuse(text=""):
    """Refuse."""
    raise ToolAuthorizationError("not for you")


def lie(text=""):
    """Give back what was not promised."""
    return {"said": 5}


def heavy(text=""):
    """Give back what nobody can write."""
    part = [0] * 100_000
    return [part] * 100_000


def big(text=""):
    """Give back more than a socket holds."""
    return "x" * 9_900_000


async def nap(text="0.2"):
    """Sleep on the loop."""
    await asyncio.sleep(float(text))
    return "slept"


_RUNNING = []
_MET = []


async def meet(text):
    """Wait on the loop until so many have begun."""
    _MET.append(1)
    while len(_MET) % int(text):  # noqa: ASYNC110 -- others count
        await asyncio.sleep(0.005)


def meet_on_thread(text):
    """The same on a thread."""
    _MET.append(1)
    while len(_MET) % int(text):
        time.sleep(0.005)


def thread_name(text=""):
    """The thread that it runs on."""
    return threading.current_thread().name


async def count_overlap(text):
    """Sleep on the loop; returns how many of these run."""
    _RUNNING.append(1)
    running = len(_RUNNING)
    await asyncio.sleep(float(text))
    _RUNNING.pop()
    return running


async def nap_with_context(text, context: ToolContext):
    """Sleep on the loop, as a tool that could change files."""
    await asyncio.sleep(float(text))
    return "slept"


def nap_on_thread(text="0.2"):
    """Sleep on a thread."""
    time.sleep(float(text))
    return "slept"


async def mark_and_wait(text):
    """Touch a file, and wait until its `.go` is there."""
    mark = Path(text)
    mark.touch()  # noqa: ASYNC240 -- a test waits for it
    while not mark.with_suffix(".go").exists():  # noqa: ASYNC110 -- made by another process
        await asyncio.sleep(0.02)
    return "waited"


def mark_and_wait_on_thread(text):
    """The same on a thread."""
    mark = Path(text)
    mark.touch()
    ends = time.monotonic() + 60
    while not mark.with_suffix(".go").exists() and time.monotonic() < ends:
        time.sleep(0.02)
    return "waited"


async def write_then_nap(text, context: ToolContext):
    """Write a file, and take long."""
    context.filesystem.write("note.txt", "half done")
    mark = Path(text)
    mark.write_text(str(os.getpid()), encoding="utf-8")  # noqa: ASYNC240 -- a test waits for it
    try:
        await asyncio.sleep(60)
    finally:
        mark.with_suffix(".over").write_text("cancelled", encoding="utf-8")
    return "kept"


def count(text, context: ToolContext):
    """Count in a file how often it was run."""
    with Path(text).open("a", encoding="utf-8") as file:
        file.write("x")
    return len(Path(text).read_text(encoding="utf-8"))


def whose(context: ToolContext, text=""):
    """Tell on whose behalf it is run."""
    return f"{context.principal.id} {','.join(sorted(context.principal.scopes))}"


def be_late(text=""):
    """Meet a deadline of its own."""
    raise DeadlineExceededError("too late")


def picture(text=""):
    """Give back a picture, or a text with it."""
    if text == "wrong":
        return ToolResult(content=(5,))
    made = Image(data=bytes(9_000_000) if text == "huge" else b"\x89PNG", media_type="image/png")
    return [text, made] if text else made
