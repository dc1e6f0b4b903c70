"""MCP: the real client and the SDK's server, connected in memory."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.server import Server

MODES = {"2025-06-18": "legacy", "2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
"""How the client asks for a session, by the version that the tools are written for."""
Answering = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


@asynccontextmanager
async def connected(listing: Mapping[str, Any], answer: Answering, mode: str) -> AsyncIterator[Client]:
    """A client of a server that lists these tools; `answer` takes a `tools/call` request and gives its result.

    Both cross as plain JSON: the SDK's server checks them against the version's own types on the way out.
    """

    async def listed(context: Any, params: Any) -> Any:
        return dict(listing)

    async def called(context: Any, params: Any) -> Any:
        request = {"method": "tools/call", "params": {"name": params.name, "arguments": params.arguments}}
        return dict(await answer(request))

    server = Server("loopback", version="1", on_list_tools=listed, on_call_tool=called)
    async with Client(InMemoryTransport(server), mode=mode, read_timeout_seconds=10) as client:
        yield client
