"""Checks the fields of a request and the messages of a history against each SDK's types."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any
from warnings import catch_warnings, simplefilter

import anthropic.types as anthropic_types
import jsonschema_rs
import mcp_types.methods
import ollama._types as ollama
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from cohere import ChatMessageV2, ToolV2
from google.genai import types as gemini_types
from mistralai.client import models as mistral_models
from openai.types.chat import ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import ResponseInputItemParam
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import ValidationError

from tests.formats.providers.bedrock import session
from tests.formats.providers.shape_walk import shape_problems
from tests.formats.providers.type_walk import json_problems, type_problems

_ASKED = {"model": "m", "messages": []}


def request_problems(format: str, payload: Mapping[str, Any], dialect: str = "") -> list[str]:
    """Where the fields of a request are not what the SDK's types say; none where they fit."""
    if format == "mcp":
        return _mcp_problems("tools/list", payload, dialect)
    return [*_REQUESTS[format](dict(payload)), *_schema_problems(_schemas(format, payload))]


def history_problems(format: str, messages: Sequence[Any], dialect: str = "") -> list[str]:
    """The same of messages, items, contents, or of MCP's requests and results."""
    return [
        problem
        for index, message in enumerate(messages)
        for problem in _message_problems(format, message, f"/{index}", dialect)
    ]


def _message_problems(format: str, message: Any, at: str, dialect: str) -> list[str]:
    if format == "mcp":
        if "method" in message:
            return type_problems(message, mcp_types.CallToolRequest, at)
        return _mcp_problems("tools/call", message, dialect)
    if format == "bedrock":
        return shape_problems(message, _shape("Message"), at)
    if format == "ollama":
        message = _without_ids(message)
    if format == "ollama" and "images" in message:  # its client takes Base64 for the model
        message = {**message, "images": [{"value": image} for image in message["images"]]}
    own = _own_problems(gemini_types.Content, message) if format == "gemini" else []
    return [*type_problems(message, _MESSAGES[format], at), *own]


