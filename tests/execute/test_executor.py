"""ToolExecutor: any mix of tools, one result a call, in order, for sync and async callers alike.

Keeps issue 3 (*ToolExecutor over any mix of tools*), DESIGN (*The road of a call*, *The public names*) and
seed 003 (*Runtime Dispatch*).
"""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.execute.calls import both_ways, by_aexecute_all, by_execute_all, call, each_way, hear, kind_of
from toolhaft import (
    BaseTool,
    Session,
    Tool,
    ToolCall,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolInvoked,
    Toolkit,
    ToolParam,
    ToolRegistry,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    create_tool,
    execute_tool,
    load_tool,
    reducer,
    tool,
)
from toolhaft.errors import DefinitionError
from toolhaft.resources import ResourceRegistry

PATIENCE_S = 5.0


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def aadd(a: int, b: int = 1) -> int:
    """Add two numbers, after a breath."""
    await asyncio.sleep(0)
    return a + b


@tool(isolation="inline")
def inline_add(a: int, b: int = 1) -> int:
    """Add two numbers where the caller is."""
    return a + b


class ClassAdd(BaseTool):
    spec = ToolSpec(
        name="class_add",
        description="Adds two numbers.",
        when_to_use="Use to add.",
        inputs=[
            ToolParam(name="a", type="integer", description="One"),
            ToolParam(name="b", type="integer", description="Another", required=False),
        ],
        returns=ToolReturn(type="integer", description="The sum"),
    )

    def __call__(self, *, a, b=1, **kwargs):
        return ToolResponse(observation=a + b)


@dataclass(frozen=True)
class Pair:
    a: int
    b: int = 1


@dataclass(frozen=True)
class Sum:
    total: int


def typed_handler(params: Pair, *, context: ToolContext) -> ToolResult[Sum]:
    """Add two numbers, typed."""
    return ToolResult.ok(Sum(params.a + params.b), message="added")


typed_add = Tool[Pair, Sum](name="typed_add", description="Adds two numbers.", handler=typed_handler)

raw_config = ToolConfig(
    name="raw_add",
    description="Adds two numbers.",
    input_schema={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a"],
    },
    output_schema={"type": "integer"},
    execute=lambda given: given["a"] + given.get("b", 1),
)


@tool
def fail(why: str = "no") -> str:
    """Fail."""
    raise ValueError(why)


DOORS = [add, aadd, inline_add, ClassAdd(), create_tool(raw_config), raw_config]


# --- one result a call ---


@each_way
@pytest.mark.parametrize("thing", DOORS, ids=lambda thing: type(thing).__name__)
def test_a_tool_of_any_door_gives_its_value(run, thing):
    """DESIGN: `tools` takes objects from any door."""
    executor = ToolExecutor([thing])
    (name,) = executor.tools
    result = run(executor, ToolCall(id="1", name=name, arguments='{"a": 2, "b": 3}'))
    assert (result.success, result.value, result.render()) == (True, 5, "5")


@each_way
def test_a_typed_tool_gives_its_message_and_value(run):
    """Seed 003, *Handler signature*: params in, ToolResult out."""
    result = run(ToolExecutor([typed_add]), call("typed_add", a=2))
    assert result == ToolResult.ok(Sum(3), message="added")
    assert result.render() == 'added\n\n{"total":3}'


@each_way
def test_arguments_may_be_text_or_an_object(run):
    executor = ToolExecutor([add])
    assert run(executor, ToolCall(name="add", arguments='{"a": 1}')).value == 2
    assert run(executor, ToolCall(name="add", arguments={"a": 1})).value == 2


@each_way
def test_a_repair_is_told_on_the_result(run):
    """DESIGN, *strict or lenient input*: one schema-directed repair is tried and told in `repairs`."""
    result = run(ToolExecutor([add]), ToolCall(name="add", arguments='{"a": 1.0, "b": "2"}'))
    assert result.value == 3
    assert len(result.repairs) == 2


@both_ways
def test_a_tool_that_is_defined_but_has_no_handler_says_how_to_activate_it(run, tmp_path):
    """DESIGN, *YAML fields*: a call says that it is not active and which command activates it."""
    (tmp_path / "weather.yaml").write_text(
        'id: "weather"\nname: "Weather"\ndescription: "Tells the weather."\n'
    )
    result = run(ToolExecutor([load_tool(tmp_path / "weather.yaml")]), call("weather"))
    assert kind_of(result) == "failed"
    assert "weather is not active" in result.message
    assert "toolhaft tool set weather" in result.message
    assert result.failure.outcome == "nothing_happened"


@pytest.mark.parametrize("run", [by_execute_all, by_aexecute_all])
def test_every_call_of_a_turn_has_exactly_one_result_in_order(run):
    """Issue 3: each call yields exactly one ToolResult, in order, whatever happens to its siblings."""
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
    """DESIGN: results come in the order of the calls."""
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


def test_many_calls_of_one_turn_all_come_back():
    executor = ToolExecutor([add.replace(effect="read"), aadd.replace(effect="read")])
    calls = [call("add" if n % 2 else "aadd", a=n, b=0) for n in range(300)]
    assert [result.value for result in executor.execute_all(calls)] == list(range(300))
    assert [result.value for result in asyncio.run(executor.aexecute_all(calls))] == list(range(300))


