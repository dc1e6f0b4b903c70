"""The tool `search_tools`: finds tools in the executor's catalog and makes them callable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import ResourceMissingError, ToolExecutionError
from toolhaft.formats import describe

DEFAULT_RESULTS: Final = 5
MAX_RESULTS: Final = 20
LONGEST_QUERY: Final = 300
LONGEST_DESCRIPTION: Final = 200


def _search(input: Mapping[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    query = cast("str", input["query"])
    try:
        found = context.find_tools(query, limit=cast("int", input["limit"]))
    except ResourceMissingError as error:
        raise ToolExecutionError(str(error)) from error
    tools = [_summary(tool) for tool in cast("tuple[AnyTool, ...]", found)]
    message = f"No tool fits {query!r}. Describe the task in other words."
    if tools:
        message = f"{'They' if tools[1:] else 'It'} can be called from now on."
    return ToolResult(message=message, value={"tools": tools}, success=True)


def _summary(tool: AnyTool) -> dict[str, str]:
    signature = describe([tool], "signature").partition('\n    """')[0]  # the rest is the description
    description = " ".join(tool.description.split())
    if len(description) > LONGEST_DESCRIPTION:  # the tool itself carries the full text
        description = f"{description[: LONGEST_DESCRIPTION - 1].rstrip()}…"
    return {"name": tool.name, "description": description, "signature": signature}


search_tools: Final = create_tool(
    ToolConfig(
        name="search_tools",
        title="Search tools",
        description="Find tools by what they do. Those that are found can be called from then on.",
        when_to_use="When none of the available tools does what is needed.",
        input_schema={
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST_QUERY,
                    "pattern": r"\S",
                    "description": "The task, in a few words",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_RESULTS,
                    "default": DEFAULT_RESULTS,
                    "description": "How many tools at most",
                },
            },
            "required": ["query"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "tools": {
                    "type": "array",
                    "description": "The tools that fit, the best first",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "description": {"type": "string"},
                            "signature": {"type": "string"},
                        },
                        "required": ["name", "description", "signature"],
                    },
                }
            },
            "required": ["tools"],
        },
        execute=_search,
        effect=Effect.READ,
        tags=("tools",),
        examples=(
            ToolExample(
                description="Find a tool for sums",
                input={"query": "evaluate an expression", "limit": 1},
                output={
                    "tools": [
                        {
                            "name": "calculator",
                            "description": "Evaluate a mathematical expression.",
                            "signature": "def calculator(expression: str) -> CalculatorResult:",
                        }
                    ]
                },
            ),
        ),
    )
)
"""Searches the catalog of the executor that runs it: `ToolExecutor([search_tools], catalog=catalog)`."""
