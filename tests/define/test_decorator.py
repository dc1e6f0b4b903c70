"""`@tool` on everything that Python calls a function."""

import copy
import functools
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Optional

import pytest

from tests.cases import each_case
from toolhaft import Tool, ToolContext, ToolRegistry, ValidArguments, tool
from toolhaft.errors import DefinitionError


def test_a_tool_stays_the_function_that_it_wraps():
    @tool
    def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    assert (add(1), add(1, b=5), add(a=3)) == (3, 6, 5)
    assert (add.__name__, add.__doc__, add.__module__) == ("add", "Add two numbers.", __name__)
    assert add.__qualname__.endswith("<locals>.add")
    assert isinstance(add, Tool)
    assert repr(add) == "<Tool add(a: int, b: int = 2) -> int, effect=irreversible>"


def test_an_async_function_stays_one():
    @tool
    async def fetch(url: str) -> str:
        """Fetch."""
        return url

    waiting = fetch("x")
    with pytest.raises(StopIteration, match="x"):
        waiting.send(None)
    assert fetch.output_schema == {"type": "string"}
    assert fetch.validate({"url": "x"}) == ValidArguments({"url": "x"}, ())


def test_decorating_only_stores_and_the_first_use_compiles():
    @tool(name="no name", timeout_s=-1)
    def broken(value: object.__class__, *rest: int) -> None:
        """Broken in three ways."""

    with pytest.raises(DefinitionError):
        _ = broken.input_schema


class Counter:
    """Methods of every kind as tools."""

    step = 2

    @tool
    def plain(self, x: int) -> int:
        """A method."""
        return x + self.step

    @tool(name="renamed")
    @staticmethod
    def static_inside(x: int) -> int:
        """A static method."""
        return x

    @staticmethod
    @tool
    def static_outside(x: int) -> int:
        """A static method."""
        return x

    @tool
    @classmethod
    def class_inside(cls, x: int) -> int:
        """A class method."""
        return x * cls.step

    @classmethod
    @tool
    def class_outside(cls, x: int) -> int:
        """A class method."""
        return x * cls.step


@pytest.mark.parametrize(
    ("name", "result"),
    [("plain", 5), ("static_inside", 3), ("static_outside", 3), ("class_inside", 6), ("class_outside", 6)],
)
def test_methods_of_every_kind_are_tools_of_their_object(name, result):
    counter = Counter()
    made = getattr(counter, name)
    assert made(3) == result
    (registered,) = ToolRegistry([made])
    assert registered.input_schema == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
    }
    assert registered.handler(x=3) == result


def test_a_method_without_its_object_is_refused_with_the_way_to_get_one():
    with pytest.raises(
        DefinitionError, match=r"it is a method without its object. Fix: use Counter\(\.\.\.\)\.plain"
    ):
        _ = Counter.plain.input_schema


def test_arguments_set_by_a_partial_are_hidden_from_the_model():
    def send(key: str, to: str, text: str = "hi") -> str:
        """Send."""
        return f"{key} {to} {text}"

    made = tool(functools.partial(send, "secret", text="bound"))
    assert made.name == "send"
    assert made.input_schema == {
        "type": "object",
        "properties": {"to": {"type": "string"}},
        "required": ["to"],
    }
    assert made(to="Ada") == "secret Ada bound"
    assert "secret" not in str(made.input_schema)


