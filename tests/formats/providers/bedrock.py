"""Bedrock Converse: the real client, scripted responses, and the server's rules."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import cache
from typing import Any

from boto3.session import Session
from botocore.config import Config

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
from tests.formats.providers.server import Answer, Request, aws_events, whole

NAME = r"[a-zA-Z0-9_-]{1,64}"
ID = r"[a-zA-Z0-9_.:-]{1,64}"
_MODEL = "anthropic.claude-sonnet-5-v1:0"
_THOUGHT = "Two lookups, side by side."
_SIGNATURE = "EqoBCkgIAxABGAIiQL8k0Zp4"
REASONING = {"reasoningContent": {"reasoningText": {"text": _THOUGHT, "signature": _SIGNATURE}}}
_USAGE = {"inputTokens": 82, "outputTokens": 41, "totalTokens": 123}
_RESULT_PARTS = ("text", "json", "image", "document", "video", "searchResult")


# --- the client ---------------------------------------------------------------------------------------


@cache
def session() -> Session:
    """One for all clients: it reads megabytes of service models."""
    return Session(aws_access_key_id=KEY, aws_secret_access_key=KEY, region_name="us-east-1")


def connect(url: str) -> AbstractContextManager[Any]:
    """The client, with no wish to repeat anything."""
    settings = Config(
        retries={"total_max_attempts": 1, "mode": "standard"}, proxies={}, connect_timeout=10, read_timeout=10
    )
    return closing(session().client("bedrock-runtime", endpoint_url=url, config=settings))


def ask(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """One request."""
    return client.converse(modelId=_MODEL, messages=list(history), **fields)


def stream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """One request and all events of its answer."""
    response = client.converse_stream(modelId=_MODEL, messages=list(history), **fields)
    with closing(response["stream"]) as events:
        return list(events)


def text(response: Any) -> str:
    """What the assistant said."""
    return "".join(block.get("text", "") for block in response["output"]["message"]["content"])


def stream_text(events: Sequence[Any]) -> str:
    """What the assistant said, joined."""
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    return "".join(delta.get("text", "") for delta in deltas)


# --- its answers --------------------------------------------------------------------------------------


def _response(content: Sequence[Any], reason: str) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": reason,
        "usage": _USAGE,
        "metrics": {"latencyMs": 651},
    }


def calling(calls: Sequence[ScriptedCall]) -> dict[str, Any]:
    """A signed thought, a text and calls."""
    uses = [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call.arguments)}}
        for call in calls
    ]
    return _response([REASONING, {"text": PLAN}, *uses], "tool_use")


def _deltas(index: int, deltas: Sequence[Any], start: Any = None) -> list[Any]:
    """One block; only a tool's block says that it starts."""
    place = {"contentBlockIndex": index}
    opening = [{"contentBlockStart": {"start": start, **place}}] if start else []
    inner = [{"contentBlockDelta": {"delta": delta, **place}} for delta in deltas]
    return [*opening, *inner, {"contentBlockStop": place}]


def _text_deltas(said: str) -> list[Any]:
    return [{"text": piece} for piece in pieces(said)]


def _events(blocks: Sequence[Any], reason: str) -> list[Any]:
    return [
        {"messageStart": {"role": "assistant"}},
        *blocks,
        {"messageStop": {"stopReason": reason}},
        {"metadata": {"usage": _USAGE, "metrics": {"latencyMs": 651}}},
    ]


def calling_events(calls: Sequence[ScriptedCall]) -> list[Any]:
    """The same blocks in deltas, one after the other as this format sends them."""
    thought = [{"reasoningContent": delta} for delta in (*_text_deltas(_THOUGHT), {"signature": _SIGNATURE})]
    blocks = [*_deltas(0, thought), *_deltas(1, _text_deltas(PLAN))]
    for index, call in enumerate(calls, 2):
        written = [{"toolUse": {"input": piece}} for piece in pieces(call.text)]
        blocks += _deltas(index, written, {"toolUse": {"toolUseId": call.id, "name": call.name}})
    return _events(blocks, "tool_use")


def refuse(problem: str) -> Answer:
    """A bad request, in the words of AWS."""
    return whole({"message": problem}, status=400, headers=(("x-amzn-ErrorType", "ValidationException"),))


# --- its rules ----------------------------------------------------------------------------------------


