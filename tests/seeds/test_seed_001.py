"""Seed 001, Tool Specifications: every spec that it prints, and the chapters on structure and fields.

The chapters on parameter types, generation and validation have separate files. A `{...}` on the page that
replaces a schema is written out here.
"""

import json

import pytest

from tests.cases import each_case
from toolhaft import InvalidArguments, ToolConfig, ToolRegistry, ValidArguments, create_tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.problems import Repair

BASE_STRUCTURE = json.loads("""
{
  "name": "tool_name",
  "description": "What the tool does",
  "input_schema": {
    "type": "object",
    "properties": {
      "param1": {
        "type": "string",
        "description": "First parameter"
      },
      "param2": {
        "type": "integer",
        "description": "Second parameter"
      }
    },
    "required": ["param1"]
  }
}
""")

COMPLETE_EXAMPLE = json.loads("""
{
  "name": "search_database",
  "description": "Search the database for matching records using various criteria",
  "input_schema": {
    "type": "object",
    "properties": {
      "query": {
        "type": "string",
        "description": "The search query string",
        "minLength": 1,
        "maxLength": 500
      },
      "limit": {
        "type": "integer",
        "description": "Maximum number of results to return",
        "minimum": 1,
        "maximum": 100,
        "default": 10
      },
      "sort_by": {
        "type": "string",
        "description": "Field to sort results by",
        "enum": ["relevance", "date", "name"],
        "default": "relevance"
      },
      "include_archived": {
        "type": "boolean",
        "description": "Whether to include archived records",
        "default": false
      },
      "filters": {
        "type": "object",
        "description": "Additional filter criteria",
        "properties": {
          "category": {
            "type": "string"
          },
          "min_score": {
            "type": "number",
            "minimum": 0.0,
            "maximum": 1.0
          }
        },
        "additionalProperties": false
      }
    },
    "required": ["query"],
    "additionalProperties": false
  }
}
""")

INTERNAL_FORMAT = json.loads("""
{
  "name": "search_database",
  "description": "Search the database for matching records",
  "input_schema": {
    "type": "object",
    "properties": {
      "query": {
        "type": "string",
        "description": "The search query"
      },
      "limit": {
        "type": "integer",
        "description": "Maximum results"
      }
    },
    "required": ["query"]
  }
}
""")

EXTENDED_METADATA = json.loads("""
{
  "name": "search_database",
  "description": "Search the database for matching records",
  "input_schema": {
    "type": "object",
    "properties": {
      "query": {"type": "string"},
      "limit": {"type": "integer"}
    },
    "required": ["query"]
  },
  "metadata": {
    "version": "1.2.0",
    "author": "Data Team",
    "category": "database",
    "tags": ["search", "query", "database"],
    "examples": [
      {
        "description": "Basic search",
        "input": {
          "query": "user data",
          "limit": 10
        }
      }
    ],
    "performance": {
      "avg_duration_ms": 150,
      "rate_limit": "100/min"
    },
    "changelog": [
      {
        "version": "1.2.0",
        "date": "2024-01-15",
        "changes": ["Added sort_by parameter"]
      }
    ]
  }
}
""")

USAGE_EXAMPLES = json.loads("""
{
  "name": "calculate_tax",
  "description": "Calculate sales tax for a purchase",
  "input_schema": {
    "type": "object",
    "properties": {
      "amount": {"type": "number"},
      "state": {"type": "string"}
    },
    "required": ["amount", "state"]
  },
  "examples": [
    {
      "input": {
        "amount": 100.0,
        "state": "CA"
      },
      "output": {
        "tax": 8.25,
        "total": 108.25
      }
    },
    {
      "input": {
        "amount": 50.0,
        "state": "NY"
      },
      "output": {
        "tax": 4.00,
        "total": 54.00
      }
    }
  ]
}
""")

