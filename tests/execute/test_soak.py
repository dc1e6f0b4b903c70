"""A long run of calls with faults leaves nothing behind."""

import asyncio
import gc
import logging
import os
import random
import threading
import tracemalloc
import weakref
from dataclasses import dataclass

import pytest

from tests.execute.soak_tools import BLOCKING, SPOILT, TOOLS, stage
from tests.execute.world import WAYS, Item, World, call, count_handles, run, tree_of, wait_until
from toolhaft import ToolContext, ToolExecutor, tool
from toolhaft.backends.process_tree import children

IS_LONG = bool(os.environ.get("TOOLHAFT_LONG"))
CALLS = 100_000 if IS_LONG else 400
TURN = 8
BLOCKED_EVERY = 2_500 if IS_LONG else 150  # it costs more than a second, unless shortened below
MOST_GROWN_BYTES = 600_000  # the log of calls alone breathes by half of that


@dataclass(frozen=True)
class Footprint:
    """What this process holds."""

    threads: int
    processes: int
    handles: int

    @classmethod
    def now(cls):
        return cls(threading.active_count(), len(children(os.getpid())), count_handles())

    def is_within(self, other):
        return (
            self.threads <= other.threads
            and self.processes <= other.processes
            and self.handles <= other.handles
        )


class Soak:
    """Makes calls of all kinds, and holds each result against what its tool promises."""

    def __init__(self, world):
        self.world = world
        self.random = random.Random(2)  # noqa: S311 -- a mix that can be repeated
        self.names = [made.name for made in TOOLS]
        self.weights = list(TOOLS.values())
        self.count = 0

    def next_call(self):
        self.count += 1
        if self.count % BLOCKED_EVERY == 0:
            return call(BLOCKING.name, n=self.count)
        if self.count % 100 == 0:
            return call("nobody", n=self.count)
        if self.count % 150 == 0:
            return call("good_thread", n="no number")
        return call(*self.random.choices(self.names, self.weights), n=self.count)

    def run(self, count):
        for turn in range(count // TURN):
            self.world.executor.new_run()
            self.world.events.clear()
            calls = [self.next_call() for _ in range(TURN)]
            for one, result in zip(calls, run(self.world.executor, WAYS[turn % 4], calls), strict=True):
                self.check(one, result)
        assert self.world.has_settled()

    @staticmethod
    def check(one, result):
        n = one.arguments["n"]
        if one.name.startswith("good") and isinstance(n, int):
            assert result.value in (n, str(n)), (one, result)
        else:
            assert not result.success, (one, result)


KEEPING = []


def keep_trace(context, fails):
    """Leave nothing but a weak reference to the call's own session."""
    KEEPING.append(weakref.ref(context.session))
    if fails:
        raise ValueError("no luck")
    return 1


def traced(fails: bool, context: ToolContext) -> int:
    """Run and be forgotten."""
    return keep_trace(context, fails)


async def traced_async(fails: bool, context: ToolContext) -> int:
    """Run, wait and be forgotten."""
    await asyncio.sleep(0.001)
    return keep_trace(context, fails)


@tool
async def outer(context: ToolContext) -> int:
    """Have another call made."""
    result = await stage.executor.aexecute(call("async", fails=False))
    return keep_trace(context, fails=not result.success)


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_kept_of_a_call_that_is_over(fails):
    """Its fork is a whole version of the session, so that whoever keeps one keeps a great deal."""
    tools = [
        tool(traced, name="inline", isolation="inline"),
        tool(traced, name="thread"),
        tool(traced_async, name="async"),
    ]
    KEEPING.clear()
    for way in WAYS:
        with ToolExecutor([*tools, outer]) as executor:
            stage.executor = executor
            run(executor, way, [*(call(made.name, fails=fails) for made in tools), call("outer")])
    assert len(KEEPING) == 5 * len(WAYS)
    gc.collect()
    assert [kept() for kept in KEEPING] == [None] * len(KEEPING)


def used_bytes():
    for _ in range(3):
        gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog):
    """A test keeps every record, and a record keeps the exception with all frames of its traceback."""
    caplog.set_level(logging.CRITICAL, logger="toolhaft")


@pytest.fixture
def world(tmp_path):
    with World(tmp_path, [*TOOLS, BLOCKING], max_threads=32, max_processes=2) as made:
        stage.executor = made.executor
        yield made
    stage.executor = None


def test_many_calls_with_faults_leak_no_thread_process_handle_or_memory(world, monkeypatch):
    monkeypatch.setattr("toolhaft.execute.waiting._BLOCKED_LOOP_S", 0.2)
    run(world.executor, "execute_all", [call("good_async", n=1)])  # the loop of sync callers stays for good
    before = Footprint.now()
    soak = Soak(world)
    tracemalloc.start()
    try:
        soak.run(CALLS // 2)
        halfway = used_bytes()
        soak.run(CALLS // 2)
        grown = used_bytes() - halfway
    finally:
        tracemalloc.stop()
    assert soak.count == CALLS // 2 // TURN * TURN * 2
    assert grown < MOST_GROWN_BYTES
    assert all(item.count != SPOILT for item in world.session[Item].all())
    assert str(SPOILT).encode() not in [*tree_of(world.host).values(), *tree_of(world.memory).values()]
    assert not (world.root / ".toolhaft").exists()
    world.executor.close()
    assert wait_until(lambda: Footprint.now().is_within(before)), (before, Footprint.now())
