"""Anthropic Messages: the real client, scripted responses, and the server's rules."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from anthropic import Anthropic, AsyncAnthropic

from tests.formats.providers.anthropic_rules import check, refuse
from tests.formats.providers.provider import FINAL_TEXT, KEY, PLAN, Provider, ScriptedCall, pieces
from tests.formats.providers.server import sse

_MODEL = "claude-sonnet-5"
_THOUGHT = "Two lookups, side by side."
_SIGNATURE = "EqoBCkgIAxABGAIiQL8k0Zp4"
THINKING = {"type": "thinking", "thinking": _THOUGHT, "signature": _SIGNATURE}
_USAGE = {
    "input_tokens": 82,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 41,
    "service_tier": "standard",
}


# --- the client ---------------------------------------------------------------------------------------


def connect(url: str) -> AbstractContextManager[Anthropic]:
    """The client."""
    return Anthropic(api_key=KEY, base_url=url, max_retries=0, timeout=10)


def aconnect(url: str) -> AsyncAnthropic:
    """The same for a loop."""
    return AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0, timeout=10)


def ask(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """One request; of an async client, its coroutine."""
    return client.messages.create(model=_MODEL, max_tokens=2048, messages=list(history), **fields)


def stream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """One request and all events of its answer."""
    with client.messages.create(
        model=_MODEL, max_tokens=2048, messages=list(history), stream=True, **fields
    ) as events:
        return list(events)


async def astream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """The same for a loop."""
    made = await client.messages.create(
        model=_MODEL, max_tokens=2048, messages=list(history), stream=True, **fields
    )
    async with made as events:
        return [event async for event in events]


def text(response: Any) -> str:
    """What the assistant said."""
    return "".join(block.text for block in response.content if block.type == "text")


def stream_text(events: Sequence[Any]) -> str:
    """What the assistant said, joined."""
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    return "".join(delta.text for delta in deltas if delta.type == "text_delta")


def replay(response: Any) -> list[Any]:
    """The assistant's message with all its blocks: thinking must go back as it came."""
    return [{"role": "assistant", "content": response.content}]


# --- its answers --------------------------------------------------------------------------------------


def _message(content: Sequence[Any], reason: str | None) -> dict[str, Any]:
    return {
        "id": "msg_01XFDUDY",
        "type": "message",
        "role": "assistant",
        "model": _MODEL,
        "content": list(content),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _blocks(calls: Sequence[ScriptedCall]) -> list[dict[str, Any]]:
    uses = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": dict(call.arguments),
            "caller": {"type": "direct"},
        }
        for call in calls
    ]
    return [THINKING, {"type": "text", "text": PLAN}, *uses]


def calling(calls: Sequence[ScriptedCall]) -> dict[str, Any]:
    """A thought with its signature, a text and calls."""
    return _message(_blocks(calls), "tool_use")


def _delta(index: int, kind: str, key: str, piece: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}


def _block_events(index: int, block: Mapping[str, Any], arguments: str) -> list[dict[str, Any]]:
    match block["type"]:
        case "thinking":
            begun: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [_delta(index, "thinking_delta", "thinking", piece) for piece in pieces(_THOUGHT)]
            deltas.append(_delta(index, "signature_delta", "signature", _SIGNATURE))
        case "text":
            begun = {"type": "text", "text": ""}
            deltas = [_delta(index, "text_delta", "text", piece) for piece in pieces(block["text"])]
        case _:
            begun = {**block, "input": {}}
            # the first piece is empty on the real wire too
            written = ["", *pieces(arguments)]
            deltas = [_delta(index, "input_json_delta", "partial_json", piece) for piece in written]
    start = {"type": "content_block_start", "index": index, "content_block": begun}
    return [start, *deltas, {"type": "content_block_stop", "index": index}]


def _events(blocks: Sequence[Any], arguments: Sequence[str], reason: str) -> list[Any]:
    """Blocks come one after the other; pings come anywhere."""
    begun = _message([], None)
    inner = [
        event
        for index, (block, written) in enumerate(zip(blocks, arguments, strict=True))
        for event in _block_events(index, block, written)
    ]
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_start", "message": begun},
        inner[0],
        {"type": "ping"},
        *inner[1:],
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 41}},
        {"type": "message_stop"},
    ]


def calling_events(calls: Sequence[ScriptedCall]) -> list[Any]:
    """The same blocks in deltas."""
    return _events(_blocks(calls), ["", "", *(call.text for call in calls)], "tool_use")


_FINAL = [{"type": "text", "text": FINAL_TEXT}]
PROVIDER = Provider(
    format="anthropic",
    connect=connect,
    ask=ask,
    stream=stream,
    check=check,
    refuse=refuse,
    question=({"role": "user", "content": "How warm is it in Paris, and how many bolts are left?"},),
    ids=("toolu_01A09q90qw90lq917835lq9", "toolu_01B77", "toolu_01C1", "toolu_01C2", "toolu_01C3"),
    calling=calling,
    calling_events=calling_events,
    final=_message(_FINAL, "end_turn"),
    final_events=_events(_FINAL, [""], "end_turn"),
    frame=lambda events: sse(events, named=True),
    replay=replay,
    dump=lambda made: made.model_dump(),
    text=text,
    stream_text=stream_text,
)