PRINTED = {
    "Base Structure": BASE_STRUCTURE,
    "Complete Example": COMPLETE_EXAMPLE,
    "Spark Internal Format": INTERNAL_FORMAT,
    "Extended Metadata": EXTENDED_METADATA,
    "Usage Examples in Specs": USAGE_EXAMPLES,
}


def pytest_generate_tests(metafunc):
    if "printed" in metafunc.fixturenames:
        metafunc.parametrize("printed", PRINTED.values(), ids=PRINTED.keys())


def test_seed_001_every_printed_spec_is_valid(printed):
    """Seed 001, *ToolSpec Structure*, *Spark Internal Format*, *Tool Metadata*."""
    assert ToolRegistry().validate_tool_spec(printed) == (True, None)


def test_seed_001_every_printed_spec_comes_back_word_for_word(printed):
    """Seed 001, *Tool Metadata* and *Round-Trip Testing*: nothing is lost on the way in and out."""
    loaded = ToolRegistry.from_spec_dict({"tools": [printed]})
    assert loaded.get_all_tool_specs() == [printed]
    assert loaded.to_spec_dict() == {"tools": [printed]}
    again = ToolRegistry.from_spec_dict(json.loads(json.dumps(loaded.to_spec_dict())))
    assert again.to_spec_dict() == {"tools": [printed]}


def test_seed_001_every_printed_spec_says_the_same_through_create_tool(printed):
    """Seed 001, *Creating tools manually*: the spec's fields are the fields of a ToolConfig."""
    assert ToolRegistry([create_tool(ToolConfig(**printed))]).get_all_tool_specs() == [printed]


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        ({"param1": "a"}, ValidArguments({"param1": "a"})),
        ({"param1": "a", "param2": 5}, ValidArguments({"param1": "a", "param2": 5})),
        (
            {"param1": "a", "param2": "5"},
            ValidArguments({"param1": "a", "param2": 5}, (Repair(path="param2", was="5", now=5),)),
        ),
    ],
)
def test_seed_001_base_structure_accepts(arguments, verdict):
    """Seed 001, *Base Structure*."""
    assert create_tool(ToolConfig(**BASE_STRUCTURE)).validate(arguments) == verdict


COMPLETE_DEFAULTS = {"limit": 10, "sort_by": "relevance", "include_archived": False}


@each_case(
    "arguments",
    [
        {"query": "q"},
        {"query": "q" * 500},
        {"query": "q", "limit": 1},
        {"query": "q", "limit": 100},
        {"query": "q", "sort_by": "date"},
        {"query": "q", "include_archived": True},
        {"query": "q", "filters": {}},
        {"query": "q", "filters": {"category": "books", "min_score": 0}},
        {"query": "q", "filters": {"min_score": 1.0}},
    ],
)
def test_seed_001_complete_example_accepts_and_fills_its_defaults(arguments):
    """Seed 001, *Complete Example*."""
    search_database = create_tool(ToolConfig(**COMPLETE_EXAMPLE))
    expected = ValidArguments(COMPLETE_DEFAULTS | arguments)
    assert search_database.validate(arguments) == expected
    assert search_database.validate(json.dumps(arguments)) == expected