def check(request: Request) -> None:
    """What the server wants of a request."""
    paths = [f"/model/{_MODEL.replace(':', '%3A')}/{verb}" for verb in ("converse", "converse-stream")]
    demand(request.path in paths, f"no such path: {request.path}")
    demand(request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256"), "not signed")
    body = known_keys(request.body, ("messages", "toolConfig", "system", "inferenceConfig"), "request")
    if "toolConfig" in body:
        _check_config(body["toolConfig"])
    uses_tools = check_messages(body["messages"])
    demand(
        "toolConfig" in body or not uses_tools,
        "the toolConfig field must be defined when using toolUse blocks",
    )


def _check_config(config: Any) -> None:
    needed_keys(known_keys(config, ("tools", "toolChoice"), "toolConfig"), ("tools",), "toolConfig")
    demand(config["tools"], "toolConfig.tools: at least 1")
    names = [_check_spec(tool["toolSpec"]) for tool in config["tools"] if "toolSpec" in tool]
    names_are(names, NAME)
    choice = config.get("toolChoice", {"auto": {}})
    demand(len(choice) == 1, "toolChoice takes exactly one member")
    known_keys(choice, ("auto", "any", "tool"), "toolChoice")
    demand("tool" not in choice or choice["tool"]["name"] in names, "toolChoice names an unknown tool")


def _check_spec(spec: Any) -> str:
    known_keys(spec, ("name", "description", "inputSchema", "strict"), "toolSpec")
    needed_keys(spec, ("name", "inputSchema"), "toolSpec")
    demand(spec.get("description", "said"), "description: at least 1 character")
    is_object_schema(spec["inputSchema"]["json"])
    return spec["name"]


def check_messages(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Turns alternate and every call is answered in the next; gives whether there were any calls."""
    asked: list[str] = []
    uses_tools = False
    role = "assistant"
    for message in messages:
        known_keys(needed_keys(message, ("role", "content"), "messages"), ("role", "content"), "messages")
        demand(message["role"] == ("user" if role == "assistant" else "assistant"), "roles must alternate")
        role = message["role"]
        demand(message["content"], "content: at least 1 block")
        answered(
            asked,
            [_check_result(block["toolResult"]) for block in message["content"] if "toolResult" in block],
        )
        asked = [_check_use(block["toolUse"]) for block in message["content"] if "toolUse" in block]
        demand(not asked or role == "assistant", "toolUse stands in assistant messages")
        uses_tools = uses_tools or bool(asked)
    demand(not asked, "expected toolResult blocks for the toolUse blocks")
    return uses_tools


def _check_use(use: Any) -> str:
    known_keys(
        needed_keys(use, ("toolUseId", "name", "input"), "toolUse"),
        ("toolUseId", "name", "input", "type"),
        "toolUse",
    )
    names_are([use["name"]], NAME)
    ids_are([use["toolUseId"]], ID)
    demand(isinstance(use["input"], dict), "toolUse.input must be an object")
    return use["toolUseId"]


def _check_result(result: Any) -> str:
    known_keys(result, ("toolUseId", "content", "status", "type"), "toolResult")
    needed_keys(result, ("toolUseId", "content"), "toolResult")
    demand(result.get("status", "success") in ("success", "error"), "toolResult.status")
    for part in result["content"]:
        demand(len(part) == 1, "a part has exactly one member")
        known_keys(part, _RESULT_PARTS, "toolResult.content")
        demand(isinstance(part.get("json", {}), dict), "toolResult.content.json must be an object")
        demand(part.get("text", "said"), "toolResult.content.text is blank")
    return result["toolUseId"]


_FINAL = _deltas(0, _text_deltas(FINAL_TEXT))
PROVIDER = Provider(
    format="bedrock",
    connect=connect,
    ask=ask,
    stream=stream,
    check=check,
    refuse=refuse,
    question=(
        {"role": "user", "content": [{"text": "How warm is it in Paris, and how many bolts are left?"}]},
    ),
    ids=("tooluse_kZJMlvQmRJ6eAyJE5GIl7Q", "tooluse_b2", "tooluse_c1", "tooluse_c2", "tooluse_c3"),
    calling=calling,
    calling_events=calling_events,
    final=_response([{"text": FINAL_TEXT}], "end_turn"),
    final_events=_events(_FINAL, "end_turn"),
    frame=lambda events: aws_events(pair for event in events for pair in event.items()),
    replay=lambda response: [response["output"]["message"]],
    dump=dict,
    text=text,
    stream_text=stream_text,
)
