"""Mistral's chat completions: the real client, scripted responses, and the server's rules."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from mistralai.client import Mistral

from tests.formats.providers.provider import (
    FINAL_TEXT,
    KEY,
    PLAN,
    Provider,
    ScriptedCall,
    answered,
    demand,
    ids_are,
    is_object_schema,
    known_keys,
    names_are,
    needed_keys,
    pieces,
)
from tests.formats.providers.server import Answer, Request, sse, whole

NAME = r"[a-zA-Z0-9_-]{1,64}"
ID = r"[a-zA-Z0-9]{9}"
_MODEL = "mistral-medium-4"
_USAGE = {"prompt_tokens": 82, "completion_tokens": 41, "total_tokens": 123}
THINKING = {
    "type": "thinking",
    "thinking": [{"type": "text", "text": "Two lookups, side by side."}],
    "closed": True,
}
_AFTER = {
    "": ("system", "user"),
    "system": ("system", "user", "assistant"),
    "user": ("user", "assistant", "system"),
    "assistant": ("user", "tool"),
    "tool": ("assistant", "tool"),
}
"""Which roles may come after which."""
_CHUNKS = ("text", "image_url", "document_url", "reference", "file", "input_audio", "thinking")


# --- the client ---------------------------------------------------------------------------------------


def connect(url: str) -> AbstractContextManager[Mistral]:
    """The client; without a retry configuration it repeats nothing."""
    return Mistral(api_key=KEY, server_url=url, timeout_ms=10_000)


def ask(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """One request."""
    return client.chat.complete(model=_MODEL, messages=list(history), **fields)


def stream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """One request and all events of its answer."""
    with client.chat.stream(model=_MODEL, messages=list(history), **fields) as events:
        return list(events)


def _said(content: Any) -> str:
    chunks = [content] if isinstance(content, str) else content or ()
    return "".join(chunk if isinstance(chunk, str) else getattr(chunk, "text", "") for chunk in chunks)


def stream_text(events: Sequence[Any]) -> str:
    """What the assistant said, joined."""
    return "".join(_said(choice.delta.content) for event in events for choice in event.data.choices)


# --- its answers --------------------------------------------------------------------------------------


def _completion(message: Mapping[str, Any], reason: str) -> dict[str, Any]:
    said = {"role": "assistant", "tool_calls": None, "prefix": False, **message}
    return {
        "id": "cmpl-e5cc70bb28c444948073",
        "object": "chat.completion",
        "created": 1794700000,
        "model": _MODEL,
        "choices": [{"index": 0, "message": said, "finish_reason": reason}],
        "usage": _USAGE,
    }


def _call(index: int, call: ScriptedCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.text},
        "index": index,
    }


def calling(calls: Sequence[ScriptedCall]) -> dict[str, Any]:
    """A thought, a text and calls."""
    content = [THINKING, {"type": "text", "text": PLAN}]
    return _completion(
        {"content": content, "tool_calls": [_call(*pair) for pair in enumerate(calls)]}, "tool_calls"
    )


def _chunk(delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
    made = {
        "id": "cmpl-e5cc70bb28c444948073",
        "object": "chat.completion.chunk",
        "created": 1794700000,
        "model": _MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }
    return {**made, "usage": _USAGE} if reason else made


def _call_deltas(index: int, call: ScriptedCall) -> list[dict[str, Any]]:
    """The first call comes whole, as Mistral's own models send them; later ones in pieces joined by index."""
    if index == 0:
        return [_chunk({"tool_calls": [_call(index, call)]})]
    first, *rest = pieces(call.text)
    opening = {**_call(index, call), "function": {"name": call.name, "arguments": first}}
    later = [{"function": {"name": "", "arguments": piece}, "index": index} for piece in rest]
    return [_chunk({"tool_calls": [delta]}) for delta in (opening, *later)]


def _text_chunks(said: str) -> list[dict[str, Any]]:
    return [
        _chunk({"role": "assistant", "content": ""}),
        *(_chunk({"content": piece}) for piece in pieces(said)),
    ]


