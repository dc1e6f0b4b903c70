"""The tool `search_tools`: finds the few tools that a task needs among thousands, and opens them.

Does not know how a catalog ranks, nor how an executor takes a tool in.
"""

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

USUAL: Final = 5
MOST: Final = 20
LONGEST_QUERY: Final = 300
LONGEST_DESCRIPTION: Final = 200


def _search(input: Mapping[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
    query = cast("str", input["query"])
    try:
        found = context.find_tools(query, limit=cast("int", input["limit"]))
    except ResourceMissingError as error:
        raise ToolExecutionError(str(error)) from error
    told = [_told(tool) for tool in cast("tuple[AnyTool, ...]", found)]
    message = f"No tool fits {query!r}. Say in other words what to do."
    if told:
        message = f"{'They' if told[1:] else 'It'} can be called from now on."
    return ToolResult(message=message, value={"tools": told}, success=True)


def _told(tool: AnyTool) -> dict[str, str]:
    signature = describe([tool], "signature").partition('\n    """')[0]  # the rest is the description
    said = " ".join(tool.description.split())
    if len(said) > LONGEST_DESCRIPTION:  # the whole goes out with the tool itself
        said = f"{said[: LONGEST_DESCRIPTION - 1].rstrip()}…"
    return {"name": tool.name, "description": said, "signature": signature}


search_tools: Final = create_tool(
    ToolConfig(
        name="search_tools",
        title="Search tools",
        description="Find tools by what they do. Those that are found can be called from then on.",
        when_to_use="When no tool at hand does what is needed.",
        input_schema={
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST_QUERY,
                    "pattern": r"\S",
                    "description": "What is to be done, in a few words",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST,
                    "default": USUAL,
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
