"""ToolExecutor: any mix of tools, one result a call, in order, for sync and async callers alike."""

import asyncio
import gc
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from tests.cases import each_case
from tests.execute.calls import (
    both_ways,
    by_aexecute_all,
    by_execute_all,
    call,
    each_way,
    in_threads,
    kind_of,
)
from tests.execute.defined_tools import DEFINED_TOOLS, Sum, aadd, add, fail, inline_add, typed_add
from toolhaft import (
    Session,
    Tool,
    ToolCall,
    ToolContext,
    ToolExecutor,
    ToolResult,
    execute_tool,
    load_tool,
    tool,
)
from toolhaft.errors import DefinitionError

PATIENCE_S = 30.0
colour = ContextVar("colour", default="none")


# --- one result a call ---


@each_way
@each_case("thing", DEFINED_TOOLS, ids=lambda thing: type(thing).__name__)
def test_a_tool_defined_in_any_way_gives_its_value(run, thing):
    """`tools` takes tools defined in any way."""
    executor = ToolExecutor([thing])
    (name,) = executor.tools
    result = run(executor, ToolCall(id="1", name=name, arguments='{"a": 2, "b": 3}'))
    assert (result.success, result.value, result.render()) == (True, 5, "5")


@each_way
def test_a_typed_tool_gives_its_message_and_value(run):
    result = run(ToolExecutor([typed_add]), call("typed_add", a=2))
    assert result == ToolResult.ok(Sum(3), message="added")
    assert result.render() == 'added\n\n{"total":3}'


@each_way
def test_arguments_may_be_text_or_an_object(run):
    executor = ToolExecutor([add])
    assert run(executor, ToolCall(name="add", arguments='{"a": 1}')).value == 2
    assert run(executor, ToolCall(name="add", arguments={"a": 1})).value == 2


@each_way
def test_a_repair_is_reported_in_the_result(run):
    result = run(ToolExecutor([add]), ToolCall(name="add", arguments='{"a": 1.0, "b": "2"}'))
    assert result.value == 3
    assert len(result.repairs) == 2


@both_ways
def test_a_tool_that_is_defined_but_has_no_handler_says_how_to_activate_it(run, tmp_path):
    """A call says that it is not active and which command activates it."""
    (tmp_path / "weather.yaml").write_text(
        'id: "weather"\nname: "Weather"\ndescription: "Tells the weather."\n'
    )
    result = run(ToolExecutor([load_tool(tmp_path / "weather.yaml")]), call("weather"))
    assert kind_of(result) == "failed"
    assert "weather is not active" in result.message
    assert "toolhaft tool set weather" in result.message
    assert result.failure.outcome == "nothing_happened"


@each_case("run", [by_execute_all, by_aexecute_all])
def test_every_call_of_a_turn_has_exactly_one_result_in_order(run):
    """Each call yields exactly one ToolResult, in order, whatever happens to its siblings."""
    executor = ToolExecutor([add, aadd, inline_add, fail])
    calls = [
        call("add", a=1),
        call("fail"),
        call("nothing_of_the_sort"),
        call("aadd", a=2),
        ToolCall(name="add", arguments="{"),
        call("inline_add", a=3),
        call("add", a="x"),
        call("aadd", a=4),
    ]
    if run is by_execute_all:
        results = executor.execute_all(calls)
    else:
        results = asyncio.run(executor.aexecute_all(calls))
    assert [(result.value, kind_of(result)) for result in results] == [
        (2, None),
        (None, "failed"),
        (None, "unknown_tool"),
        (3, None),
        (None, "invalid_arguments"),
        (4, None),
        (None, "invalid_arguments"),
        (5, None),
    ]


def test_results_keep_the_order_of_the_calls_when_the_last_ends_first():
    """Results come in the order of the calls."""
    last_is_done = threading.Event()

    @tool(effect="read")
    def hold(n: int) -> int:
        """The first waits for the last."""
        if n == 2:
            last_is_done.set()
            return n
        assert last_is_done.wait(PATIENCE_S)
        return n

    executor = ToolExecutor([hold])
    calls = [call("hold", n=n) for n in range(3)]
    assert [result.value for result in executor.execute_all(calls)] == [0, 1, 2]
    last_is_done.clear()
    assert [result.value for result in asyncio.run(executor.aexecute_all(calls))] == [0, 1, 2]


