"""Seed 004, Tool API Contract: the schemas of the chapter *Built-in Tools*, on tools without handlers.

Knows the page; the tools themselves are tested where they are built.
"""

import json

import pytest

from toolhaft import (
    Tool,
    ToolConfig,
    ToolRegistry,
    ValidArguments,
    create_tool,
    validate_tool_input,
    validate_tool_output,
)

BUILT_IN = {
    "readFileTool": (
        "read_file",
        "Reads file content as text.",
        """
        {
          "type": "object",
          "properties": {
            "path": { "type": "string", "description": "File path to read" }
          },
          "required": ["path"]
        }
        """,
        """
        {
          "type": "object",
          "properties": {
            "content": { "type": "string" },
            "size": { "type": "integer" }
          }
        }
        """,
    ),
    "writeFileTool": (
        "write_file",
        "Writes text content to file.",
        """
        {
          "type": "object",
          "properties": {
            "path": { "type": "string" },
            "content": { "type": "string" }
          },
          "required": ["path", "content"]
        }
        """,
        """
        {
          "type": "object",
          "properties": {
            "bytesWritten": { "type": "integer" }
          }
        }
        """,
    ),
    "listDirectoryTool": (
        "list_directory",
        "Lists files and directories in a directory.",
        """
        {
          "type": "object",
          "properties": {
            "path": { "type": "string" },
            "recursive": { "type": "boolean", "default": false }
          },
          "required": ["path"]
        }
        """,
        """
        {
          "type": "object",
          "properties": {
            "entries": {
              "type": "array",
              "items": {
                "type": "object",
                "properties": {
                  "name": { "type": "string" },
                  "type": { "enum": ["file", "directory"] },
                  "size": { "type": "integer" }
                }
              }
            }
          }
        }
        """,
    ),
    "webSearchTool": (
        "web_search",
        "Performs web search using configured search API.",
        """
        {
          "type": "object",
          "properties": {
            "query": { "type": "string" },
            "num_results": { "type": "integer", "default": 5 }
          },
          "required": ["query"]
        }
        """,
        """
        {
          "type": "object",
          "properties": {
            "results": {
              "type": "array",
              "items": {
                "type": "object",
                "properties": {
                  "title": { "type": "string" },
                  "snippet": { "type": "string" },
                  "url": { "type": "string" }
                }
              }
            }
          }
        }
        """,
    ),
    "calculatorTool": (
        "calculator",
        "Evaluates mathematical expressions (wraps langchain-hs Calculator).",
        """
        {
          "type": "object",
          "properties": {
            "expression": { "type": "string", "description": "Math expression like '2 + 2'" }
          },
          "required": ["expression"]
        }
        """,
        """
        {
          "type": "object",
          "properties": {
            "result": { "type": "number" }
          }
        }
        """,
    ),
    "wikipediaTool": (
        "wikipedia",
        "Searches Wikipedia and returns summary (wraps langchain-hs Wikipedia).",
        """
        {
          "type": "object",
          "properties": {
            "query": { "type": "string" }
          },
          "required": ["query"]
        }
        """,
        """
        {
          "type": "object",
          "properties": {
            "summary": { "type": "string" },
            "url": { "type": "string" }
          }
        }
        """,
    ),
    "webScraperTool": (
        "web_scraper",
        "Fetches and extracts text from web pages (wraps langchain-hs WebScraper).",
        """
        {
          "type": "object",
          "properties": {
            "url": { "type": "string", "format": "uri" },
            "selector": { "type": "string", "description": "CSS selector (optional)" }
          },
          "required": ["url"]
        }
        """,
        """
        {
          "type": "object",
          "properties": {
            "text": { "type": "string" },
            "title": { "type": "string" }
          }
        }
        """,
    ),
}


def built_in(heading: str) -> Tool:
    name, description, input_schema, output_schema = BUILT_IN[heading]
    return create_tool(
        ToolConfig(
            name=name,
            description=description,
            input_schema=json.loads(input_schema),
            output_schema=json.loads(output_schema),
        )
    )


@pytest.mark.parametrize("heading", BUILT_IN)
def test_seed_004_built_in_schemas_are_kept_word_for_word(heading):
    """Seed 004, *Built-in Tools*: every input and output schema."""
    name, description, input_schema, output_schema = BUILT_IN[heading]
    spec = {
        "name": name,
        "description": description,
        "input_schema": json.loads(input_schema),
        "output_schema": json.loads(output_schema),
    }
    document = ToolRegistry([built_in(heading)]).to_spec_dict()
    assert document == {"tools": [spec]}
    assert ToolRegistry.from_spec_dict(json.loads(json.dumps(document))).to_spec_dict() == document


