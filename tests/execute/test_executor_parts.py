"""What an executor is made of: tools defined in any way, a catalog, options; what cannot be one is told at once."""

import asyncio
from types import SimpleNamespace

import pytest

from tests.cases import each_case
from tests.execute.calls import call, hear
from tests.execute.defined_tools import ClassAdd, aadd, add, fail, inline_add, raw_config, typed_add
from toolhaft import (
    ToolContext,
    ToolExecutor,
    Toolkit,
    ToolRegistry,
    tool,
)
from toolhaft.errors import DefinitionError, UnknownToolError
from toolhaft.execute import inputs
from toolhaft.resources import ResourceRegistry

PATIENCE_S = 30.0


def test_tools_come_nested_in_lists_toolkits_and_registries():
    """`tools` takes tools defined in any way, nested in any way."""
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
    """`tools` takes ids where a catalog is given."""

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
        DefinitionError, match=r"tool 'add': two tools have this name: .*defined_tools\.add and .*lambda"
    ):
        ToolExecutor([add, twin])


def test_the_same_tool_twice_is_one_tool():
    kit = ClassAdd()
    assert len(ToolExecutor([add, [add], kit, kit]).tools) == 2


@each_case(
    ("thing", "hint"),
    [
        (len, "decorate it with @tool"),
        (ClassAdd, "ClassAdd()"),
        ({"name": "x"}, "from_spec_dict"),
        (5, "use @tool"),
        (None, "use @tool"),
    ],
)
def test_an_object_that_is_not_a_tool_is_refused_with_a_hint(thing, hint):
    with pytest.raises(DefinitionError) as caught:
        ToolExecutor([thing])
    assert hint in str(caught.value)


def test_a_tool_that_cannot_be_made_is_refused_when_it_is_given():
    """Registering or the first use compiles and raises."""

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


def test_closing_an_executor_closes_resources_that_its_factories_created():
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


@each_case("one", [None, "add", {"name": "add"}, 5], ids=repr)
def test_an_object_that_is_not_a_call_is_refused(one):
    executor = ToolExecutor([add])
    with pytest.raises(TypeError, match="is not a call; write ToolCall"):
        executor.execute(one)
    with pytest.raises(TypeError, match="is not a call; write ToolCall"):
        executor.execute_all([call("add", a=1), one])
    with pytest.raises(TypeError, match="is not a call; write ToolCall"):
        asyncio.run(executor.aexecute(one))


def test_execute_all_refuses_a_single_call():
    with pytest.raises(TypeError, match="for one call use execute"):
        ToolExecutor([add]).execute_all(call("add", a=1))


@each_case(
    "options",
    [
        {"session": {}},
        {"principal": "alice"},
        {"deadline": 5},
        {"budget": 5},
        {"retry": 3},
        {"breaker": 3},
        {"runtime": [1]},
        {"policy": "ask"},
        {"max_repeats": "2"},
        {"max_threads": 1.5},
        {"max_output_chars": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_an_option_of_the_wrong_type_is_refused_when_the_executor_is_made(options):
    """A message says what, where, and what next."""
    (name,) = options
    with pytest.raises(TypeError, match=f"{name} does not take .*; write "):
        ToolExecutor([add], **options)


@each_case("name", ["max_repeats", "max_threads", "max_output_chars", "max_processes"])
def test_a_limit_below_one_is_refused_when_the_executor_is_created(name):
    with pytest.raises(ValueError, match=f"{name} is 0; it must be at least 1"):
        ToolExecutor([add], **{name: 0})


def test_cancelling_a_turn_cancels_every_call_of_it():
    """Cancellation discards; nothing of a turn goes on alone."""
    ended = []

    @tool(effect="read")
    async def wait(n: int) -> None:
        """Wait."""
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            ended.append(n)

    async def main():
        executor = ToolExecutor([wait])
        events = hear(executor)
        task = asyncio.create_task(executor.aexecute_all([call("wait", n=n) for n in range(3)]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [event.kind for event in events], len(asyncio.all_tasks())

    assert asyncio.run(main()) == (["cancelled"] * 3, 1)
    assert sorted(ended) == [0, 1, 2]


def test_one_search_looks_at_a_bounded_number_of_hits(monkeypatch):
    """A catalog can have any number of tools that this caller may not use."""
    monkeypatch.setattr(inputs, "_MOST_HITS", 1_000)
    wanted = []

    class Endless:
        def search(self, text, *, limit):
            wanted.append(limit)
            return [SimpleNamespace(id=f"tool{n}") for n in range(limit)]

        def get_tool(self, id):
            raise UnknownToolError(id)

    assert ToolExecutor(catalog=Endless()).find_tools("anything") == ()
    assert wanted == [50, 200, 800]
