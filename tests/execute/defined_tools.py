"""One tool for each way to define one; all add two numbers, and one that fails."""

import asyncio
from dataclasses import dataclass

from toolhaft import (
    BaseTool,
    Tool,
    ToolConfig,
    ToolContext,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    create_tool,
    tool,
)


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def aadd(a: int, b: int = 1) -> int:
    """Add two numbers, after a breath."""
    await asyncio.sleep(0)
    return a + b


@tool(isolation="inline")
def inline_add(a: int, b: int = 1) -> int:
    """Add two numbers where the caller is."""
    return a + b


class ClassAdd(BaseTool):
    spec = ToolSpec(
        name="class_add",
        description="Adds two numbers.",
        when_to_use="Use to add.",
        inputs=[
            ToolParam(name="a", type="integer", description="One"),
            ToolParam(name="b", type="integer", description="Another", required=False),
        ],
        returns=ToolReturn(type="integer", description="The sum"),
    )

    def __call__(self, *, a, b=1, **kwargs):
        return ToolResponse(observation=a + b)


@dataclass(frozen=True)
class Pair:
    a: int
    b: int = 1


@dataclass(frozen=True)
class Sum:
    total: int


def typed_handler(params: Pair, *, context: ToolContext) -> ToolResult[Sum]:
    """Add two numbers, typed."""
    return ToolResult.ok(Sum(params.a + params.b), message="added")


typed_add = Tool[Pair, Sum](name="typed_add", description="Adds two numbers.", handler=typed_handler)

raw_config = ToolConfig(
    name="raw_add",
    description="Adds two numbers.",
    input_schema={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a"],
    },
    output_schema={"type": "integer"},
    execute=lambda given: given["a"] + given.get("b", 1),
)


@tool
def fail(why: str = "no") -> str:
    """Fail."""
    raise ValueError(why)


DEFINED_TOOLS = [add, aadd, inline_add, ClassAdd(), create_tool(raw_config), raw_config]
