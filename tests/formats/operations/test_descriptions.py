"""Descriptions of tools: Markdown with every detail, stubs that read like Python."""

import ast
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from tests.cases import each_case
from toolhaft import BaseTool, Tool, ToolConfig, Toolkit, ToolParam, ToolResponse, ToolReturn, ToolSpec, tool
from toolhaft.errors import DefinitionError, WireError
from toolhaft.formats import describe


class Span(BaseModel):
    """A span of days."""

    start: str
    end: str | None = None


class Filters(BaseModel):
    category: Literal["a", "b"]
    span: Span
    scores: dict[str, float] = {}


@tool(
    title="Search everything",
    when_to_use="The user asks for facts",
    effect="read",
    examples=[
        {"description": "Few", "input": {"query": "tea", "limit": 1}, "output": {"hits": 1}},
        {"input": {"query": "a|b"}},
    ],
)
def search(
    query: Annotated[str, Field(min_length=1, max_length=500)],
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
    tags: list[str] | None = None,
    filters: Filters | None = None,
) -> dict[str, int]:
    """Search the records.

    Args:
        query: What to look for
        limit: How many
            to return
        tags: All of these
        filters: Nothing else
    """
    return {"hits": len(query) + limit + len(tags or ()) + (filters is not None)}


STUB = '''\
class Filters:
    category: Literal["a", "b"]
    span: Span  # A span of days.
    scores: dict[str, float] = {}

class Span:
    start: str
    end: str | None = None

def search(
    query: str,  # What to look for (at least 1 character, at most 500 characters)
    limit: int = 10,  # How many to return (at least 1, at most 100)
    tags: list[str] | None = None,  # All of these
    filters: Filters | None = None,  # Nothing else
) -> dict[str, int]:
    """Search the records.

    When to use: The user asks for facts
    """
'''
PAGE = """\
## search: Search everything

Search the records.

**When to use:** The user asks for facts

| parameter | type | required | default | constraints | description |
| --- | --- | --- | --- | --- | --- |
| `query` | `str` | yes |  | at least 1 character, at most 500 characters | What to look for |
| `limit` | `int` | no | `10` | at least 1, at most 100 | How many to return |
| `tags` | `list[str] \\| None` | no | `null` |  | All of these |
| `filters` | `Filters \\| None` | no | `null` |  | Nothing else |

**Filters**

| member | type | required | default | description |
| --- | --- | --- | --- | --- |
| `category` | `Literal["a", "b"]` | yes |  |  |
| `span` | `Span` | yes |  | A span of days. |
| `scores` | `dict[str, float]` | no | `{}` |  |

**Span**

| member | type | required | default |
| --- | --- | --- | --- |
| `start` | `str` | yes |  |
| `end` | `str \\| None` | no | `null` |

**Returns:** `dict[str, int]`

**Effect:** read

**Examples**

- Few: `{"query":"tea","limit":1}` gives `{"hits":1}`
- `{"query":"a|b"}`
"""


def test_a_stub_reads_like_python():
    assert describe(search, "signature") == STUB
    ast.parse(STUB)


def test_markdown_has_every_detail():
    assert describe(search) == describe([search], "markdown") == PAGE


class Echo(BaseTool):
    spec = ToolSpec(
        name="echo",
        description="Echo.",
        when_to_use="For tests",
        inputs=[ToolParam(name="text", type="string", description="Text")],
        returns=ToolReturn(type="string", description="Text"),
    )

    def __call__(self, *, text: str, **_: Any) -> ToolResponse:
        return ToolResponse(observation=text)


@dataclass
class Stay:
    guest: str = field(metadata={"min_length": 1})


booking = Tool[Stay, Stay](name="book", description="Book.")
config = ToolConfig(name="ping", description="Ping.", input_schema={"type": "object"})


def test_tools_of_every_definition_style_are_described_in_order():
    assert (
        describe([Toolkit([Echo()]), [booking, (config,)]], "signature")
        == '''\
def echo(
    text: str,  # Text
) -> str:
    """Echo.

    When to use: For tests

    Returns: Text
    """

class BookResult:
    guest: str  # at least 1 character

def book(
    guest: str,  # at least 1 character
) -> BookResult:
    """Book."""

def ping():
    """Ping."""
'''
    )
    assert (
        describe([booking, config])
        == """\
## book

Book.

| parameter | type | required | constraints |
| --- | --- | --- | --- |
| `guest` | `str` | yes | at least 1 character |

**BookResult**

| member | type | required | constraints |
| --- | --- | --- | --- |
| `guest` | `str` | yes | at least 1 character |

**Returns:** `BookResult`

**Effect:** irreversible

## ping

Ping.

No parameters.

**Effect:** irreversible
"""
    )


def test_describing_no_tools_gives_empty_text():
    assert describe([]) == describe([], "signature") == ""


def test_an_unknown_style_lists_the_known_ones():
    with pytest.raises(WireError) as caught:
        describe([search], "signatures")
    assert str(caught.value) == (
        "no style 'signatures'; did you mean 'signature'?; expected one of markdown, signature"
    )
    with pytest.raises(WireError, match="no style 5; expected one of markdown, signature"):
        describe([search], 5)


def test_describing_something_that_is_not_a_tool_is_an_error():
    with pytest.raises(DefinitionError, match="5 is not a tool"):
        describe([5])


def stub(schema: dict[str, Any], description: str = "X.") -> str:
    root = schema if schema.get("type") == "object" else {"type": "object", "properties": {"x": schema}}
    return describe([Tool(name="f", description=description, input_schema=root)], "signature")


