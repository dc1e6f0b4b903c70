"""The one-line form of a tool: its signature and its effect."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from tests.cases import each_case
from toolhaft import Secret, Tool, ToolContext, ToolResult, tool
from toolhaft.core.signature_text import type_text
from toolhaft.errors import DefinitionError

ApiKey = Annotated[str, Secret]


@tool(effect="read")
def price(item: str, count: int = 1, *, context: ToolContext) -> float:
    """Look up a price."""
    return 1.0


def test_a_function_is_shown_by_its_signature_without_the_context():
    shown = "<Tool price(item: str, count: int = 1) -> float, effect=read>"
    assert repr(price) == shown
    assert price.name == "price"  # compiles it
    assert repr(price) == shown


def test_showing_a_function_does_not_compile_it():
    @tool(timeout=5)
    def broken(x: "Unknown", y: list = ()):  # noqa: F821 -- wrong on purpose
        """Fail when it is compiled."""

    assert repr(broken) == "<Tool broken(x: Unknown, y: list = ...), effect=irreversible>"
    with pytest.raises(DefinitionError):
        _ = broken.validate


def test_a_default_that_may_be_a_secret_is_not_shown():
    @tool
    def log_in(
        *,
        key: ApiKey = "sk-1",
        pin: Annotated[int, Secret] = 12345,
        other: "ApiKey" = "sk-2",
        mode: Literal["a", "b"] = "a",
        name: str = "guest",
        on: bool = True,
        most: int | None = None,
    ) -> dict[str, int]:
        """Log in."""

    shown = repr(log_in)
    assert "sk-" not in shown
    assert "12345" not in shown
    assert "key: str = ..., pin: int = ..., other: ApiKey = ..." in shown
    assert (
        "mode: Literal['a', 'b'] = 'a', name: str = 'guest', on: bool = True, most: int | None = None"
        in shown
    )
    assert shown.endswith(" -> dict[str, int], effect=irreversible>")


def test_a_repr_that_raises_is_not_called_again():
    class Rude:
        def __repr__(self):
            raise RuntimeError("no")

    rude = Rude()
    made = tool(lambda x=rude: x, name="rude", description="Rude.")
    assert repr(made) == "<Tool rude(...), effect=irreversible>"


def test_methods_partials_and_built_in_functions_are_shown():
    class Shop:
        @tool
        def buy(self, item: str) -> int:
            """Buy."""
            return 1

    assert repr(Shop().buy) == "<Tool buy(item: str) -> int, effect=irreversible>"
    assert repr(tool(len, name="size", description="Size.")) == "<Tool size(obj), effect=irreversible>"


def test_a_long_signature_is_cut():
    names = ", ".join(f"parameter_{number}=1" for number in range(200))
    made = tool(eval(f"lambda {names}: 1"), name="wide", description="Wide.")  # noqa: S307 -- our own text
    assert len(repr(made)) < 300
    assert repr(made).endswith(", ...), effect=irreversible>")
    many = {f"p{number}": {"enum": ["x" * 100] * 50} for number in range(100)}
    raw = Tool(name="n" * 128, description="d", input_schema={"type": "object", "properties": many})
    assert len(repr(raw)) < 500


@dataclass
class Query:
    text: str
    limit: int = 10


@dataclass
class Found:
    hits: int


def test_other_tools_are_shown_by_their_schemas():
    def find(params: Query, *, context: ToolContext) -> ToolResult[Found]:
        """Find."""
        return ToolResult.ok(Found(1))

    assert repr(Tool.wrap(find)) == "<Tool find(text: str, limit: int = 10) -> dict, effect=irreversible>"
    assert repr(Tool(name="now", description="Now.", effect="read")) == "<Tool now(), effect=read>"


def test_a_tool_that_is_being_made_can_be_shown():
    assert repr(object.__new__(Tool)) == "<Tool>"


_CASES: list[tuple[Any, str]] = [
    ({"type": "string"}, "str"),
    ({"type": ["integer", "null"]}, "int | None"),
    ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "float | None"),
    ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, "list[list[bool]]"),
    ({"type": "array"}, "list"),
    ({"const": 5}, "Literal[5]"),
    ({"enum": list(range(9))}, "Literal[0, 1, 2, 3, 4, 5, ...]"),
    ({"$ref": "#/$defs/Node"}, "Node"),
    ({"type": "object"}, "dict"),
    ({}, "Any"),
    (True, "Any"),
    ({"type": 5}, "Any"),
]


@each_case(("schema", "shown"), _CASES)
def test_a_schema_is_shown_as_a_type(schema, shown):
    assert type_text(schema) == shown


def test_a_schema_that_is_nested_deep_is_cut():
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(1000):
        schema = {"type": "array", "items": schema}
    assert type_text(schema) == "list[list[list[list[list[Any]]]]]"
