"""The tool `search_tools`: finds tools in the executor's catalog and makes them callable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import ResourceMissingError, ToolExecutionError

DEFAULT_RESULTS: Final = 5
MAX_RESULTS: Final = 20
LONGEST_QUERY: Final = 4_000
LONGEST_LINE: Final = 120
LONGEST_DESCRIPTION: Final = 1_000
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_INPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_QUERY,
            "pattern": r"\S",
            "description": "The task, best in a few words",
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
}
_OUTPUT: Final[dict[str, object]] = {
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
                    "parameters": {
                        "type": "object",
                        "description": "The schema of its parameters, if the host does not send it",
                    },
                },
                "required": ["name", "description"],
            },
        }
    },
    "required": ["tools"],
}


def make_search_tools(*, with_parameters: bool | None = None) -> Tool[dict[str, object], object]:
    """The tool `search_tools`.

    Args:
        with_parameters: whether results have the whole definition of each tool instead of one line. None:
            only where found tools are not added to the executor, so that no host can send them. Use True if
            your host cannot change the tools that it sends to the model.
    """

    def search(input: Mapping[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
        query = cast("str", input["query"])
        try:
            found = context.find_tools(query, limit=cast("int", input["limit"]))
        except ResourceMissingError as error:
            raise ToolExecutionError(str(error)) from error
        is_whole = not context.adds_found_tools if with_parameters is None else with_parameters
        tools = [_entry(tool, is_whole=is_whole) for tool in cast("tuple[AnyTool, ...]", found)]
        message = f"No tool fits {query!r:.200}. Describe the task in other words."
        if tools:
            message = f"{'They' if tools[1:] else 'It'} can be called from now on."
        return ToolResult(message=message, value={"tools": tools}, success=True)

    return create_tool(
        ToolConfig(
            name="search_tools",
            title="Search tools",
            description="Find tools by what they do. Those that are found can be called from then on.",
            when_to_use="When none of the available tools does what is needed.",
            input_schema=_INPUT,
            output_schema=_OUTPUT,
            execute=search,
            effect=Effect.READ,
            tags=("tools",),
            examples=(
                ToolExample(
                    description="Find a tool for sums",
                    input={"query": "evaluate an expression", "limit": 1},
                    output={
                        "tools": [
                            {"name": "calculator", "description": "Evaluate a mathematical expression."}
                        ]
                    },
                ),
            ),
        )
    )


def _entry(tool: AnyTool, *, is_whole: bool) -> dict[str, object]:
    description = " ".join(tool.description.split())
    if is_whole:
        return {
            "name": tool.name,
            "description": _cut(description, LONGEST_DESCRIPTION),
            "parameters": tool.input_schema,
        }
    # the host sends the definition with the next request: here it would cost its tokens again
    return {"name": tool.name, "description": _cut(_SENTENCE_END.split(description, 1)[0], LONGEST_LINE)}


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


search_tools: Final = make_search_tools()
"""Searches the catalog of the executor that runs it: `ToolExecutor([search_tools], catalog=catalog)`."""
