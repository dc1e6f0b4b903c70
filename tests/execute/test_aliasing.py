"""Handlers that change what they were given, or leave threads behind, change nothing for anybody else."""

import asyncio
import copy
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.cases import each_case
from tests.execute.world import WAYS, Item, Note, World, call, scribble
from toolhaft import (
    BaseTool,
    RetryPolicy,
    Tool,
    ToolCall,
    ToolContext,
    ToolExecutor,
    ToolInvoked,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    tool,
)
from toolhaft.errors import CallEndedError, ToolhaftError
from toolhaft.session import Session

GIVEN = {"items": [1, {"a": [2]}], "options": {"deep": {"er": [3]}}, "anything": {"b": {"c": 4}}}


def spoil(items, options, anything):
    """Change every object that can be reached; says what was there before."""
    seen = copy.deepcopy({"items": items, "options": options, "anything": anything})
    items[1]["a"].append("spoilt")
    items.clear()
    options["deep"]["er"] = "spoilt"
    options.clear()
    anything["b"]["c"] = "spoilt"
    return seen


def spoil_all(items: list[Any], options: dict[str, Any], anything: Any) -> dict[str, Any]:
    """Change the arguments."""
    return spoil(items, options, anything)


async def spoil_async(items: list[Any], options: dict[str, Any], anything: Any) -> dict[str, Any]:
    """Change the arguments."""
    return spoil(items, options, anything)


@dataclass
class Params:
    items: list[Any]
    options: dict[str, Any]
    anything: Any
    more: list[int] = field(default_factory=list)


def spoil_typed(params: Params, *, context: ToolContext) -> ToolResult[dict[str, Any]]:
    """Change the parameters."""
    params.more.append(1)
    return ToolResult.ok({**spoil(params.items, params.options, params.anything), "more": params.more})


class Spoiler(BaseTool):
    spec = ToolSpec(
        name="spoil_class",
        description="Change the arguments.",
        when_to_use="In tests.",
        inputs=[
            ToolParam(name="items", type="array", description="A list."),
            ToolParam(name="options", type="object", description="A mapping."),
            ToolParam(name="anything", type="object", description="Another."),
        ],
        returns=ToolReturn(type="object", description="What was there."),
    )

    def __call__(self, *, items, options, anything, **_):
        return ToolResponse(observation=spoil(items, options, anything))


TOOLS = [
    tool(spoil_all, name="spoil_inline", isolation="inline", effect="read"),
    tool(spoil_all, name="spoil_thread", effect="read"),
    tool(spoil_all, name="spoil_process", effect="read", isolation="process"),
    tool(spoil_async, name="spoil_async", effect="read"),
    Tool.wrap(spoil_typed, name="spoil_typed", effect="read"),
    Tool(
        name="spoil_raw",
        description="Change the arguments.",
        input_schema={"type": "object", "additionalProperties": True},
        handler=lambda given: spoil(**given),
        effect="read",
    ),
    Spoiler(),
]
NAMES = [made.name if isinstance(made, Tool) else made.spec.name for made in TOOLS]


@pytest.fixture(scope="module")
def executor():
    with ToolExecutor(TOOLS, max_processes=1) as made:
        yield made


@pytest.mark.external
@each_case("name", NAMES)
def test_a_handler_cannot_change_the_arguments_of_its_caller_or_of_a_repeat(executor, name):
    given = copy.deepcopy(GIVEN)
    for _ in range(2):
        result = executor.execute(ToolCall(name=name, arguments=given))
        assert {key: result.value[key] for key in GIVEN} == GIVEN
        assert given == GIVEN
    results = executor.execute_all([ToolCall(name=name, arguments=given)] * 4)
    assert all({key: result.value[key] for key in GIVEN} == GIVEN for result in results)
    assert given == GIVEN


def test_defaults_are_not_shared_between_calls(executor):
    for _ in range(2):
        assert executor.execute(ToolCall(name="spoil_typed", arguments=GIVEN)).value["more"] == [1]


