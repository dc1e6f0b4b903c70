"""OpenAI Chat Completions: the real client, scripted responses, and the server's rules."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from openai import AsyncOpenAI, OpenAI

from tests.formats.providers.openai_strict import check_strict
from tests.formats.providers.provider import (
    FINAL_TEXT,
    KEY,
    PLAN,
    Provider,
    ScriptedCall,
    answered,
    demand,
    ids_are,
    interleaved,
    is_object_schema,
    known_keys,
    names_are,
    needed_keys,
    pieces,
)
from tests.formats.providers.server import Answer, Request, sse, whole

NAME = r"[a-zA-Z0-9_-]{1,64}"
ROOT_BANNED = ("oneOf", "anyOf", "allOf", "enum", "const", "not")
_MODEL = "gpt-5.6"
_USAGE = {
    "prompt_tokens": 82,
    "completion_tokens": 41,
    "total_tokens": 123,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 0,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}


# --- the client ---------------------------------------------------------------------------------------


def connect(url: str) -> AbstractContextManager[OpenAI]:
    """The client of Chat Completions and Responses."""
    return OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0, timeout=10)


def aconnect(url: str) -> AsyncOpenAI:
    """The same for a loop."""
    return AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0, timeout=10)


def ask(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """One request; of an async client, its coroutine."""
    return client.chat.completions.create(model=_MODEL, messages=list(history), **fields)


def stream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """One request and all chunks of its answer."""
    wish = {"include_usage": True}
    with client.chat.completions.create(
        model=_MODEL, messages=list(history), stream=True, stream_options=wish, **fields
    ) as chunks:
        return list(chunks)


async def astream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """The same for a loop."""
    made = await client.chat.completions.create(
        model=_MODEL, messages=list(history), stream=True, stream_options={"include_usage": True}, **fields
    )
    async with made as chunks:
        return [chunk async for chunk in chunks]


def text(response: Any) -> str:
    """What the assistant said."""
    return response.choices[0].message.content


def stream_text(chunks: Sequence[Any]) -> str:
    """What the assistant said, joined."""
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def replay(response: Any) -> list[Any]:
    """The assistant's message as the SDK's own object, which it takes back."""
    return [response.choices[0].message]


# --- its answers --------------------------------------------------------------------------------------


def _completion(message: Mapping[str, Any], reason: str) -> dict[str, Any]:
    said = {"role": "assistant", "refusal": None, "annotations": [], **message}
    return {
        "id": "chatcmpl-CkQ9f3",
        "object": "chat.completion",
        "created": 1794700000,
        "model": "gpt-5.6-2026-08-01",
        "choices": [{"index": 0, "message": said, "logprobs": None, "finish_reason": reason}],
        "usage": _USAGE,
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
    }


def calling(calls: Sequence[ScriptedCall]) -> dict[str, Any]:
    """A text and calls in one message."""
    written = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for call in calls
    ]
    return _completion({"content": PLAN, "tool_calls": written}, "tool_calls")


def _chunk(delta: Mapping[str, Any] | None, reason: str | None = None) -> dict[str, Any]:
    choices = (
        [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]
    )
    return {
        "id": "chatcmpl-CkQ9f3",
        "object": "chat.completion.chunk",
        "created": 1794700000,
        "model": "gpt-5.6-2026-08-01",
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": choices,
        "usage": _USAGE if delta is None else None,
        "obfuscation": "x7Lq",
    }


def _call_deltas(index: int, call: ScriptedCall) -> list[dict[str, Any]]:
    """Id and name come once, with the first piece; later pieces have the index alone."""
    opening = {
        "index": index,
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    rest = [{"index": index, "function": {"arguments": piece}} for piece in pieces(call.text)]
    return [_chunk({"tool_calls": [delta]}) for delta in (opening, *rest)]


def calling_events(calls: Sequence[ScriptedCall]) -> list[Any]:
    """The same message in deltas; the calls come interleaved, as parallel ones may."""
    deltas = interleaved([_call_deltas(index, call) for index, call in enumerate(calls)])
    opening = [_chunk({"role": "assistant", "content": "", "refusal": None})]
    said = [_chunk({"content": piece}) for piece in pieces(PLAN)]
    return [*opening, *said, *deltas, _chunk({}, "tool_calls"), _chunk(None)]


def _final_events() -> list[Any]:
    said = [_chunk({"content": piece}) for piece in pieces(FINAL_TEXT)]
    opening = [_chunk({"role": "assistant", "content": "", "refusal": None})]
    return [*opening, *said, _chunk({}, "stop"), _chunk(None)]


def refuse(problem: str) -> Answer:
    """A bad request, in OpenAI's words."""
    error = {"message": problem, "type": "invalid_request_error", "param": None, "code": None}
    return whole({"error": error}, status=400)


