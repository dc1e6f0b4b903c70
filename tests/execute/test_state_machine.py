"""Random mixes of calls against a plain model of session and files."""

import asyncio
import itertools
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.execute.machine_model import Model, State, by_owner
from tests.execute.machine_tools import (
    EFFECTS,
    TOOLS,
    Item,
    Mark,
    Note,
    Total,
    change_session,
    new_session,
    stage,
)
from tests.execute.world import NEVER_OPEN, tree_of, wait_until
from toolhaft import RetryPolicy, ToolCall, ToolExecutor, ToolInvoked
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem

IS_LONG = bool(os.environ.get("TOOLHAFT_LONG"))
plan_ids = itertools.count()
call_ids = itertools.count()

names = st.sampled_from(["", "x", "y", "x/z"])
places = st.sampled_from(["memory", "host"])
texts = st.sampled_from(["one", "two", "three"])
reads = st.one_of(
    st.just(["notes"]),
    st.builds(lambda where, name: ["read", where, name], places, names),
)
session_writes = st.one_of(
    st.builds(lambda text: ["note", text], texts),
    st.builds(lambda key, count: ["item", key, count], st.sampled_from("pq"), st.integers(0, 9)),
    st.builds(lambda count: ["add", count], st.integers(1, 9)),
    st.just(["clear"]),
)
file_writes = st.one_of(
    st.builds(
        lambda where, name, text, mode: ["write", where, name, text, mode],
        places,
        names,
        texts,
        st.sampled_from(["create", "overwrite", "append"]),
    ),
    st.builds(lambda where, name, deep: ["delete", where, name, deep], places, names, st.booleans()),
    st.builds(lambda where, name: ["mkdir", where, name], places, names),
)
marks = st.builds(lambda text: ["mark", text], texts)
plain_ops = st.one_of(session_writes, file_writes, reads, marks)
endings = st.sampled_from(["return"] * 8 + ["raise", "base", "error", "wrong", "flaky", "hang"])


@st.composite
def calls(draw, ns, depth=2):
    """A tool and its plan; a process makes no calls of its own, and sees the host's files only."""
    kind = draw(st.sampled_from(["inline", "thread", "async", "process"]))
    effect = draw(st.sampled_from(EFFECTS))
    ending = draw(endings)
    if kind == "process" and ending in ("base", "flaky"):
        ending = "raise"  # there a BaseException arrives as an Exception, and nobody counts the tries
    ops = draw(st.lists(plain_ops, max_size=4))
    if kind != "process" and depth and draw(st.booleans()):
        ops.insert(draw(st.integers(0, len(ops))), draw(nests(ns, depth - 1)))
    if kind == "process":
        ops = [[op[0], "host", *op[2:]] if "memory" in op else op for op in ops]
    if ending == "hang":
        ops = without_marks(ops)  # it may be stopped at any of them
    prefix = "hang_" if ending == "hang" else ""
    return [
        f"{prefix}{kind}_{effect}",
        {"ns": ns, "ops": ops, "ending": ending, "id": next(plan_ids)},
    ]


@st.composite
def nests(draw, ns, depth):
    how = draw(st.sampled_from(["sync", "async"]))
    if draw(st.booleans()):
        return ["nest", how, [draw(calls(ns, depth))]]
    return ["nest", how, [draw(calls(f"{ns}-{number}", depth)) for number in range(2)]]


def without_marks(ops):
    kept = []
    for op in ops:
        if op[0] == "nest":
            inner = [[name, {**plan, "ops": without_marks(plan["ops"])}] for name, plan in op[2]]
            kept.append(["nest", op[1], inner])
        elif op[0] != "mark":
            kept.append(op)
    return kept


def call_of(made):
    name, plan = made
    return ToolCall(id=f"top-{next(call_ids)}", name=name, arguments={"plan": plan})


class World:
    """The executor of all histories: its workers stay warm, its state is cleared before each."""

    def __init__(self, root):
        self.session = new_session()
        self.memory = MemoryFilesystem()
        self.host = HostFilesystem(root, durable=False)
        self.root = root
        self.events = []
        self.session.dispatcher.subscribe(ToolInvoked, self.events.append)
        self.executor = stage.executor = ToolExecutor(
            TOOLS,
            session=self.session,
            resources={Filesystem: self.host, MemoryFilesystem: self.memory},
            breaker=NEVER_OPEN,
            retry=RetryPolicy(max_attempts=2, backoff_s=0),
            max_processes=2,
        )

    def clear(self):
        for kind in (Note, Item, Mark):
            self.session[kind].seed([])
        self.session[Total].seed(Total(0))
        for files in (self.memory, self.host):
            for found in files.list():
                files.delete(found.path, recursive=True)
        self.events.clear()
        stage.reset()

    def state(self):
        """The same as `State.told`."""
        session = self.session
        return {
            "notes": by_owner((note.ns, note.text) for note in session[Note].all()),
            "items": {item.key: item.count for item in session[Item].all()},
            "total": session[Total].latest().count,
            "marks": by_owner((mark.ns, mark.text) for mark in session[Mark].all()),
            "memory": tree_of(self.memory),
            "host": tree_of(self.host),
        }

    def close(self):
        self.executor.close()
        self.host.close()