def test_one_executor_serves_many_threads():
    """Seed 004, *Thread Safety*: tools are immutable and thread-safe; so is what runs them."""
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
    """DESIGN: async handlers under `execute` run on one background loop thread."""

    async def main():
        executor = ToolExecutor([add, aadd])
        return [executor.execute(call("add", a=1)).value, executor.execute(call("aadd", a=1)).value] + [
            result.value for result in executor.execute_all([call("add", a=1), call("aadd", a=2)])
        ]

    assert asyncio.run(main()) == [2, 2, 2, 3]


def test_a_sync_call_of_a_sync_tool_needs_no_event_loop():
    """DESIGN: a sync call needs no event loop."""
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
    """DESIGN, *isolation*: sync handlers run on a thread by default."""
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
    """Issue 3: one code path for sync and async callers; a nested one waits for nobody's loop."""

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
@pytest.mark.parametrize("isolation", [None, "inline"])
def test_a_plain_function_that_gives_back_a_coroutine_is_awaited(run, isolation):
    """DESIGN: one code path; where a handler runs does not change what it may give back."""

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


# --- what an executor is made of ---


def test_tools_come_nested_in_lists_toolkits_and_registries():
    """DESIGN: `tools` takes objects from any door, nested as they come."""
    registry = ToolRegistry([aadd])
    executor = ToolExecutor(
        [add, [[typed_add], (inline_add,)], Toolkit([ClassAdd()]), registry, iter([raw_config])]
    )
    assert set(executor.tools) == {"add", "typed_add", "inline_add", "class_add", "aadd", "raw_add"}


def test_one_tool_needs_no_list():
    assert list(ToolExecutor(add).tools) == ["add"]
    assert list(ToolExecutor(ClassAdd()).tools) == ["class_add"]
    assert list(ToolExecutor().tools) == []


def test_ids_are_found_in_a_catalog():
    """DESIGN: `tools` takes ids where a catalog is given."""

    class Shelf:
        def get_tool(self, id):
            return {"add": add, "class_add": ClassAdd()}[id]

    assert ToolExecutor(["add"], catalog=ToolRegistry([add])).execute(call("add", a=1)).value == 2
    executor = ToolExecutor(["add", ["class_add"]], catalog=Shelf())
    assert executor.execute(call("add", a=1)).value == 2
    assert executor.execute(call("class_add", a=1)).value == 2


def test_an_id_without_a_catalog_is_refused_with_a_fix():
    with pytest.raises(DefinitionError, match=r"'add' is the id of a tool.*catalog"):
        ToolExecutor(["add"])


def test_two_tools_of_one_name_are_refused_by_their_sources():
    """Threats, *names*: duplicates are errors."""
    twin = tool(lambda a: a, name="add", description="Another.")
    with pytest.raises(
        DefinitionError, match=r"tool 'add': two tools have this name: .*test_executor\.add and .*lambda"
    ):
        ToolExecutor([add, twin])


def test_the_same_tool_twice_is_one_tool():
    kit = ClassAdd()
    assert len(ToolExecutor([add, [add], kit, kit]).tools) == 2


@pytest.mark.parametrize(
    ("thing", "hint"),
    [
        (len, "decorate it with @tool"),
        (ClassAdd, "ClassAdd()"),
        ({"name": "x"}, "from_spec_dict"),
        (5, "use @tool"),
        (None, "use @tool"),
    ],
)
def test_what_is_no_tool_is_refused_with_a_hint(thing, hint):
    with pytest.raises(DefinitionError) as caught:
        ToolExecutor([thing])
    assert hint in str(caught.value)


def test_a_tool_that_cannot_be_made_is_refused_when_it_is_given():
    """DESIGN, *when a definition is checked*: registering or the first use compiles and raises."""

    @tool
    def undescribed(a: int) -> int:
        return a

    with pytest.raises(DefinitionError, match="undescribed"):
        ToolExecutor([undescribed])


def test_the_tools_of_an_executor_cannot_be_changed_from_outside():
    executor = ToolExecutor([add])
    with pytest.raises(TypeError):
        executor.tools["fail"] = fail
    assert repr(executor) == "<ToolExecutor of 1 tools>"


def test_resources_of_the_wrong_kind_are_refused():
    with pytest.raises(LookupError, match="resources cannot be a list"):
        ToolExecutor([add], resources=[1])


def test_closing_an_executor_closes_what_its_factories_made():
    """Issue 3, *Resources*: lazy providers, closing in reverse order."""
    closed = []

    class Connection:
        def close(self):
            closed.append(self)

    @tool
    def use(context: ToolContext) -> str:
        """Use the connection."""
        return type(context.resources.get(Connection)).__name__

    registry = ResourceRegistry()
    registry.provide(Connection, Connection)
    with ToolExecutor([use], resources=registry) as executor:
        assert executor.execute(call("use")).value == "Connection"
        assert closed == []
    assert len(closed) == 1


