"""Version, tags, examples and rate limit in a tool's metadata become the tool's own."""

import pytest

from tests.cases import each_case
from toolhaft import (
    BaseTool,
    Tool,
    ToolConfig,
    ToolExample,
    ToolParam,
    ToolResponse,
    ToolReturn,
    ToolSpec,
    create_tool,
    tool,
)
from toolhaft.define.yaml import parse_tool
from toolhaft.errors import DefinitionError

SCHEMA = {"type": "object", "properties": {"query": {"type": "string", "description": "What"}}}
METADATA = {
    "version": "1.2.0",
    "author": "Data Team",
    "tags": ["search", "query"],
    "examples": [{"description": "Basic search", "input": {"query": "user data"}}],
    "performance": {"avg_duration_ms": 150, "rate_limit": "100/min"},
}
OWN = (
    "1.2.0",
    ("search", "query"),
    (ToolExample(description="Basic search", input={"query": "user data"}),),
    "100/min",
)


def own(made):
    return made.version, made.tags, made.examples, made.rate


def raw(**options):
    return Tool(name="find", description="Find.", input_schema=SCHEMA, **options)


def by_config(**options):
    return create_tool(ToolConfig(name="find", description="Find.", input_schema=SCHEMA, **options))


def by_function(**options):
    @tool(**options)
    def find(query: str = "") -> str:
        """Find."""
        return query

    return find


def by_class(**options):
    spec = ToolSpec(
        name="find",
        description="Find.",
        when_to_use="To find",
        inputs=[ToolParam(name="query", type="string", description="What", required=False)],
        returns=ToolReturn(type="string", description="Found"),
    )
    return type(
        "Find",
        (BaseTool,),
        {"spec": spec, "__call__": lambda self, **_: ToolResponse(observation=""), **options},
    )().tool


def by_yaml(*, metadata):
    fields = f"id: find\nname: Find\ndescription: Find.\nmetadata: {metadata!r}\n"
    return parse_tool(
        fields + "parameters:\n  - {name: query, type: string, required: false, description: What}\n",
        "f.yaml",
    )


@each_case("define", [raw, by_config, by_function, by_class, by_yaml])
def test_metadata_becomes_the_tools_own_at_every_way_to_define_one(define):
    made = define(metadata=METADATA)
    assert own(made) == OWN
    assert made.metadata == METADATA


@each_case("define", [raw, by_config, by_function])
def test_an_option_that_is_given_wins_over_the_metadata(define):
    example = {"input": {"query": "a"}}
    made = define(metadata=METADATA, version="9", tags=["mine"], examples=[example], rate="1/s")
    assert own(made) == ("9", ("mine",), (ToolExample(input={"query": "a"}),), "1/s")


def test_an_option_that_is_given_as_empty_is_empty():
    assert own(raw(metadata=METADATA, version=None, tags=[], examples=[], rate=None)) == (None, (), (), None)


@each_case(
    ("metadata", "place", "problem"),
    [
        ({"version": 2}, "metadata.version", "2 is not text"),
        ({"tags": "a"}, "metadata.tags", "'a' is not a list of names"),
        ({"tags": [1]}, "metadata.tags", "is not a list of names"),
        ({"examples": {"input": {}}}, "metadata.examples", "is not a list of examples"),
        ({"examples": [{"inputs": {}}]}, "metadata.examples", "a mapping with 'input'"),
        ({"examples": [{"input": {}}, {"input": {"query": 5}}]}, "metadata.examples, example 2", "not valid"),
        ({"examples": [{"input": {"qury": "a"}}]}, "metadata.examples, example 1", "did you mean 'query'"),
        (
            {"performance": {"rate_limit": "100/minute"}},
            "metadata.performance.rate_limit",
            "s, min, h or day",
        ),
        ({"performance": {"rate_limit": 100}}, "metadata.performance.rate_limit", "s, min, h or day"),
    ],
)
def test_a_wrong_value_in_the_metadata_is_refused_by_its_place(metadata, place, problem):
    for define in (raw, by_config, by_function):
        with pytest.raises(DefinitionError) as caught:
            _ = define(metadata=metadata).validate
        assert (caught.value.tool, caught.value.place) == ("find", place)
        assert problem in caught.value.problem


@each_case("metadata", [{"performance": "fast"}, {"version": None}, {"performance": {}}, {"team": "a"}])
def test_metadata_without_these_fields_gives_nothing(metadata):
    assert own(raw(metadata=metadata)) == (None, (), (), None)


def test_a_file_with_wrong_metadata_names_its_line():
    with pytest.raises(
        DefinitionError, match=r"f.yaml:4: metadata.examples, example 1: the input is not valid"
    ):
        by_yaml(metadata={"examples": [{"input": {"qury": "a"}}]})


def test_a_copy_takes_over_what_its_new_metadata_says():
    made = raw(metadata=METADATA, version="9")
    copy = made.replace(metadata={"tags": ["other"], "version": "2"})
    assert own(copy) == ("9", ("other",), (), None)
    assert own(made.replace(title="Find it")) == ("9", *OWN[1:])
    assert made.with_words(examples=[]).examples == ()


def test_a_file_names_the_line_of_the_wrong_member_of_its_metadata():
    lines = [
        "id: f",
        "name: F",
        "description: Finds.",
        "metadata:",
        '  version: "1"',
        "  performance:",
        "    rate_limit: lots",
    ]
    with pytest.raises(DefinitionError, match=r"f.yaml:7: metadata.performance.rate_limit: 'lots' is not"):
        parse_tool("\n".join(lines), "f.yaml")
    lines[4] = "  version: 1.5"
    with pytest.raises(DefinitionError, match=r"f.yaml:5: metadata.version: 1.5 is not text"):
        parse_tool("\n".join(lines), "f.yaml")
