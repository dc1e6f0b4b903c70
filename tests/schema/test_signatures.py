"""Signatures: `Self`, `Unpack`, and mistakes in a definition that are reported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, Optional, Required, Self, TypedDict, Unpack

import pytest
import typing_extensions
from pydantic import BaseModel, Field

from tests.cases import in_case
from toolhaft import Tool, ToolConfig, ToolContext, ToolResult, create_tool, execute_tool, tool
from toolhaft.errors import DefinitionError


@dataclass
class Node:
    value: int
    next: Optional[Self] = None
    children: list[Self] | None = None


@dataclass
class Special(Node):
    name: str = ""


class Model(BaseModel):
    value: int
    next: Self | None = None


class Record(TypedDict):
    value: int
    next: NotRequired[Self]


class Options(TypedDict, total=False):
    limit: Required[Annotated[int, Field(ge=1)]]
    order: Annotated[Literal["up", "down"], "The order."]


@dataclass
class Number:
    x: int

    def plus(self, other: Self) -> Self:
        """Add."""
        return type(self)(self.x + other.x)


def problem_of(function: Any, **options: Any) -> str:
    with pytest.raises(DefinitionError) as raised:
        tool(function, **options).input_schema  # noqa: B018 -- compiles it
    return str(raised.value)


def test_self_means_the_class_in_every_kind_of_record():
    for kind in (Node, Special, Model, Record):

        @tool(isolation="inline")
        def take(it: kind) -> object:
            """Take it."""
            return it

        chain = {"value": 1, "next": {"value": 2, "next": {"value": 3}}}
        with in_case(kind.__name__):
            valid = take.validate({"it": chain}).params["it"]
            inner = valid["next"] if kind is Record else valid.next
            assert kind is Record or type(inner) is kind
            (problem,) = take.validate({"it": {"value": 1, "next": {"value": "x"}}}).problems
            assert problem.path == "it.next.value"


def test_self_means_the_class_of_typed_params():
    def handle(params: Node, *, context: ToolContext) -> ToolResult[None]:
        """Handle."""
        return ToolResult.ok(None)

    made = Tool[Node, None](name="t", description="T.", handler=handle)
    assert made.validate({"value": 1, "children": [{"value": 2}]}).params == Node(1, None, [Node(2)])


def test_self_means_the_class_of_a_method():
    made = tool(Number(1).plus)
    assert execute_tool(made, {"other": {"x": 2}}).value == Number(3)
    assert made.output_schema == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
    }


def test_self_outside_of_a_class_is_refused():
    def take(it: Self) -> None:  # type: ignore[misc] -- the mistake
        """Take it."""

    assert problem_of(take) == (
        "tool 'take', parameter 'it': Self has no class here. Fix: write the name of the class"
    )


def test_the_keys_of_an_unpacked_typed_dict_are_parameters():
    @tool
    def find(query: str, **options: Unpack[Options]) -> dict[str, object]:
        """Find.

        Args:
            query: What to find.
            limit: How many.
        """
        return {"query": query, **options}

    assert find.input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to find."},
            "limit": {"type": "integer", "minimum": 1, "description": "How many."},
            "order": {"enum": ["up", "down"], "description": "The order."},
        },
        "required": ["query", "limit"],
    }
    for given in ({"query": "x", "limit": 1}, {"query": "x", "limit": 1, "order": "up"}):
        assert execute_tool(find, given).value == given
    assert execute_tool(find, {"query": "x", "limit": 1, "order": None}).value == {"query": "x", "limit": 1}
    assert [str(problem) for problem in find.validate({"query": "x", "limit": 0, "oder": "up"}).problems] == [
        "limit: 0 is too small; expected an integer of at least 1",
        "oder: unknown argument; did you mean 'order'?",
    ]


def test_unpack_and_its_keys_may_come_from_typing_extensions():
    class Sizes(typing_extensions.TypedDict):
        width: int
        height: typing_extensions.NotRequired[int]

    def draw(**sizes: typing_extensions.Unpack[Sizes]) -> list[str]:
        """Draw."""
        return sorted(sizes)

    assert execute_tool(draw, {"width": 1}).value == ["width"]
    assert execute_tool(draw, {"width": 1, "height": 2}).value == ["height", "width"]


def test_keywords_that_no_schema_can_describe_are_refused():
    def plain(**options: int) -> None:
        """Do."""

    def unpacked(**options: Unpack[dict[str, int]]) -> None:
        """Do."""

    def twice(limit: int, **options: Unpack[Options]) -> None:
        """Do."""

    for function in (plain, unpacked):
        assert problem_of(function) == (
            f"tool '{function.__name__}', parameter '**options': a schema cannot describe what **options takes. Fix: "
            "name the parameters, or take one list or dict, or write **kwargs: Unpack[...] with a TypedDict"
        )
    assert problem_of(twice) == (
        "tool 'twice', parameter 'limit': Options has a key that is a parameter too. Fix: rename one of them"
    )


def test_a_docstring_entry_for_no_parameter_is_reported():
    def typo(query: str, limit: int = 3) -> None:  # noqa: D417 -- the mistake
        """Find.

        Args:
            query: What to find.
            limt: How many.
        """

    def stale(query: str) -> None:
        """Find.

        :param query: What to find.
        :param verbose: Whether to talk.
        """

    what = "docstring: the docstring explains the parameter"
    assert problem_of(typo) == f"tool 'typo', {what} 'limt', which does not exist. Fix: did you mean 'limit'?"
    assert problem_of(stale) == (
        f"tool 'stale', {what} 'verbose', which does not exist. Fix: rename the entry, or remove it"
    )


def test_a_docstring_may_explain_what_the_model_does_not_give():
    class Api:
        def call(self, key: str, query: str, context: ToolContext, **more: Unpack[Options]) -> None:
            """Call.

            Args:
                self: The API.
                key: The host's key.
                query: What to find.
                context: The context of the call.
                more: Other options.
                limit: How many.
            """

    made = tool(partial(Api().call, "secret"))
    assert [*made.input_schema["properties"]] == ["query", "limit", "order"]


def test_a_context_without_a_type_is_reported():
    def first(query: str, ctx) -> None:
        """Do."""

    def second(context=None) -> None:
        """Do."""

    for function, name in ((first, "ctx"), (second, "context")):
        assert problem_of(function) == (
            f"tool '{function.__name__}', parameter '{name}': it has no type, so it is not clear who gives it: the "
            f"executor or the model. Fix: write {name}: ToolContext for the context of the call, or {name}: str for an "
            "argument"
        )
    assert tool(first, context="ctx").context_name == "ctx"
    assert tool(second, context=True).context_name == "context"
    assert "ctx" in tool(first, context=False).input_schema["properties"]


def test_a_context_without_a_type_is_reported_for_raw_schemas_too():
    def run(input, context):
        return input

    with pytest.raises(
        DefinitionError, match=r"tool 'run', parameter 'context': .*Fix: write context: ToolContext"
    ):
        create_tool(ToolConfig(name="run", description="Run.", input_schema={"type": "object"}, execute=run))

    def alone(context):
        return context

    made = create_tool(
        ToolConfig(name="alone", description="Run.", input_schema={"type": "object"}, execute=alone)
    )
    assert execute_tool(made).value == {}


def test_two_texts_in_one_annotation_are_reported():
    def find(city: Annotated[str, "A city.", "In lower case."]) -> None:
        """Find."""

    assert problem_of(find) == (
        "tool 'find', parameter 'city': Annotated has two texts, 'A city.' and 'In lower case.', and only one can be "
        "the description. Fix: join them, or replace the text of an alias with Field(description=...)"
    )

    def replaced(city: Annotated[Annotated[str, "A city."], Field(description="Where to go.")]) -> None:
        """Find."""

    assert tool(replaced).input_schema["properties"]["city"]["description"] == "Where to go."


def test_annotations_that_cannot_be_evaluated_are_reported():
    def wrong(a: int[str]) -> None:  # type: ignore[misc] -- the mistake
        """Do."""

    assert "its annotations cannot be read: " in problem_of(wrong)


def test_an_enum_without_members_is_reported_inside_models_too():
    class Nothing(Enum):
        pass

    class Paint(BaseModel):
        colour: Nothing

    def paint(it: Paint) -> None:
        """Paint."""

    paint.__annotations__["it"] = Paint
    assert problem_of(paint) == (
        "tool 'paint', parameter 'it': the enum Nothing has no members. Fix: give it at least one"
    )