@each_case("isolation", ["inline", "thread"])
def test_a_retry_gets_the_original_arguments_and_so_does_the_event(isolation):
    seen = []

    @tool(isolation=isolation, effect="read")
    def fails_twice(items: list[Any], options: dict[str, Any], anything: Any) -> int:
        """Change the arguments and fail, but for the third time."""
        seen.append(spoil(items, options, anything))
        if len(seen) < 3:
            raise ValueError("again")
        return len(seen)

    session = Session()
    executor = ToolExecutor([fails_twice], session=session, retry=RetryPolicy(backoff_s=0))
    given = copy.deepcopy(GIVEN)
    assert executor.execute(ToolCall(name="fails_twice", arguments=given)).value == 3
    assert seen == [GIVEN] * 3
    assert given == GIVEN
    (event,) = session[ToolInvoked].all()
    assert "spoilt" not in event.arguments
    assert len(event.repeats) == 2


def test_session_items_that_a_handler_keeps_cannot_be_changed_later(tmp_path):

    @dataclass
    class Basket:
        items: list[int]

    kept = []

    @tool(effect="reversible", isolation="inline")
    def fill(context: ToolContext) -> int:
        """Append a basket, and change the one that is there."""
        basket = Basket([1])
        context.session[Basket].append(basket)
        kept.extend([basket, *context.session[Basket].all()])
        return 1

    @tool(effect="reversible", isolation="inline")
    def spill(context: ToolContext) -> int:
        """Change the basket that is there, and fail."""
        for basket in context.session[Basket].all():
            basket.items.append(99)
        raise ValueError("spilt")

    executor = ToolExecutor([fill, spill])
    executor.execute(call("fill"))
    for basket in kept:
        basket.items.append(99)
    executor.execute(call("spill"))
    assert executor.session[Basket].all() == (Basket([1]),)


class Late:
    """A thread that a handler starts, and which writes once its call is over."""

    def __init__(self):
        self.may_write = threading.Event()
        self.outcomes = []
        self.threads = []

    def start(self, context):
        views = [context.session, context.session[Note], context.filesystem]
        thread = threading.Thread(target=self._write, args=(context, *views))
        self.threads.append(thread)
        thread.start()

    def _write(self, context, session, notes, files):
        self.may_write.wait(30)
        for write in (
            lambda: notes.append(Note("late")),
            lambda: session.dispatch(Note("late")),
            lambda: session[Item].append(Item("shared", 99)),
            notes.clear,
            lambda: files.write("late.txt", "late"),
            lambda: files.delete("kept.txt"),
            lambda: scribble(context, "late"),
            context.beat,
        ):
            try:
                write()
            except ToolhaftError as error:
                self.outcomes.append(type(error))
            else:
                self.outcomes.append("written")

    def finish(self):
        self.may_write.set()
        for thread in self.threads:
            thread.join(30)


def leaver(late, isolation):
    """A tool that starts a thread which goes on."""

    def leave(context: ToolContext, fails: bool) -> int:
        scribble(context, "new")
        late.start(context)
        if fails:
            raise ValueError("no luck")
        return 1

    async def leave_async(context: ToolContext, fails: bool) -> int:
        return leave(context, fails)

    words = {"name": "leave", "description": "Start a thread.", "effect": "reversible"}
    return tool(leave_async, **words) if isolation == "async" else tool(leave, isolation=isolation, **words)


@each_case("way", WAYS)
@each_case("fails", [False, True])
@each_case("isolation", ["inline", "thread", "async"])
def test_a_thread_that_outlives_its_call_changes_nothing(tmp_path, isolation, fails, way):
    late = Late()
    with World(tmp_path, [leaver(late, isolation)]) as world:
        before = world.state()
        (result,) = world.run(way, call("leave", fails=fails))
        assert result.success is not fails
        state = world.state()
        assert (state == before) is fails
        late.finish()
        assert world.state() == state
    assert late.outcomes == [CallEndedError] * 8


def test_a_task_that_outlives_its_call_changes_nothing(tmp_path):
    outcomes = []

    @tool(effect="reversible")
    async def leave_task(context: ToolContext) -> int:
        """Start a task that goes on."""

        async def go_on():
            await over.wait()
            try:
                context.session[Note].append(Note("late"))
            except CallEndedError as error:
                outcomes.append(error)

        tasks.append(asyncio.ensure_future(go_on()))
        return 1

    async def main(world):
        assert (await world.executor.aexecute(call("leave_task"))).success
        over.set()
        await asyncio.wait(tasks)

    tasks, over = [], asyncio.Event()
    with World(tmp_path, [leave_task]) as world:
        state = world.state()
        asyncio.run(main(world))
        assert world.state() == state
    assert len(outcomes) == 1
