"""Seed 004, Tool API Contract: the tables of the chapter *Built-in Tools*, on the tools themselves.

Knows the page; what the tools do beyond it is tested where they are built.
"""

import json
from importlib.metadata import version

from tests.cases import each_case
from toolhaft import (
    Tool,
    ToolRegistry,
    ValidArguments,
    execute_tool,
    validate_tool_input,
    validate_tool_output,
)
from toolhaft.errors import ToolExecutionError
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem
from toolhaft.resources.http import HttpClient, HttpResponse
from toolhaft.toolbox import (
    SearchConfig,
    calculator,
    list_directory,
    read_file,
    web_scraper,
    web_search,
    wikipedia,
    write_file,
)

BUILT_IN = {
    "readFileTool": (
        read_file,
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
        write_file,
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
        list_directory,
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
        web_search(SearchConfig(api_key="key", engine="serpapi", max_results=5)),
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
        calculator,
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
        wikipedia,
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
        web_scraper,
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
    return BUILT_IN[heading][0]


@each_case("heading", BUILT_IN)
def test_seed_004_built_in_schemas_are_kept_word_for_word(heading):
    """Seed 004, *Built-in Tools*: every input and output schema."""
    made, input_schema, output_schema = BUILT_IN[heading]
    assert made.input_schema == json.loads(input_schema)
    assert made.output_schema == json.loads(output_schema)
    document = ToolRegistry([made]).to_spec_dict()
    assert ToolRegistry.from_spec_dict(json.loads(json.dumps(document))).to_spec_dict() == document


NAMES = {
    "readFileTool": ("read_file", "read", 5, True),
    "writeFileTool": ("write_file", "reversible", 5, False),
    "listDirectoryTool": ("list_directory", "read", 5, True),
    "webSearchTool": ("web_search", "read", 15, True),
    "calculatorTool": ("calculator", "read", 3, True),
    "wikipediaTool": ("wikipedia", "read", 10, True),
    "webScraperTool": ("web_scraper", "read", 15, True),
}


@each_case("heading", NAMES)
def test_seed_004_built_in_tools_say_what_they_do_and_how_long_it_may_take(heading):
    made = built_in(heading)
    assert (made.name, made.effect, made.timeout_s, made.retryable) == NAMES[heading]
    assert made.examples
    assert all(made.validate(example.input) for example in made.examples)
    outputs = [example.output for example in made.examples if example.output is not None]
    assert outputs
    assert [validate_tool_output(made, output) for output in outputs] == [None] * len(outputs)


def test_seed_004_errors_of_read_file_are_worded_as_on_the_page():
    """Seed 004, readFileTool: Errors."""
    files = {Filesystem: MemoryFilesystem()}
    for path, words in (
        ("data.txt", "File not found: data.txt"),
        ("../data.txt", "Permission denied: ../data.txt"),
    ):
        failure = execute_tool(read_file, {"path": path}, resources=files).failure
        assert isinstance(failure.error, ToolExecutionError)
        assert str(failure.error) == words


def test_seed_004_read_file_without_files_says_the_line_that_gives_it_files(tmp_path):
    """Seed 004, *readFileTool* and its retry flow: a path such as "/tmp/data.txt" is all that is given."""
    file = tmp_path / "data.txt"
    file.write_text("1")
    result = execute_tool(read_file, {"path": str(file)})
    line = (
        f"execute_tool(read_file, {{'path': {str(file)!r}}}, "
        f"resources={{Filesystem: HostFilesystem({str(tmp_path)!r})}})"
    )
    assert "from toolhaft import Filesystem, HostFilesystem" in result.message
    assert line in result.message
    names = {"Filesystem": Filesystem, "HostFilesystem": HostFilesystem}
    done = eval(line, {"execute_tool": execute_tool, "read_file": read_file, **names})  # noqa: S307 -- the line of the message
    assert done.value == {"content": "1", "size": 1}


def test_seed_004_wikipedia_needs_no_configuration(monkeypatch):
    """Seed 004, *wikipediaTool*: no key and no configuration; a refusal names what to set."""
    page = {"key": "Ada", "title": "Ada", "description": "", "excerpt": ""}
    body = json.dumps({"pages": [page], "title": "Ada", "extract": "A mathematician."}).encode()
    agents, statuses = [], [200, 200, 403, 429]

    def fetch(_, url, *, headers, **__):
        agents.append(headers["User-Agent"])
        return HttpResponse(status=statuses.pop(0), headers={}, body=body, url=url)

    monkeypatch.delenv("TOOLHAFT_CONTACT", raising=False)
    monkeypatch.setattr(HttpClient, "fetch", fetch)
    assert execute_tool(wikipedia, {"query": "Ada"}).value["summary"] == "A mathematician."
    assert set(agents) == {f"toolhaft/{version('toolhaft')} (wikipedia tool)"}
    for _ in (403, 429):
        assert "TOOLHAFT_CONTACT" in execute_tool(wikipedia, {"query": "Ada"}).message


def test_seed_004_retry_flow():
    """Seed 004, *Example Retry Flow*."""
    files = MemoryFilesystem()
    files.write("data/data.json", "{}")
    resources = {Filesystem: files}
    first = execute_tool(read_file, {"path": "/data/data.txt"}, resources=resources)
    assert first.message.startswith("File not found: /data/data.txt")
    second = execute_tool(read_file, {"path": "/data/data.json"}, resources=resources)
    assert second.value == {"content": "{}", "size": 2}


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


@each_case(("heading", "arguments", "defaults"), GOOD_INPUTS)
def test_seed_004_built_in_input_schemas_accept(heading, arguments, defaults):
    """Seed 004, *Built-in Tools*: Input Schema, with its defaults filled in."""
    made = built_in(heading)
    assert made.validate(arguments) == ValidArguments(arguments | defaults)
    assert made.validate(json.dumps(arguments)) == ValidArguments(arguments | defaults)
    assert validate_tool_input(made, arguments) is None


@each_case(
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
        ("webScraperTool", {"url": "https://example.com", "selector": 5}, "selector"),
    ],
)
def test_seed_004_built_in_input_schemas_refuse(heading, arguments, path):
    """Seed 004, *Built-in Tools*: Input Schema."""
    made = built_in(heading)
    assert [problem.path for problem in made.validate(arguments).problems] == [path]
    assert validate_tool_input(made, arguments) == made.validate(arguments).message


@each_case(
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


@each_case(
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
