"""Tools for a long run: good ones and faulty ones of every kind, each with changes that must not be seen if it fails."""

import asyncio
import os
import time

from tests.execute.world import Item, call
from toolhaft import ToolContext, ToolResult, tool
from toolhaft.resources import Filesystem, MemoryFilesystem

FILES = 8
SPOILT = -1
EVERYWHERE = (Filesystem, MemoryFilesystem)


class Stage:
    """The executor, for handlers that make calls themselves."""

    executor = None


stage = Stage()


def change(context, n, kinds=EVERYWHERE):
    """Change a few of the same things over and over: state does not grow."""
    context.session[Item].append(Item(f"key {n % FILES}", n))
    for files in map(context.resources.get, kinds):
        files.write(f"file {n % FILES}.txt", str(n))


def good(n: int, context: ToolContext) -> int:
    """Change and succeed."""
    change(context, n)
    return n


async def good_async(n: int, context: ToolContext) -> int:
    """Change, wait and succeed."""
    change(context, n)
    await asyncio.sleep(0)
    return n


def good_apart(n: int, context: ToolContext) -> int:
    """Change from a process and succeed."""
    change(context, n, [Filesystem])
    return n


def plain(n: int) -> int:
    """Give the number back."""
    return n


async def plain_async(n: int) -> int:
    """Wait and give the number back."""
    await asyncio.sleep(0)
    return n


@tool(effect="read")
def good_stream(n: int):
    """Give the number in pieces."""
    yield from str(n)


def bad(n: int, context: ToolContext) -> int:
    """Change and fail, in one way or another."""
    change(context, SPOILT)
    return fail(n)


async def bad_async(n: int, context: ToolContext) -> int:
    """Change, wait and fail."""
    change(context, SPOILT)
    await asyncio.sleep(0)
    return fail(n)


def bad_apart(n: int, context: ToolContext) -> int:
    """Change from a process and fail."""
    change(context, SPOILT, [Filesystem])
    return fail(n)


def fail(n):
    match n % 5:
        case 0:
            raise ValueError("no luck")
        case 1:
            return "no number"
        case 2:
            return ToolResult.error("no luck")
        case 3:
            raise BaseExceptionGroup("no luck", [GeneratorExit()])
    return recurse(0)


def recurse(depth):
    return recurse(depth + 1)


def bad_late(n: int, context: ToolContext) -> int:
    """Change and come back too late."""
    change(context, SPOILT)
    time.sleep(0.04)
    return n


async def bad_late_async(n: int, context: ToolContext) -> int:
    """Change and wait for too long."""
    change(context, SPOILT)
    await asyncio.sleep(0.3)  # not for ever: asyncio keeps cancelled timers until their time
    return n


def bad_late_apart(n: int, context: ToolContext) -> int:
    """Change from a process and hang."""
    change(context, SPOILT, [Filesystem])
    time.sleep(60)
    return n


def bad_death(n: int, context: ToolContext) -> int:
    """Change from a process and die."""
    change(context, SPOILT, [Filesystem])
    os._exit(n % 100)


async def bad_deaf(n: int, context: ToolContext) -> int:
    """Change and go on through every cancellation."""
    change(context, SPOILT)
    while True:
        try:
            await asyncio.sleep(0.3)
        except asyncio.CancelledError:
            continue


async def bad_block(n: int, context: ToolContext) -> int:
    """Change and block the loop for longer than a sync caller waits."""
    change(context, SPOILT)
    time.sleep(0.6)  # noqa: ASYNC251 -- the fault under test
    return n


def good_nested(n: int, context: ToolContext) -> int:
    """Have a call fail and another succeed."""
    failed, done = (stage.executor.execute(call(name, n=n)) for name in ("bad_inline", "good_thread"))
    return n if done.success and not failed.success else SPOILT


async def good_nested_async(n: int, context: ToolContext) -> int:
    """Have a call fail and another succeed, side by side."""
    calls = [call("bad_async", n=n), call("good_async", n=n)]
    failed, done = await stage.executor.aexecute_all(calls)
    return n if done.success and not failed.success else SPOILT


def made(function, **options):
    name = options.pop("name", function.__name__)
    return tool(function, name=name, effect="reversible", max_attempts=10**9, **options)


TOOLS = {
    made(plain, name="good_plain_inline", isolation="inline"): 100,
    made(plain, name="good_plain_thread"): 100,
    made(plain_async, name="good_plain_async"): 100,
    good_stream: 50,
    made(good, name="good_inline", isolation="inline"): 30,
    made(good, name="good_thread"): 30,
    made(good_async): 30,
    made(good_apart, isolation="process"): 15,
    made(good_nested): 6,
    made(good_nested_async): 6,
    made(bad, name="bad_inline", isolation="inline"): 20,
    made(bad, name="bad_thread"): 20,
    made(bad_async): 20,
    made(bad_apart, isolation="process"): 8,
    made(bad_late, timeout_s=0.02): 3,
    made(bad_late, name="bad_late_inline", timeout_s=0.02, isolation="inline"): 1,
    made(bad_late_async, timeout_s=0.02): 3,
    made(bad_late_apart, timeout_s=0.05, isolation="process"): 1,
    made(bad_death, isolation="process"): 1,
    made(bad_deaf, timeout_s=0.02): 1,
}
"""Each with how often it is called, among all."""
BLOCKING = made(bad_block, timeout_s=0.05)
