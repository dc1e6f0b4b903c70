"""Seed 001, Tool Specifications: the chapter *JSON Schema Generation*.

Knows the page; both printed schemas are compared whole.
"""

import json
from typing import Any, Dict, List, Literal, Optional, Union

import pytest
from pydantic import BaseModel, Field

from tests.cases import each_case
from toolhaft import InvalidArguments, ToolRegistry, ValidArguments, tool


@tool
def example_tool(
    query: str,
    limit: int = 10,
    tags: Optional[List[str]] = None,
) -> dict:
    """Example tool with various parameter types.

    Args:
        query: The search query
        limit: Maximum results (default: 10)
        tags: Optional filter tags
    """
    pass  # noqa: PIE790 -- as on the page


EXAMPLE_TOOL_GENERATED = json.loads("""
{
  "name": "example_tool",
  "description": "Example tool with various parameter types.",
  "input_schema": {
    "type": "object",
    "properties": {
      "query": {
        "type": "string",
        "description": "The search query"
      },
      "limit": {
        "type": "integer",
        "description": "Maximum results (default: 10)",
        "default": 10
      },
      "tags": {
        "anyOf": [
          {
            "type": "array",
            "items": {"type": "string"}
          },
          {"type": "null"}
        ],
        "description": "Optional filter tags",
        "default": null
      }
    },
    "required": ["query"]
  }
}
""")


class SearchParams(BaseModel):
    query: str = Field(..., min_length=1, max_length=500)
    limit: int = Field(10, ge=1, le=100)
    sort_by: str = Field("relevance", pattern="^(relevance|date|name)$")


@tool
def search(params: SearchParams) -> list:
    """Search with validated parameters."""
    pass  # noqa: PIE790 -- as on the page


SEARCH_GENERATED = json.loads("""
{
  "name": "search",
  "description": "Search with validated parameters.",
  "input_schema": {
    "type": "object",
    "properties": {
      "params": {
        "type": "object",
        "properties": {
          "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500
          },
          "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "default": 10
          },
          "sort_by": {
            "type": "string",
            "pattern": "^(relevance|date|name)$",
            "default": "relevance"
          }
        },
        "required": ["query"]
      }
    },
    "required": ["params"]
  }
}
""")


def test_seed_001_from_python_functions_generates_the_printed_schema():
    """Seed 001, *From Python Functions*."""
    registry = ToolRegistry()
    registry.process_tools([example_tool])
    assert registry.get_all_tool_specs() == [EXAMPLE_TOOL_GENERATED]
    assert registry.validate_tool_spec(EXAMPLE_TOOL_GENERATED) == (True, None)


def test_seed_001_pydantic_models_generate_the_printed_schema():
    """Seed 001, *Pydantic Models*."""
    registry = ToolRegistry()
    registry.process_tools([search])
    assert registry.get_all_tool_specs() == [SEARCH_GENERATED]
    assert registry.validate_tool_spec(SEARCH_GENERATED) == (True, None)


def test_seed_001_both_examples_stand_in_one_registry_in_their_order():
    """Seed 001, *JSON Schema Generation*."""
    registry = ToolRegistry()
    registry.process_tools([example_tool, [search]])
    assert registry.get_all_tool_specs() == [EXAMPLE_TOOL_GENERATED, SEARCH_GENERATED]


def test_seed_001_decorated_functions_stay_functions():
    """Seed 001, *From Python Functions*."""
    assert example_tool("query", limit=5) is None
    assert search(SearchParams(query="q")) is None


@pytest.mark.parametrize(
    ("arguments", "params"),
    [
        ({"query": "q"}, {"query": "q", "limit": 10, "tags": None}),
        ({"query": "q", "tags": None}, {"query": "q", "limit": 10, "tags": None}),
        ({"query": "", "limit": -1, "tags": []}, {"query": "", "limit": -1, "tags": []}),
        ({"query": "q", "tags": ["a", "b"]}, {"query": "q", "limit": 10, "tags": ["a", "b"]}),
    ],
)
def test_seed_001_example_tool_accepts_what_its_schema_says(arguments, params):
    """Seed 001, *From Python Functions*."""
    assert example_tool.validate(arguments) == ValidArguments(params)
    assert example_tool.validate(json.dumps(arguments)) == ValidArguments(params)


