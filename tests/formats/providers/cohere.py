"""Cohere's chat, version 2: the real client, scripted responses, and the server's rules."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
from cohere import ClientV2

from tests.formats.providers.provider import (
    FINAL_TEXT,
    KEY,
    PLAN,
    Provider,
    ScriptedCall,
    answered,
    demand,
    is_object_schema,
    known_keys,
    names_are,
    needed_keys,
    pieces,
    subschemas,
)
from tests.formats.providers.server import Answer, Request, sse, whole

NAME = r"[a-zA-Z0-9_-]{1,64}"
_MODEL = "command-a-09-2026"
_USAGE = {
    "billed_units": {"input_tokens": 30, "output_tokens": 21},
    "tokens": {"input_tokens": 82, "output_tokens": 41},
}
_STRICT_BANNED = {
    "allOf", "oneOf", "not", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
}  # fmt: skip


# --- the client ---------------------------------------------------------------------------------------


@contextmanager
def connect(url: str) -> Iterator[ClientV2]:
    """The client; it closes nothing itself, so the HTTP client under it is ours."""
    with httpx.Client(timeout=10, trust_env=False) as http:
        yield ClientV2(api_key=KEY, base_url=url, httpx_client=http, max_retries=0)


def ask(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """One request."""
    return client.chat(model=_MODEL, messages=list(history), **fields)


def stream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """One request and all events of its answer."""
    return list(client.chat_stream(model=_MODEL, messages=list(history), **fields))


def stream_text(events: Sequence[Any]) -> str:
    """What the assistant said, joined."""
    return "".join(event.delta.message.content.text for event in events if event.type == "content-delta")


# --- its answers --------------------------------------------------------------------------------------


def _response(message: Mapping[str, Any], reason: str) -> dict[str, Any]:
    return {
        "id": "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
        "finish_reason": reason,
        "message": {"role": "assistant", **message},
        "usage": _USAGE,
    }


def calling(calls: Sequence[ScriptedCall]) -> dict[str, Any]:
    """A plan and calls; this format has no text beside calls but the plan."""
    written = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for call in calls
    ]
    return _response({"tool_plan": PLAN, "tool_calls": written}, "TOOL_CALL")


def _call_events(index: int, call: ScriptedCall) -> list[dict[str, Any]]:
    """The start's `tool_calls` is one object, not a list."""
    opening = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    deltas = [opening, *({"function": {"arguments": piece}} for piece in pieces(call.text))]
    kinds = ["tool-call-start", *["tool-call-delta"] * (len(deltas) - 1)]
    inner = [
        {"type": kind, "index": index, "delta": {"message": {"tool_calls": delta}}}
        for kind, delta in zip(kinds, deltas, strict=True)
    ]
    return [*inner, {"type": "tool-call-end", "index": index}]


def _events(inner: Sequence[Any], reason: str) -> list[Any]:
    opening = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    return [
        {"type": "message-start", "id": "c14c80c3", "delta": {"message": opening}},
        *inner,
        {"type": "message-end", "delta": {"finish_reason": reason, "usage": _USAGE}},
    ]