def shown(schema: dict[str, Any]) -> str:
    """The type of one parameter, and what is noted of it."""
    text = stub({"type": "object", "properties": {"x": schema}, "required": ["x"]})
    line = next(line for line in text.split("\n") if "x: " in line)
    kind = line.strip().removeprefix("def f(").removesuffix("):").removeprefix("x: ")
    return kind.replace(",  #", "  #").removesuffix(",")


@each_case(
    ("schema", "text"),
    [
        ({}, "Any"),
        ({"type": ["string", "integer", "null"]}, "str | int | None"),
        ({"type": ["null", "number"]}, "float | None"),
        ({"enum": ["a", 1, 1.5, True, None]}, 'Literal["a", 1, 1.5, True, None]'),
        ({"enum": [None]}, "None"),
        ({"const": {"a": [1, "b"]}}, 'Literal[{"a": [1, "b"]}]'),
        ({"type": "array"}, "list"),
        ({"items": {"type": "boolean"}}, "list[bool]"),
        (
            {"type": "array", "items": {"type": "string", "minLength": 2}},
            "list[str]  # each at least 2 characters",
        ),
        ({"type": "array", "prefixItems": [{"type": "string"}, {}], "items": False}, "tuple[str, Any]"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "tuple[str, ...]"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "patternProperties": {"^a": {"type": "null"}}}, "dict[str, None]"),
        ({"anyOf": [{"type": "string", "format": "uri"}, {"type": "null"}]}, "str | None  # format: uri"),
        ({"oneOf": [{"type": "string"}, {}]}, "Any"),
        ({"allOf": [{"type": "string"}, {"pattern": "^a"}]}, "str  # pattern: ^a"),
        ({"allOf": [{"minLength": 1}]}, "Any  # at least 1 character"),
        ({"not": {"type": "null"}}, 'Any  # not: {"type":"null"}'),
    ],
)
def test_each_schema_has_its_type(schema, text):
    assert shown(schema) == text


def test_unions_with_constrained_branches_are_shown_as_json_schema():
    assert shown({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}) == (
        'int | str  # anyOf: [{"type":"integer","minimum":1},{"type":"string"}]'
    )
    assert shown({"type": "string", "anyOf": [{"minLength": 3}, {"const": "x"}]}) == (
        'str  # anyOf: [{"minLength":3},{"const":"x"}]'
    )


def test_a_long_enum_ends_with_an_ellipsis():
    text = shown({"enum": [f"value-{number:04}" for number in range(1000)]})
    assert text.startswith('Literal["value-0000", "value-0001", ')
    assert text.endswith(", ...]")
    assert len(text) < 2000


def test_a_recursive_record_refers_to_itself_by_name():
    node = {
        "type": "object",
        "properties": {
            "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            "n": {"type": "integer"},
        },
        "required": ["n"],
    }
    schema = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    assert (
        stub(schema)
        == '''\
class Node:
    n: int
    kids: list[Node] = ...

def f(tree: Node = ...):
    """X."""
'''
    )


def test_types_nested_too_deep_are_shown_as_any():
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(150):
        deep = {"type": "array", "items": deep}
    assert shown(deep).count("list[") == 100
    assert shown(deep).count("Any") == 1


def test_a_tuple_as_draft_7_writes_it():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"x": {"items": [{"type": "string"}], "additionalItems": False}},
    }
    assert stub(schema).startswith("def f(x: tuple[str] = ...):")


def test_different_records_with_the_same_name_get_numbers_and_equal_ones_are_shared():
    def box(kind: str) -> dict[str, Any]:
        return {"type": "object", "properties": {"v": {"type": kind}}, "title": "Box"}

    schema = {"type": "object", "properties": {"a": box("string"), "b": box("integer"), "c": box("string")}}
    assert (
        stub(schema)
        == '''\
class Box:
    v: str = ...

class Box2:
    v: int = ...

def f(a: Box = ..., b: Box2 = ..., c: Box = ...):
    """X."""
'''
    )


def test_a_diamond_of_references_does_not_grow_exponentially():
    defs: dict[str, Any] = {"L30": {"type": "integer"}}
    for level in range(30):
        child = {"$ref": f"#/$defs/L{level + 1}"}
        defs[f"L{level}"] = {"type": "array", "prefixItems": [child, child], "items": False}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": defs}
    assert len(stub(schema)) < 5000


def test_constraints_between_arguments_are_shown():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "from": {"type": "string"}, "b-c": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["from"]}],
        "dependentRequired": {"a": ["b-c"]},
        "additionalProperties": {"type": "string"},
    }
    assert (
        stub(schema, 'Say "so"')
        == '''\
def f(a: str = ..., "from": str = ..., "b-c": str = ..., **more):
    """Say "so"

    Arguments: if a is given, so must be b-c; anyOf: [{"required":["a"]},{"required":["from"]}]
    """
'''
    )
    made = Tool(name="f", description="F.", input_schema=schema)
    assert describe(made).split("\n\n")[3:5] == [
        "Arguments with other names are accepted too.",
        '**Arguments:** if a is given, so must be b-c; anyOf: [{"required":["a"]},{"required":["from"]}]',
    ]


def test_members_of_the_roots_branches_are_parameters():
    schema = {
        "type": "object",
        "allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}],
        "oneOf": [
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
            {"properties": {"c": {"type": "string"}, "b": {"type": "integer"}}},
        ],
    }
    assert "f(a: int, b: str = ..., c: str = ...)" in stub(schema)


def test_quotes_and_backticks_in_descriptions_are_escaped():
    made = Tool(
        name="f",
        description='Ends with """ and "quote"',
        input_schema={"type": "object", "properties": {"x": {"const": "`"}}},
    )
    assert (
        describe(made, "signature")
        == '''\
def f(x: Literal["`"] = ...):
    """Ends with \'\'\' and "quote"
    """
'''
    )
    assert '| `x` | `` Literal["`"] `` | no |' in describe(made)
