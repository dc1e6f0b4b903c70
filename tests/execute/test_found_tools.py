"""Tools that were found are closed again, the least recently used first; others never."""

import asyncio
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from toolhaft import Principal, ToolCall, ToolExecutor, tool
from toolhaft.errors import UnknownToolError
from toolhaft.execute.workers import WorkerProcesses
from toolhaft.prompt import MarkdownSection, Prompt


@dataclass(frozen=True)
class Hit:
    id: str


class Shelf:
    """A catalog that finds the tools whose names are in the text."""

    def __init__(self, *tools):
        self.tools_by_name = {made.name: made for made in tools}

    def search(self, text, *, limit=10):
        return [Hit(name) for name in text.split() if name in self.tools_by_name][:limit]

    def get_tool(self, id):
        if id not in self.tools_by_name:
            raise UnknownToolError(id)
        return self.tools_by_name[id]


def make(name, **options):
    @tool(name=name, description=f"Do {name}.", effect="read", **options)
    def handler(amount: float = 1) -> str:
        return f"{name} {amount}"

    return handler


def shelf_of(*names, **options):
    return Shelf(*(make(name, **options) for name in names))


def call(executor, name, **options):
    return executor.execute(ToolCall(name=name, arguments={}), **options)


def test_the_least_recently_used_tools_are_closed():
    executor = ToolExecutor([make("own")], catalog=shelf_of("a", "b", "c", "d", "e"), max_found_tools=3)
    executor.find_tools("a b c")
    assert list(executor.tools) == ["own", "a", "b", "c"]
    assert call(executor, "a").success
    executor.find_tools("d")
    assert list(executor.tools) == ["own", "a", "c", "d"]
    executor.find_tools("c")  # found again counts as used
    executor.find_tools("e")
    assert list(executor.tools) == ["own", "c", "d", "e"]
    assert [call(executor, name).success for name in ("own", "c", "d", "e")] == [True] * 4


@pytest.mark.parametrize("isolation", ["inline", "thread"])
def test_plain_and_other_calls_count_as_use(isolation):
    shelf = shelf_of("a", "b", "c", isolation=isolation)
    for run in (
        lambda executor, one: executor.execute(one),
        lambda executor, one: executor.execute(one, idempotency_key="k"),
        lambda executor, one: executor.execute_all([one])[0],
        lambda executor, one: asyncio.run(executor.aexecute(one)),
        lambda executor, one: asyncio.run(executor.aexecute_all([one]))[0],
        lambda executor, one: executor.execute(one, principal=Principal(id="eve")),
    ):
        executor = ToolExecutor([], catalog=shelf, max_found_tools=2)
        executor.find_tools("a b")
        for _ in range(2):
            assert run(executor, ToolCall(name="a", arguments={})).success
        executor.find_tools("c")
        assert list(executor.tools) == ["a", "c"]


def test_fifty_found_tools_stay_open_by_default_and_all_with_none():
    names = [f"t{number}" for number in range(120)]
    for options, count in (({}, 50), ({"max_found_tools": None}, 120), ({"max_found_tools": 7}, 7)):
        executor = ToolExecutor([], catalog=shelf_of(*names), **options)
        for name in names:
            executor.find_tools(name)
        assert list(executor.tools) == names[-count:]


def test_a_search_finds_no_more_than_may_be_open():
    executor = ToolExecutor([], catalog=shelf_of("a", "b", "c", "d"), max_found_tools=2)
    for text, found in (("a b c d", ["a", "b"]), ("b c d", ["b", "c"])):
        assert [made.name for made in executor.find_tools(text)] == found
        assert list(executor.tools) == found


def test_wrong_limits_are_refused():
    for wrong, error in ((-1, ValueError), ("5", TypeError), (True, TypeError), (2.0, TypeError)):
        with pytest.raises(error, match="max_found_tools"):
            ToolExecutor([], max_found_tools=wrong)


def test_a_call_to_a_closed_tool_says_to_search_again():
    executor = ToolExecutor([make("own")], catalog=shelf_of("a", "b"), max_found_tools=1)
    executor.find_tools("a")
    executor.find_tools("b")
    result = call(executor, "a")
    assert result.failure.kind == "unknown_tool"
    assert result.message == (
        "the tool 'a' was closed, because other tools were found and used since. "
        "Search for 'a' again, then call it."
    )
    assert "was closed" in call(executor, "a", principal=Principal(id="ann", sees=["a"])).message
    assert "no tool is called 'a'" in call(executor, "a", principal=Principal(id="bob", sees=["b"])).message
    executor.find_tools("a")
    assert call(executor, "a").success
    assert "was closed" in call(executor, "b").message


def test_only_the_last_closed_names_are_remembered():
    names = [f"t{number}" for number in range(1_010)]
    executor = ToolExecutor([], catalog=shelf_of(*names), max_found_tools=1)
    for name in names:
        executor.find_tools(name)
    assert "no tool is called 't0'" in call(executor, "t0").message
    assert "was closed" in call(executor, "t1000").message


