"""Fields and messages that violate the SDKs' types: a checker must find them, and most SDKs do not."""

from copy import deepcopy

from tests.formats.providers.bad_requests import GOOD_FIELDS, drop, put

_TOOL = ("tools", 0)
_FUNCTION = (*_TOOL, "function")
_SPEC = ("toolConfig", "tools", 0, "toolSpec")
_DECLARED = (*_TOOL, "functionDeclarations", 0)
_CHAT_LIKE = (
    drop(*_FUNCTION, "name"),
    put(*_FUNCTION, "name", 7),
    put(*_FUNCTION, "description", ["x"]),
    put(*_FUNCTION, "parameters", []),
    put(*_FUNCTION, "parameters", {"type": "string"}),
    put(*_FUNCTION, "parameters", {"type": "object", "properties": {"a": {"type": "text"}}}),
    put(*_FUNCTION, "parameters", {"type": "object", "default": {1, 2}}),
    put(*_FUNCTION, "title", "x"),
    put(*_TOOL, "name", "x"),
    put(*_TOOL, "type", "tool"),
    put("tools", {}),
    put("tool", []),
)
_CHOICES = (
    put("tool_choice", {"type": "function"}),
    put("tool_choice", {"type": "function", "function": {}}),
    put("tool_choice", "sometimes"),
)
_SPOILS = {
    "openai_chat": (
        *_CHAT_LIKE,
        *_CHOICES,
        drop(*_TOOL, "function"),
        put("parallel_tool_calls", "no"),
        put("tool_choice", {"type": "allowed_tools", "mode": "auto", "tools": []}),
        put(
            "tools",
            1,
            {"type": "custom", "custom": {"name": "x", "format": {"type": "grammar", "syntax": "lark"}}},
        ),
    ),
    "openai_responses": (
        drop(*_TOOL, "strict"),
        drop(*_TOOL, "parameters"),
        put(*_TOOL, "function", {"name": "x"}),
        put(*_TOOL, "parameters", {"type": "array"}),
        put(*_TOOL, "allowed_callers", ["anybody"]),
        put("tools", 1, {"type": "namespace", "name": "x", "tools": []}),
        put(
            "tools",
            1,
            {"type": "namespace", "name": "x", "description": "y", "tools": [{"type": "function"}]},
        ),
        put("tools", 1, {"type": "custom", "name": "x", "format": {"type": "grammar", "grammar": {}}}),
        put("tool_choice", {"type": "function", "function": {"name": "x"}}),
        put("tool_choice", {"type": "allowed_tools", "tools": []}),
    ),
    "anthropic": (
        drop(*_TOOL, "input_schema"),
        put(*_TOOL, "parameters", {}),
        put(*_TOOL, "input_schema", {"type": "array"}),
        put(*_TOOL, "input_schema", {}),
        put(*_TOOL, "cache_control", {"type": "forever"}),
        put(*_TOOL, "cache_control", {"type": "ephemeral", "ttl": "2h"}),
        put(*_TOOL, "strict", "yes"),
        put(*_TOOL, "input_examples", ["Oslo"]),
        put(*_TOOL, "type", "function"),
        put("tool_choice", "auto"),
        put("tool_choice", {"type": "tool"}),
        put("tool_choice", {"type": "none", "disable_parallel_tool_use": True}),
    ),
    "bedrock": (
        put(*_SPEC, "name", "a.b"),
        put(*_SPEC, "name", "n" * 65),
        put(*_SPEC, "name", ""),
        put(*_SPEC, "description", ""),
        put(*_SPEC, "inputSchema", {"json": {"type": "string"}}),
        put(*_SPEC, "inputSchema", {}),
        put(*_SPEC, "schema", {}),
        drop(*_SPEC, "inputSchema"),
        put("toolConfig", "tools", []),
        put("toolConfig", "toolChoice", {"none": {}}),
        put("toolConfig", "toolChoice", {"auto": {}, "any": {}}),
        put("toolConfig", "toolChoice", {"tool": {"name": "a.b"}}),
        put("toolConfig", "tools", 1, {"cachePoint": {"type": "later"}}),
        put("tools", []),
    ),
    "gemini": (
        put(*_DECLARED, "parameters", "additionalProperties_", True),
        put(*_DECLARED, "parameters", "properties", "city", "const", 1),
        put(*_DECLARED, "parameters", "properties", "city", "enum", [1]),
        put(*_DECLARED, "parameters", "properties", "city", "type", ["STRING", "NULL"]),
        put(*_DECLARED, "input_schema", {}),
        put("tools", 0, "functionDeclarations", 1, "parametersJsonSchema", {"type": "text"}),
        put("toolConfig", "functionCallingConfig", "mode", "SOMETIMES"),
        put("toolConfig", "mode", "ANY"),
        put("tools", {}),
    ),
    "mistral": (
        *_CHAT_LIKE,
        *_CHOICES,
        drop(*_TOOL, "function"),
        drop(*_FUNCTION, "parameters"),
        put(*_FUNCTION, "strict", "yes"),
    ),
    "cohere": (
        *_CHAT_LIKE,
        drop(*_FUNCTION, "parameters"),
        put(*_FUNCTION, "strict", True),
        put("tool_choice", {}),
    ),
    "ollama": (
        drop(*_FUNCTION, "parameters", "type"),
        put(*_FUNCTION, "parameters", "properties", "city", {"type": "object", "properties": {}}),
        put(*_FUNCTION, "parameters", "properties", "city", {"anyOf": []}),
        put(*_FUNCTION, "parameters", "anyOf", []),
        put(*_FUNCTION, "strict", True),
        put("tool_choice", "auto"),
    ),
}


