"""OpenAI Responses: scripted responses and the server's rules; the client is that of Chat Completions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.formats.providers.openai_chat import NAME, ROOT_BANNED, aconnect, connect, refuse
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
from tests.formats.providers.server import Request, sse

__all__ = ["PROVIDER", "aconnect", "ask", "astream"]
_MODEL = "gpt-5.6"
_THOUGHT = "Two lookups, side by side."
REASONING = {
    "id": "rs_0a1b2c",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": _THOUGHT}],
    "encrypted_content": "gAAAAABo0p4qUEFSSVM=",
}
_ITEM_KEYS = {
    "message": {"id", "type", "role", "content", "status", "phase"},
    "reasoning": {"id", "type", "summary", "content", "encrypted_content", "status"},
    "function_call": {"id", "type", "call_id", "name", "arguments", "status", "caller", "namespace", "async"},
    "custom_tool_call": {"id", "type", "call_id", "name", "input", "status", "caller", "namespace", "async"},
    "function_call_output": {"id", "type", "call_id", "output", "status", "caller", "name", "namespace"},
    "custom_tool_call_output": {"id", "type", "call_id", "output", "caller"},
}
_CALLS = ("function_call", "custom_tool_call")
_OUTPUT_PARTS = {"input_text", "input_image", "input_file"}


# --- the client ---------------------------------------------------------------------------------------


def ask(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """One request, stored nowhere; of an async client, its coroutine."""
    return client.responses.create(model=_MODEL, input=list(history), store=False, **fields)


def stream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """One request and all events of its answer."""
    with client.responses.create(
        model=_MODEL, input=list(history), store=False, stream=True, **fields
    ) as events:
        return list(events)


async def astream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """The same for a loop."""
    made = await client.responses.create(
        model=_MODEL, input=list(history), store=False, stream=True, **fields
    )
    async with made as events:
        return [event async for event in events]


def stream_text(events: Sequence[Any]) -> str:
    """What the assistant said, joined."""
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def replay(response: Any) -> list[Any]:
    """All output items: the reasoning must go back with the calls that it led to."""
    return [item.to_dict() for item in response.output]


# --- its answers --------------------------------------------------------------------------------------


def _response(output: Sequence[Any], status: str = "completed") -> dict[str, Any]:
    usage = {
        "input_tokens": 82,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
        "output_tokens": 41,
        "output_tokens_details": {"reasoning_tokens": 16},
        "total_tokens": 123,
    }
    return {
        "id": "resp_68af40",
        "object": "response",
        "created_at": 1794700000,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": "gpt-5.6-2026-08-01",
        "output": list(output),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage if status == "completed" else None,
        "metadata": {},
    }


def _message(said: str, phase: str) -> dict[str, Any]:
    return {
        "id": "msg_77e1",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "phase": phase,
        "content": [{"type": "output_text", "text": said, "annotations": [], "logprobs": []}],
    }


def _call(number: int, call: ScriptedCall) -> dict[str, Any]:
    return {
        "id": f"fc_9c{number}",
        "type": "function_call",
        "status": "completed",
        "arguments": call.text,
        "call_id": call.id,
        "name": call.name,
        "caller": {"type": "direct"},
    }


def _output(calls: Sequence[ScriptedCall]) -> list[dict[str, Any]]:
    return [
        REASONING,
        _message(PLAN, "commentary"),
        *(_call(number, call) for number, call in enumerate(calls)),
    ]


def calling(calls: Sequence[ScriptedCall]) -> dict[str, Any]:
    """A reasoning item, a text and calls."""
    return _response(_output(calls))


def _reasoning_events(item: Mapping[str, Any], index: int) -> list[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    name, part = "response.reasoning_summary", {"type": "summary_text", "text": ""}
    begun = {**item, "summary": [], "encrypted_content": "gAAAA"}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        {"type": f"{name}_part.added", **place, "part": part},
        *({"type": f"{name}_text.delta", **place, "delta": piece} for piece in pieces(_THOUGHT)),
        {"type": f"{name}_text.done", **place, "text": _THOUGHT},
        {"type": f"{name}_part.done", **place, "part": {**part, "text": _THOUGHT}},
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _message_events(item: Mapping[str, Any], index: int) -> list[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = item["content"][0]
    begun = {**item, "status": "in_progress", "content": []}
    deltas = [
        {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        for piece in pieces(part["text"])
    ]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *deltas,
        {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _call_events(item: Mapping[str, Any], index: int) -> list[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index}
    name = "response.function_call_arguments"
    begun = {**item, "status": "in_progress", "arguments": ""}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        *({"type": f"{name}.delta", **place, "delta": piece} for piece in pieces(item["arguments"])),
        {"type": f"{name}.done", **place, "arguments": item["arguments"]},
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _events(output: Sequence[Any], between: Iterable[dict[str, Any]]) -> list[Any]:
    begun = _response([], "in_progress")
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *between,
        {"type": "response.completed", "response": _response(output)},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def calling_events(calls: Sequence[ScriptedCall]) -> list[Any]:
    """The same items in deltas; the calls come interleaved."""
    output = _output(calls)
    columns = [_call_events(item, index) for index, item in enumerate(output[2:], 2)]
    between = [*_reasoning_events(output[0], 0), *_message_events(output[1], 1), *interleaved(columns)]
    return _events(output, between)


_FINAL = _message(FINAL_TEXT, "final_answer")


# --- its rules ----------------------------------------------------------------------------------------


def check(request: Request) -> None:
    """What the server wants of a request."""
    demand(request.path == "/v1/responses", f"no such path: {request.path}")
    demand(request.headers.get("authorization") == f"Bearer {KEY}", "no key")
    fields = ("model", "input", "tools", "tool_choice", "parallel_tool_calls", "store", "stream")
    body = needed_keys(known_keys(request.body, fields, "request"), ("model", "input"), "request")
    names = [_check_tool(tool) for tool in body.get("tools", ())]
    names_are(names, NAME, most=128)
    choice = body.get("tool_choice", "auto")
    demand(names or choice in ("auto", "none"), "Tool choice must be specified with tools")
    demand(set(_chosen(choice)) <= set(names), "tool_choice names an unknown tool")
    check_items(body["input"])


def _check_tool(tool: Any) -> str:
    kind = needed_keys(tool, ("type", "name"), "tools")["type"]
    if kind == "namespace":
        known_keys(tool, ("type", "name", "description", "tools"), "namespace")
        names_are([_check_tool(inner) for inner in tool["tools"]], NAME)
        return tool["name"]
    more = ("allowed_callers", "defer_loading", "description", "async")
    if kind == "custom":
        known_keys(tool, ("type", "name", "format", *more), "custom")
        return tool["name"]
    demand(kind == "function", f"unknown tool type {kind!r}")
    known_keys(tool, ("type", "name", "parameters", "strict", "output_schema", *more), "function")
    needed_keys(tool, ("parameters", "strict"), "function")
    if tool["parameters"] is not None:
        is_object_schema(tool["parameters"], ROOT_BANNED)
    if tool["strict"] is not False:  # null is read as a wish for strict
        check_strict(tool["parameters"])
    return tool["name"]


def _chosen(choice: Any) -> list[str]:
    """The names that a choice names."""
    if isinstance(choice, str):
        demand(choice in ("none", "auto", "required"), f"unknown tool_choice {choice!r}")
        return []
    if choice["type"] != "allowed_tools":
        demand(choice["type"] in ("function", "custom"), "unknown tool_choice")
        return [known_keys(choice, ("type", "name"), "tool_choice")["name"]]
    known_keys(choice, ("type", "mode", "tools"), "tool_choice")
    demand(choice["mode"] in ("auto", "required"), "allowed_tools has no mode")
    demand(choice["tools"], "allowed_tools is empty")
    return [tool["name"] for tool in choice["tools"]]


def check_items(items: Sequence[Mapping[str, Any]]) -> None:
    """Each call has its output by call_id, and goes with the reasoning that led to it."""
    reasoned = False
    asked: list[str] = []
    results: list[str] = []
    for item in items:
        kind = item.get("type", "message")
        demand(kind in _ITEM_KEYS, f"unknown item type {kind!r}")
        known_keys(item, _ITEM_KEYS[kind], kind)
        reasoned = reasoned or kind == "reasoning"
        if kind in _CALLS:
            demand(reasoned or "id" not in item, f"item {item.get('id')!r} without its 'reasoning' item")
            asked.append(_check_call(item))
        elif kind.endswith("_output"):
            demand(item.get("call_id") in asked, f"no tool call found for {item.get('call_id')!r}")
            _check_output(item["output"])
            results.append(item["call_id"])
    answered(asked, results)


def _check_call(item: Mapping[str, Any]) -> str:
    argument = "arguments" if item["type"] == "function_call" else "input"
    needed_keys(item, ("call_id", "name", argument), item["type"])
    demand(isinstance(item[argument], str), f"{argument} must be a string")
    names_are([item["name"]], NAME)
    ids_are([item["call_id"]], r".{1,64}")
    return item["call_id"]


def _check_output(output: Any) -> None:
    if isinstance(output, str):
        return
    demand(isinstance(output, list) and output, "output must be a string or parts")
    for part in output:
        demand(part.get("type") in _OUTPUT_PARTS, f"unknown output part {part.get('type')!r}")
        if part["type"] == "input_image":
            demand(
                str(part.get("image_url", "")).startswith(("data:image/", "https://")), "invalid image_url"
            )


PROVIDER = Provider(
    format="openai_responses",
    connect=connect,
    ask=ask,
    stream=stream,
    check=check,
    refuse=refuse,
    question=({"role": "user", "content": "How warm is it in Paris, and how many bolts are left?"},),
    ids=("call_p4R1s", "call_b0Lts", "call_x1", "call_x2", "call_x3"),
    calling=calling,
    calling_events=calling_events,
    final=_response([_FINAL]),
    final_events=_events([_FINAL], _message_events(_FINAL, 0)),
    frame=lambda events: sse(events, named=True),
    replay=replay,
    dump=lambda made: made.model_dump(),
    text=lambda response: response.output_text,
    stream_text=stream_text,
)