def _without_ids(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message to Ollama as its client sends it: newer servers know ids, the client's types do not yet."""
    left = {key: value for key, value in message.items() if key != "tool_call_id"}
    calls = [
        {key: value for key, value in call.items() if key != "id"} for call in message.get("tool_calls", ())
    ]
    return {**left, "tool_calls": calls} if calls else left


# --- each SDK -----------------------------------------------------------------------------------------


def _field_problems(fields: Mapping[str, Any], payload: Mapping[str, Any]) -> list[str]:
    """Fields that are the keywords of a method, or that the SDK itself types as any list."""
    known = [key for key in payload if key in fields]
    return [
        *(f": {key!r} is unknown" for key in sorted(set(payload) - set(fields))),
        *(problem for key in known for problem in type_problems(payload[key], fields[key], f"/{key}")),
    ]


def _gemini_problems(payload: Mapping[str, Any]) -> list[str]:
    config = gemini_types.ToolConfig
    fields = {"tools": list[gemini_types.Tool], "toolConfig": config, "tool_config": config}
    return [*_field_problems(fields, payload), *_own_problems(gemini_types.GenerateContentConfig, payload)]


def _own_problems(model: Any, value: Any) -> list[str]:
    """What the SDK says itself, by whatever it raises or warns of."""
    with catch_warnings():
        simplefilter("error")
        try:
            model.model_validate(value)
        except Exception as error:  # noqa: BLE001 -- its own validators stumble over some bad values
            return [repr(error)]
    return []


def _bedrock_problems(payload: Mapping[str, Any]) -> list[str]:
    unknown = [f": {key!r} is unknown" for key in sorted(set(payload) - {"toolConfig"})]
    if "toolConfig" not in payload:
        return unknown
    return [*unknown, *shape_problems(payload["toolConfig"], _shape("ToolConfiguration"), "/toolConfig")]


@cache
def _shape(name: str) -> Any:
    client = session().client("bedrock-runtime")
    try:
        return client.meta.service_model.shape_for(name)
    finally:
        client.close()


def _mcp_problems(method: str, value: Any, dialect: str) -> list[str]:
    """The version's own types, which drop what they do not know: so what they keep must be all of it."""
    version = dialect or "2026-07-28"
    modern = version == "2026-07-28"
    listing = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if modern else {}
    given = {**value, **listing} if method == "tools/list" else value
    broken = json_problems(given)
    if method == "tools/call" and "content" not in given:  # it would pass as a wish for more input
        broken.append(": 'content' is missing")
    try:
        kept = mcp_types.methods.serialize_server_result(method, version, given)
    except ValidationError as error:
        return [*broken, str(error)]
    return [*broken, *_dropped(given, kept)]


def _dropped(given: Any, kept: Any, at: str = "") -> list[str]:
    if isinstance(given, dict) and isinstance(kept, dict):
        # null and absent are one to these types
        gone = [f"{at}: {key!r} is unknown" for key in given if key not in kept and given[key] is not None]
        both = [key for key in given if key in kept]
        return gone + [problem for key in both for problem in _dropped(given[key], kept[key], f"{at}/{key}")]
    if isinstance(given, list) and isinstance(kept, list):
        pairs = enumerate(zip(given, kept, strict=True))
        return [problem for index, pair in pairs for problem in _dropped(*pair, f"{at}/{index}")]
    return [] if given == kept else [f"{at}: {given!r:.60} is read as {kept!r:.60}"]


# --- schemas ------------------------------------------------------------------------------------------


def _schemas(format: str, payload: Mapping[str, Any]) -> list[Any]:
    """The schemas of all tools, which every SDK takes as any dictionary."""
    tools = payload.get("tools", ())
    match format:
        case "openai_responses":
            flat = [
                inner for tool in tools for inner in (tool.get("tools", ()) if "tools" in tool else [tool])
            ]
            return [tool["parameters"] for tool in flat if tool.get("parameters") is not None]
        case "anthropic":
            return [tool["input_schema"] for tool in tools if "input_schema" in tool]
        case "bedrock":
            specs = [
                tool["toolSpec"]
                for tool in payload.get("toolConfig", {}).get("tools", ())
                if "toolSpec" in tool
            ]
            return [spec["inputSchema"]["json"] for spec in specs if "json" in spec.get("inputSchema", {})]
        case "gemini":
            made = [one for tool in tools for one in tool.get("functionDeclarations", ())]
            return [one["parametersJsonSchema"] for one in made if "parametersJsonSchema" in one]
        case _:
            inner = [tool.get("function", {}) for tool in tools]
            return [function["parameters"] for function in inner if "parameters" in function]


def _schema_problems(schemas: Sequence[Any]) -> list[str]:
    found: list[str] = []
    for schema in schemas:
        found += json_problems(schema, "schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            found.append("schema: the root is no object")
        elif not jsonschema_rs.meta.is_valid(schema):
            found.append("schema: not JSON Schema")
    return found


def _typed(hint: Any, more: Mapping[str, Any], payload: Mapping[str, Any]) -> list[str]:
    return type_problems({**payload, **more}, hint)


_REQUESTS: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "openai_chat": partial(_typed, CompletionCreateParamsNonStreaming, _ASKED),
    "openai_responses": partial(_typed, ResponseCreateParamsNonStreaming, {"model": "m", "input": []}),
    "anthropic": partial(_typed, MessageCreateParamsNonStreaming, {**_ASKED, "max_tokens": 1}),
    "bedrock": _bedrock_problems,
    "gemini": _gemini_problems,
    "mistral": partial(_typed, mistral_models.ChatCompletionRequestTypedDict, _ASKED),
    "cohere": partial(_field_problems, {"tools": list[ToolV2], "tool_choice": str, "strict_tools": bool}),
    "ollama": partial(_typed, ollama.ChatRequest, _ASKED),
}
_MESSAGES: dict[str, Any] = {
    "openai_chat": ChatCompletionMessageParam,
    "openai_responses": ResponseInputItemParam,
    "anthropic": anthropic_types.MessageParam,
    "gemini": gemini_types.Content,
    "mistral": mistral_models.ChatCompletionRequestMessageTypedDict,
    "cohere": ChatMessageV2,
    "ollama": ollama.Message,
}