def test_no_calls_give_no_results():
    executor = ToolExecutor([add])
    assert executor.execute_all([]) == []
    assert asyncio.run(executor.aexecute_all([])) == []


def test_the_calls_of_a_turn_may_be_a_generator():
    executor = ToolExecutor([add])
    assert [result.value for result in executor.execute_all(call("add", a=n) for n in range(3))] == [1, 2, 3]


def test_many_calls_of_one_turn_all_have_results():
    executor = ToolExecutor([add.replace(effect="read"), aadd.replace(effect="read")])
    calls = [call("add" if n % 2 else "aadd", a=n, b=0) for n in range(300)]
    assert [result.value for result in executor.execute_all(calls)] == list(range(300))
    assert [result.value for result in asyncio.run(executor.aexecute_all(calls))] == list(range(300))


def test_one_executor_serves_many_threads():
    """Tools are immutable and thread-safe; so is what runs them."""
    executor = ToolExecutor([add, aadd, fail])

    def work(n):
        executor.execute(call("fail"))
        executor.new_run()
        return executor.execute(call("add" if n % 2 else "aadd", a=n, b=0)).value

    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(work, range(200)))
    assert [value for value in values if value is not None] == [
        n for n in range(200) if values[n] is not None
    ]
    executor.new_run()
    assert executor.execute(call("add", a=1)).value == 2


# --- sync callers inside a running loop, and the reverse ---


def test_execute_works_inside_a_running_loop():
    """Async handlers under `execute` run on one background loop thread."""

    async def main():
        executor = ToolExecutor([add, aadd])
        return [executor.execute(call("add", a=1)).value, executor.execute(call("aadd", a=1)).value] + [
            result.value for result in executor.execute_all([call("add", a=1), call("aadd", a=2)])
        ]

    assert asyncio.run(main()) == [2, 2, 2, 3]


def test_a_sync_call_of_a_sync_tool_needs_no_event_loop():
    """A sync call needs no event loop."""
    loops = []

    @tool
    def look() -> str:
        """Look for a loop."""
        try:
            loops.append(asyncio.get_running_loop())
        except RuntimeError:
            return "none"
        return "one"

    assert ToolExecutor([look]).execute(call("look")).value == "none"
    assert loops == []


def test_a_sync_handler_does_not_block_the_loop_of_an_async_caller():
    """Sync handlers run on a thread by default."""
    loop_moved = threading.Event()

    @tool
    def wait_for_the_loop() -> bool:
        """Wait until the caller's loop has done something else."""
        return loop_moved.wait(PATIENCE_S)

    async def main():
        task = asyncio.create_task(ToolExecutor([wait_for_the_loop]).aexecute(call("wait_for_the_loop")))
        await asyncio.sleep(0.01)
        loop_moved.set()
        return await task

    assert asyncio.run(main()).value is True


@both_ways
def test_an_async_handler_may_make_a_sync_call(run):
    """One code path for sync and async callers; a nested one waits for nobody's loop."""

    @tool
    async def outer(a: int) -> int:
        """Call another tool as a sync caller would."""
        return executor.execute(call("aadd", a=a)).value

    executor = ToolExecutor([outer, aadd.replace(timeout_s=1)])
    assert run(executor, call("outer", a=1)).value == 2


@both_ways
def test_a_sync_handler_may_make_an_async_call(run):
    @tool
    def outer(a: int) -> int:
        """Call another tool as an async caller would."""
        return asyncio.run(executor.aexecute(call("aadd", a=a))).value

    executor = ToolExecutor([outer, aadd])
    assert run(executor, call("outer", a=1)).value == 2


@each_way
@each_case("isolation", [None, "inline"])
def test_a_plain_function_that_gives_back_a_coroutine_is_awaited(run, isolation):
    """One code path; where a handler runs does not change what it may give back."""

    @tool(isolation=isolation)
    def later(a: int) -> int:
        """Give back a coroutine."""
        return aadd(a)

    assert run(ToolExecutor([later]), call("later", a=4)).value == 5


@both_ways
def test_objects_with_an_async_call_are_awaited(run):
    class Later:
        """Adds one."""

        async def __call__(self, a: int) -> int:
            await asyncio.sleep(0)
            return a + 1

    made = tool(Later(), name="later", description="Add one.")
    assert run(ToolExecutor([made]), call("later", a=4)).value == 5


