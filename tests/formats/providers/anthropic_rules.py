"""What Anthropic's server accepts, and how it refuses requests."""

from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs

from tests.formats.providers.provider import (
    KEY,
    answered,
    demand,
    ids_are,
    is_object_schema,
    known_keys,
    names_are,
    needed_keys,
    subschemas,
)
from tests.formats.providers.server import Answer, Request, whole

NAME = r"[a-zA-Z0-9_-]{1,128}"
_TOOL_KEYS = (
    "name", "input_schema", "description", "type", "strict", "input_examples", "cache_control", "defer_loading",
    "allowed_callers", "eager_input_streaming",
)  # fmt: skip
_STRICT_BANNED = frozenset(
    (
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
        "maxItems", "uniqueItems", "oneOf", "not", "if", "then", "else", "prefixItems", "contains", "patternProperties",
        "minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas",
    )
)  # fmt: skip
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_RESULT_PARTS = ("text", "image", "document", "search_result", "tool_reference")


def refuse(problem: str) -> Answer:
    """A bad request, in Anthropic's words."""
    error = {"type": "invalid_request_error", "message": problem}
    return whole({"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C"}, status=400)


def check(request: Request) -> None:
    """What the server wants of a request."""
    demand(request.path == "/v1/messages", f"no such path: {request.path}")
    demand(request.headers.get("authorization") == f"Bearer {KEY}", "no key")
    demand("anthropic-version" in request.headers, "anthropic-version: header is required")
    fields = ("model", "max_tokens", "messages", "tools", "tool_choice", "thinking", "stream", "system")
    body = known_keys(request.body, fields, "request")
    needed_keys(body, ("model", "max_tokens", "messages"), "request")
    _check_tools(body.get("tools", ()))
    _check_choice(body)
    check_messages(body["messages"], thinking="thinking" in body)


def _check_tools(tools: Sequence[Any]) -> None:
    names_are([_check_tool(tool) for tool in tools], NAME)
    demand(sum(bool(tool.get("strict")) for tool in tools) <= 20, "too many strict tools")
    demand(not tools or not all(tool.get("defer_loading") for tool in tools), "all tools are deferred")


def _check_tool(tool: Any) -> str:
    needed_keys(known_keys(tool, _TOOL_KEYS, "tools"), ("name", "input_schema"), "tools")
    schema = tool["input_schema"]
    is_object_schema(schema, ("oneOf", "anyOf", "allOf"))
    ids_are(schema.get("properties", {}), r"[a-zA-Z0-9_.-]{1,64}")
    demand(jsonschema_rs.meta.is_valid(schema), "input_schema is not JSON Schema 2020-12")
    demand(
        not (tool.get("defer_loading") and tool.get("cache_control")),
        "a deferred tool takes no cache_control",
    )
    for example in tool.get("input_examples", ()):
        demand(jsonschema_rs.is_valid(schema, example), "input_examples must fit the schema")
    if tool.get("strict"):
        _check_strict(schema)
    return tool["name"]


def _check_strict(schema: Mapping[str, Any]) -> None:
    for inner in subschemas(schema):
        found = sorted(_STRICT_BANNED & set(inner))
        demand(not found, f"strict: {found} is not supported")
        demand(inner.get("minItems", 0) <= 1, "strict: minItems must be 0 or 1")
        if inner.get("type") == "object":
            demand(inner.get("additionalProperties") is False, "strict: additionalProperties must be false")


def _check_choice(body: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = needed_keys(choice, ("type",), "tool_choice")["type"]
    demand(kind in ("auto", "any", "tool", "none"), f"unknown tool_choice {kind!r}")
    allowed = {"tool": ("type", "name", "disable_parallel_tool_use"), "none": ("type",)}
    known_keys(choice, allowed.get(kind, ("type", "disable_parallel_tool_use")), "tool_choice")
    demand(body.get("tools"), "tool_choice may only be specified while providing tools")
    names = [tool["name"] for tool in body["tools"]]
    demand(kind != "tool" or choice["name"] in names, "tool_choice names an unknown tool")
    demand(
        "thinking" not in body or kind in ("auto", "none"),
        "thinking may not be enabled when a tool is forced",
    )


def check_messages(messages: Sequence[Mapping[str, Any]], *, thinking: bool) -> None:
    """Turns alternate; results come first in the next user turn, one a call."""
    turns = _turns(messages)
    demand(turns and turns[0][0] == "user", "first message must use the user role")
    asked: list[str] = []
    for role, blocks in turns:
        results = _result_ids(blocks) if role == "user" else []
        answered(asked, results)
        asked = _use_ids(blocks, thinking=thinking) if role == "assistant" else []
    demand(not asked, "tool_use ids were found without tool_result blocks immediately after")


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Any]]]:
    """Messages of one role in a row are one turn."""
    turns: list[tuple[str, list[Any]]] = []
    for message in messages:
        known_keys(needed_keys(message, ("role", "content"), "messages"), ("role", "content"), "messages")
        demand(message["role"] in ("user", "assistant"), f"unknown role {message['role']!r}")
        content = message["content"]
        demand(content, "messages must have non-empty content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not turns or turns[-1][0] != message["role"]:
            turns.append((message["role"], []))
        turns[-1][1].extend(blocks)
    return turns


def _use_ids(blocks: Sequence[Any], *, thinking: bool) -> list[str]:
    uses = [block for block in blocks if block["type"] == "tool_use"]
    _check_texts(blocks)
    for use in uses:
        known_keys(
            use, ("type", "id", "name", "input", "caller", "cache_control", "toolset_name"), "tool_use"
        )
        demand(isinstance(use["input"], dict), "tool_use.input: Input should be a valid dictionary")
        names_are([use["name"]], r"[a-zA-Z0-9_-]{1,200}")
        ids_are([use["id"]], r"[a-zA-Z0-9_-]+")
    begun = blocks[0]["type"] in ("thinking", "redacted_thinking")
    demand(not (thinking and uses) or begun, "expected `thinking` before `tool_use`")
    for block in blocks:
        if block["type"] == "thinking":
            demand(set(block) == {"type", "thinking", "signature"}, "thinking blocks cannot be modified")
    return [use["id"] for use in uses]


def _result_ids(blocks: Sequence[Any]) -> list[str]:
    kinds = [block["type"] == "tool_result" for block in blocks]
    demand(kinds == sorted(kinds, reverse=True), "tool_result blocks must come first")
    _check_texts(blocks)
    results = [block for block in blocks if block["type"] == "tool_result"]
    for result in results:
        known_keys(result, ("type", "tool_use_id", "content", "is_error", "cache_control"), "tool_result")
        _check_result_content(result.get("content", ""))
        demand(
            not result.get("is_error") or result.get("content"),
            "content cannot be empty if `is_error` is true",
        )
    return [result["tool_use_id"] for result in results]


def _check_result_content(content: Any) -> None:
    if isinstance(content, str):
        return
    _check_texts(content)
    for part in content:
        demand(part["type"] in _RESULT_PARTS, f"tool_result takes no {part['type']!r}")
        source = part.get("source", {})
        if part["type"] == "image" and source["type"] == "base64":
            demand(source["media_type"] in _IMAGES, f"images may not be {source['media_type']}")


def _check_texts(blocks: Sequence[Any]) -> None:
    for block in blocks:
        demand(block["type"] != "text" or block["text"].strip(), "text content blocks must be non-empty")
