"""Seed 001, Tool Specifications: the chapter *Parameter Type Definitions*.

Each definition is held to its word twice: as a raw JSON Schema, and as the annotation of a function.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Annotated, Literal, NotRequired, TypedDict
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ConfigDict, Field

from tests.cases import each_case
from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.schema.problems import Repair


class Record(TypedDict):
    id: str
    name: NotRequired[str]


class Profile(TypedDict, total=False):
    name: str
    age: int


class Address(BaseModel):
    model_config = ConfigDict(extra="forbid")

    street: str
    city: str
    state: str
    zip: str


class ByText(TypedDict):
    text: str


class ById(TypedDict):
    id: str


def as_sent(value):
    return value


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One JSON of the chapter, the same said in Python, and the values that it admits, mends or refuses."""

    heading: str
    printed: dict
    annotation: object
    generated: dict | None = None  # the schema of the annotation, where it has other words for the same
    arrives_as: Callable = as_sent  # what the function receives
    good: list
    repaired: list[tuple] = ()
    bad: list


ADDRESS = {"street": "1 Main St", "city": "Springfield", "state": "IL", "zip": "62701"}
UUID_TEXT = "123e4567-e89b-42d3-a456-426614174000"

STRINGS = [
    Definition(
        heading="Basic string",
        printed={"type": "string", "description": "User's email address"},
        annotation=Annotated[str, Field(description="User's email address")],
        good=["ada@example.com", "", "5", "null"],
        bad=[5, None, True, ["a"], {}],
    ),
    Definition(
        heading="String with constraints",
        printed={
            "type": "string",
            "description": "User's username",
            "minLength": 3,
            "maxLength": 20,
            "pattern": "^[a-zA-Z0-9_]+$",
        },
        annotation=Annotated[
            str, Field(description="User's username", min_length=3, max_length=20, pattern="^[a-zA-Z0-9_]+$")
        ],
        good=["abc", "a" * 20, "Ada_99"],
        bad=["ab", "a" * 21, "ada lovelace", "ada\n", "ädä", "", 12345],
    ),
    Definition(
        heading="String with enumeration",
        printed={
            "type": "string",
            "description": "Output format",
            "enum": ["json", "xml", "csv"],
            "default": "json",
        },
        annotation=Annotated[Literal["json", "xml", "csv"], Field(description="Output format")],
        generated={"description": "Output format", "enum": ["json", "xml", "csv"], "default": "json"},
        good=["json", "xml", "csv"],
        bad=["JSON", "yaml", "", 0],
    ),
    Definition(
        heading="String with format",
        printed={"type": "string", "description": "Event timestamp", "format": "date-time"},
        annotation=Annotated[datetime, Field(description="Event timestamp")],
        arrives_as=datetime.fromisoformat,
        good=["2024-01-15T10:30:00Z", "2024-01-15T10:30:00.5+02:00"],
        bad=["2024-01-15", "10:30:00", "2024-02-30T10:30:00Z", "1700000000", 1700000000, "yesterday", ""],
    ),
]

FORMATS = [
    Definition(
        heading=f"Common formats: {name}",
        printed={"type": "string", "format": name},
        annotation=annotation,
        generated=generated,
        arrives_as=arrives_as,
        good=good,
        bad=[*bad, "", "nonsense", 5, None],
    )
    for name, annotation, generated, arrives_as, good, bad in [
        (
            "date-time",
            datetime,
            None,
            datetime.fromisoformat,
            ["2024-01-15T10:30:00Z", "2024-01-15T10:30:00+05:30"],
            ["2024-13-01T10:30:00Z", "2024-01-15T25:00:00Z", "2024-01-15"],
        ),
        ("date", date, None, date.fromisoformat, ["2024-02-29"], ["2023-02-29", "2024-1-5", "15/01/2024"]),
        (
            "time",
            time,
            None,
            time.fromisoformat,
            ["10:30:00", "10:30:00Z"],
            ["25:00:00", "10:60:00", "10h30"],
        ),
        ("email", None, None, as_sent, ["ada@example.com"], ["ada", "ada@", "@example.com", "a b@c.de"]),
        (
            "uri",
            AnyUrl,
            {"type": "string", "format": "uri", "minLength": 1},
            AnyUrl,
            ["https://example.com/a?b=c#d", "urn:isbn:0451450523"],
            ["/relative", "example.com", "https://exa mple.com"],
        ),
        (
            "uuid",
            UUID,
            None,
            UUID,
            [UUID_TEXT],
            [UUID_TEXT[:-1], UUID_TEXT.replace("-", ""), f"urn:uuid:{UUID_TEXT}"],
        ),
    ]
]

