"""A small prompt with everything that may, or may not, be overridden, and its files."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from toolhaft import Tool, ToolConfig, ToolContext, ToolResult, create_tool, tool
from toolhaft.errors import PromptValidationError
from toolhaft.prompt import MarkdownSection, OverrideStore, Prompt, Section
from toolhaft.prompt.overrides import apply_overrides, section_digest, tool_digest

LONG = bool(os.environ.get("TOOLHAFT_LONG"))
"""`make soak` sets it: more random examples."""


@dataclass
class Topic:
    topic: str = "tools"


@dataclass
class Query:
    query: str
    limit: int = 10


@dataclass
class Found:
    titles: list[str]


def find(params: Query, *, context: ToolContext) -> ToolResult[Found]:
    return ToolResult.ok(Found(titles=[params.query] * params.limit), "found")


search = Tool[Query, Found](
    name="search",
    description="Search the shelves.",
    handler=find,
    examples=[
        {"description": "One", "input": Query(query="hafts", limit=1), "output": Found(titles=["hafts"])}
    ],
)


@tool(effect="read")
def add(left: int, right: int = 1) -> int:
    """Add two numbers.

    Args:
        left: the first
        right: the second
    """
    return left + right


sealed = create_tool(
    ToolConfig(
        name="sealed",
        description="Stays as it is.",
        input_schema={"type": "object"},
        execute=lambda input: "done",
        accepts_overrides=False,
    )
)


class Counted(Section[None]):
    def body(self, params):
        return "made in code"


def sections():
    details = MarkdownSection(
        title="Details", key="details", template="More on $topic.", summary="On $topic.", tools=[add]
    )
    return [
        MarkdownSection[Topic](
            title="Guidance", key="guidance", template="Be brief.", tools=[search], children=[details]
        ),
        MarkdownSection(title="Law", key="law", template="No more.", accepts_overrides=False, tools=[sealed]),
        Counted(title="Counted", key="counted", summary="Counts."),
        Counted(title="Silent", key="silent"),
    ]


def prompt(overrides=None, **options):
    return Prompt(name="demo", **{"sections": sections(), "overrides": overrides, **options})


def every_node(nodes):
    return {".".join(node.path): node for root in nodes for node in root.walk()}


NODES = prompt().nodes
BY_PATH = every_node(NODES)
SEARCH = tool_digest(search)
ADD = tool_digest(add)
GUIDANCE = section_digest(BY_PATH["guidance"])
DETAILS = section_digest(BY_PATH["guidance.details"])


def write(value, file="prompts/demo/stable.json"):
    """Put a value, or a text as it is, in a file."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else None
    path.write_bytes(json.dumps(value).encode() if data is None else data)


def load(value, file="prompts/demo/stable.json"):
    write(value, file)
    return OverrideStore("prompts").load("demo")


def applied(value):
    """The sections with what a file says, by path."""
    return every_node(apply_overrides(NODES, load(value)))


def refused(value, file="prompts/demo/stable.json"):
    """What a file that is refused is told, when it is read or when it is applied."""
    with pytest.raises(PromptValidationError) as caught:
        apply_overrides(NODES, load(value, file))
    return str(caught.value)
