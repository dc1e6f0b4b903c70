"""Tools that misbehave in every way that a handler can, at the top level so that processes find them too."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable

from tests.execute.world import scribble
from toolhaft import ToolContext, ToolResult, tool
from toolhaft.errors import ToolError, ToolExecutionError
from toolhaft.resources import Filesystem


class OwnError(Exception):
    """An exception of the user's own that needs two arguments to be made."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")


class Drastic(BaseException):
    """No Exception, and neither an exit nor an interrupt."""


class SpeechlessError(Exception):
    def __str__(self):
        raise ValueError("no words")


class HostileError(Exception):
    def __str__(self):
        raise Drastic("not even words")

    __repr__ = __str__


class StuckError(Exception):
    """Cannot be pickled."""

    def __init__(self):
        super().__init__("stuck")
        self.lock = threading.Lock()


class ClasslessError(Exception):
    @property
    def __class__(self):
        raise ValueError("no class")

    def __str__(self):
        raise Drastic("no text")


class Classless:
    """Like a proxy that refers to nothing."""

    @property
    def __class__(self):
        raise ValueError("no class")


class DisguisedError(Exception):
    __class__ = KeyboardInterrupt


class ExitingError(ToolError):
    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__

    @property
    def untrusted(self):
        sys.exit(4)


def recurse(depth=0):
    return recurse(depth + 1)


def throw(error):
    raise error() if isinstance(error, type) else error


def cycle():
    value = []
    value.append(value)
    return value


def deep():
    value = []
    for _ in range(3_000):
        value = [value]
    return value


RAISING: dict[str, Callable[[], object]] = {
    "exception": lambda: throw(ValueError("no luck")),
    "own error": lambda: throw(OwnError(7, "no luck")),
    "tool error": lambda: throw(ToolExecutionError("no luck")),
    "base exception": lambda: throw(Drastic("no luck")),
    "exception group": lambda: throw(BaseExceptionGroup("several", [Drastic(), ValueError()])),
    "no text": lambda: throw(SpeechlessError),
    "hostile text": lambda: throw(HostileError),
    "cannot travel": lambda: throw(StuckError),
    "generator exit": lambda: throw(GeneratorExit),
    "stop iteration": lambda: throw(StopIteration(3)),
    "stop async iteration": lambda: throw(StopAsyncIteration),
    "cancelled": lambda: throw(asyncio.CancelledError),
    "no memory": lambda: throw(MemoryError),
    "recursion": recurse,
    "no class": lambda: throw(ClasslessError),
    "false class": lambda: throw(DisguisedError),
    "exit in text": lambda: throw(ExitingError),
}
RETURNING: dict[str, Callable[[], object]] = {
    "error result": lambda: ToolResult.error("no luck"),
    "wrong type": lambda: "text",
    "nothing": lambda: None,
    "no data": object,
    "lone surrogate": lambda: "\ud800",
    "aliasing bomb": lambda: [[0] * 30_000] * 30_000,
    "cycle": cycle,
    "deep": deep,
    "value without a class": Classless,
    "message without a text": lambda: ToolResult(message=ClasslessError()),
}
EXITS: dict[str, Callable[[], object]] = {
    "exit": lambda: sys.exit(3),
    "interrupt": lambda: throw(KeyboardInterrupt),
}
FAULTS = {**RAISING, **RETURNING, **EXITS}


def misbehave(fault: str, context: ToolContext) -> int:
    """Change everything, then fail."""
    scribble(context, "new")
    return FAULTS[fault]()


def misbehave_apart(fault: str, context: ToolContext) -> int:
    """Change what can be changed out of a process, then fail."""
    scribble(context, "new", [Filesystem])
    return FAULTS[fault]()


async def misbehave_async(fault: str, context: ToolContext) -> int:
    """Change everything, wait, then fail."""
    scribble(context, "new")
    await asyncio.sleep(0)
    return FAULTS[fault]()


@tool(effect="read")
def echo(n: int) -> int:
    """Give the number back."""
    return n


@tool(effect="read")
async def echo_async(n: int) -> int:
    """Wait a little, then give the number back."""
    await asyncio.sleep(0.001)
    return n


@tool(effect="read", isolation="process")
def echo_process(n: int) -> int:
    """Give the number back from another process."""
    return n


@tool(effect="read", isolation="inline")
def echo_inline(n: int) -> int:
    """Give the number back at once."""
    return n


@tool(effect="read", timeout_s=0.2)
def echo_limited(n: int) -> int:
    """Give the number back well within the limit."""
    return n


@tool(effect="read", timeout_s=0.2)
async def echo_limited_async(n: int) -> int:
    """Give the number back at once, well within the limit."""
    return n


ISOLATIONS = ("inline", "thread", "async", "process")
ECHOES = (echo, echo_async, echo_inline, echo_process)
LIMITED = (echo_limited, echo_limited_async)
FAULTY = (
    tool(misbehave, name="faulty_inline", isolation="inline", effect="reversible"),
    tool(misbehave, name="faulty_thread", isolation="thread", effect="reversible"),
    tool(misbehave_async, name="faulty_async", effect="reversible"),
    tool(misbehave_apart, name="faulty_process", isolation="process", effect="reversible"),
)


def hang(context: ToolContext) -> int:
    """Change what can be changed out of a process, then work for ever."""
    scribble(context, "new", [Filesystem])
    time.sleep(60)
    return 1


def linger(context: ToolContext) -> int:
    """Change everything, then come back too late."""
    scribble(context, "new")
    time.sleep(0.15)
    return 1


async def hang_async(context: ToolContext) -> int:
    """Change everything, then wait for ever."""
    scribble(context, "new")
    await asyncio.sleep(60)
    return 1


@tool(effect="read", timeout_s=0.1)
def linger_later() -> int:
    """Come back from the thread at once, with what then comes back too late."""

    async def later():
        time.sleep(0.15)  # noqa: ASYNC251 -- it is to block its loop
        return 1

    return later()


HANGING = (
    tool(linger, name="hanging_inline", isolation="inline", effect="reversible", timeout_s=0.1),
    tool(linger, name="hanging_thread", effect="reversible", timeout_s=0.1),
    tool(hang_async, name="hanging_async", effect="reversible", timeout_s=0.1),
    tool(hang, name="hanging_process", isolation="process", effect="reversible", timeout_s=0.3),
)


@tool(isolation="inline", effect="read")
def block_loop() -> int:
    """Block whoever calls, in good time."""
    time.sleep(0.4)
    return 1


@tool(isolation="process")
def huge_process(megabytes: int) -> str:
    """Give back a great deal of text from another process."""
    return "x" * (megabytes * 1_000_000)


@tool
def huge(megabytes: int) -> str:
    """Give back a great deal of text."""
    return "x" * (megabytes * 1_000_000)


@tool
def bomb() -> list[list[int]]:
    """Give back few objects that are ten billion numbers when written out."""
    return [[0] * 10**5] * 10**5