def test_an_executor_with_threads_of_its_own_works_again_after_its_workers_ended():
    executor = ToolExecutor([add], max_threads=1)
    assert executor.execute(call("add", a=1)).value == 2
    executor.end_workers()
    assert executor.execute(call("add", a=1)).value == 2
    executor.close()


# --- one tool alone ---


@pytest.mark.parametrize("thing", DOORS, ids=lambda thing: type(thing).__name__)
def test_one_tool_can_be_run_alone(thing):
    """Seed 004, `executeTool`: validated, run, its output checked."""
    assert execute_tool(thing, '{"a": 1, "b": 1}').value == 2
    assert execute_tool(thing, {"a": 1}).value == 2
    assert kind_of(execute_tool(thing, {"c": 1})) == "invalid_arguments"


def test_one_tool_alone_takes_the_options_of_an_executor():
    assert kind_of(execute_tool(add, {"a": 1}, allow=[])) == "not_allowed"


def test_what_is_no_tool_cannot_be_run_alone():
    with pytest.raises(DefinitionError, match="not a tool"):
        execute_tool(len, {})


# --- what every call is told of ---


@each_way
def test_every_call_is_told_once_whatever_happens(run):
    """Seed 003.8: publish ToolInvoked; issue 3: for every call, failures included."""
    executor = ToolExecutor([add, aadd, fail])
    events = hear(executor)
    run(executor, call("add", id="1", a=1))
    run(executor, call("fail", id="2"))
    run(executor, call("ad", id="3"))
    run(executor, call("aadd", id="4", b=1))
    assert [(event.call_id, event.tool, event.success, event.kind) for event in events] == [
        ("1", "add", True, None),
        ("2", "fail", False, "failed"),
        ("3", "ad", False, "unknown_tool"),
        ("4", "aadd", False, "invalid_arguments"),
    ]


def test_an_event_holds_what_a_log_needs():
    """Issue 3, *Failure semantics*: who, which tool and version, arguments, outcome, attempt, duration, ids."""
    executor = ToolExecutor([add.replace(version="2", effect="read")])
    events = hear(executor)
    executor.execute(call("add", id="c1", a=1, b=2))
    (event,) = events
    assert event.version == "2"
    assert event.arguments == '{"a":1,"b":2}'
    assert (event.effect, event.outcome, event.attempt, event.is_replay) == ("read", "done", 1, False)
    assert event.duration_s >= 0
    assert event.started_at > 1e9
    assert event.event_id
    assert event.run_id
    assert event.session_id == executor.session.id
    assert event.parent_id is None


def test_event_ids_differ_and_runs_are_told_apart():
    executor = ToolExecutor([add])
    events = hear(executor)
    executor.execute(call("add", a=1))
    executor.execute(call("add", a=1))
    executor.new_run()
    executor.execute(call("add", a=1))
    assert len({event.event_id for event in events}) == 3
    assert [event.run_id == events[0].run_id for event in events] == [True, True, False]


@both_ways
@pytest.mark.parametrize("outer_name", ["with_context", "without_context"])
def test_the_event_of_a_nested_call_names_the_call_around_it(run, outer_name):
    """`ToolInvoked.parent_id`: the event of the call from whose handler this one was made."""

    @tool
    def with_context(a: int, context: ToolContext) -> int:
        """Add, nested."""
        return executor.execute(call("add", a=a)).value

    @tool
    def without_context(a: int) -> int:
        """Add, nested."""
        return executor.execute(call("add", a=a)).value

    executor = ToolExecutor([with_context, without_context, add])
    events = hear(executor)
    assert run(executor, call(outer_name, a=1)).value == 2
    inner, around = events
    assert (inner.tool, inner.parent_id) == ("add", around.event_id)
    assert around.parent_id is None


def test_a_subscriber_that_raises_changes_no_outcome(caplog):
    """DESIGN: a subscriber that raises is isolated, reported, and changes no outcome."""
    executor = ToolExecutor([add])
    heard = hear(executor)

    def broken(event):
        raise RuntimeError("subscriber is broken")

    executor.session.dispatcher.subscribe(ToolInvoked, broken)
    assert executor.execute(call("add", a=1)).value == 2
    assert len(heard) == 1
    assert "subscriber is broken" in caplog.text


def test_a_reducer_of_calls_that_raises_changes_no_outcome(caplog):
    """DESIGN: a call never raises; it returns a result."""

    @dataclass(frozen=True)
    class Count:
        n: int

    @reducer(on=ToolInvoked)
    def broken(state, event):
        raise RuntimeError("reducer is broken")

    session = Session()
    session[Count].register(broken)
    assert ToolExecutor([add], session=session).execute(call("add", a=1)).value == 2
    assert "reducer is broken" in caplog.text


def test_a_subscriber_who_comes_later_hears_of_later_calls():
    """DESIGN: a chain is composed again when a subscriber changes."""
    executor = ToolExecutor([add])
    executor.execute(call("add", a=1))
    events = hear(executor)
    executor.execute(call("add", a=2))
    assert [event.arguments for event in events] == ['{"a":2}']
