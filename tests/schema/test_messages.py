"""The message for the model: one line per problem, the expected value, one example."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le
from pydantic import BaseModel, Field

from tests.cases import each_case
from toolhaft import InvalidArguments, Tool, ToolConfig, ToolExample, create_tool, tool


class Span(BaseModel):
    start: str
    end: str


@dataclass
class Cat:
    name: str
    lives: int = 9


@dataclass
class Dog:
    name: str
    good: bool


@tool
def search(  # noqa: PLR0917 -- one parameter a kind of problem
    query: Annotated[str, Field(min_length=1, max_length=500)],
    limit: Annotated[int, Ge(1), Le(100)] = 10,
    sort_by: Literal["relevance", "date", "name"] = "relevance",
    tags: list[str] | None = None,
    span: Span | None = None,
    pet: Cat | Dog | None = None,
    code: Annotated[str, Field(pattern="^[A-Z]{2}-[0-9]{3}$")] = "AB-123",
    price: Annotated[float, Field(multiple_of=0.01)] = 0.0,
) -> None:
    """Search."""


RAW = create_tool(ToolConfig(name="search", description="Search.", input_schema=search.input_schema))


def lines(made: Tool[Any, Any], raw: object) -> list[str]:
    verdict = made.validate(raw)
    assert isinstance(verdict, InvalidArguments)
    return [str(problem) for problem in verdict.problems]


@each_case("made", [search, RAW], ids=["types", "raw"])
@each_case(
    ("raw", "line"),
    [
        ("{}", "query: missing; expected a string of 1 to 500 characters"),
        ('{"query": ""}', 'query: "" is too short; expected a string of 1 to 500 characters'),
        ('{"query": 5}', "query: got 5; expected a string of 1 to 500 characters"),
        ('{"query": "x", "limit": 500}', "limit: 500 is too large; expected an integer from 1 to 100"),
        ('{"query": "x", "limit": 0}', "limit: 0 is too small; expected an integer from 1 to 100"),
        ('{"query": "x", "limit": "many"}', 'limit: got "many"; expected an integer from 1 to 100'),
        ('{"query": null, "limit": 5}', "query: got null; expected a string of 1 to 500 characters"),
        (
            '{"query": "x", "sort_by": "size"}',
            'sort_by: got "size"; expected one of "relevance", "date", "name"',
        ),
        ('{"query": "x", "tags": [1]}', "tags[0]: got 1; expected a string"),
        ('{"query": "x", "span": {"start": "a"}}', "span.end: missing; expected a string"),
        ('{"query": "x", "span": 5}', "span: got 5; expected an object with start, end or null"),
        (
            '{"query": "x", "code": "x"}',
            'code: "x" does not match; expected a string matching ^[A-Z]{2}-[0-9]{3}$',
        ),
        (
            '{"query": "x", "price": 0.005}',
            "price: 0.005 is not a multiple; expected a number, a multiple of 0.01",
        ),
        ('{"query": "x", "lmit": 5}', "lmit: unknown argument; did you mean 'limit'?"),
        (
            '{"query": "x", "zzz": 5}',
            "zzz: unknown argument; expected only query, limit, sort_by, tags, span, pet, code, price",
        ),
        (
            '{"query": "x", "pet": {"name": 5}}',
            "pet.name: got 5; expected a string",
        ),
        (
            "[]",
            "arguments: got []; expected an object with query, limit, sort_by, tags, span, pet, code, price",
        ),
    ],
)
def test_each_problem_says_where_what_and_what_was_expected(made, raw, line):
    assert line in lines(made, raw)


class Tabby(BaseModel):
    kind: Literal["cat"]
    lives: int


class Hound(BaseModel):
    kind: Literal["dog"]
    breed: str


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"kind": "cat", "lives": "many"}, 'pet.lives: got "many"; expected an integer'),
        ({"kind": "dog"}, "pet.breed: missing; expected a string"),
        ({"kind": "cow"}, 'pet.kind: got "cow"; expected "cat" or "dog"'),
        ({}, 'pet.kind: missing; expected "cat" or "dog"'),
        (5, "pet: got 5; expected an object with kind, lives or an object with kind, breed"),
    ],
)
def test_a_tagged_union_is_reported_by_its_tag(value, line):
    @tool
    def keep(pet: Annotated[Tabby | Hound, Field(discriminator="kind")]) -> None:
        """Keep."""

    assert lines(keep, {"pet": value}) == [line]


@each_case(
    ("value", "line"),
    [
        ({"kind": "cat", "lives": True}, "pet.lives: got true; expected an integer"),
        ([1, "x"], 'pet[1]: got "x"; expected an integer'),
        (1.5, "pet: got 1.5; expected an object with kind, lives or a string or an array, each an integer"),
    ],
)
@each_case("engine", ["types", "raw"])
def test_the_branch_of_a_union_with_a_matching_type_is_reported(value, line, engine):
    @tool
    def keep(pet: Tabby | str | list[int]) -> None:
        """Keep."""

    made = (
        keep
        if engine == "types"
        else create_tool(ToolConfig(name="t", description="T.", input_schema=keep.input_schema))
    )
    assert lines(made, {"pet": value}) == [line]


def test_a_union_at_the_root_is_reported_with_an_example():
    branches = [
        {"properties": {"text": {"type": "string"}}, "required": ["text"]},
        {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
    ]
    made = create_tool(
        ToolConfig(name="t", description="T.", input_schema={"type": "object", "oneOf": branches})
    )
    assert made.validate("{}").message.endswith('Valid arguments look like: {"text":"text"}')


def test_all_problems_come_at_once_with_one_example_at_the_end():
    verdict = search.validate('{"query": "", "limit": 500, "sort_by": 1, "tags": [1, 2], "colour": "red"}')
    assert verdict.message == (
        "The arguments are not valid, 6 problems:\n"
        '- query: "" is too short; expected a string of 1 to 500 characters\n'
        "- limit: 500 is too large; expected an integer from 1 to 100\n"
        '- sort_by: got 1; expected one of "relevance", "date", "name"\n'
        "- tags[0]: got 1; expected a string\n"
        "- tags[1]: got 2; expected a string\n"
        "- colour: unknown argument; expected only query, limit, sort_by, tags, span, pet, code, price\n"
        'Valid arguments look like: {"query":"text"}'
    )
    assert str(verdict) == verdict.message


def test_a_message_is_the_same_the_second_time_and_so_are_its_problems():
    text = '{"query": "", "limit": 500}'
    first, second = search.validate(text), search.validate(text)
    assert (first.message, first.problems) == (second.message, second.problems)
    assert first == second


def test_a_long_value_is_cut():
    verdict = search.validate({"query": ["x" * 500], "code": "y" * 500})
    assert all(len(problem.what) < 110 for problem in verdict.problems)
    assert all(len(line) < 250 for line in verdict.message.splitlines())


def test_a_key_or_value_cannot_add_lines_to_the_message():
    for raw in (
        {"query": "x", "a\n- limit: fine": 1},
        {"query": 5, "tags": "\n- all well\u202e"},
        {"query": "x", "k" * 900: 1},
    ):
        message = search.validate(raw).message
        assert all(line.startswith(("- ", "The arg", "Valid arg")) for line in message.splitlines())
        assert "\u202e" not in message
        assert len(message) <= 2000


def test_messages_name_no_library_and_no_url():
    for raw in ("{}", "nope", '{"query": 5, "pet": 5, "span": {}}', b"\xff"):
        for made in (search, RAW):
            message = made.validate(raw).message.lower()
            assert not any(
                word in message for word in ("pydantic", "jsonschema", "http", "validationerror", "toolhaft")
            )


def test_the_example_of_the_tool_is_in_the_message():
    made = search.replace(examples=[ToolExample(input={"query": "haft", "limit": 3})])
    assert made.validate("{}").message.endswith('Valid arguments look like: {"query":"haft","limit":3}')


@each_case(
    "schema",
    [
        {"type": "string", "minLength": 9},
        {"type": "string", "maxLength": 2},
        {"type": "string", "pattern": "^[a-z]{3}-\\d+(x|y)?$"},
        {"type": "string", "pattern": "^.+@\\w+$", "minLength": 8},
        {"type": "string", "format": "uuid"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "email"},
        {"type": "string", "format": "uri"},
        {"type": "integer", "minimum": 7},
        {"type": "integer", "exclusiveMinimum": 7},
        {"type": "integer", "maximum": -7},
        {"type": "integer", "exclusiveMaximum": -7},
        {"type": "integer", "minimum": 10, "multipleOf": 7},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "number", "minimum": 0.5, "maximum": 0.6},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["integer", "null"]},
        {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "minItems": 2},
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]},
        {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
        {"oneOf": [{"const": "x"}, {"type": "integer"}]},
        {"allOf": [{"type": "integer"}, {"minimum": 4}]},
        {"enum": ["q", 1]},
        {"$ref": "#/$defs/d"},
        {"examples": [{"z": 1}]},
        {},
        True,
    ],
)
def test_the_example_is_minimal_and_valid(schema):
    root = {
        "type": "object",
        "properties": {"value": schema, "other": {"type": "string"}},
        "required": ["value"],
        "$defs": {"d": {"type": "integer", "default": 4}},
    }
    made = create_tool(ToolConfig(name="t", description="T.", input_schema=root))
    example = made.validate("nope").example
    assert example is not None
    assert "other" not in example
    assert not isinstance(made.validate(example), InvalidArguments)


@pytest.mark.parametrize(
    "schema", [{"not": {}}, {"type": "string", "pattern": "^(?:a|b){400,}c$", "maxLength": 3}, False]
)
def test_no_example_is_shown_if_none_can_be_made(schema):
    root = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    verdict = create_tool(ToolConfig(name="t", description="T.", input_schema=root)).validate("nope")
    assert verdict.example is None
    assert "look like" not in verdict.message


def test_a_repair_is_described_in_words():
    verdict = search.validate('{"query": "x", "limit": "5", "tags": "[\\"a\\"]"}')
    assert [str(repair) for repair in verdict.repairs] == [
        'limit: read "5" as 5',
        'tags: read "[\\"a\\"]" as ["a"]',
    ]
    assert verdict.params["tags"] == ["a"]


@each_case(
    ("raw", "paths"),
    [
        ('{"query": "5"}', []),  # a string is wanted: it stays one
        ('{"query": "x", "span": "{\\"start\\": \\"a\\", \\"end\\": \\"b\\"}"}', ["span"]),
        ('{"query": "x", "span": {"start": "a", "end": "b"}, "limit": 7.0}', ["limit"]),
        ('{"query": "x", "tags": "[1]"}', None),  # still wrong once read
        ('{"query": "x", "limit": "5x"}', None),
        ('{"query": "x", "limit": "500"}', None),
        ('{"query": "x", "limit": "\\"5\\""}', None),  # read once, not twice
        ('{"query": "x", "span": "{\\"start\\": \\"a\\", \\"start\\": \\"b\\", \\"end\\": \\"c\\"}"}', None),
    ],
)
@each_case("made", [search, RAW], ids=["types", "raw"])
def test_only_unambiguous_values_are_repaired(made, raw, paths):
    verdict = made.validate(raw)
    if paths is None:
        assert isinstance(verdict, InvalidArguments)
    else:
        assert [repair.path for repair in verdict.repairs] == paths