def test_a_wrapped_function_is_read_through_its_wrapper():
    def logged(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    @tool
    @logged
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert list(add.input_schema["properties"]) == ["a", "b"]
    assert add(1, 2) == 3


def test_a_callable_object_is_a_tool():
    class Adder:
        """Adds."""

        def __call__(self, a: int, b: int = 1) -> int:
            return a + b

    made = tool(Adder(), name="adder")
    assert made.validate('{"a": 1}').params == {"a": 1, "b": 1}
    assert made.description == "Adds."


@tool
def at_the_top(x: int) -> int:
    """Stands where pickle can find it."""
    return x


def test_a_tool_copies_and_pickles_like_the_function_that_it_is():
    assert copy.copy(at_the_top) is at_the_top
    assert copy.deepcopy({"tool": at_the_top})["tool"] is at_the_top
    assert pickle.loads(pickle.dumps(at_the_top)) is at_the_top  # noqa: S301 -- our own


def test_many_threads_can_compile_a_tool_at_once():
    for _ in range(30):

        def take(query: str, limit: int = 10) -> None:
            """Take."""

        made = tool(take)
        with ThreadPoolExecutor(8) as pool:
            verdicts = list(pool.map(lambda _, made=made: made.validate('{"query": "x"}'), range(16)))
        assert verdicts == [ValidArguments({"query": "x", "limit": 10}, ())] * 16


def test_closures_keep_their_own_values():
    made = [tool(_adder(step), name=f"add_{step}") for step in (1, 2)]
    assert [each(10) for each in made] == [11, 12]


def _adder(step: int):
    def add(x: int) -> int:
        """Add a step."""
        return x + step

    return add


@each_case(
    ("source", "words"),
    [
        ("def f(*args: int): ...", r"parameter '\*args': a schema cannot describe what \*args takes"),
        ("def f(a: int, **rest: str): ...", r"parameter '\*\*rest'"),
        ("def f(a: int, /): ...", "positional-only. Fix: remove the '/'"),
        ("def f(a: 'Missing'): ...", "names 'Missing', which is not defined"),
        ("def f(a: list['Missing']): ...", "names 'Missing', which is not defined"),
        ("def f(a: complex.__class__): ...", "parameter 'a': type has no JSON form"),
        ("def f(a: open.__class__): ...", "has no JSON form"),
        ("def f(a: dict[float, int]): ...", "an object's keys are text in JSON"),
    ],
)
def test_a_signature_without_a_schema_is_refused_with_the_place(source, words):
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102 -- our own text
    with pytest.raises(DefinitionError, match="tool 'f'") as caught:
        _ = tool(scope["f"], description="F.").validate
    assert __import__("re").search(words, str(caught.value)), str(caught.value)


def test_a_function_without_a_docstring_needs_a_description():
    def silent(x: int): ...

    with pytest.raises(
        DefinitionError, match=r"tool 'silent', description: there is no description\. Fix: write a docstring"
    ):
        _ = tool(silent).validate
    assert tool(silent, description="Said.").description == "Said."


def test_a_lambda_needs_a_name():
    with pytest.raises(DefinitionError, match="'<lambda>' is not a tool name"):
        _ = tool(lambda x: x, description="L.").validate


@pytest.mark.parametrize("how", ["name", "true", "annotation", "optional annotation", "text"])
def test_the_context_never_shows_in_the_schema(how):
    def plain(x: int, context: Any = None):
        """P."""

    def named(ctx: Any, x: int):
        """P."""

    def typed(x: int, *, where: ToolContext):
        """P."""

    def optional(x: int, where: Optional[ToolContext] = None):
        """P."""

    def text(x: int, where: "ToolContext"):
        """P."""

    made, name = {
        "true": (tool(plain, context=True), "context"),
        "name": (tool(named, context="ctx"), "ctx"),
        "annotation": (tool(typed), "where"),
        "optional annotation": (tool(optional), "where"),
        "text": (tool(text), "where"),
    }[how]
    assert made.input_schema == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
    }
    assert made.context_name == name
    assert made.validate(f'{{"x": 1, "{name}": 1}}').problems[0].path == name


def test_a_missing_context_parameter_is_refused():
    with pytest.raises(DefinitionError, match="there is no parameter 'context' to take the context"):
        _ = tool(_adder(1), context=True).validate


def test_annotations_in_text_find_the_names_around_them():
    scope: dict[str, Any] = {"tool": tool}
    exec(  # noqa: S102 -- as a module with `from __future__ import annotations` has them
        """
from __future__ import annotations
from dataclasses import dataclass

def build():
    @dataclass
    class Local:
        x: int

    @tool
    def take(value: Local, other: list[Local] | None = None) -> int:
        "Take."
        return value.x

    @tool(name="take_too")
    def too(value: Local) -> int:
        "Take."
        return value.x

    return take, too, Local
""",
        scope,
    )
    take, too, local = scope["build"]()
    assert take.validate('{"value": {"x": 1}}').params == {"value": local(1), "other": None}
    assert too.validate('{"value": {"x": 1}}').params == {"value": local(1)}


def test_touching_a_method_compiles_nothing():
    class Loose:
        @tool
        def any_number(self, *numbers: int) -> int:
            """Sum."""
            return sum(numbers)

    loose = Loose()
    assert loose.any_number(1, 2, 3) == 6
    assert dict(inspect.getmembers(loose))["any_number"](4) == 4
    with pytest.raises(DefinitionError, match=r"\*numbers"):
        _ = loose.any_number.validate


def test_a_method_is_compiled_once_for_all_objects():
    assert Counter().plain.input_schema is Counter().plain.input_schema


class OwnContext(ToolContext):
    """A host's own context."""


def test_a_context_is_found_by_its_type_or_a_subclass_of_it():
    def own(x: int, where: OwnContext):
        """P."""

    def other_name(x: int, ctx: ToolContext):
        """P."""

    def two(a: ToolContext, b: ToolContext):
        """P."""

    assert list(tool(own).input_schema["properties"]) == ["x"]
    assert tool(other_name, context=True).context_name == "ctx"
    with pytest.raises(DefinitionError, match="two parameters take the context: 'a' and 'b'"):
        _ = tool(two).validate


def test_local_types_find_one_another_and_themselves():
    scope: dict[str, Any] = {"tool": tool, "Tool": Tool}
    exec(  # noqa: S102 -- as a module with `from __future__ import annotations` has them
        """
from __future__ import annotations
from dataclasses import dataclass
from typing import TypedDict

def build():
    @dataclass
    class Inner:
        x: int

    @dataclass
    class Outer:
        inner: Inner

    class Keys(TypedDict):
        inner: Inner

    @dataclass
    class Node:
        next: Node | None = None

    @tool
    def take(outer: Outer, keys: Keys) -> Outer:
        "Take."
        return outer

    return take, Tool[Node, None](name="node", description="Node.")
""",
        scope,
    )
    take, node = scope["build"]()
    assert isinstance(
        take.validate({"outer": {"inner": {"x": 1}}, "keys": {"inner": {"x": 2}}}), ValidArguments
    )
    assert isinstance(node.validate({"next": {"next": None}}), ValidArguments)


def test_a_name_instead_of_a_function_is_reported():
    with pytest.raises(DefinitionError, match=r"Fix: write @tool\(name='search'\)"):
        tool("search")
