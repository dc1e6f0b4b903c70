"""Tools that run in processes of their own; at the top level, where a worker finds them by name."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tests.execute.world import Item, Note
from toolhaft import (
    BaseTool,
    Filesystem,
    Tool,
    ToolContext,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    tool,
)

PROCESS = {"isolation": "process"}
REVERSIBLE = {"isolation": "process", "effect": "reversible"}


@tool(**PROCESS)
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool(**PROCESS)
async def add_async(a: int, b: int) -> int:
    """Add two numbers on a loop of the process's own."""
    await asyncio.sleep(0)
    return a + b


@tool(**PROCESS)
def whoami() -> int:
    """Say which process this is."""
    return os.getpid()


@dataclass
class Params:
    name: str
    tags: list[str]


class Greeting(BaseModel):
    text: str
    length: int


def greet(params: Params, *, context: ToolContext) -> ToolResult[Greeting]:
    """Greet somebody."""
    if not isinstance(params, Params):
        raise TypeError(params)
    text = f"hello {params.name}"
    return ToolResult.ok(Greeting(text=text, length=len(params.tags)), message=str(context.call.name))


typed = Tool.wrap(greet, name="greet", **PROCESS)


class Shout(BaseTool):
    isolation = "process"
    spec = ToolSpec(
        name="shout",
        description="Say it louder.",
        when_to_use="In tests.",
        inputs=[ToolParam(name="text", type="string", description="What to say.")],
        returns=ToolReturn(type="string", description="The same, louder."),
    )

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __call__(self, *, text, user, heard=None, **_):
        said = f"{user}: {text.upper()}{self.mark} (after {heard})"
        return ToolResponse(observation=said, final_answer=text == "end", extras={"heard": text})


@tool(**REVERSIBLE)
def change(text: str, ending: str, context: ToolContext) -> list[str]:
    """Change session and files, say what is to be seen, then end one way or another."""
    context.session[Note].append(Note(text))
    context.session[Item].append(Item("shared", len(text)))
    context.session.dispatch(Note(f"{text} dispatched"))
    files = context.filesystem
    files.write("kept.txt", text)
    files.write("made/new.txt", text, mode="create")
    files.delete("doomed.txt")
    seen = [note.text for note in context.session[Note].where(lambda note: note.text != "old")]
    seen += [files.read("kept.txt").content, *(found.path for found in files.list("made"))]
    return end(ending, seen)


change_quick = tool(change.function, name="change_quick", timeout_s=0.4, **REVERSIBLE)


def end(ending, seen):
    match ending:
        case "raise":
            raise ValueError("no luck")
        case "error":
            return ToolResult.error("no luck")
        case "wrong":
            return {"not": "a list"}
        case "hang":
            time.sleep(60)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(7)
    return seen


@dataclass(frozen=True)
class Unused:
    """A type that no session has."""


@tool(isolation="process", effect="read")
def change_read_only(context: ToolContext, how: str = "append") -> str:
    """Try to write where only reading is allowed."""
    if how == "append":
        context.session[Note].append(Note("new"))
    else:
        context.session[Unused].clear()
    return "written"


