"""One tool through each of the five doors: its schema, good and bad arguments, the message for a model."""

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolhaft import (
    BaseTool,
    InvalidArguments,
    Tool,
    ToolConfig,
    ToolContext,
    ToolParam,
    ToolRegistry,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    create_tool,
    load_tool,
    tool,
)


@tool(effect="read")
def search_notes(query: str, limit: int = 10, tags: list[str] | None = None) -> list[str]:
    """Search the notes.

    Args:
        query: What to look for
        limit: How many notes to return
        tags: Only notes with one of these tags
    """
    return [f"{query} {tags or ''} {number}" for number in range(limit)]


class Echo(BaseTool):
    """A class tool, with its contract beside it."""

    spec = ToolSpec(
        name="echo",
        description="Echoes text back to the caller.",
        when_to_use="Use for basic echo or smoke testing",
        inputs=[ToolParam(name="text", type="string", description="Text to echo", required=True)],
        returns=ToolReturn(type="string", description="The echoed text"),
    )

    def __call__(self, *, text: str, **_: object) -> ToolResponse:
        """Say it again."""
        return ToolResponse(final_answer=True, observation=text)


@dataclass(frozen=True)
class Booking:
    """What a booking needs."""

    guest: str = field(metadata={"description": "Who stays", "min_length": 1})
    nights: int = field(metadata={"description": "How long", "ge": 1, "le": 30})


@dataclass(frozen=True)
class Confirmation:
    """What a booking gives."""

    number: int


def book(params: Booking, *, context: ToolContext) -> ToolResult[Confirmation]:  # noqa: ARG001 -- the handler's shape
    """Book a room."""
    return ToolResult.ok(Confirmation(number=params.nights), message=f"Booked for {params.guest}")


booking_tool = Tool[Booking, Confirmation](name="book_room", description="Book a room.", handler=book)

weather_tool = create_tool(
    ToolConfig(
        name="get_weather",
        description="Get current weather for a city",
        input_schema={
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City name", "minLength": 1}},
            "required": ["city"],
        },
        output_schema={"type": "object", "properties": {"temperature": {"type": "number"}}},
        execute=lambda given: {"temperature": float(len(given["city"]))},
        timeout_s=5,
    )
)

SHOUT = """\
id: "shout"
name: "Shout"
description: "Writes text in capitals"
parameters:
  - name: "input"
    type: "string"
    required: true
    description: "Input text"
  - name: "times"
    type: "integer"
    required: false
    default: 1
    description: "How often"
"""

CALLS = {
    "search_notes": ('{"query": "haft", "limit": 3}', '{"qery": "haft", "limit": true, "tags": "work"}'),
    "echo": ('{"text": "hello"}', '{"text": 123, "loud": true}'),
    "book_room": ('{"guest": "Ada", "nights": "2"}', '{"guest": "", "nights": 99}'),
    "get_weather": ('{"city": "Oslo"}', '{"city": "Oslo", "city": "Rome"}'),
    "shout": ('{"input": "hey"}', '{"input": "hey", "times": "often"}'),
}


def show(made: Tool[Any, Any]) -> None:
    """Print one tool, and what becomes of good and bad arguments."""
    good, bad = CALLS[made.name]
    print(f"== {made.name}: {made.description}")
    print(f"   schema  {json.dumps(made.input_schema)}")
    print(f"   good    {good}")
    print(f"           {made.validate(good)}")
    print(f"   bad     {bad}")
    verdict = made.validate(bad)
    if not isinstance(verdict, InvalidArguments):
        raise SystemExit(f"{bad} was not refused")
    for line in verdict.message.splitlines():
        print(f"           {line}")
    print()


def main() -> None:
    """Define five tools, register them together, show each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shout.yaml")
        path.write_text(SHOUT, encoding="utf-8")
        registry = ToolRegistry([search_notes, Echo(), booking_tool, [weather_tool, load_tool(path)]])
    for made in registry:
        show(made)


if __name__ == "__main__":
    main()
