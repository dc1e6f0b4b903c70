"""The tools and results of the tests of the chat formats."""

from typing import Any

from toolhaft import Audio, Document, Image, Tool, ToolCall, ToolResult, Video
from toolhaft.core.call import ToolCall as Call
from toolhaft.formats.message_parts import DUPLICATE_ID
from toolhaft.formats.provider_format import TRUNCATED, malformed_call

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PNG = b"\x89PNG"
EVERY_PART = (
    Image(data=PNG),
    Image(url="https://example.org/a.png"),
    Image(data=b"<svg/>", media_type="image/svg+xml"),
    Audio(data=b"RIFF"),
    Audio(url="https://example.org/a.wav"),
    Video(data=b"mp4"),
    Document(data=b"%PDF", name="report.pdf"),
    Document(url="https://example.org/a.pdf"),
    Document(data=b"a,b", media_type="text/csv", name="table.csv"),
)


def weather(**options: Any) -> Tool[Any, Any]:
    return Tool(name="weather", description="Weather.", input_schema=SCHEMA, **options)


def clock() -> Tool[Any, Any]:
    return Tool(name="clock", description="Time.", input_schema={"type": "object", "properties": {}})


def script(hint: Any = True, **wire: Any) -> Tool[Any, Any]:
    schema = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
    return Tool(
        name="script", description="Run.", input_schema=schema, metadata={"wire": {"free_form": hint, **wire}}
    )


def twin(call: Call) -> Call:
    """The call as it is where another one before it has its id."""
    return malformed_call(call.id, call.name, call.arguments, DUPLICATE_ID, call.extras)


def cut(call: Call, text: str) -> Call:
    """The call as it is where it broke off after this text."""
    return malformed_call(call.id, call.name, text, TRUNCATED, call.extras)


PARIS = ToolCall("call_1", "weather", '{"city": "Paris"}')
FAILED = ToolResult.error("no such city")
