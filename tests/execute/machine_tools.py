"""Tools that do what a plan says: changes, nested calls, and an ending; every kind of handler has every effect.

A plan is plain JSON: `ns` (whose notes, items and files are changed), `ops`, `ending` and `id`.
"""

import asyncio
import itertools
import threading
import time
from dataclasses import dataclass
from typing import Any

from toolhaft import Session, ToolCall, ToolContext, ToolResult, reducer, tool
from toolhaft.errors import CallEndedError, FilesystemError, ReadOnlyError
from toolhaft.resources import Filesystem, MemoryFilesystem
from toolhaft.session import SliceView, upsert_by

EFFECTS = ("read", "idempotent", "reversible", "irreversible")
KINDS = ("inline", "thread", "async", "process")
HANG_S = 0.05


@dataclass(frozen=True)
class Note:
    ns: str
    text: str


@dataclass(frozen=True)
class Item:
    key: str
    count: int


@dataclass(frozen=True)
class Added:
    count: int


@dataclass(frozen=True)
class Total:
    count: int


@dataclass(frozen=True)
class Mark:
    ns: str
    text: str


@reducer(on=Added)
def add_up(totals: SliceView[Total], event: Added) -> Total:
    latest = totals.latest()
    return Total((latest.count if latest else 0) + event.count)


def new_session() -> Session:
    session = Session()
    session[Item].register(upsert_by("key"))
    session[Total].register(add_up)
    session[Mark].register(log=True)
    return session


class Stage:
    """What handlers in this process share with the test: the executor, and how hanging ones go on."""

    def __init__(self) -> None:
        self.executor = None
        self.tries: dict[int, int] = {}
        self.hanging: set[int] = set()
        self.released = threading.Event()
        self.late: list[str] = []

    def reset(self) -> None:
        self.tries.clear()
        self.hanging.clear()
        self.released.clear()
        self.late.clear()


stage = Stage()
ids = itertools.count()


def act(context, ns, op):
    """Do one thing, and say what came of it."""
    try:
        if len(op) > 2 and op[0] != "item":
            return use_files(context, ns, op)
        return change_session(context.session, ns, op)
    except (FilesystemError, ReadOnlyError) as error:
        return type(error).__name__


def change_session(session, ns, op):
    match op:
        case ["note", text]:
            session[Note].append(Note(ns, text))
        case ["item", key, count]:
            session[Item].append(Item(f"{ns}:{key}", count))
        case ["add", count]:
            session.dispatch(Added(count))
        case ["clear"]:
            kept = [note for note in session[Note].all() if note.ns != ns]
            removed = len(session[Note].all()) - len(kept)
            session[Note].clear(lambda note: note.ns == ns)
            return f"cleared {removed}"
        case ["mark", text]:
            session[Mark].append(Mark(ns, text))
        case ["notes"]:
            return [note.text for note in session[Note].where(lambda note: note.ns == ns)]
    return "done"


def use_files(context, ns, op):
    verb, where, name, *rest = op
    files = context.resources.get(Filesystem if where == "host" else MemoryFilesystem)
    path = f"{ns}/{name}" if name else ns
    match verb:
        case "write":
            content, mode = rest
            return files.write(path, content, mode=mode)
        case "delete":
            files.delete(path, recursive=rest[0])
        case "mkdir":
            files.mkdir(path)
        case "read":
            return files.read(path).content
    return "done"


def steps(plan, context):
    """Every op in turn; calls to be made are yielded, and answered with their results."""
    seen = []
    for op in plan["ops"]:
        if op[0] == "nest":
            results = yield op
            seen.append([told(result) for result in results])
        else:
            seen.append(act(context, plan["ns"], op))
    return seen


def told(result):
    return [result.failure.kind if result.failure else "ok", result.value if result.success else None]


def calls_of(op):
    return [ToolCall(id=f"nested-{next(ids)}", name=name, arguments={"plan": plan}) for name, plan in op[2]]


def make_calls(op):
    calls = calls_of(op)
    return stage.executor.execute_all(calls) if len(calls) > 1 else [stage.executor.execute(calls[0])]


async def make_calls_async(op):
    if op[1] == "sync":
        return make_calls(op)
    calls = calls_of(op)
    return (
        await stage.executor.aexecute_all(calls)
        if len(calls) > 1
        else [await stage.executor.aexecute(calls[0])]
    )


def conclude(plan, seen):
    match plan["ending"]:
        case "raise":
            raise ValueError("no luck")
        case "base":
            raise BaseExceptionGroup("no luck", [GeneratorExit()])
        case "error":
            return ToolResult.error("no luck")
        case "wrong":
            return {"not": "a list"}
        case "flaky":
            tries = stage.tries.setdefault(plan["id"], 0)
            stage.tries[plan["id"]] += 1
            if not tries:
                raise ValueError("not the first time")
    return seen


def drive(plan, context):
    going = steps(plan, context)
    try:
        op = next(going)
        while True:
            op = going.send(make_calls(op))
    except StopIteration as done:
        return conclude(plan, done.value)


def linger(plan, context):
    """Hang until released, then try to write after all."""
    stage.hanging.add(plan["id"])
    stage.released.wait(30)
    for write in (
        lambda: context.session[Note].append(Note("late", "late")),
        lambda: context.filesystem.write("late.txt", "late"),
        lambda: context.resources.get(MemoryFilesystem).write("late.txt", "late"),
    ):
        try:
            write()
        except (CallEndedError, ReadOnlyError):
            continue
        stage.late.append("written")


def run_inline(plan: dict[str, Any], context: ToolContext) -> list[Any]:
    """Do what the plan says, where the caller is."""
    seen = drive(plan, context)
    if plan["ending"] == "hang":
        time.sleep(HANG_S * 1.1)
    return seen


def run_thread(plan: dict[str, Any], context: ToolContext) -> list[Any]:
    """Do what the plan says, on a thread."""
    seen = drive(plan, context)
    if plan["ending"] == "hang":
        linger(plan, context)
    return seen


async def run_async(plan: dict[str, Any], context: ToolContext) -> list[Any]:
    """Do what the plan says, on a loop."""
    going = steps(plan, context)
    try:
        op = next(going)
        while True:
            await asyncio.sleep(0)
            op = going.send(await make_calls_async(op))
    except StopIteration as done:
        seen = done.value
    if plan["ending"] == "hang":
        stage.hanging.add(plan["id"])
        await asyncio.sleep(30)
    return conclude(plan, seen)


def run_process(plan: dict[str, Any], context: ToolContext) -> list[Any]:
    """Do what the plan says, in a process."""
    seen = drive(plan, context)
    if plan["ending"] == "hang":
        time.sleep(30)
    return seen


HANDLERS = {"inline": run_inline, "thread": run_thread, "async": run_async, "process": run_process}


def make_tool(kind, effect, prefix="", **options):
    isolation = None if kind == "async" else kind
    return tool(
        HANDLERS[kind],
        name=f"{prefix}{kind}_{effect}",
        isolation=isolation,
        effect=effect,
        max_attempts=1000,
        **options,
    )


TOOLS = [make_tool(kind, effect, timeout_s=30) for kind in KINDS for effect in EFFECTS]
TOOLS += [make_tool(kind, effect, "hang_", timeout_s=HANG_S) for kind in KINDS for effect in EFFECTS]