class Calls(RuleBasedStateMachine):
    """Each rule makes calls, and asks the model for the same."""

    world: World

    @initialize()
    def begin(self):
        self.world.clear()
        self.model = Model()
        self.made = []

    @rule(made=st.sampled_from("abc").flatmap(calls), way=st.sampled_from(["execute", "aexecute"]))
    def one_call(self, made, way):
        one = self.note_call(made)
        executor = self.world.executor
        result = executor.execute(one) if way == "execute" else asyncio.run(executor.aexecute(one))
        self.compare([made], [result])

    @rule(
        made=st.lists(st.sampled_from("abcd"), min_size=2, max_size=4, unique=True).flatmap(
            lambda owners: st.tuples(*map(calls, owners))
        ),
        way=st.sampled_from(["execute_all", "aexecute_all", "threads"]),
    )
    def several_calls(self, made, way):
        several = [self.note_call(one) for one in made]
        executor = self.world.executor
        if way == "execute_all":
            results = executor.execute_all(several)
        elif way == "aexecute_all":
            results = asyncio.run(executor.aexecute_all(several))
        else:
            with ThreadPoolExecutor(len(several)) as callers:
                results = list(callers.map(executor.execute, several))
        self.compare(made, results)

    @rule(made=st.sampled_from("abc").flatmap(calls), kind=st.sampled_from(["thread", "async"]))
    def cancelled_call(self, made, kind):
        ops = [op for op in without_marks(made[1]["ops"]) if op[0] != "nest"]
        plan = {**made[1], "ending": "hang", "ops": ops, "id": next(plan_ids)}
        one = self.note_call([f"{kind}_reversible", plan])

        async def main():
            task = asyncio.ensure_future(self.world.executor.aexecute(one))
            while plan["id"] not in stage.hanging and not task.done():  # noqa: ASYNC110 -- a thread tells
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())

    @rule(name=st.sampled_from(["nobody", "thread_reversible"]))
    def refused_call(self, name):
        result = self.world.executor.execute(ToolCall(id="refused", name=name, arguments="{"))
        assert result.failure.kind == ("unknown_tool" if name == "nobody" else "invalid_arguments")

    @rule(op=session_writes, owner=st.sampled_from("abcd"))
    def host_writes_itself(self, op, owner):
        change_session(self.world.session, owner, op)
        self.model.run("host_reversible", {"ns": owner, "ops": [op], "ending": "return", "id": -1})

    @invariant()
    def nothing_differs(self):
        assert self.world.state() == self.model.state.told()

    def teardown(self):
        stage.released.set()
        assert wait_until(lambda: self.world.executor.stats.stuck_threads == 0)
        assert stage.late == []
        self.nothing_differs()
        assert not (self.world.root / ".toolhaft").exists()  # no journal without its call
        told = Counter(event.call_id for event in self.world.events if event.call_id.startswith("top-"))
        assert told == Counter(self.made)  # one ToolInvoked for every call

    def note_call(self, made):
        one = call_of(made)
        self.made.append(one.id)
        return one

    def compare(self, made, results):
        assert len(results) == len(made)
        for (name, plan), result in zip(made, results, strict=True):
            kind, seen = self.model.run(name, plan)
            assert (result.failure.kind if result.failure else "ok") == kind, result
            assert (result.value if result.success else None) == seen


def test_random_mixes_of_calls_do_to_session_and_files_what_a_plain_model_says(tmp_path):
    world = World(tmp_path)
    Calls.world = world
    examples, steps = (400, 50) if IS_LONG else (20, 20)
    try:
        run_state_machine_as_test(
            Calls,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        world.close()


def test_the_model_itself_rolls_back_what_fails_but_for_its_log():
    model = Model()
    ops = [["note", "n"], ["mark", "m"], ["write", "host", "x", "t", "create"]]
    assert (
        model.run("inline_irreversible", {"ns": "a", "ops": ops, "ending": "raise", "id": 0})[0] == "failed"
    )
    assert model.state == State(marks=[("a", "m")], memory=model.state.memory, host=model.state.host)
    assert model.state.host.tree == {}
    assert model.run("inline_read", {"ns": "a", "ops": ops, "ending": "return", "id": 1}) == (
        "ok",
        ["ReadOnlyError", "done", "ReadOnlyError"],
    )
    model.run("inline_idempotent", {"ns": "a", "ops": ops, "ending": "flaky", "id": 2})
    assert model.state.host.tree == {"a": None, "a/x": b"t"}
    assert model.state.marks == [("a", "m")] * 4  # a log has every try
