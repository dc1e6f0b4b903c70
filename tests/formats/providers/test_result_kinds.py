"""Every SDK's types and every server accept results and calls of every kind."""

import pytest

from tests.formats.providers.every_provider import PROVIDERS
from tests.formats.providers.provider import FINAL_TEXT
from tests.formats.providers.sdk_types import history_problems
from tests.formats.providers.server import batched, serving, whole
from tests.formats.providers.turn_tools import TOOLS
from toolhaft import Audio, Document, Image, ToolCall, ToolResult, Video
from toolhaft.formats import encode_calls, encode_results, export_tools

pytestmark = pytest.mark.external

PARTS = {
    "png": Image(data=b"x"),
    "jpeg": Image(data=b"x", media_type="image/jpeg"),
    "bmp": Image(data=b"x", media_type="image/bmp"),
    "image elsewhere": Image(url="https://example.org/a.png"),
    "wav": Audio(data=b"x"),
    "mp3": Audio(data=b"x", media_type="audio/mpeg"),
    "audio elsewhere": Audio(url="https://example.org/a.wav"),
    "mp4": Video(data=b"x"),
    "video elsewhere": Video(url="https://example.org/a.mp4"),
    "video in a bucket": Video(url="s3://a-bucket/a.mp4"),
    "pdf": Document(data=b"x", name="report.pdf"),
    "nameless pdf": Document(data=b"x"),
    "pdf elsewhere": Document(url="https://example.org/a.pdf"),
    "text": Document(data=b"words", media_type="text/plain", name="notes"),
    "csv": Document(data=b"a,b", media_type="text/csv"),
    "zip": Document(data=b"x", media_type="application/zip", name="all.zip"),
    "odd name": Document(data=b"x", name='a/b "c" ÄÖ.pdf'),
    "long name": Document(data=b"x", name="n" * 300),
}
VALUES = {
    "text": "words",
    "empty text": "",
    "blank text": " \n",
    "odd text": 'ä 🙂 "quoted" \\ \x00 \ud7ff',
    "object": {"a": [1, {"b": None}]},
    "empty object": {},
    "list": [1, "a", None],
    "empty list": [],
    "number": 1.5,
    "big number": 10**30,
    "not a number": float("nan"),
    "true": True,
    "nothing": None,
}
RESULTS = {
    **{f"value: {name}": ToolResult.ok(value, message="") for name, value in VALUES.items()},
    **{f"message and value: {name}": ToolResult.ok(value) for name, value in VALUES.items()},
    **{f"error and value: {name}": ToolResult.error("no", value=value) for name, value in VALUES.items()},
    **{f"part: {name}": ToolResult(message="so", content=(part,)) for name, part in PARTS.items()},
    **{f"part alone: {name}": ToolResult(content=(part,)) for name, part in PARTS.items()},
    **{
        f"error and part: {name}": ToolResult(message="so", success=False, content=(part,))
        for name, part in PARTS.items()
    },
    "error without a word": ToolResult(success=False),
    "all parts": ToolResult(message="so", value={"a": 1}, content=tuple(PARTS.values())),
    "parts of MCP": ToolResult(
        content=({"type": "text", "text": "so"}, {"type": "image", "data": "eA==", "mimeType": "image/png"})
    ),
    "value left out": ToolResult(message="so", value={"a": 1}, exclude_value_from_context=True),
}
CALLS = {
    "plain": ToolCall("call_1", "weather", '{"city": "Paris"}'),
    "object": ToolCall("call_1", "weather", {"city": "Paris"}),
    "nothing": ToolCall("call_1", "weather"),
    "no id": ToolCall("", "weather", "{}"),
    "odd id": ToolCall("ä/ö|" * 40, "weather", "{}"),
    "odd name": ToolCall("call_1", "no such tool! ä", "{}"),
    "no name": ToolCall("call_1", "", "{}"),
    "not JSON": ToolCall("call_1", "weather", '{"city": '),
    "no object": ToolCall("call_1", "weather", "[1]"),
    "renamed": ToolCall("call_1", "shop.stock", '{"item": "ä\\u0000"}'),
}
ANSWER = ToolResult.ok("words", message="")


@pytest.fixture(params=PROVIDERS.values(), ids=PROVIDERS)
def provider(request):
    return request.param


def _refused(provider, turns):
    """By name, what the SDK's types or the server find wrong with calls and their results."""
    export, found = export_tools(TOOLS, provider.format), {}
    with serving(provider.check, provider.refuse, []) as server, provider.client(server.url) as client:
        for name, pairs in turns.items():
            added = []
            for call, result in pairs:
                added += encode_calls([call], provider.format, export=export)
                added += encode_results([result], provider.format, calls=[call], export=export)
            problems = history_problems(provider.format, added)
            server.script[:] = [whole(provider.final)]
            try:
                text = provider.text(provider.ask(client, [*provider.question, *added], export.payload))
                assert text == FINAL_TEXT
            except Exception as error:  # noqa: BLE001 -- each client has its own
                problems.append(repr(error))
            if problems:
                found[name] = problems
        server.script.clear()
    return found


def test_every_server_accepts_every_kind_of_result(provider):
    calls = (ToolCall(f"call_{number}", "weather", '{"city": "Paris"}') for number in range(len(RESULTS)))
    pairs = dict(zip(RESULTS, zip(calls, RESULTS.values(), strict=True), strict=True))
    together = {tuple(names): [pairs[name] for name in names] for names in batched(RESULTS)}
    refused = _refused(provider, together)
    each = {name: [pairs[name]] for names in refused for name in names}  # to say which
    assert (_refused(provider, each), refused) == ({}, {})


def test_every_server_accepts_every_kind_of_call(provider):
    assert _refused(provider, {name: [(call, ANSWER)] for name, call in CALLS.items()}) == {}


def test_every_result_fits_the_types_of_mcp():
    call = ToolCall("call_1", "weather", '{"city": "Paris"}')
    found = {}
    for dialect in ("2025-06-18", "2025-11-25", "2026-07-28"):
        for name, result in RESULTS.items():
            encoded = encode_results([result], "mcp", calls=[call], dialect=dialect)
            if problems := history_problems("mcp", encoded, dialect):
                found[dialect, name] = problems
    assert found == {}
