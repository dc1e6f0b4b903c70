"""The same turns through the async clients of the two providers that most programs use.

Knows Toolhaft's public verbs alone.
"""

import asyncio

import pytest

from tests.formats.wires import anthropic, openai_chat, openai_responses
from tests.formats.wires.server import serving, whole
from tests.formats.wires.test_turns import RENDERED, bodies
from tests.formats.wires.turn_tools import TOOLS
from tests.formats.wires.turns import asked_calls
from tests.formats.wires.wire import FINAL_TEXT
from toolhaft import ToolExecutor
from toolhaft.formats import StreamDecoder, decode_calls, encode_calls, encode_results, export_tools

MODULES = {"openai_chat": openai_chat, "openai_responses": openai_responses, "anthropic": anthropic}


@pytest.fixture(params=MODULES.values(), ids=MODULES)
def module(request):
    return request.param


async def _turn(module, server, export, read):
    """The text of a turn and what its calls gave; `read` asks and gives the calls and the text."""
    wire, executor, history, rendered = module.WIRE, ToolExecutor(TOOLS), [*module.WIRE.question], []
    async with module.aconnect(server.url) as client:
        for _ in range(2):
            calls, _said = await read(client, history)
            results = await executor.aexecute_all(calls)
            history += encode_calls(calls, wire.format, export=export)
            history += encode_results(results, wire.format, export=export)
            rendered.append([result.render() for result in results])
        _calls, said = await read(client, history)
    return said, rendered


def test_an_async_turn(module):
    wire = module.WIRE
    export = export_tools(TOOLS, wire.format)

    async def read(client, history):
        response = await module.ask(client, history, export.payload)
        return decode_calls(response, wire.format, export=export), wire.text(response)

    script = [*(whole(wire.calling(calls)) for calls in asked_calls(wire, export)), whole(wire.final)]
    with serving(wire.check, wire.refuse, script) as server:
        told = asyncio.run(_turn(module, server, export, read))
    assert told == (FINAL_TEXT, RENDERED)
    assert server.bodies() == bodies(wire.format)


def test_an_async_streamed_turn(module):
    wire = module.WIRE
    export = export_tools(TOOLS, wire.format)

    async def read(client, history):
        decoder = StreamDecoder(wire.format, export=export)
        events = await module.astream(client, history, export.payload)
        calls = [call for event in events for call in decoder.feed(event)] + decoder.close()
        return calls, wire.stream_text(events)

    asked = asked_calls(wire, export)
    script = [*(wire.frame(wire.calling_events(calls)) for calls in asked), wire.frame(wire.final_events)]
    with serving(wire.check, wire.refuse, script) as server:
        told = asyncio.run(_turn(module, server, export, read))
    assert told == (FINAL_TEXT, RENDERED)
    assert server.bodies() == bodies(wire.format, way="streaming")
