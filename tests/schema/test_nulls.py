"""A null for an argument that is not required and admits no null means that it is not given."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import BaseModel, Field

from tests.cases import each_case, in_case
from toolhaft import (
    BaseTool,
    InvalidArguments,
    Tool,
    ToolConfig,
    ToolExecutor,
    ToolParam,
    ToolResponse,
    ToolReturn,
    ToolSpec,
    ValidArguments,
    create_tool,
    tool,
)
from toolhaft.core.call import ToolCall
from toolhaft.define.yaml import parse_tool


@dataclass
class Range:
    start: str
    end: str = "now"
    step: int | None = 3


class Filters(BaseModel):
    least: int = 5
    range: Range | None = None
    inner: "Filters | None" = None


class Keys(TypedDict):
    x: int
    y: NotRequired[int]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    lives: int | None = 1


@tool
def search(  # noqa: PLR0917 -- one parameter for each kind of type
    query: str,
    limit: Annotated[int, Field(ge=1)] = 10,
    sort: Literal["a", "b"] = "a",
    tags: list[str] = [],  # noqa: B006 -- copied for each call
    filters: Filters = Filters(),  # noqa: B008 -- the same
    keys: Keys | None = None,
    counts: dict[str, int] = {},  # noqa: B006 -- the same
    pets: list[Cat | Dog] = [],  # noqa: B006 -- the same
    ranges: list[Range] = [],  # noqa: B006 -- the same
    comment: str | None = "none",
) -> str:
    """Search."""
    return query


@dataclass
class Params:
    query: str
    limit: int = 10
    tags: list[str] = field(default_factory=lambda: ["x"])


RAW = create_tool(ToolConfig(name="raw", description="Raw.", input_schema=search.input_schema))


def repairs_of(made, arguments):
    """What was read as not given, in a call that is valid."""
    valid = made.validate(json.dumps(arguments))
    assert isinstance(valid, ValidArguments), valid
    assert all((repair.was, repair.now) == (None, None) for repair in valid.repairs)
    return [repair.path for repair in valid.repairs]


@each_case(
    ("arguments", "paths"),
    [
        ({"limit": None}, ["limit"]),
        (
            {"sort": None, "tags": None, "filters": None, "counts": None},
            ["sort", "tags", "filters", "counts"],
        ),
        ({"filters": {"least": None}}, ["filters.least"]),
        ({"filters": {"range": {"start": "s", "end": None}}}, ["filters.range.end"]),
        ({"filters": {"inner": {"inner": {"least": None}}}}, ["filters.inner.inner.least"]),
        ({"keys": {"x": 1, "y": None}}, ["keys.y"]),
        ({"ranges": [{"start": "a", "end": None}, {"start": "b"}]}, ["ranges[0].end"]),
        ({"pets": [{"kind": "cat", "lives": None}, {"kind": "dog", "lives": None}]}, ["pets[0].lives"]),
        # where null is a value, it stays one
        ({"comment": None}, []),
        ({"keys": None}, []),
        ({"filters": {"range": {"start": "s", "step": None}, "inner": None}}, []),
    ],
)
def test_null_for_what_is_optional_is_read_as_not_given_at_every_depth(arguments, paths):
    for made in (search, RAW):
        with in_case(made.name):
            assert repairs_of(made, {"query": "x", **arguments}) == paths


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
BY_NAME = {"properties": {"name": TEXT, "exact": WHOLE}, "required": ["name"]}
BY_ID = {"properties": {"id": WHOLE}, "required": ["id"]}


@each_case(
    ("schema", "arguments", "paths"),
    [
        ({"anyOf": [BY_ID, BY_NAME]}, {"name": "x", "exact": None}, ["exact"]),
        ({"oneOf": [BY_ID, BY_NAME]}, {"id": None, "name": "x", "exact": None}, ["id", "exact"]),
        (
            {"properties": {"by": {"anyOf": [{**BY_ID, "additionalProperties": False}, BY_NAME]}}},
            {"by": {"id": 1, "name": None}},
            ["by.name"],
        ),
        (
            {"properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "x", "b": None},
            ["b"],
        ),
        (
            {
                "properties": {"a": TEXT},
                "if": {"required": ["a"]},
                "then": {"properties": {"b": WHOLE}},
            },
            {"a": "x", "b": None},
            ["b"],
        ),
        (
            {"properties": {"a": TEXT}, "dependentSchemas": {"a": {"properties": {"b": WHOLE}}}},
            {"a": "x", "b": None},
            ["b"],
        ),
        ({"properties": {"a": {"not": {"type": "null"}}}}, {"a": None}, ["a"]),
    ],
)
def test_null_for_what_another_branch_has_is_read_as_not_given(schema, arguments, paths):
    made = create_tool(ToolConfig(name="raw", description="Raw.", input_schema={"type": "object", **schema}))
    assert repairs_of(made, arguments) == paths


@each_case(
    ("arguments", "path"),
    [
        ({"query": None}, "query"),
        ({"query": "x", "keys": {"x": None}}, "keys.x"),
        ({"query": "x", "ranges": [{"start": None}]}, "ranges[0].start"),
        ({"query": "x", "ranges": [None]}, "ranges[0]"),
        ({"query": "x", "tags": [None]}, "tags[0]"),
        ({"query": "x", "counts": {"a": None}}, "counts.a"),
        ({"query": "x", "unknown": None}, "unknown"),
        ({"query": "x", "pets": [{"kind": None}]}, "pets[0]"),
    ],
)
def test_null_for_what_is_required_or_data_stays_an_error(arguments, path):
    for made in (search, RAW):
        with in_case(made.name):
            refused = made.validate(json.dumps(arguments))
            assert isinstance(refused, InvalidArguments)
            assert refused.problems[0].path.startswith(path)


def test_defaults_apply_and_other_repairs_are_made_beside():
    arguments = {"query": "x", "limit": None, "tags": '["a"]', "filters": {"least": None}}
    valid = search.validate(arguments)
    assert (valid.params["limit"], valid.params["tags"], valid.params["filters"]) == (10, ["a"], Filters())
    assert [str(repair) for repair in valid.repairs] == [
        "limit: read null as not given",
        'tags: read "[\\"a\\"]" as ["a"]',
        "filters.least: read null as not given",
    ]


@each_case(
    ("arguments", "paths"),
    [
        ({"query": 5, "limit": None}, ["query"]),
        ({"query": "x", "limit": None, "sort": "c"}, ["sort"]),
        (
            {"query": "x", "limit": "many", "filters": {"least": None, "range": {"start": 1}}},
            ["limit", "filters.range.start"],
        ),
        ({"query": None, "limit": None}, ["query"]),
        ({"query": "x", "unknown": 1, "tags": None}, ["unknown"]),
        ({"query": "x", "ranges": [{"start": "a", "end": None}, {"start": None}]}, ["ranges[1].start"]),
    ],
)
def test_a_null_that_means_not_given_is_no_problem_beside_others(arguments, paths):
    for made in (search, RAW):
        for attempt in range(2):  # models repeat their mistakes, so the second answer is made from the first
            with in_case(made.name, attempt):
                assert [problem.path for problem in made.validate(json.dumps(arguments)).problems] == paths


class Adder(BaseTool):
    spec = ToolSpec(
        name="adder",
        description="Add.",
        when_to_use="To add.",
        inputs=[
            ToolParam(name="query", type="string", description="What."),
            ToolParam(name="limit", type="integer", description="How many.", required=False),
        ],
        returns=ToolReturn(type="string", description="What."),
    )

    def __call__(self, *, query: str, limit: int = 10, **kwargs) -> ToolResponse:
        return ToolResponse(final_answer="", observation=f"{query} {limit}")


def test_every_way_to_define_a_tool_reads_null_as_not_given():
    yaml = parse_tool(
        "id: a\nname: A\ndescription: D.\nparameters:\n"
        "  - {name: query, type: string, description: Q.}\n"
        "  - {name: limit, type: integer, description: L., required: false, default: 10}\n"
    )
    typed: Tool[Any, Any] = Tool[Params, None](name="typed", description="Typed.")
    for made in (search, RAW, typed, yaml, Adder().tool):
        with in_case(made.name):
            assert repairs_of(made, {"query": "x", "limit": None}) == ["limit"]
    assert typed.validate({"query": "x", "limit": None, "tags": None}).params == Params(query="x")


def test_references_and_alternatives_at_the_root_are_followed():
    node = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a"],
    }
    other = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "c": {"type": "string"}},
        "required": ["c"],
    }
    for schema in (
        {"$ref": "#/$defs/N", "$defs": {"N": node}},
        {"allOf": [{"$ref": "#/$defs/N"}], "$defs": {"N": node}},
        {"anyOf": [{"$ref": "#/$defs/N"}, other], "$defs": {"N": node}},
    ):
        with in_case(schema):
            made = create_tool(ToolConfig(name="t", description="d", input_schema=schema))
            assert repairs_of(made, {"a": 1, "b": None}) == ["b"]
            assert isinstance(made.validate({"a": None}), InvalidArguments)


def test_the_repair_is_reported_by_the_call():
    result = ToolExecutor([search]).execute(
        ToolCall(id="1", name="search", arguments='{"query": "x", "limit": null}')
    )
    assert (result.success, [str(repair) for repair in result.repairs]) == (
        True,
        ["limit: read null as not given"],
    )