# --- its rules ----------------------------------------------------------------------------------------


def check(request: Request) -> None:
    """What the server wants of a request."""
    demand(request.path == "/v1/chat/completions", f"no such path: {request.path}")
    demand(request.headers.get("authorization") == f"Bearer {KEY}", "no key")
    body = known_keys(
        request.body,
        ("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options"),
        "request",
    )
    _check_tools(body)
    check_messages(needed_keys(body, ("model", "messages"), "request")["messages"])


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools")
    demand(tools is None or tools, "'tools' is too short - expected at least 1")
    for field in ("tool_choice", "parallel_tool_calls"):
        demand(tools or field not in body, f"'{field}' is only allowed when 'tools' are specified")
    names = [_check_tool(tool) for tool in tools or ()]
    names_are(names, NAME, most=128)
    demand(set(_chosen(body.get("tool_choice", "auto"))) <= set(names), "tool_choice names an unknown tool")


def _check_tool(tool: Any) -> str:
    kind = needed_keys(tool, ("type",), "tools")["type"]
    demand(kind in ("function", "custom"), f"unknown tool type {kind!r}")
    inner = known_keys(tool, ("type", kind), "tools")[kind]
    if kind == "custom":
        return needed_keys(
            known_keys(inner, ("name", "description", "format"), "custom"), ("name",), "custom"
        )["name"]
    known_keys(inner, ("name", "description", "parameters", "strict"), "function")
    if "parameters" in inner:
        is_object_schema(inner["parameters"], ROOT_BANNED)
    if inner.get("strict"):
        check_strict(inner.get("parameters"))
    return inner.get("name", "")


def _chosen(choice: Any) -> list[str]:
    """The names that a choice names."""
    if isinstance(choice, str):
        demand(choice in ("none", "auto", "required"), f"unknown tool_choice {choice!r}")
        return []
    kind = needed_keys(choice, ("type",), "tool_choice")["type"]
    inner = known_keys(choice, ("type", kind), "tool_choice")[kind]
    if kind != "allowed_tools":
        return [inner["name"]]
    demand(inner["mode"] in ("auto", "required"), "allowed_tools has no mode")
    demand(inner["tools"], "allowed_tools is empty")
    return [tool[tool["type"]]["name"] for tool in inner["tools"]]


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Each assistant message with calls is followed at once by one tool message a call."""
    asked: list[str] = []
    results: list[str] = []
    for message in messages:
        role = needed_keys(message, ("role",), "messages")["role"]
        if role == "tool":
            demand(asked, "messages with role 'tool' must follow a message with 'tool_calls'")
            _check_result(message)
            results.append(message["tool_call_id"])
            continue
        answered(asked, results)
        asked, results = [], []
        demand(role in ("system", "developer", "user", "assistant"), f"unknown role {role!r}")
        if role == "assistant":
            asked = _check_calls(message)
    answered(asked, results)


def _check_result(message: Mapping[str, Any]) -> None:
    needed_keys(
        known_keys(message, ("role", "tool_call_id", "content"), "tool"), ("tool_call_id", "content"), "tool"
    )
    content = message["content"]
    texts = isinstance(content, list) and content and all(part.get("type") == "text" for part in content)
    demand(isinstance(content, str) or texts, "a tool message takes text alone")


def _check_calls(message: Mapping[str, Any]) -> list[str]:
    calls = message.get("tool_calls")
    demand(calls is None or calls, "[] is too short - 'messages.tool_calls'")
    demand(calls or message.get("content"), "an assistant message needs content or calls")
    for call in calls or ():
        known_keys(
            needed_keys(call, ("id", "type", call["type"]), "call"), ("id", "type", call["type"]), "call"
        )
        inner = call[call["type"]]
        names_are([inner["name"]], NAME)
        argument = "arguments" if call["type"] == "function" else "input"
        demand(isinstance(inner[argument], str), f"{argument} must be a string")
    ids = [call["id"] for call in calls or ()]
    ids_are(ids, r".{1,64}")
    return ids


PROVIDER = Provider(
    format="openai_chat",
    connect=connect,
    ask=ask,
    stream=stream,
    check=check,
    refuse=refuse,
    question=({"role": "user", "content": "How warm is it in Paris, and how many bolts are left?"},),
    ids=("call_62136354a1", "call_62136355b2", "call_7aa0c1", "call_7aa0c2", "call_7aa0c3"),
    calling=calling,
    calling_events=calling_events,
    final=_completion({"content": FINAL_TEXT}, "stop"),
    final_events=_final_events(),
    frame=lambda events: sse(events, done="[DONE]"),
    replay=replay,
    dump=lambda made: made.model_dump(),
    text=text,
    stream_text=stream_text,
)