GOOD_INPUTS = [
    ("readFileTool", {"path": "/data.txt"}, {}),
    ("writeFileTool", {"path": "out.txt", "content": ""}, {}),
    ("listDirectoryTool", {"path": "."}, {"recursive": False}),
    ("listDirectoryTool", {"path": ".", "recursive": True}, {}),
    ("webSearchTool", {"query": "haskell"}, {"num_results": 5}),
    ("webSearchTool", {"query": "haskell", "num_results": 3}, {}),
    ("calculatorTool", {"expression": "2 + 2"}, {}),
    ("wikipediaTool", {"query": "Ada Lovelace"}, {}),
    ("webScraperTool", {"url": "https://example.com"}, {}),
    ("webScraperTool", {"url": "https://example.com", "selector": "main > p"}, {}),
]


@pytest.mark.parametrize(("heading", "arguments", "defaults"), GOOD_INPUTS)
def test_seed_004_built_in_input_schemas_accept(heading, arguments, defaults):
    """Seed 004, *Built-in Tools*: Input Schema, with its defaults filled in."""
    made = built_in(heading)
    assert made.validate(arguments) == ValidArguments(arguments | defaults)
    assert made.validate(json.dumps(arguments)) == ValidArguments(arguments | defaults)
    assert validate_tool_input(made, arguments) is None


@pytest.mark.parametrize(
    ("heading", "arguments", "path"),
    [
        ("readFileTool", {}, "path"),
        ("readFileTool", {"path": 5}, "path"),
        ("readFileTool", {"file": "a", "path": "a"}, "file"),
        ("writeFileTool", {"path": "out.txt"}, "content"),
        ("writeFileTool", {"path": "out.txt", "content": None}, "content"),
        ("listDirectoryTool", {"recursive": True}, "path"),
        ("listDirectoryTool", {"path": ".", "recursive": 1}, "recursive"),
        ("webSearchTool", {"num_results": 5}, "query"),
        ("webSearchTool", {"query": "haskell", "num_results": 2.5}, "num_results"),
        ("calculatorTool", {"expression": 4}, "expression"),
        ("wikipediaTool", {"query": ["Ada"]}, "query"),
        ("webScraperTool", {"url": "not a url"}, "url"),
        ("webScraperTool", {"url": "https://example.com", "selector": None}, "selector"),
    ],
)
def test_seed_004_built_in_input_schemas_refuse(heading, arguments, path):
    """Seed 004, *Built-in Tools*: Input Schema."""
    made = built_in(heading)
    assert [problem.path for problem in made.validate(arguments).problems] == [path]
    assert validate_tool_input(made, arguments) == made.validate(arguments).message


@pytest.mark.parametrize(
    ("heading", "value"),
    [
        ("readFileTool", {"content": "text", "size": 4}),
        ("writeFileTool", {"bytesWritten": 0}),
        ("listDirectoryTool", {"entries": []}),
        ("listDirectoryTool", {"entries": [{"name": "a", "type": "file", "size": 1}, {"type": "directory"}]}),
        ("webSearchTool", {"results": [{"title": "t", "snippet": "s", "url": "https://example.com"}]}),
        ("calculatorTool", {"result": 4}),
        ("calculatorTool", {"result": 0.5}),
        ("wikipediaTool", {"summary": "A mathematician.", "url": "https://en.wikipedia.org/wiki/Ada"}),
        ("webScraperTool", {"text": "words", "title": ""}),
    ],
)
def test_seed_004_built_in_output_schemas_accept(heading, value):
    """Seed 004, *Built-in Tools*: Output Schema."""
    assert validate_tool_output(built_in(heading), value) is None


@pytest.mark.parametrize(
    ("heading", "value", "place"),
    [
        ("readFileTool", {"content": b"\xff", "size": 4}, "the value has no JSON form: "),
        ("readFileTool", {"content": "text", "size": 4.5}, "size: "),
        ("writeFileTool", {"bytesWritten": "4"}, "bytesWritten: "),
        ("listDirectoryTool", {"entries": [{"type": "file"}, {"type": "link"}]}, "entries[1].type: "),
        ("listDirectoryTool", [], "value: "),
        ("webSearchTool", {"results": [{"title": None}]}, "results[0].title: "),
        ("calculatorTool", {"result": "4"}, "result: "),
        ("wikipediaTool", {"summary": ["A mathematician."]}, "summary: "),
        ("webScraperTool", "words", "value: "),
    ],
)
def test_seed_004_built_in_output_schemas_refuse(heading, value, place):
    """Seed 004, *Built-in Tools*: Output Schema."""
    assert validate_tool_output(built_in(heading), value).startswith(place)
