"""`@tool`: schemas from types, defaults and return annotations."""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Annotated, Any, NewType, Optional, TypedDict, TypeVar

from annotated_types import Ge
from pydantic import AfterValidator, BaseModel, Field

from tests.cases import each_case
from toolhaft import ToolResult, ValidArguments, tool


class Search(BaseModel):
    query: str = Field(min_length=1)


@dataclass
class Box:
    width: int


def test_models_arrive_as_models_and_dataclasses_as_dataclasses():
    @tool
    def take(search: Search, box: Box, boxes: list[Box], more: dict[str, Search]) -> None:
        """Take."""

    params = take.validate(
        '{"search": {"query": "x"}, "box": {"width": 1}, "boxes": [{"width": 2}], "more": {"a": {"query": "y"}}}'
    ).params
    assert params == {
        "search": Search(query="x"),
        "box": Box(1),
        "boxes": [Box(2)],
        "more": {"a": Search(query="y")},
    }


def test_descriptions_and_constraints_come_from_every_source():
    @tool
    def take(  # noqa: D417 -- the others say it elsewhere
        a: Annotated[int, Ge(1), "From the annotation"],
        b: Annotated[int, Field(description="From the field", le=5)],
        c: int = Field(3, ge=1, description="From the default"),
        d: Annotated[str, Field(alias="from")] = "x",
        e: str = "e",
    ) -> None:
        """Take.

        Args:
            a: Not this one
            e: From the docstring
        """

    assert take.input_schema["properties"] == {
        "a": {"type": "integer", "minimum": 1, "description": "From the annotation"},
        "b": {"type": "integer", "maximum": 5, "description": "From the field"},
        "c": {"type": "integer", "minimum": 1, "description": "From the default", "default": 3},
        "from": {"type": "string", "default": "x"},
        "e": {"type": "string", "description": "From the docstring", "default": "e"},
    }
    assert take.input_schema["required"] == ["a", "b"]
    assert take.validate('{"a": 1, "b": 2, "from": "y"}').params == {
        "a": 1,
        "b": 2,
        "c": 3,
        "d": "y",
        "e": "e",
    }


def test_an_authors_validator_runs_and_is_quoted():
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value

    @tool
    def take(value: Annotated[int, AfterValidator(even)]) -> None:
        """Take."""

    assert take.validate('{"value": 2}').params == {"value": 2}
    assert take.validate('{"value": 3}').problems[0].what == "must be even"


def test_a_mutable_default_is_not_shared_between_calls():
    @tool
    def take(items: list[int] = [1]) -> list[int]:  # noqa: B006 -- what is tested
        """Take."""
        return items

    first = take.validate("{}").params["items"]
    first.append(2)
    assert take.validate("{}").params["items"] == [1]


Celsius = NewType("Celsius", float)
T = TypeVar("T", bound=int)


class Tree(TypedDict):
    value: int
    children: "list[Tree]"


@dataclass
class Person:
    name: str
    friend: "Optional[Person]" = None


class Folder(BaseModel):
    name: str
    inside: "list[Folder]" = []


@each_case(
    ("annotation", "good", "bad"),
    [
        (
            Tree,
            '{"value": 1, "children": [{"value": 2, "children": []}]}',
            '{"value": 1, "children": [{"value": "x", "children": []}]}',
        ),
        (Person, '{"name": "a", "friend": {"name": "b"}}', '{"name": "a", "friend": {"name": 1}}'),
        (Folder, '{"name": "a", "inside": [{"name": "b"}]}', '{"name": "a", "inside": [{"nam": "b"}]}'),
        (
            list[Folder],
            '[{"name": "a", "inside": [{"name": "b"}]}]',
            '[{"name": "a", "inside": [{"name": 1}]}]',
        ),
        (Celsius, "1.5", '"warm"'),
        (T, "1", "1.5"),
    ],
    ids=str,
)
def test_recursive_and_named_types_are_checked_all_the_way_down(annotation, good, bad):
    def take(value):
        """Take."""

    take.__annotations__ = {"value": annotation}
    made = tool(take)
    assert isinstance(made.validate(f'{{"value": {good}}}'), ValidArguments)
    assert not isinstance(made.validate(f'{{"value": {bad}}}'), ValidArguments)


def test_two_types_of_one_name_have_separate_definitions():
    def make(extra: type) -> type:
        @dataclass
        class Node:
            value: extra  # type: ignore[valid-type]
            next: "Optional[Any]" = None

        Node.__annotations__["next"] = Optional[Node]
        Node.__dataclass_fields__["next"].type = Optional[Node]
        return Node

    def take(a, b):
        """Take."""

    take.__annotations__ = {"a": make(int), "b": make(str)}
    made = tool(take)
    assert sorted(made.input_schema["$defs"]) == ["Node", "Node2"]
    assert isinstance(
        made.validate('{"a": {"value": 1, "next": {"value": 2}}, "b": {"value": "x"}}'), ValidArguments
    )


@each_case(
    ("returned", "schema"),
    [
        (int, {"type": "integer"}),
        (None, {"type": "null"}),
        (ToolResult[int], {"type": "integer"}),
        (ToolResult, None),
        (Awaitable[int], {"type": "integer"}),
        (AsyncIterator[str], None),
        (
            Search,
            {
                "type": "object",
                "properties": {"query": {"type": "string", "minLength": 1}},
                "required": ["query"],
            },
        ),
        (type("Host", (), {}), None),
    ],
    ids=str,
)
def test_the_output_schema_comes_from_the_return_annotation(returned, schema):
    def give():
        """Give."""

    give.__annotations__ = {"return": returned}
    assert tool(give).output_schema == schema


def test_a_function_without_a_return_annotation_has_no_output_schema():
    def give():
        """Give."""

    assert tool(give).output_schema is None
    assert tool(give).check_output(object()) is None
