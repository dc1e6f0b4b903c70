"""Plain functions among the tools: taken if a docstring describes them."""

from __future__ import annotations

import functools
import gc
import weakref

import pytest

from tests.cases import in_case
from toolhaft import ToolCall, ToolContext, ToolExecutor, ToolRegistry, ValidArguments, execute_tool, tool
from toolhaft.core.conversion import to_tool
from toolhaft.errors import DefinitionError
from toolhaft.formats import export_tools
from toolhaft.toolbox import web_search


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: One number.
        b: Another number.
    """
    return a + b


async def fetch(url: str, context: ToolContext) -> str:
    """Fetch a page."""
    return f"{url} by {context.call.name}"


class Shop:
    def __init__(self, price: int) -> None:
        self.price = price

    def buy(self, count: int) -> int:
        """Buy tea."""
        return count * self.price

    @classmethod
    def name(cls) -> str:
        """Name the shop."""
        return cls.__name__


def undescribed(a: int) -> int:
    return a


def test_an_executor_takes_functions_with_docstrings():
    executor = ToolExecutor([add, fetch, Shop(3).buy, Shop.name])
    cases = [
        ("add", {"a": 1}, 3),
        ("fetch", {"url": "x"}, "x by fetch"),
        ("buy", {"count": 2}, 6),
        ("name", {}, "Shop"),
    ]
    for name, arguments, value in cases:
        with in_case(name):
            assert executor.execute(ToolCall(name=name, arguments=arguments)).value == value
    assert execute_tool(functools.partial(add, b=5), {"a": 1}).value == 6
    assert execute_tool(add, {"a": "x"}).failure.kind == "invalid_arguments"


def test_registries_and_exports_take_functions_too():
    assert [each.name for each in ToolRegistry([add, fetch])] == ["add", "fetch"]
    (entry,) = export_tools([add], "anthropic").payload["tools"]
    assert entry["description"] == "Add two numbers."
    assert entry["input_schema"]["properties"]["a"] == {"type": "integer", "description": "One number."}


def test_a_function_means_the_same_decorated_or_not():
    plain, decorated = to_tool(add), tool(add)
    for part in ("name", "description", "input_schema", "output_schema", "source", "takes", "context_name"):
        assert getattr(plain, part) == getattr(decorated, part)


def test_a_function_without_a_docstring_says_what_to_do():
    for thing in (undescribed, functools.partial(undescribed), lambda: None):
        with (
            in_case(thing),
            pytest.raises(DefinitionError, match=r"is not a tool\. Fix: decorate it with @tool"),
        ):
            to_tool(thing)
    with pytest.raises(DefinitionError, match="write a docstring that describes it"):
        ToolExecutor([undescribed])


def test_a_function_that_makes_tools_is_not_one():
    with pytest.raises(DefinitionError, match="call it if it makes tools"):
        ToolExecutor([web_search])


def test_a_method_without_its_object_is_refused():
    with pytest.raises(
        DefinitionError, match=r"it is a method without its object\. Fix: use Shop\(\.\.\.\)\.buy"
    ):
        to_tool(Shop.buy)


def test_a_function_is_compiled_once():
    assert to_tool(add) is to_tool(add)
    one, other = to_tool(Shop(1).buy), to_tool(Shop(2).buy)
    assert one.validate is other.validate
    assert (one.handler(count=3), other.handler(count=3)) == (3, 6)


def test_a_wrapper_is_not_mistaken_for_the_function_that_it_wraps():
    to_tool(add)

    @functools.wraps(add)
    def double(*args: int, **kwargs: int) -> int:
        return 2 * add(*args, **kwargs)

    assert execute_tool(double, {"a": 1}).value == 6
    assert execute_tool(add, {"a": 1}).value == 3


def test_a_function_that_is_gone_takes_its_tool_with_it():
    def use() -> weakref.ref[object]:
        def here(a: int) -> int:
            """Be here."""
            return a

        assert to_tool(here).validate({"a": 1}) == ValidArguments({"a": 1})
        return weakref.ref(here)

    gone = use()
    gc.collect()
    assert gone() is None


def test_annotations_in_text_may_name_what_is_local_to_the_caller():
    class Local:
        """A local type without a JSON form would be refused: it must be found to know."""

    def use(it: Local) -> None:
        """Use it."""

    with pytest.raises(DefinitionError, match="Local has no JSON form"):
        to_tool(use)