NUMBERS = [
    Definition(
        heading="Basic integer",
        printed={"type": "integer", "description": "Number of results"},
        annotation=Annotated[int, Field(description="Number of results")],
        good=[0, -5, 10**18],
        repaired=[("5", 5), (5.0, 5)],
        bad=[5.5, "five", "5.5", True, None, [5]],
    ),
    Definition(
        heading="Integer with constraints",
        printed={"type": "integer", "description": "Page size", "minimum": 1, "maximum": 100, "default": 10},
        annotation=Annotated[int, Field(description="Page size", ge=1, le=100)],
        good=[1, 100],
        repaired=[("100", 100), (1.0, 1)],
        bad=[0, 101, -1, "101", 0.0, 1.5],
    ),
    Definition(
        heading="Integer with exclusive bounds",
        printed={
            "type": "integer",
            "description": "Port number",
            "exclusiveMinimum": 1024,
            "exclusiveMaximum": 65536,
        },
        annotation=Annotated[int, Field(description="Port number", gt=1024, lt=65536)],
        good=[1025, 65535],
        repaired=[("8080", 8080)],
        bad=[1024, 65536, 0, 1024.5, "1024"],
    ),
    Definition(
        heading="Basic number",
        printed={"type": "number", "description": "Temperature in Celsius"},
        annotation=Annotated[float, Field(description="Temperature in Celsius")],
        good=[21.5, -40, 0],
        repaired=[("21.5", 21.5)],
        bad=["warm", True, None, "NaN", [21.5]],
    ),
    Definition(
        heading="Number with constraints",
        printed={"type": "number", "description": "Confidence score", "minimum": 0.0, "maximum": 1.0},
        annotation=Annotated[float, Field(description="Confidence score", ge=0.0, le=1.0)],
        good=[0, 0.0, 0.5, 1, 1.0],
        repaired=[("0.5", 0.5)],
        bad=[-0.01, 1.01, 2, "2"],
    ),
    Definition(
        heading="Number with multiplier",
        printed={"type": "number", "description": "Price in dollars", "multipleOf": 0.01},
        annotation=Annotated[float, Field(description="Price in dollars", multiple_of=0.01)],
        good=[19.99, 0.07, 0.29, 1.1, 4.35, 100, 123456789.01, 0, -19.99],
        repaired=[("19.99", 19.99)],
        bad=[19.999, 0.001, 0.005, "19.999"],
    ),
    Definition(
        heading="Boolean Parameters",
        printed={"type": "boolean", "description": "Whether to include metadata", "default": False},
        annotation=Annotated[bool, Field(description="Whether to include metadata")],
        good=[True, False],
        repaired=[("true", True), ("false", False)],
        bad=[0, 1, "yes", "True"],
    ),
]

COLLECTIONS = [
    Definition(
        heading="Array of strings",
        printed={"type": "array", "description": "List of tags", "items": {"type": "string"}},
        annotation=Annotated[list[str], Field(description="List of tags")],
        good=[[], ["a"], ["a", "a"]],
        repaired=[('["a"]', ["a"])],
        bad=["a", [1], ["a", None], {"0": "a"}, None],
    ),
    Definition(
        heading="Array with constraints",
        printed={
            "type": "array",
            "description": "Selected items",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 10,
            "uniqueItems": True,
        },
        annotation=Annotated[set[str], Field(description="Selected items", min_length=1, max_length=10)],
        arrives_as=set,
        good=[["a"], list("abcdefghij")],
        bad=[[], list("abcdefghijk"), ["a", "b", "a"], [1]],
    ),
    Definition(
        heading="Array of objects",
        printed={
            "type": "array",
            "description": "User records",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
                "required": ["id"],
            },
        },
        annotation=Annotated[list[Record], Field(description="User records")],
        good=[[], [{"id": "1"}, {"id": "2", "name": "Ada"}]],
        bad=[[{}], [{"name": "Ada"}], [{"id": 1}], [{"id": None}], {"id": "1"}, ["1"]],
    ),
    Definition(
        heading="Basic object",
        printed={
            "type": "object",
            "description": "User profile",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        },
        annotation=Annotated[Profile, Field(description="User profile")],
        good=[{}, {"name": "Ada"}, {"name": "Ada", "age": 36}],
        bad=[{"age": "old"}, {"name": 5}, {"age": True}, [], "Ada", None],
    ),
    Definition(
        heading="Object with required fields",
        printed={
            "type": "object",
            "description": "Address",
            "properties": {
                "street": {"type": "string"},
                "city": {"type": "string"},
                "state": {"type": "string"},
                "zip": {"type": "string"},
            },
            "required": ["street", "city", "state", "zip"],
            "additionalProperties": False,
        },
        annotation=Annotated[Address, Field(description="Address")],
        arrives_as=lambda value: Address(**value),
        good=[ADDRESS],
        bad=[{}, {**ADDRESS, "zip": 62701}, {**ADDRESS, "country": "US"}, {"street": "1 Main St"}],
    ),
    Definition(
        heading="Object with additional properties",
        printed={
            "type": "object",
            "description": "Metadata dictionary",
            "additionalProperties": {"type": "string"},
        },
        annotation=Annotated[dict[str, str], Field(description="Metadata dictionary")],
        good=[{}, {"any": "thing", "at": "all"}],
        bad=[{"any": 1}, {"any": None}, [], "any"],
    ),
]

