"""Ollama's own chat: the real client, scripted responses, and the server's rules."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ollama import Client

from tests.formats.providers.provider import (
    FINAL_TEXT,
    PLAN,
    Provider,
    ScriptedCall,
    demand,
    is_object_schema,
    known_keys,
    names_are,
    needed_keys,
    pieces,
)
from tests.formats.providers.server import Answer, Request, ndjson, whole

_MODEL = "qwen4:8b"
_THOUGHT = "Two lookups, side by side."
_TIMES = {
    "total_duration": 4883583458,
    "load_duration": 1334875,
    "prompt_eval_count": 82,
    "prompt_eval_duration": 342546000,
    "eval_count": 41,
    "eval_duration": 4535599000,
}


# --- the client ---------------------------------------------------------------------------------------


def connect(url: str) -> AbstractContextManager[Client]:
    """The client; it has no key."""
    return Client(host=url, timeout=10, trust_env=False)


def ask(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """One request."""
    return client.chat(model=_MODEL, messages=list(history), **fields)


def stream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """One request and all parts of its answer."""
    return list(client.chat(model=_MODEL, messages=list(history), stream=True, **fields))


# --- its answers --------------------------------------------------------------------------------------


def _response(message: Mapping[str, Any], *, done: bool = True) -> dict[str, Any]:
    made = {
        "model": _MODEL,
        "created_at": "2026-11-15T12:00:00.000000Z",
        "message": {"role": "assistant", "content": "", **message},
        "done": done,
    }
    return {**made, "done_reason": "stop", **_TIMES} if done else made


def _calls(calls: Sequence[ScriptedCall], start: int = 0) -> list[dict[str, Any]]:
    """Newer servers give ids and indices, which the SDK drops."""
    return [
        {
            "id": call.id,
            "function": {"index": index, "name": call.name, "arguments": dict(call.arguments)},
        }
        for index, call in enumerate(calls, start)
    ]


def calling(calls: Sequence[ScriptedCall]) -> dict[str, Any]:
    """A thought, a text and calls."""
    return _response({"content": PLAN, "thinking": _THOUGHT, "tool_calls": _calls(calls)})


def calling_events(calls: Sequence[ScriptedCall]) -> list[Any]:
    """The same over several lines; each call comes whole."""
    thought = [_response({"thinking": piece}, done=False) for piece in pieces(_THOUGHT)]
    said = [_response({"content": piece}, done=False) for piece in pieces(PLAN)]
    asked = [_response({"tool_calls": _calls([call], index)}, done=False) for index, call in enumerate(calls)]
    return [*thought, *said, *asked, _response({})]


def refuse(problem: str) -> Answer:
    """A bad request, in Ollama's words."""
    return whole({"error": problem}, status=400)


# --- its rules ----------------------------------------------------------------------------------------


def check(request: Request) -> None:
    """What the server wants of a request; it reads JSON into typed structures and is easy-going beyond that."""
    demand(request.path == "/api/chat", f"no such path: {request.path}")
    fields = ("model", "messages", "tools", "stream", "think", "format", "options", "keep_alive")
    body = needed_keys(known_keys(request.body, fields, "request"), ("model", "messages"), "request")
    names_are([_check_tool(tool) for tool in body.get("tools", ())], r"[^\s]{1,128}")
    check_messages(body["messages"])


def _check_tool(tool: Any) -> str:
    function = needed_keys(tool, ("type", "function"), "tools")["function"]
    needed_keys(function, ("name", "description", "parameters"), "function")
    is_object_schema(function["parameters"])
    for schema in function["parameters"].get("properties", {}).values():
        kinds = schema.get("type", [])
        demand(isinstance(kinds, str | list), "cannot unmarshal property type")
    return function["name"]


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Results follow their calls in order, each with the tool's name: nothing else pairs them."""
    asked: list[str] = []
    for message in messages:
        role = message["role"]
        demand(role in ("system", "user", "assistant", "tool"), f"unknown role {role!r}")
        demand(isinstance(message.get("content", ""), str), "cannot unmarshal content into a string")
        if role == "tool":
            demand(asked and message.get("tool_name") == asked.pop(0), "a tool message out of order")
            continue
        demand(not asked, f"calls without a result: {asked}")
        for call in message.get("tool_calls") or ():
            demand(
                isinstance(call["function"]["arguments"], dict), "cannot unmarshal arguments into an object"
            )
            asked.append(call["function"]["name"])
    demand(not asked, f"calls without a result: {asked}")


PROVIDER = Provider(
    format="ollama",
    connect=connect,
    ask=ask,
    stream=stream,
    check=check,
    refuse=refuse,
    question=({"role": "user", "content": "How warm is it in Paris, and how many bolts are left?"},),
    ids=("call_ab12zx9", "call_ab13zx9", "call_c1", "call_c2", "call_c3"),
    calling=calling,
    calling_events=calling_events,
    final=_response({"content": FINAL_TEXT}),
    final_events=[
        *(_response({"content": piece}, done=False) for piece in pieces(FINAL_TEXT)),
        _response({}),
    ],
    frame=ndjson,
    replay=lambda response: [response.message],
    dump=lambda made: made.model_dump(),
    text=lambda response: response.message.content,
    stream_text=lambda events: "".join(event.message.content or "" for event in events),
)
