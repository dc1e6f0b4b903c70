"""Tools whose handlers return images and other parts, for tests in worker processes too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from toolhaft import (
    Audio,
    BaseTool,
    Document,
    Image,
    Tool,
    ToolConfig,
    ToolContext,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    Video,
    create_tool,
    tool,
)

PNG = Image(data=b"png")
WAV = Audio(data=b"wav")
PDF = Document(data=b"%PDF", name="report.pdf")


@tool
def draw() -> Image:
    """Draw."""
    return PNG


@tool(isolation="inline")
def draw_inline() -> Image:
    """Draw."""
    return PNG


@tool(isolation="inline")
def draw_unannotated():
    """Draw."""
    return PNG


@tool
async def draw_async() -> Image:
    """Draw."""
    return PNG


@tool(isolation="process")
def draw_in_process() -> Image:
    """Draw."""
    return PNG


@tool
def draw_text() -> list[str | Image]:
    """Draw."""
    return ["Two:", PNG, PNG]


@tool(isolation="inline")
def draw_list_unannotated():
    """Draw."""
    return ["Two:", PNG, PNG]


@tool
async def draw_list_async():
    """Draw."""
    return ["Two:", PNG, PNG]


@tool(isolation="process")
def draw_list_in_process() -> list[str | Image]:
    """Draw."""
    return ["Two:", PNG, PNG]


@tool
def draw_stream() -> Iterator[str | Image]:
    """Draw."""
    yield "Tw"
    yield "o:"
    yield PNG
    yield PNG


@tool
async def draw_async_stream() -> AsyncIterator[str | Image]:
    """Draw."""
    yield "Two:"
    yield PNG
    yield PNG


@tool(isolation="process")
def draw_stream_in_process() -> Iterator[str | Image]:
    """Draw."""
    yield "Tw"
    yield "o:"
    yield PNG
    yield PNG


@tool
def pair() -> tuple[str, Document]:
    """Return a text and a document."""
    return "The report", PDF


@tool
def sounds() -> list[Audio]:
    """Return sounds."""
    return [WAV, WAV]


@tool
def film() -> Video | None:
    """Return a video."""
    return Video(url="https://example.org/film.mp4")


@tool
def draw_with_message() -> ToolResult[Image]:
    """Draw."""
    return ToolResult.ok(PNG, "Here it is")


@dataclass
class Nothing:
    """No parameters."""


def draw_typed(params: Nothing, *, context: ToolContext) -> ToolResult[Image]:
    """Draw."""
    return ToolResult.ok(PNG, "Here it is")


typed = Tool[Nothing, Image](name="typed", description="Draw.", handler=draw_typed)
wrapped = Tool.wrap(draw_typed, name="wrapped")
raw = create_tool(
    ToolConfig(name="raw", description="Draw.", input_schema={"type": "object"}, execute=lambda _: PNG)
)


class Painter(BaseTool):
    """A class tool that returns an image."""

    spec = ToolSpec(
        name="painter",
        description="Paint.",
        when_to_use="To paint.",
        inputs=[ToolParam(name="colour", type="string", description="Which colour.")],
        returns=ToolReturn(type="object", description="The picture."),
    )

    def __call__(self, *, colour: str, **_: object) -> ToolResponse:
        return ToolResponse(observation=[colour, PNG])