@each_way
@each_case("name", ["plain", "aplain", "inline"])
def test_a_handler_sees_the_context_variables_of_its_caller(run, name):
    """Where a handler runs does not change what surrounds it."""
    colour.set("red")

    @tool
    def plain() -> str:
        """Look."""
        return colour.get()

    @tool
    async def aplain() -> str:
        """Look."""
        await asyncio.sleep(0)
        return colour.get()

    executor = ToolExecutor([plain, aplain, plain.replace(name="inline", isolation="inline")])
    assert run(executor, call(name)).value == "red"


@both_ways
@each_case("timeout_s", [1e9, 1e12, 1e300])
def test_a_very_long_timeout_works(run, timeout_s):
    @tool(timeout_s=timeout_s)
    def slow() -> int:
        """Take a moment."""
        time.sleep(0.005)
        return 1

    @tool(timeout_s=timeout_s)
    async def aslow() -> int:
        """Take a moment."""
        await asyncio.sleep(0.005)
        return 1

    executor = ToolExecutor([slow, aslow])
    assert run(executor, call("slow")).value == run(executor, call("aslow")).value == 1


def test_sync_and_async_callers_of_many_loops_share_one_queue():
    lock, inside, peak, lost = threading.Lock(), [0], [0], []

    def visit(context, n):
        with lock:
            inside[0] += 1
            peak[0] = max(peak[0], inside[0])
        context.session[int].append(n)
        with lock:
            inside[0] -= 1

    @tool(effect="reversible")
    def step(n: int, context: ToolContext) -> None:
        """Visit."""
        visit(context, n)

    @tool(effect="reversible")
    async def astep(n: int, context: ToolContext) -> None:
        """Visit."""
        await asyncio.sleep(0)
        visit(context, n)

    executor = ToolExecutor([step, astep], session=Session(), max_threads=2)
    calls = [call("step", n=1), call("astep", n=2), call("step", n=3)]

    def sync_work():
        lost.extend(result for _ in range(15) for result in executor.execute_all(calls) if not result.success)

    async def async_work():
        for _ in range(15):
            lost.extend(result for result in await executor.aexecute_all(calls) if not result.success)

    in_threads([sync_work, lambda: asyncio.run(async_work())] * 2)
    assert (peak, lost, len(executor.session[int])) == ([1], [], 180)
    executor.close()


# --- one tool alone ---


@each_case("thing", DEFINED_TOOLS, ids=lambda thing: type(thing).__name__)
def test_execute_tool_runs_one_tool(thing):
    assert execute_tool(thing, '{"a": 1, "b": 1}').value == 2
    assert execute_tool(thing, {"a": 1}).value == 2
    assert kind_of(execute_tool(thing, {"c": 1})) == "invalid_arguments"


def test_execute_tool_takes_the_options_of_an_executor():
    assert kind_of(execute_tool(add, {"a": 1}, allow=[])) == "not_allowed"


def test_execute_tool_says_where_the_arguments_go():
    with pytest.raises(TypeError, match=r"as one dictionary: execute_tool\(add, \{'a': \.\.\.\}\)"):
        execute_tool(add, a=1, b=2)
    with pytest.raises(TypeError, match="ToolExecutor has no option 'sesion'; did you mean 'session'"):
        execute_tool(add, {"a": 1}, sesion=None)


def test_execute_tool_refuses_what_is_not_a_tool():
    with pytest.raises(DefinitionError, match="not a tool"):
        execute_tool(len, {})


# --- the cost of an executor ---


def test_making_an_executor_does_little_for_each_tool():
    """One may be made for each request: schemas are read when a call needs them."""

    def calls_to_make(tools):
        count = 0

        def note(frame, event, arg):
            nonlocal count
            count += event == "call"

        before = sys.getprofile()
        gc.collect()
        gc.disable()  # finalizers of other tests' objects would be counted
        sys.setprofile(note)
        try:
            ToolExecutor(tools)
        finally:
            sys.setprofile(before)
            gc.enable()
        return count

    def schema(depth):
        return {"type": "object", "properties": {"a": schema(depth - 1)} if depth else {}}

    def premade(count, depth=3):
        return [
            Tool(name=f"t{number}", description="Do it.", input_schema=schema(depth), handler=dict)
            for number in range(count)
        ]

    calls_to_make(premade(1))  # imports what executors need
    assert calls_to_make(premade(20)) - calls_to_make(premade(0)) <= 20 * 6
    assert calls_to_make(premade(1, depth=9)) == calls_to_make(premade(1, depth=1))
    assert calls_to_make(premade(0)) <= 80