UNIONS = [
    Definition(
        heading="anyOf",
        printed={
            "description": "Identifier (string or integer)",
            "anyOf": [{"type": "string"}, {"type": "integer"}],
        },
        annotation=Annotated[str | int, Field(description="Identifier (string or integer)")],
        good=["a", 5, "5"],
        repaired=[(5.0, 5)],
        bad=[5.5, True, None, ["a"]],
    ),
    Definition(
        heading="oneOf",
        printed={
            "description": "Search query",
            "oneOf": [
                {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
                {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            ],
        },
        annotation=Annotated[ByText | ById, Field(description="Search query")],
        generated={
            "description": "Search query",
            "anyOf": [
                {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
                {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            ],
        },
        good=[{"text": "a"}, {"id": "1"}],
        bad=[{}, {"text": "a", "id": "1"}, {"text": 5}, "a", None],
    ),
    Definition(
        heading="Nullable parameter",
        printed={"description": "Optional comment", "anyOf": [{"type": "string"}, {"type": "null"}]},
        annotation=Annotated[str | None, Field(description="Optional comment")],
        good=["a", "", "null", None],
        bad=[5, False, []],
    ),
]

CHAPTER = [*STRINGS, *FORMATS, *NUMBERS, *COLLECTIONS, *UNIONS]
IN_PYTHON = [definition for definition in CHAPTER if definition.annotation is not None]


def schema_of(parameter: dict) -> dict:
    root = {"type": "object", "properties": {"value": parameter}}
    return root if "default" in parameter else {**root, "required": ["value"]}


def raw_tool(definition: Definition) -> Tool:
    return create_tool(
        ToolConfig(name="take", description="Take a value.", input_schema=schema_of(definition.printed))
    )


def function_tool(definition: Definition) -> Tool:
    def take(value):
        """Take a value."""

    take.__annotations__ = {"value": definition.annotation}
    if "default" in definition.printed:
        take.__defaults__ = (definition.printed["default"],)
    return tool(take)


def answer(made: Tool, value):
    """The one answer to a value, sent as an object and as text."""
    arguments = {"value": value}
    verdict = made.validate(arguments)
    assert made.validate(json.dumps(arguments)) == verdict
    return verdict


def each(definitions):
    return each_case("definition", definitions)


@each(CHAPTER)
def test_seed_001_raw_parameter_accepts_mends_and_refuses(definition):
    """Seed 001, *Parameter Type Definitions*, as raw JSON Schema."""
    made = raw_tool(definition)
    assert made.input_schema == schema_of(definition.printed)
    for value in definition.good:
        assert answer(made, value) == ValidArguments({"value": value})
    for was, now in definition.repaired:
        verdict = answer(made, was)
        assert verdict == ValidArguments({"value": now}, (Repair(path="value", was=was, now=now),))
        assert type(verdict.params["value"]) is type(now)
    accepted = [value for value in definition.bad if not isinstance(answer(made, value), InvalidArguments)]
    assert accepted == []


@each(IN_PYTHON)
def test_seed_001_annotated_parameter_accepts_mends_and_refuses_the_same(definition):
    """Seed 001, *Parameter Type Definitions*, as the annotation of a function."""
    made = function_tool(definition)
    assert made.input_schema == schema_of(definition.generated or definition.printed)
    for value in definition.good:
        assert answer(made, value) == ValidArguments({"value": definition.arrives_as(value)})
    for was, now in definition.repaired:
        verdict = answer(made, was)
        assert verdict == ValidArguments({"value": now}, (Repair(path="value", was=was, now=now),))
        assert type(verdict.params["value"]) is type(now)
    accepted = [value for value in definition.bad if not isinstance(answer(made, value), InvalidArguments)]
    assert accepted == []


@each(IN_PYTHON)
def test_seed_001_both_forms_point_at_the_same_places(definition):
    """Seed 001, *Parameter Type Definitions*: whichever form a tool has, a model hears the same places."""
    raw, function = raw_tool(definition), function_tool(definition)
    for value in definition.bad:
        places = [problem.path for problem in answer(raw, value).problems]
        assert [problem.path for problem in answer(function, value).problems] == places


@each_case("make", [raw_tool, function_tool])
@each([one for one in CHAPTER if "default" in one.printed])
def test_seed_001_a_default_stands_where_nothing_was_sent(make, definition):
    """Seed 001, *Parameter Type Definitions*: the three definitions that have a default."""
    expected = ValidArguments({"value": definition.printed["default"]})
    assert make(definition).validate({}) == expected
    assert make(definition).validate("{}") == expected