@each_case(
    ("arguments", "paths"),
    [
        ({}, ["query"]),
        ({"query": ""}, ["query"]),
        ({"query": "q" * 501}, ["query"]),
        ({"query": 5}, ["query"]),
        ({"query": None}, ["query"]),
        ({"query": "q", "limit": 0}, ["limit"]),
        ({"query": "q", "limit": 101}, ["limit"]),
        ({"query": "q", "limit": 1.5}, ["limit"]),
        ({"query": "q", "limit": True}, ["limit"]),
        ({"query": "q", "sort_by": "size"}, ["sort_by"]),
        ({"query": "q", "include_archived": 1}, ["include_archived"]),
        ({"query": "q", "filters": []}, ["filters"]),
        ({"query": "q", "filters": {"category": 1}}, ["filters.category"]),
        ({"query": "q", "filters": {"min_score": -0.1}}, ["filters.min_score"]),
        ({"query": "q", "filters": {"min_score": 1.1}}, ["filters.min_score"]),
        ({"query": "q", "filters": {"colour": "red"}}, ["filters.colour"]),
        ({"query": "q", "sort": "date"}, ["sort"]),
        ({"query": "", "limit": 0, "filters": {"min_score": 2}}, ["query", "limit", "filters.min_score"]),
    ],
)
def test_seed_001_complete_example_refuses_and_names_every_place(arguments, paths):
    """Seed 001, *Complete Example*: each constraint on its own, then several at once."""
    search_database = create_tool(ToolConfig(**COMPLETE_EXAMPLE))
    for raw in (arguments, json.dumps(arguments)):
        verdict = search_database.validate(raw)
        assert isinstance(verdict, InvalidArguments)
        assert sorted(problem.path for problem in verdict.problems) == sorted(paths)


ANY_SCHEMA = {"type": "object", "properties": {}}


@pytest.mark.parametrize("name", ["search_database", "send_email", "calculate_tax", "get_weather"])
def test_seed_001_name_examples_are_names(name):
    """Seed 001, *name (Required)*."""
    spec = {"name": name, "description": "Does it.", "input_schema": ANY_SCHEMA}
    assert ToolRegistry().validate_tool_spec(spec) == (True, None)
    assert ToolRegistry.from_spec_dict({"tools": [spec]}).get_tool(name).name == name


@each_case("name", ["search database", "search/database", "search!", "søk", "", 5])
def test_seed_001_name_has_no_spaces_or_special_characters(name):
    """Seed 001, *name (Required)*."""
    is_valid, error = ToolRegistry().validate_tool_spec(
        {"name": name, "description": "Does it.", "input_schema": ANY_SCHEMA}
    )
    assert (is_valid, "name" in error) == (False, True)


def test_seed_001_name_is_unique_within_a_registry():
    """Seed 001, *name (Required)*."""
    registry = ToolRegistry([create_tool(ToolConfig(**COMPLETE_EXAMPLE))])
    with pytest.raises(DefinitionError, match=r"'search_database'.*already exists"):
        registry.register_tool(create_tool(ToolConfig(**INTERNAL_FORMAT)))
    assert registry.get_all_tool_specs() == [COMPLETE_EXAMPLE]


@pytest.mark.parametrize(
    "description",
    [
        "Search the database for matching records using full-text search",
        (
            "Send an email to a recipient with subject and body. The email is sent asynchronously and this "
            "function returns immediately."
        ),
        "Calculate sales tax based on amount and jurisdiction. Supports US state and local tax rates.",
    ],
)
def test_seed_001_description_examples_are_kept_whole(description):
    """Seed 001, *description (Required)*."""
    spec = {"name": "example", "description": description, "input_schema": ANY_SCHEMA}
    assert ToolRegistry.from_spec_dict({"tools": [spec]}).get_all_tool_specs() == [spec]


def test_seed_001_description_is_required():
    """Seed 001, *description (Required)*."""
    is_valid, error = ToolRegistry().validate_tool_spec(
        {"name": "example", "description": "", "input_schema": ANY_SCHEMA}
    )
    assert (is_valid, "description" in error) == (False, True)


@pytest.mark.parametrize(
    ("extra", "is_open"),
    [({"additionalProperties": False}, False), ({}, False), ({"additionalProperties": True}, True)],
)
def test_seed_001_input_schema_opens_itself_only_by_additional_properties(extra, is_open):
    """Seed 001, *input_schema (Required)*; silence means closed, as the design has it."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"], **extra}
    verdict = create_tool(ToolConfig(name="find", description="Find.", input_schema=schema)).validate(
        {"query": "q", "more": 1}
    )
    assert isinstance(verdict, ValidArguments) is is_open
