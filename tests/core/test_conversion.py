"""Objects of every way to define a tool, and how they are recognised."""

from types import ModuleType

import pytest

from tests.cases import each_case
from toolhaft import BaseTool, Tool, ToolConfig, Toolkit, ToolParam, ToolResponse, ToolReturn, ToolSpec, tool
from toolhaft.core.conversion import flatten, to_tool
from toolhaft.errors import DefinitionError

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
CONFIG = ToolConfig(name="raw", description="Does.", input_schema=SCHEMA, execute=len, tags=["x"])


@tool
def add(a: int) -> int:
    """Add."""
    return a


class Echo(BaseTool):
    spec = ToolSpec(
        name="echo",
        description="Echoes.",
        when_to_use="For tests",
        inputs=[ToolParam(name="a", type="string", description="Text")],
        returns=ToolReturn(type="string", description="The text"),
    )

    def __call__(self, *, a, **kwargs):
        return ToolResponse(observation=a)

    def __iter__(self):
        raise AssertionError("a tool that can be iterated is still one tool")


class Methods:
    @tool
    def method(self, a: int) -> int:
        """A method."""
        return a

    @classmethod
    @tool
    def of_class(cls, a: int) -> int:
        """A class method."""
        return a


class Holder:
    """Any object that stands for a tool."""

    def __init__(self, behind):
        self.tool = behind


class Maker:
    """An iterable of tools with a method that makes them."""

    def __init__(self, *tools):
        self.made = tools

    def tool(self, function):
        return tool(function)

    def __iter__(self):
        return iter(self.made)


def test_a_tool_is_its_own_tool_and_compiled():
    assert to_tool(add) is add
    made = Tool(name="x", description="Does.")
    assert to_tool(made) is made
    with pytest.raises(DefinitionError, match="is not a tool name"):
        to_tool(tool(lambda: None))


def test_an_object_with_a_tool_attribute_is_converted_to_it():
    echo = Echo()
    assert to_tool(echo) is echo.tool
    assert to_tool(Holder(add)) is add
    assert to_tool(Holder(Holder(add).tool)) is add


def test_methods_are_tools_of_their_object():
    owner = Methods()
    assert to_tool(owner.method).handler.__self__ is owner
    assert to_tool(owner.of_class).handler.__self__ is Methods


def test_a_config_creates_a_new_tool_each_time():
    made = to_tool(CONFIG)
    assert (made.name, made.input_schema, made.handler, made.tags) == ("raw", SCHEMA, len, ("x",))
    assert CONFIG.tool is not CONFIG.tool
    assert ToolConfig(name="raw", description="Does.", input_schema=SCHEMA, execute=len, tags=["x"]) == CONFIG
    with pytest.raises(DefinitionError, match="'no name' is not a tool name"):
        to_tool(ToolConfig(name="no name", description="Does.", input_schema=SCHEMA))


def test_the_tool_attribute_is_read_once():
    asked = []

    class Counting:
        @property
        def tool(self):
            asked.append(1)
            return add

    assert to_tool(Counting()) is add
    assert list(flatten([Counting()]))
    assert asked == [1]


def test_an_object_whose_tool_breaks_says_why():
    class Broken:
        @property
        def tool(self):
            raise AttributeError("no such thing inside")

    with pytest.raises(AttributeError, match="no such thing inside"):
        to_tool(Broken())


MODULE = ModuleType("tools")
MODULE.tool = add


@each_case(
    ("thing", "fix"),
    [
        (5, "use @tool, a BaseTool, Tool[Params, Result], create_tool(...) or load_tool(...)"),
        (len, "decorate it with @tool, or call it if it makes tools"),
        (Echo, "make one: Echo()"),
        (Methods, "decorate it with @tool, or call it if it makes tools"),
        ({"name": "x"}, "a spec becomes tools through ToolRegistry.from_spec_dict({'tools': [...]})"),
        (Holder("add"), "use @tool, a BaseTool, Tool[Params, Result], create_tool(...) or load_tool(...)"),
        (Maker(), "use @tool, a BaseTool, Tool[Params, Result], create_tool(...) or load_tool(...)"),
        (MODULE, "use @tool, a BaseTool, Tool[Params, Result], create_tool(...) or load_tool(...)"),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_the_error_for_another_object_says_how_to_make_a_tool(thing, fix):
    with pytest.raises(DefinitionError) as caught:
        to_tool(thing)
    assert (caught.value.problem, caught.value.fix) == (f"{thing!r:.80} is not a tool", fix)


def test_lists_and_kits_are_flattened_and_tools_are_not():
    echo, other = Echo(), Echo()
    things = [add, [Toolkit([echo]), (CONFIG, Maker(add, [other]))], "id", b"id", {"name": "x"}, Echo, None]
    assert list(flatten(things)) == [add, echo, CONFIG, add, other, "id", b"id", {"name": "x"}, Echo, None]
    assert list(flatten(add)) == [add]
    assert list(flatten(echo)) == [echo]


class Offering:
    def offered_tools(self):
        return [add, [Maker(CONFIG)]]

    def __iter__(self):
        raise AssertionError("what is offered counts")


def test_mappings_and_objects_that_offer_tools_are_flattened():
    echo = Echo()
    assert list(flatten({"first": add, "second": echo, "all": [CONFIG]})) == [add, echo, CONFIG]
    assert list(flatten([{"a": add}, {"f": len}, Offering()])) == [add, len, add, CONFIG]
    assert list(flatten({})) == []
    assert list(flatten([Offering])) == [Offering]  # the class, not an object of it
