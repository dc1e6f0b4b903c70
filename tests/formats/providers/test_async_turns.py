"""The same turns with the async clients of the two most used providers."""

import asyncio

import pytest

from tests.formats.providers import anthropic, openai_chat, openai_responses
from tests.formats.providers.provider import FINAL_TEXT
from tests.formats.providers.server import serving, whole
from tests.formats.providers.test_turns import RENDERED, bodies
from tests.formats.providers.turn_tools import TOOLS
from tests.formats.providers.turns import asked_calls
from toolhaft import ToolExecutor
from toolhaft.formats import StreamDecoder, decode_calls, encode_calls, encode_results, export_tools

pytestmark = pytest.mark.external

MODULES = {"openai_chat": openai_chat, "openai_responses": openai_responses, "anthropic": anthropic}


@pytest.fixture(params=MODULES.values(), ids=MODULES)
def module(request):
    return request.param


async def _turn(module, server, export, read):
    """The text of a turn and what its calls gave; `read` asks and gives the calls and the text."""
    provider, executor, history, rendered = (
        module.PROVIDER,
        ToolExecutor(TOOLS),
        [*module.PROVIDER.question],
        [],
    )
    async with module.aconnect(server.url) as client:
        for _ in range(2):
            calls, _said = await read(client, history)
            results = await executor.aexecute_all(calls)
            history += encode_calls(calls, provider.format, export=export)
            history += encode_results(results, provider.format, export=export)
            rendered.append([result.render() for result in results])
        _calls, said = await read(client, history)
    return said, rendered


def test_an_async_turn(module):
    provider = module.PROVIDER
    export = export_tools(TOOLS, provider.format)

    async def read(client, history):
        response = await module.ask(client, history, export.payload)
        return decode_calls(response, provider.format, export=export), provider.text(response)

    script = [
        *(whole(provider.calling(calls)) for calls in asked_calls(provider, export)),
        whole(provider.final),
    ]
    with serving(provider.check, provider.refuse, script) as server:
        reported = asyncio.run(_turn(module, server, export, read))
    assert reported == (FINAL_TEXT, RENDERED)
    assert server.bodies() == bodies(provider.format)


def test_an_async_streamed_turn(module):
    provider = module.PROVIDER
    export = export_tools(TOOLS, provider.format)

    async def read(client, history):
        decoder = StreamDecoder(provider.format, export=export)
        events = await module.astream(client, history, export.payload)
        calls = [call for event in events for call in decoder.feed(event)] + decoder.close()
        return calls, provider.stream_text(events)

    asked = asked_calls(provider, export)
    script = [
        *(provider.frame(provider.calling_events(calls)) for calls in asked),
        provider.frame(provider.final_events),
    ]
    with serving(provider.check, provider.refuse, script) as server:
        reported = asyncio.run(_turn(module, server, export, read))
    assert reported == (FINAL_TEXT, RENDERED)
    assert server.bodies() == bodies(provider.format, way="streaming")