def _spoiled(format, spoil):
    payload = deepcopy(GOOD_FIELDS[format])
    spoil(payload)
    return payload


BAD_FIELDS = [
    *((format, _spoiled(format, spoil)) for format, spoils in _SPOILS.items() for spoil in spoils),
    ("mcp", {"tools": [{"name": "a"}]}),
    ("mcp", {"tools": [{"name": "a", "inputSchema": {"type": "string"}}]}),
    ("mcp", {"tools": [{"name": "a", "input_schema": {"type": "object"}}]}),
    ("mcp", {"tools": [{"name": "a", "inputSchema": {"type": "object"}, "annotations": {"readOnly": True}}]}),
    (
        "mcp",
        {
            "tools": [
                {"name": "a", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}
            ]
        },
    ),
]


def _user(*blocks):
    return {"role": "user", "content": list(blocks)}


def _tool_result(content, **more):
    return _user({"type": "tool_result", "tool_use_id": "a", "content": content, **more})


def _converse(content, **more):
    return _user({"toolResult": {"toolUseId": "a", "content": content, **more}})


def _responded(**response):
    return {"role": "user", "parts": [{"functionResponse": response}]}


def _chat_call(**function):
    return {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": function}]}


BAD_MESSAGES = [
    ("openai_chat", {"role": "tool", "content": "x"}),
    ("openai_chat", {"role": "tool", "tool_call_id": "a", "content": {"x": 1}}),
    ("openai_chat", {"role": "tool", "tool_call_id": "a", "content": "x", "name": "f"}),
    ("openai_chat", {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url"}]}),
    ("openai_chat", {"role": "model", "content": "x"}),
    ("openai_chat", _chat_call(name="f", arguments={})),
    ("openai_chat", _chat_call(name="f")),
    ("openai_responses", {"type": "function_call_output", "call_id": "a"}),
    ("openai_responses", {"type": "function_call_output", "call_id": "a", "output": [{"type": "audio"}]}),
    ("openai_responses", {"type": "function_call_output", "call_id": "a", "output": "x", "is_error": True}),
    ("openai_responses", {"type": "function_call", "call_id": "a", "name": "f", "arguments": {}}),
    ("openai_responses", {"type": "function_call", "name": "f", "arguments": "{}"}),
    ("anthropic", _tool_result([{"type": "audio"}])),
    ("anthropic", _tool_result([{"type": "image", "source": {"type": "base64", "data": "a"}}])),
    (
        "anthropic",
        _tool_result(
            [{"type": "image", "source": {"type": "base64", "data": "a", "media_type": "image/bmp"}}]
        ),
    ),
    ("anthropic", _tool_result("x", is_error="yes")),
    ("anthropic", _tool_result("x", status="error")),
    ("anthropic", {"role": "tool", "content": "x"}),
    (
        "anthropic",
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": "{}"}]},
    ),
    ("anthropic", {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}),
    ("bedrock", _converse([{"json": {"a": 1}, "text": "x"}])),
    ("bedrock", _converse([{"image": {"format": "bmp", "source": {"bytes": b"x"}}}])),
    ("bedrock", _converse([{"image": {"format": "png", "source": {"bytes": "eA=="}}}])),
    ("bedrock", _converse([{"image": {"format": "png", "source": {"bytes": b""}}}])),
    ("bedrock", _converse([{"document": {"format": "pdf", "source": {"bytes": b"x"}}}])),
    ("bedrock", _converse([{"text": "x"}], status="failed")),
    ("bedrock", _user({"toolResult": {"toolUseId": "a b", "content": []}})),
    (
        "bedrock",
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "a.b", "input": {}}}]},
    ),
    (
        "bedrock",
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a" * 65, "name": "f", "input": {}}}]},
    ),
    ("bedrock", {"role": "tool", "content": []}),
    ("gemini", _responded(name="f", response="x")),
    ("gemini", _responded(name="f", response={}, error=True)),
    ("gemini", _responded(name="f", response={}, parts=[{"image": "x"}])),
    ("gemini", {"role": "model", "parts": [{"functionCall": {"name": "f", "args": "{}"}}]}),
    ("gemini", {"role": "model", "parts": [{"functionCall": {"name": "f", "arguments": {}}}]}),
    ("gemini", {"role": "model", "parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "??"}]}),
    ("mistral", {"role": "tool", "tool_call_id": "a"}),
    ("mistral", {"role": "tool", "content": [{"type": "picture"}]}),
    ("mistral", _chat_call(name="f")),
    ("mistral", _chat_call(name="f", arguments=[1])),
    ("cohere", {"role": "tool", "content": "x"}),
    (
        "cohere",
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "document", "document": {"data": "x"}}]},
    ),
    ("cohere", _chat_call(name="f", arguments={})),
    ("ollama", {"role": "tool", "content": ["x"]}),
    ("ollama", {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}),
    ("mcp", {"content": [{"type": "text", "text": "x"}]}),
    ("mcp", {"resultType": "complete"}),
    ("mcp", {"content": [{"type": "image", "data": "x"}], "resultType": "complete"}),
    ("mcp", {"content": [], "is_error": True, "resultType": "complete"}),
    ("mcp", {"method": "tools/call", "params": {"arguments": {}}}),
    ("mcp", {"method": "tools/call", "params": {"name": "f", "arguments": "{}"}}),
]