def calling_events(calls: Sequence[ScriptedCall]) -> list[Any]:
    """The same message in deltas."""
    deltas = [delta for pair in enumerate(calls) for delta in _call_deltas(*pair)]
    return [
        _chunk({"content": [THINKING]}),
        *_text_chunks(PLAN),
        *deltas,
        _chunk({"content": ""}, "tool_calls"),
    ]


def refuse(problem: str) -> Answer:
    """A bad request, in Mistral's words."""
    error = {
        "object": "error",
        "message": problem,
        "type": "invalid_request_error",
        "param": None,
        "code": "3000",
    }
    return whole(error, status=400)


# --- its rules ----------------------------------------------------------------------------------------


def check(request: Request) -> None:
    """What the server wants of a request."""
    demand(request.path == "/v1/chat/completions", f"no such path: {request.path}")
    demand(request.headers.get("authorization") == f"Bearer {KEY}", "no key")
    fields = ("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream")
    body = needed_keys(known_keys(request.body, fields, "request"), ("model", "messages"), "request")
    names = [_check_tool(tool) for tool in body.get("tools") or ()]
    names_are(names, NAME)
    choice = body.get("tool_choice", "auto")
    demand(
        choice in ("auto", "none", "any", "required") or choice["function"]["name"] in names,
        "unknown tool_choice",
    )
    check_messages(body["messages"])


def _check_tool(tool: Any) -> str:
    function = known_keys(tool, ("type", "function"), "tools")["function"]
    known_keys(function, ("name", "description", "parameters", "strict"), "function")
    needed_keys(function, ("name", "parameters"), "function")
    is_object_schema(function["parameters"])
    return function["name"]


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Roles in order; as many tool messages as calls, each with the id of its own."""
    before = ""
    asked: list[str] = []
    results: list[str] = []
    for message in messages:
        role = message["role"]
        demand(role in _AFTER[before], f"unexpected role {role!r} after role {before!r}")
        before = role
        if role == "tool":
            results.append(_check_result(message))
            continue
        answered(asked, results)
        asked, results = (_check_calls(message), []) if role == "assistant" else ([], [])
    answered(asked, results)
    demand(before in ("user", "tool"), f"expected last role user or tool, got {before!r}")


def _check_calls(message: Mapping[str, Any]) -> list[str]:
    known_keys(message, ("role", "content", "tool_calls", "prefix"), "assistant")
    calls = message.get("tool_calls") or ()
    demand(calls or message.get("content"), "assistant message must have either content or tool_calls")
    for call in calls:
        known_keys(needed_keys(call, ("id", "function"), "call"), ("id", "type", "function", "index"), "call")
        names_are([call["function"]["name"]], NAME)
        demand(
            isinstance(call["function"]["arguments"], str | dict), "arguments must be a string or an object"
        )
    ids = [call["id"] for call in calls]
    ids_are(ids, ID)
    return ids


def _check_result(message: Mapping[str, Any]) -> str:
    known_keys(message, ("role", "content", "tool_call_id", "name"), "tool")
    needed_keys(message, ("content", "tool_call_id"), "tool")
    content = message["content"]
    chunks = isinstance(content, list) and all(chunk.get("type") in _CHUNKS for chunk in content)
    demand(isinstance(content, str) or chunks, "unknown content chunk")
    return message["tool_call_id"]


PROVIDER = Provider(
    format="mistral",
    connect=connect,
    ask=ask,
    stream=stream,
    check=check,
    refuse=refuse,
    question=({"role": "user", "content": "How warm is it in Paris, and how many bolts are left?"},),
    ids=("D681PevKs", "aB3dE5gH7", "c1c1c1c1c", "c2c2c2c2c", "c3c3c3c3c"),
    calling=calling,
    calling_events=calling_events,
    final=_completion({"content": FINAL_TEXT}, "stop"),
    final_events=[*_text_chunks(FINAL_TEXT), _chunk({"content": ""}, "stop")],
    frame=lambda events: sse(events, done="[DONE]"),
    replay=lambda response: [response.choices[0].message],
    dump=lambda made: made.model_dump(),
    text=lambda response: _said(response.choices[0].message.content),
    stream_text=stream_text,
)
