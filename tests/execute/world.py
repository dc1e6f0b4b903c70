"""An executor with something to lose: a session, files in memory and files on the host, compared as one."""

import asyncio
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from toolhaft import Session, ToolCall, ToolExecutor, ToolInvoked
from toolhaft.execute.attempts import CircuitBreaker
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem
from toolhaft.session import upsert_by

NEVER_OPEN = CircuitBreaker(failures=10**9)


@dataclass(frozen=True)
class Note:
    text: str


@dataclass(frozen=True)
class Item:
    key: str
    count: int


EVERY_KIND = (Filesystem, MemoryFilesystem)


def scribble(context, text, kinds=EVERY_KIND):
    """Change everything that a call can change; out of a process the files at hand are one kind only."""
    context.session[Note].append(Note(text))
    context.session[Item].append(Item("shared", len(text)))
    for files in map(context.resources.get, kinds):
        files.write("kept.txt", text)
        files.write(f"made/{text}.txt", text, mode="append")
        files.delete("doomed.txt")
        files.mkdir("made/empty")


def tree_of(files):
    """Every path with its content, None for a directory."""
    return {
        found.path: None if found.kind == "directory" else files.read_bytes(found.path)
        for found in files.list(recursive=True)
    }


def call(name, /, **arguments):
    return ToolCall(id=f"{name}-{arguments}", name=name, arguments=arguments)


def wait_until(claim, within_s=30.0):
    """True as soon as the claim holds; what threads do in the background has no event to wait for."""
    end = time.monotonic() + within_s
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


WAYS = ("execute", "aexecute", "execute_all", "aexecute_all")


def run(executor, way, calls):
    """The results of some calls, made one of the four ways."""

    async def one_by_one():
        return [await executor.aexecute(one) for one in calls]

    match way:
        case "execute":
            return [executor.execute(one) for one in calls]
        case "aexecute":
            return asyncio.run(one_by_one())
        case "execute_all":
            return executor.execute_all(calls)
        case "aexecute_all":
            return asyncio.run(executor.aexecute_all(calls))


HANDLES = Path("/proc/self/fd")


def count_handles():
    """The file handles of this process; always 0 where the system does not tell."""
    return len(list(HANDLES.iterdir())) if HANDLES.is_dir() else 0


class World:
    """The executor and all that its calls may change."""

    def __init__(self, root, tools, **options):
        self.root = Path(root)
        (self.root / "kept.txt").write_text("old")
        (self.root / "doomed.txt").write_text("still here")
        self.host = HostFilesystem(self.root, durable=False)
        self.memory = MemoryFilesystem({"kept.txt": "old", "doomed.txt": "still here"})
        self.session = Session()
        self.session[Item].register(upsert_by("key"))
        self.session[Note].append(Note("old"))
        self.session[Item].append(Item("shared", 0))
        self.events = []
        self.session.dispatcher.subscribe(ToolInvoked, self.events.append)
        self.executor = self.another(tools, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.executor.close()
        self.host.close()

    def state(self):
        """All that a failed call must leave as it was, and what a journal would leave on the disk."""
        return {
            "session": self.session.snapshot(),
            "memory": tree_of(self.memory),
            "host": tree_of(self.host),
            "disk": sorted(found.name for found in self.root.iterdir()),
        }

    def another(self, tools, **options):
        """Another executor over the same session and files."""
        resources = {Filesystem: self.host, MemoryFilesystem: self.memory}
        return ToolExecutor(tools, session=self.session, resources=resources, breaker=NEVER_OPEN, **options)

    def run(self, way, *calls):
        """The results of some calls, made one of the four ways."""
        self.executor.new_run()
        self.events.clear()
        return run(self.executor, way, calls)

    def has_settled(self):
        """True once no thread works on a call that is over."""
        return wait_until(lambda: self.executor.stats.stuck_threads == 0)


class Latch:
    """Lets handlers that hang go on at the end of a test."""

    def __init__(self):
        self.opened = threading.Event()
        self.reached = threading.Event()

    def wait(self, within_s=30.0):
        self.reached.set()
        self.opened.wait(within_s)

    def reset(self):
        self.opened.clear()
        self.reached.clear()
