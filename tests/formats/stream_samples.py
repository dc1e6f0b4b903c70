"""Raw streams of every format with some calls, their arguments split as the caller wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, Final, NamedTuple

Event = dict[str, Any]
Cut = Callable[[str], list[str]]


class Said(NamedTuple):
    """One call as the model wrote it."""

    id: str
    name: str
    arguments: str

    @property
    def value(self) -> Event:
        """The arguments as an object."""
        return json.loads(self.arguments)


class Sample(NamedTuple):
    """How a format streams."""

    events: Callable[[list[Said], Cut], list[Event]]
    begins: Callable[[Event], int]
    """How many calls begin with an event."""
    framing: str
    """`sse`, `named sse` (each event has its name on a line before) or `lines`."""
    has_deltas: bool = True
    has_ids: bool = True
    has_text: bool = True
    """Whether a whole message of the format has arguments as text."""

    def raw(self, events: list[Event]) -> bytes:
        """The events as the server writes them."""
        texts = [json.dumps(event, ensure_ascii=False) for event in events]
        if self.framing == "lines":
            return "".join(f"{text}\n" for text in texts).encode()
        if self.framing == "sse":
            return "".join(f"data: {text}\r\n\r\n" for text in [*texts, "[DONE]"]).encode()
        pairs = zip(events, texts, strict=True)
        return "".join(f"event: {event['type']}\ndata: {text}\n\n" for event, text in pairs).encode()


def _chunk(delta: Event, reason: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _chat(calls: list[Said], cut: Cut) -> list[Event]:
    """Calls one after the other, but for the last two, whose pieces alternate."""
    begun = [
        {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        for index, call in enumerate(calls)
    ]
    pieces = [
        [{"index": index, "function": {"arguments": piece}} for piece in cut(call.arguments)]
        for index, call in enumerate(calls)
    ]
    first = [part for start, rest in zip(begun[:-2], pieces[:-2], strict=True) for part in (start, *rest)]
    mixed = [part for pair in zip_longest(*pieces[-2:]) for part in pair if part]
    parts = [*first, *begun[-2:], *mixed]
    return [
        _chunk({"role": "assistant", "content": None}),
        *(_chunk({"tool_calls": [part]}) for part in parts),
        _chunk({}, "tool_calls"),
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "model": "m",
            "choices": [],
            "usage": {"total_tokens": 3},
        },
    ]


def _mistral(calls: list[Said], cut: Cut) -> list[Event]:
    parts = []
    for index, call in enumerate(calls):
        first, *rest = cut(call.arguments)
        parts.append({"id": call.id, "index": index, "function": {"name": call.name, "arguments": first}})
        parts += [{"index": index, "function": {"name": "", "arguments": piece}} for piece in rest]
    chunks = [
        _chunk({"role": "assistant", "content": ""}),
        *(_chunk({"tool_calls": [part]}) for part in parts),
    ]
    return [*chunks, _chunk({"content": ""}, "tool_calls")]


def _chat_begins(event: Event) -> int:
    return sum("id" in call for choice in event["choices"] for call in choice["delta"].get("tool_calls", []))


def _responses(calls: list[Said], cut: Cut) -> list[Event]:
    events: list[Event] = [{"type": "response.created", "response": {"id": "r1", "output": []}}]
    items = []
    for index, call in enumerate(calls):
        item = {"type": "function_call", "id": f"fc_{index}", "call_id": call.id, "name": call.name}
        place = {"item_id": f"fc_{index}", "output_index": index}
        whole = {**item, "arguments": call.arguments, "status": "completed"}
        events += [
            {
                "type": "response.output_item.added",
                "output_index": index,
                "item": {**item, "arguments": "", "status": "in_progress"},
            },
            *(
                {"type": "response.function_call_arguments.delta", **place, "delta": piece}
                for piece in cut(call.arguments)
            ),
            {
                "type": "response.function_call_arguments.done",
                **place,
                "name": call.name,
                "arguments": call.arguments,
            },
            {"type": "response.output_item.done", "output_index": index, "item": whole},
        ]
        items.append(whole)
    done = {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": items}}
    return [{**event, "sequence_number": number} for number, event in enumerate([*events, done])]


def _anthropic(calls: list[Said], cut: Cut) -> list[Event]:
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "stop_reason": None,
    }
    events: list[Event] = [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "I look für you."},
        },
        {"type": "content_block_stop", "index": 0},
    ]
    for index, call in enumerate(calls, 1):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            *(
                {
                    "type": "content_block_delta",
                    "index": index,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                }
                for piece in cut(call.arguments)
            ),
            {"type": "content_block_stop", "index": index},
        ]
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}
    return [*events, end, {"type": "message_stop"}]


def _bedrock(calls: list[Said], cut: Cut) -> list[Event]:
    events: list[Event] = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "Für you."}, "contentBlockIndex": 0}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
    ]
    for index, call in enumerate(calls, 1):
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        events += [
            {"contentBlockStart": {"start": start, "contentBlockIndex": index}},
            *(
                {"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}, "contentBlockIndex": index}}
                for piece in cut(call.arguments)
            ),
            {"contentBlockStop": {"contentBlockIndex": index}},
        ]
    return [*events, {"messageStop": {"stopReason": "tool_use"}}, {"metadata": {"usage": {"totalTokens": 3}}}]


def _gemini(calls: list[Said], cut: Cut) -> list[Event]:
    parts: list[list[Event]] = [[{"text": "Für you."}]]
    parts += [
        [{"functionCall": {"id": call.id, "name": call.name, "args": call.value}}] for call in calls[:-2]
    ]
    parts.append(
        [{"functionCall": {"id": call.id, "name": call.name, "args": call.value}} for call in calls[-2:]]
    )
    events = [
        {"candidates": [{"content": {"role": "model", "parts": part}, "index": 0}], "modelVersion": "m"}
        for part in parts
    ]
    end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}
    return [*events, {"candidates": [end], "usageMetadata": {"totalTokenCount": 3}}]


def _gemini_begins(event: Event) -> int:
    return sum("functionCall" in part for part in event["candidates"][0]["content"]["parts"])


def _cohere(calls: list[Said], cut: Cut) -> list[Event]:
    events: list[Event] = [
        {"type": "message-start", "id": "m1", "delta": {"message": {"role": "assistant"}}},
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I look"}}},
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": " für you."}}},
    ]
    for index, call in enumerate(calls):
        start = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        events += [
            {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": start}}},
            *(
                {
                    "type": "tool-call-delta",
                    "index": index,
                    "delta": {"message": {"tool_calls": {"function": {"arguments": piece}}}},
                }
                for piece in cut(call.arguments)
            ),
            {"type": "tool-call-end", "index": index},
        ]
    return [*events, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {}}}]


def _ollama(calls: list[Said], cut: Cut) -> list[Event]:
    def line(message: Event, *, done: bool = False) -> Event:
        return {
            "model": "m",
            "created_at": "t",
            "message": {"role": "assistant", "content": "", **message},
            "done": done,
        }

    events = [line({"content": "Für you."})]
    events += [
        line({"tool_calls": [{"function": {"name": call.name, "arguments": call.value}}]})
        for call in calls[:-2]
    ]
    events.append(
        line(
            {
                "tool_calls": [
                    {"function": {"name": call.name, "arguments": call.value}} for call in calls[-2:]
                ]
            }
        )
    )
    return [*events, line({}, done=True) | {"done_reason": "stop"}]


def _mcp(calls: list[Said], cut: Cut) -> list[Event]:
    return [
        {
            "jsonrpc": "2.0",
            "id": call.id,
            "method": "tools/call",
            "params": {"name": call.name, "arguments": call.value},
        }
        for call in calls
    ]


def _native(calls: list[Said], cut: Cut) -> list[Event]:
    def events() -> Iterator[Event]:
        for index, call in enumerate(calls):
            yield {"index": index, "call": {"id": call.id, "name": call.name}}
            yield from ({"index": index, "arguments": piece} for piece in cut(call.arguments))
            yield {"index": index, "done": True}

    return list(events())


SAMPLES: Final[dict[str, Sample]] = {
    "anthropic": Sample(
        _anthropic,
        lambda event: event.get("content_block", {}).get("type") == "tool_use",
        "named sse",
        has_text=False,
    ),
    "bedrock": Sample(_bedrock, lambda event: "contentBlockStart" in event, "lines", has_text=False),
    "cohere": Sample(_cohere, lambda event: event["type"] == "tool-call-start", "named sse"),
    "gemini": Sample(_gemini, _gemini_begins, "sse", has_deltas=False, has_text=False),
    "mcp": Sample(_mcp, lambda event: 1, "lines", has_deltas=False, has_text=False),
    "mistral": Sample(_mistral, _chat_begins, "sse"),
    "native": Sample(_native, lambda event: "call" in event, "lines"),
    "ollama": Sample(
        _ollama,
        lambda event: len(event["message"].get("tool_calls", [])),
        "lines",
        has_deltas=False,
        has_ids=False,
        has_text=False,
    ),
    "openai_chat": Sample(_chat, _chat_begins, "sse"),
    "openai_responses": Sample(
        _responses, lambda event: event["type"] == "response.output_item.added", "named sse"
    ),
}