@tool(isolation="process", effect="reversible", timeout_s=0.5)
def run_away(marker: str, context: ToolContext) -> int:
    """Start a child in a session of its own, with a child of its own; ignore what can be ignored; never end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context.filesystem.write("kept.txt", "new")
    command = [sys.executable, "-I", "-S", "-c"]
    tell = "import os, sys, time; print(os.getpid(), file=open(sys.argv[1], 'a')); time.sleep(60)"
    child = f"import subprocess, sys; subprocess.Popen([*{command!r}, {tell!r}, sys.argv[1]]); {tell}"
    subprocess.Popen([*command, child, marker], start_new_session=True)
    while True:
        time.sleep(1)


@tool(isolation="process", timeout_s=60)
def eat_memory() -> int:
    """Take memory until there is none."""
    taken = []
    while True:
        taken.append(bytearray(10_000_000))


@tool(**PROCESS)
def look_around() -> dict[str, Any]:
    """What a process finds: its environment, its handles, its standard input."""
    handles = [found for found in Path("/proc/self/fd").iterdir() if int(found.name) > 2 and found.is_file()]
    files = [str(found.readlink()) for found in handles]
    own = [path for path in files if not path.startswith("/proc/")]
    return {"environment": dict(os.environ), "files": own, "stdin": sys.stdin.read()}


@tool(**PROCESS)
def count_up(to: int):
    """Yield numbers."""
    yield from range(to)


@tool(**PROCESS)
async def spell(text: str):
    """Yield letters, and say how far it has come."""
    for letter in text:
        await asyncio.sleep(0)
        yield letter


@tool(**PROCESS)
def report(context: ToolContext) -> str:
    """Tell of progress."""
    context.progress(1, 2, "half")
    context.progress(2, 2, "done")
    return "done"


class Settings:
    """A resource that is data."""

    def __init__(self, colour: str) -> None:
        self.colour = colour


class Connection:
    """A resource that is no data."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@tool(**PROCESS)
def use_settings(context: ToolContext) -> str:
    """Read a resource that is data."""
    return context.resources[Settings].colour


@tool(**PROCESS)
def list_resources(context: ToolContext) -> list[bool]:
    """Say which resources there are: one that is data, one that is none, one that was not given."""
    return [kind in context.resources for kind in (Settings, Connection, Filesystem)]


@tool(**PROCESS)
def use_connection(context: ToolContext) -> str:
    """Ask for a resource that is no data."""
    return str(context.resources.get(Connection))


@tool(**PROCESS)
def use_files(context: ToolContext) -> str:
    """Ask for files."""
    return str(context.filesystem)


@tool(**PROCESS)
def describe(context: ToolContext) -> dict[str, Any]:
    """What is in the context."""
    return {
        "prompt": context.prompt,
        "adapter": context.adapter,
        "principal": context.principal.id,
        "call": context.call.id,
        "has_time": context.deadline is None and 0 < context.time_limit.remaining() <= 10,
        "calls": context.budget_tracker.calls,
    }


@tool(**PROCESS)
def give_lock() -> Any:
    """Give back what cannot travel."""
    return threading.Lock()


class Trap:
    """Unpickling it would leave a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


class TrapError(Exception):
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(str(self.args[0])),)


@tool(**PROCESS)
def spring(path: str, way: str, context: ToolContext) -> Any:
    """Send what would run code in the host, were it unpickled."""
    match way:
        case "raise":
            raise TrapError(path)
        case "session":
            context.session.dispatch(Trap(path))
        case "slice":
            context.session[Note].append(Trap(path))
        case "progress":
            context.progress(Trap(path), 1, "x")
        case "result":
            return ToolResult.ok(Trap(path))
    return [Trap(path)]


@tool(**PROCESS)
def spring_stream(path: str) -> Any:
    """The same, in a stream."""
    yield Trap(path)


TOOLS = (
    add,
    add_async,
    change,
    change_quick,
    change_read_only,
    count_up,
    describe,
    eat_memory,
    give_lock,
    look_around,
    report,
    run_away,
    spell,
    spring,
    spring_stream,
    typed,
    use_connection,
    use_files,
    use_settings,
    whoami,
)


@tool(isolation="process", stall_s=1, timeout_s=None, effect="read")
def beat_on(context: ToolContext) -> str:
    """Beat for longer than stall_s."""
    until = time.monotonic() + 1.25
    while time.monotonic() < until:
        context.beat()
        time.sleep(0.01)
    return "done"


@tool(isolation="process", stall_s=1, timeout_s=None, effect="read")
def fall_silent(context: ToolContext) -> None:
    """Beat once, then never again."""
    context.beat()
    time.sleep(30)


@tool(isolation="process", stall_s=1, timeout_s=None, effect="read")
def yield_on():
    """Yield chunks for longer than stall_s."""
    until = time.monotonic() + 1.25
    while time.monotonic() < until:
        yield "."
        time.sleep(0.01)
