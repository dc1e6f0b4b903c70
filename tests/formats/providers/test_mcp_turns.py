"""Whole turns over MCP: the SDK's client lists and calls exported tools on the SDK's server."""

import asyncio

import pytest

from tests.formats.providers.mcp import MODES, connected
from tests.formats.providers.turn_tools import TOOLS
from toolhaft import ToolCall, ToolExecutor
from toolhaft.formats import decode_calls, encode_calls, encode_results, export_tools

pytestmark = pytest.mark.external

CALLS = [
    ToolCall("a", "weather", '{"city": "Paris"}'),
    ToolCall("b", "shop.stock", {"item": "bolt", "place": {"hall": 2}}),
    ToolCall("c", "wether", {"city": "Oslo"}),
    ToolCall("d", "shop.stock", {"item": 5}),
    ToolCall("e", "chart", {"points": [1, 2]}),
]


async def _turn(export, mode):
    """What the client sees of the tools, and of the result of each call."""
    executor = ToolExecutor(TOOLS)

    async def answer(request):
        calls = decode_calls(request, "mcp", export=export)
        return encode_results(await executor.aexecute_all(calls), "mcp", export=export)[0]

    async with connected(export.payload, answer, mode) as client:
        listed = await client.list_tools()
        requests = encode_calls(CALLS, "mcp", export=export)
        results = [await client.call_tool(**request["params"]) for request in requests]
    return [_plain(made) for made in listed.tools], [_plain(result, exclude={"meta"}) for result in results]


def _plain(made, **leaving):
    return made.model_dump(mode="json", by_alias=True, exclude_none=True, **leaving)


@pytest.fixture(params=MODES)
def dialect(request):
    return request.param


def test_a_client_sees_the_tools_as_they_were_exported(dialect):
    export = export_tools(TOOLS, "mcp", dialect=dialect)
    listed, _ = asyncio.run(_turn(export, MODES[dialect]))
    assert listed == export.payload["tools"]
    assert export.names == {"weather": "weather", "shop.stock": "shop.stock", "chart": "chart"}


def test_a_client_gets_text_objects_failures_and_pictures(dialect):
    export = export_tools(TOOLS, "mcp", dialect=dialect)
    _, results = asyncio.run(_turn(export, MODES[dialect]))
    words = "21 degrees celsius in Paris"
    invalid = 'The arguments are not valid.\n- item: got 5; expected a string\nValid arguments look like: {"item":"text"}'
    picture = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    assert results == [
        # older revisions want an object there
        _result(words, structuredContent=words if dialect == "2026-07-28" else {"result": words}),
        _result(
            '{"item":"bolt","left":3,"hall":2}', structuredContent={"item": "bolt", "left": 3, "hall": 2}
        ),
        _result("no tool is called 'wether'. Did you mean 'weather'?", isError=True),
        _result(invalid, isError=True),
        _result("2 points", picture),
    ]


def _result(text, *parts, **more):
    """A result as the client's models show it: they add absent fields."""
    return {
        "content": [{"type": "text", "text": text}, *parts],
        "isError": False,
        "resultType": "complete",
        **more,
    }