def calling_events(calls: Sequence[ScriptedCall]) -> list[Any]:
    """The same message in events, one call after the other."""
    plan = [{"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}} for piece in pieces(PLAN)]
    return _events(
        [*plan, *(event for pair in enumerate(calls) for event in _call_events(*pair))], "TOOL_CALL"
    )


def _final_events() -> list[Any]:
    start = {"message": {"content": {"type": "text", "text": ""}}}
    deltas = [
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": piece}}}}
        for piece in pieces(FINAL_TEXT)
    ]
    return _events(
        [{"type": "content-start", "index": 0, "delta": start}, *deltas, {"type": "content-end", "index": 0}],
        "COMPLETE",
    )


def refuse(problem: str) -> Answer:
    """A bad request, in Cohere's words."""
    return whole({"id": "0f4a", "message": f"invalid request: {problem}"}, status=400)


# --- its rules ----------------------------------------------------------------------------------------


def check(request: Request) -> None:
    """What the server wants of a request."""
    demand(request.path == "/v2/chat", f"no such path: {request.path}")
    demand(request.headers.get("authorization") == f"Bearer {KEY}", "no key")
    fields = ("model", "messages", "tools", "tool_choice", "strict_tools", "stream")
    body = needed_keys(known_keys(request.body, fields, "request"), ("model", "messages"), "request")
    strict = body.get("strict_tools", False)
    names_are([_check_tool(tool, strict=strict) for tool in body.get("tools", ())], NAME)
    choice = body.get("tool_choice", "REQUIRED")
    demand(choice in ("REQUIRED", "NONE"), f"unknown tool_choice {choice!r}")
    demand("tool_choice" not in body or body.get("tools"), "tool_choice needs tools")
    check_messages(body["messages"])


def _check_tool(tool: Any, *, strict: bool) -> str:
    function = known_keys(tool, ("type", "function"), "tools")["function"]
    known_keys(function, ("name", "description", "parameters"), "function")
    needed_keys(function, ("name", "parameters"), "function")
    is_object_schema(function["parameters"])
    for schema in subschemas(function["parameters"]) if strict else ():
        demand(not _STRICT_BANNED & set(schema), f"strict: {sorted(_STRICT_BANNED & set(schema))}")
        demand("properties" not in schema or schema.get("required"), "strict: at least one required field")
    demand(not strict or function["parameters"].get("required"), "strict: at least one required parameter")
    return function["name"]


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Each call is answered by one tool message with its id, right after."""
    asked: list[str] = []
    results: list[str] = []
    for message in messages:
        role = message["role"]
        demand(role in ("system", "user", "assistant", "tool"), f"unknown role {role!r}")
        if role == "tool":
            results.append(_check_result(message))
            continue
        answered(asked, results)
        asked, results = (_check_calls(message), []) if role == "assistant" else ([], [])
    answered(asked, results)


def _check_calls(message: Mapping[str, Any]) -> list[str]:
    known_keys(message, ("role", "content", "tool_plan", "tool_calls", "citations"), "assistant")
    calls = message.get("tool_calls") or ()
    demand(calls or message.get("content"), "an assistant message needs content or tool calls")
    demand(not (calls and message.get("content")), "tool calls and content exclude each other")
    for call in calls:
        known_keys(needed_keys(call, ("id", "function"), "call"), ("id", "type", "function"), "call")
        demand(isinstance(call["function"]["arguments"], str), "arguments must be a string")
    return [call["id"] for call in calls]


def _check_result(message: Mapping[str, Any]) -> str:
    needed_keys(
        known_keys(message, ("role", "tool_call_id", "content"), "tool"), ("tool_call_id", "content"), "tool"
    )
    content = message["content"]
    for part in () if isinstance(content, str) else content:
        demand(part.get("type") in ("text", "document"), f"unknown tool content {part.get('type')!r}")
        if part["type"] == "document":
            known_keys(needed_keys(part["document"], ("data",), "document"), ("data", "id"), "document")
            demand(isinstance(part["document"]["data"], dict), "document.data must be an object")
    return message["tool_call_id"]


PROVIDER = Provider(
    format="cohere",
    connect=connect,
    ask=ask,
    stream=stream,
    check=check,
    refuse=refuse,
    question=({"role": "user", "content": "How warm is it in Paris, and how many bolts are left?"},),
    ids=("weather_mk72bpx3w5e8", "stock_f4qq0h1bz8aa", "x_c1", "x_c2", "x_c3"),
    calling=calling,
    calling_events=calling_events,
    final=_response({"content": [{"type": "text", "text": FINAL_TEXT}]}, "COMPLETE"),
    final_events=_final_events(),
    frame=lambda events: sse(events, named=True),
    replay=lambda response: [response.message],
    dump=lambda made: made.model_dump(),
    text=lambda response: response.message.content[0].text,
    stream_text=stream_text,
)