def test_an_approval_for_a_closed_tool_says_to_search_again():
    executor = ToolExecutor([], catalog=shelf_of("a", "b"), max_found_tools=1, policy=lambda *_: "ask")
    executor.find_tools("a")
    pending = call(executor, "a").pending
    executor.find_tools("b")
    assert "was closed" in executor.resume(pending, "allow").message
    executor.find_tools("a")
    assert executor.resume(pending, "allow").success


def test_a_tool_with_a_running_call_is_not_closed():
    entered, leave = threading.Event(), threading.Event()

    @tool(effect="read")
    def slow() -> str:
        """Wait."""
        entered.set()
        assert leave.wait(30)
        return "done"

    @tool(effect="read")
    def broken() -> str:
        """Fail."""
        raise ValueError("x")

    executor = ToolExecutor([], catalog=Shelf(slow, broken, make("a"), make("b")), max_found_tools=1)
    executor.find_tools("slow")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(call, executor, "slow")
        assert entered.wait(30)
        executor.find_tools("a")
        assert list(executor.tools) == ["slow", "a"]
        leave.set()
        assert running.result().value == "done"
    executor.find_tools("broken")
    assert list(executor.tools) == ["broken"]
    assert not call(executor, "broken").success  # a failed call does not run any longer
    executor.find_tools("b")
    assert list(executor.tools) == ["b"]


def test_a_cancelled_call_does_not_keep_its_tool_open():
    async def run():
        started = asyncio.Event()

        @tool(effect="read")
        async def slow() -> str:
            """Wait."""
            started.set()
            await asyncio.Event().wait()
            return "never"

        executor = ToolExecutor([], catalog=Shelf(slow, make("a"), make("b")), max_found_tools=1)
        executor.find_tools("slow")
        task = asyncio.create_task(executor.aexecute(ToolCall(name="slow", arguments={})))
        await started.wait()
        executor.find_tools("a")
        assert list(executor.tools) == ["slow", "a"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        executor.find_tools("b")
        assert list(executor.tools) == ["b"]

    asyncio.run(run())


def test_given_tools_are_never_closed():
    own = make("own")
    prompt_tool = make("shown")
    section = MarkdownSection(title="T", key="t", template="text", tools=[prompt_tool])
    prompt = Prompt(name="p", sections=[section])
    executor = ToolExecutor(
        [own, "named"],
        catalog=shelf_of("named", "own", "shown", "a", "b"),
        prompt=prompt,
        max_found_tools=1,
    )
    for text in ("own", "named", "shown", "a", "b", "own shown"):
        executor.find_tools(text)
    assert list(executor.tools) == ["own", "named", "shown", "b"]
    assert executor.tools["own"] is own


def test_a_found_tool_that_a_later_prompt_gives_is_not_closed():
    shown = make("a")
    executor = ToolExecutor(
        [],
        catalog=shelf_of("a", "b", "c"),
        prompt=Prompt(name="p", sections=[MarkdownSection(title="T", key="t", template="text")]),
        max_found_tools=2,
    )
    executor.find_tools("a b")
    section = MarkdownSection(title="T", key="t", template="text", tools=[shown])
    executor.change_prompt(Prompt(name="q", sections=[section]))
    assert executor.tools["a"] is shown
    executor.find_tools("c")
    executor.find_tools("b")
    assert sorted(executor.tools) == ["a", "b", "c"]


def test_closed_tools_are_freed():
    made = make("big", isolation="inline")
    gone = weakref.ref(made.handler)
    shelf = Shelf(made, make("a"))
    executor = ToolExecutor([], catalog=shelf, max_found_tools=1)
    executor.find_tools("big")
    assert call(executor, "big").success
    executor.find_tools("a")
    del shelf.tools_by_name["big"], made
    gc.collect()
    assert gone() is None


def test_the_pickled_handler_of_a_closed_tool_is_freed(monkeypatch):
    pickled = []

    class Pool:
        def check(self, handler):
            pickled.append(handler)
            return b"handler"

        def warm_up(self, handlers):
            pass

    processes = WorkerProcesses(1, None)
    monkeypatch.setattr(WorkerProcesses, "pool", lambda _: Pool())
    one, other = make("one", isolation="process"), make("other", isolation="process")
    for tools in ([one], [one, other], [other], [one, other]):
        processes.prepare({made.name: made for made in tools})
    assert pickled == [one.handler, other.handler, one.handler]


def test_searches_and_calls_at_the_same_time_are_safe():
    names = [f"t{number}" for number in range(40)]
    executor = ToolExecutor([make("own")], catalog=shelf_of(*names), max_found_tools=5)

    def work(start):
        for step in range(60):
            name = names[(start * 7 + step) % len(names)]
            executor.find_tools(name)
            result = call(executor, name)
            assert result.success or result.failure.kind == "unknown_tool"
            assert call(executor, "own").success

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    executor.find_tools("t0")
    executor.find_tools("t1")
    assert len(executor.tools) <= 6
    assert "own" in executor.tools