@each_case(
    ("arguments", "paths"),
    [
        ({}, ["query"]),
        ({"query": 1}, ["query"]),
        ({"query": None, "limit": 1}, ["query"]),
        ({"query": "q", "limit": 1.5, "tags": [1]}, ["limit", "tags[0]"]),
        ({"query": "q", "tags": "a"}, ["tags"]),
        ({"query": "q", "tag": ["a"]}, ["tag"]),
    ],
)
def test_seed_001_example_tool_refuses_what_its_schema_says(arguments, paths):
    """Seed 001, *From Python Functions*."""
    verdict = example_tool.validate(arguments)
    assert isinstance(verdict, InvalidArguments)
    assert [problem.path for problem in verdict.problems] == paths


def test_seed_001_pydantic_parameters_arrive_as_models():
    """Seed 001, *Pydantic Models*."""
    assert search.validate('{"params": {"query": "q"}}') == ValidArguments(
        {"params": SearchParams(query="q")}
    )
    assert search.validate({"params": {"query": "q", "limit": 100, "sort_by": "name"}}) == ValidArguments(
        {"params": SearchParams(query="q", limit=100, sort_by="name")}
    )


@each_case(
    ("params", "paths"),
    [
        ({}, ["params.query"]),
        ({"query": ""}, ["params.query"]),
        ({"query": "q" * 501}, ["params.query"]),
        ({"query": "q", "limit": 0}, ["params.limit"]),
        ({"query": "q", "limit": 101}, ["params.limit"]),
        ({"query": "q", "sort_by": "size"}, ["params.sort_by"]),
        ({"query": "q", "sort_by": "name\n"}, ["params.sort_by"]),
        ({"query": "", "limit": 0, "sort_by": ""}, ["params.query", "params.limit", "params.sort_by"]),
        ({"query": "q", "limt": 5}, ["params.limt"]),
    ],
)
def test_seed_001_pydantic_constraints_are_enforced(params, paths):
    """Seed 001, *Pydantic Models*: the schema includes the constraints, so the call must keep them."""
    verdict = search.validate({"params": params})
    assert isinstance(verdict, InvalidArguments)
    assert [problem.path for problem in verdict.problems] == paths


TYPE_MAP = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (list, {"type": "array", "items": {}}),
    (List, {"type": "array", "items": {}}),
    (List[str], {"type": "array", "items": {"type": "string"}}),
    (List[Any], {"type": "array", "items": {}}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (dict, {"type": "object"}),
    (Dict, {"type": "object"}),
    (Dict[str, Any], {"type": "object"}),
    # the row gives the type; the restrictions of K and V are next to it
    (Dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Union[str, int], {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    (str | int, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    (Literal["a", "b"], {"enum": ["a", "b"]}),
]


@each_case(("annotation", "expected"), TYPE_MAP, ids=[str(row[0]) for row in TYPE_MAP])
def test_seed_001_type_mapping_row_by_row(annotation, expected):
    """Seed 001, *Type Mapping*."""

    @tool
    def take(value: annotation):
        """Take a value."""

    assert ToolRegistry([take]).get_all_tool_specs() == [
        {
            "name": "take",
            "description": "Take a value.",
            "input_schema": {"type": "object", "properties": {"value": expected}, "required": ["value"]},
        }
    ]


@each_case(
    ("annotation", "good", "bad"),
    [
        (str, "text", 5),
        (int, 5, True),
        (float, 5.5, "many"),
        (bool, True, 1),
        (list, [1, "a", None], {}),
        (List[str], ["a"], [1]),
        (dict, {"a": [1]}, []),
        (Dict[str, int], {"a": 1}, {"a": "b"}),
        (Optional[int], None, "none"),
        (Union[str, int], 5, 5.5),
        (Literal["a", "b"], "a", "c"),
    ],
    ids=str,
)
def test_seed_001_type_mapping_is_enforced(annotation, good, bad):
    """Seed 001, *Type Mapping*: what the schema tells a model is what the call accepts."""

    @tool
    def take(value: annotation):
        """Take a value."""

    assert take.validate({"value": good}) == ValidArguments({"value": good})
    assert isinstance(take.validate({"value": bad}), InvalidArguments)
