"""Requests that no provider accepts: for each server, valid fields and ways to break a valid request."""

from copy import deepcopy

_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
_STOCK = {"type": "object", "properties": {"item": {"type": "string"}, "place": {"type": "object"}}}
_CHAT_TOOLS = [
    {"type": "function", "function": {"name": "weather", "description": "Tell it.", "parameters": _SCHEMA}},
    {"type": "function", "function": {"name": "stock", "description": "Count it.", "parameters": _STOCK}},
]
_PROTO = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
GOOD_FIELDS = deepcopy(
    {
        "openai_chat": {"tools": _CHAT_TOOLS, "tool_choice": "auto", "parallel_tool_calls": True},
        "openai_responses": {
            "tools": [
                {"type": "function", "name": "weather", "parameters": _SCHEMA, "strict": True},
                {"type": "function", "name": "stock", "parameters": _STOCK, "strict": False},
            ]
        },
        "anthropic": {
            "tools": [
                {
                    "name": "weather",
                    "input_schema": _SCHEMA,
                    "strict": True,
                    "input_examples": [{"city": "Oslo"}],
                },
                {"name": "stock", "input_schema": _STOCK},
            ],
            "tool_choice": {"type": "auto"},
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        },
        "bedrock": {
            "toolConfig": {
                "tools": [
                    {
                        "toolSpec": {
                            "name": "weather",
                            "description": "Tell it.",
                            "inputSchema": {"json": _SCHEMA},
                        }
                    },
                    {"toolSpec": {"name": "stock", "inputSchema": {"json": _STOCK}}},
                ],
                "toolChoice": {"any": {}},
            }
        },
        "gemini": {
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "weather", "description": "Tell it.", "parameters": _PROTO},
                        {"name": "stock", "description": "Count it.", "parametersJsonSchema": _STOCK},
                    ]
                }
            ],
            "toolConfig": {
                "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather", "stock"]}
            },
        },
        "mistral": {"tools": _CHAT_TOOLS, "tool_choice": "any"},
        "cohere": {"tools": _CHAT_TOOLS, "tool_choice": "REQUIRED"},
        "ollama": {"tools": _CHAT_TOOLS},
    }
)


def put(*path):
    """Put the last of the path where the others lead."""

    def spoil(body):
        *way, key, value = path
        for step in way:
            body = body[step]
        body[key] = value

    return spoil


def drop(*path):
    """Take away what the path leads to."""

    def spoil(body):
        *way, key = path
        for step in way:
            body = body[step]
        del body[key]

    return spoil


def twice(*path):
    """Say again at the end of a list what stands at the end of it."""

    def spoil(body):
        for step in path:
            body = body[step]
        body.append(body[-1])

    return spoil


_FUNCTION = ("tools", 0, "function")
_DECLARED = ("tools", 0, "functionDeclarations")
_CHAT_LIKE = (
    ("tool name", put(*_FUNCTION, "name", "a.b")),
    ("unique", put(*_FUNCTION, "name", "stock")),
    ("root must be an object", put(*_FUNCTION, "parameters", {"type": "string"})),
    ("not permitted", put(*_FUNCTION, "kind", "x")),
    ("not permitted", put("tools_choice", "auto")),
    ("has 0 results", drop("messages", 3)),
    ("has 2 results", twice("messages")),
    (
        "without a call",
        lambda body: body["messages"].append({**body["messages"][3], "tool_call_id": "zzzzzzzzz"}),
    ),
)
BAD_REQUESTS = [
    *(("openai_chat", *case) for case in _CHAT_LIKE),
    *(("mistral", *case) for case in _CHAT_LIKE),
    *(("cohere", *case) for case in _CHAT_LIKE),
    ("openai_chat", "too short", put("tools", [])),
    ("openai_chat", "only allowed when", drop("tools")),
    ("openai_chat", "unknown tool type", put("tools", 0, "type", "tool")),
    ("openai_chat", "may not stand", put(*_FUNCTION, "parameters", {"type": "object", "anyOf": []})),
    ("openai_chat", "additionalProperties", put("tools", 1, "function", "strict", True)),
    ("openai_chat", "unknown tool_choice", put("tool_choice", "any")),
    (
        "openai_chat",
        "names an unknown tool",
        put("tool_choice", {"type": "function", "function": {"name": "w"}}),
    ),
    ("openai_chat", "must be a string", put("messages", 1, "tool_calls", 0, "function", "arguments", {})),
    ("openai_chat", "text alone", put("messages", 2, "content", [{"type": "image_url"}])),
    ("openai_chat", "must follow", drop("messages", 1)),
    ("openai_responses", "field required", drop("tools", 0, "strict")),
    ("openai_responses", "strict schema", put("tools", 0, "parameters", "default", {})),
    ("openai_responses", "additionalProperties", put("tools", 1, "strict", None)),
    ("openai_responses", "no tool call found", put("input", 5, "call_id", "call_z")),
    ("openai_responses", "has 0 results", drop("input", 6)),
    ("openai_responses", "without its 'reasoning' item", drop("input", 1)),
    ("openai_responses", "not permitted", put("input", 3, "parsed_arguments", None)),
    ("openai_responses", "unknown output part", put("input", 5, "output", [{"type": "audio"}])),
    ("openai_responses", "call id", put("input", 3, "call_id", "c" * 65)),
    ("anthropic", "tool name", put("tools", 0, "name", "a.b")),
    ("anthropic", "is not [a-zA-Z0-9_.-]{1,64}", put("tools", 1, "input_schema", "properties", {"a b": {}})),
    ("anthropic", "may not stand", put("tools", 1, "input_schema", "anyOf", [{}])),
    ("anthropic", "not JSON Schema", put("tools", 1, "input_schema", "properties", {"a": {"type": "str"}})),
    (
        "anthropic",
        "strict: ['minLength']",
        put("tools", 0, "input_schema", "properties", "city", "minLength", 1),
    ),
    ("anthropic", "strict: additionalProperties", put("tools", 1, "strict", True)),
    ("anthropic", "input_examples", put("tools", 0, "input_examples", [{"town": "Oslo"}])),
    ("anthropic", "not permitted", put("tool_choice", {"type": "none", "disable_parallel_tool_use": True})),
    ("anthropic", "forced", put("tool_choice", {"type": "any"})),
    ("anthropic", "names an unknown tool", put("tool_choice", {"type": "tool", "name": "w"})),
    ("anthropic", "has 0 results", drop("messages", 2, "content", 0)),
    ("anthropic", "has 2 results", twice("messages", 2, "content")),
    (
        "anthropic",
        "come first",
        lambda body: body["messages"][2]["content"].insert(0, {"type": "text", "text": "so"}),
    ),
    ("anthropic", "expected `thinking`", drop("messages", 1, "content", 0)),
    ("anthropic", "cannot be modified", drop("messages", 1, "content", 0, "signature")),
    ("anthropic", "non-empty", put("messages", 1, "content", 1, "text", "")),
    ("anthropic", "takes no 'audio'", put("messages", 2, "content", 0, "content", [{"type": "audio"}])),
    ("anthropic", "valid dictionary", put("messages", 1, "content", 2, "input", "{}")),
    ("bedrock", "at least 1", put("toolConfig", "tools", [])),
    ("bedrock", "at least 1", put("toolConfig", "tools", 0, "toolSpec", "description", "")),
    ("bedrock", "exactly one", put("toolConfig", "toolChoice", {"any": {}, "auto": {}})),
    ("bedrock", "not permitted", put("toolConfig", "toolChoice", {"none": {}})),
    ("bedrock", "must be defined", drop("toolConfig")),
    ("bedrock", "alternate", twice("messages")),
    ("bedrock", "has 0 results", drop("messages", 2, "content", 0)),
    (
        "bedrock",
        "json must be an object",
        put("messages", 2, "content", 0, "toolResult", "content", [{"json": [1]}]),
    ),
    ("bedrock", "call id", put("messages", 1, "content", 2, "toolUse", "toolUseId", "a b")),
    ("gemini", "not permitted", put(*_DECLARED, 0, "parameters", "additionalProperties", False)),
    ("gemini", "exclude each other", put(*_DECLARED, 0, "parametersJsonSchema", {"type": "object"})),
    ("gemini", "tool name", put(*_DECLARED, 0, "name", "1st")),
    ("gemini", "is for ANY", put("toolConfig", "functionCallingConfig", "mode", "AUTO")),
    (
        "gemini",
        "unknown function",
        put("toolConfig", "functionCallingConfig", "allowedFunctionNames", ["w"]),
    ),
    ("gemini", "missing a thought_signature", drop("contents", 1, "parts", 2, "thoughtSignature")),
    ("gemini", "base64", put("contents", 1, "parts", 2, "thoughtSignature", "?")),
    ("gemini", "the number of function response parts", drop("contents", 2, "parts", 0)),
    ("gemini", "Struct", put("contents", 2, "parts", 0, "functionResponse", "response", "21")),
    ("gemini", "out of order", put("contents", 2, "parts", 0, "functionResponse", "name", "stock")),
    ("gemini", "missing field", put(*_DECLARED, 0, "parameters", "properties", {"a": {"type": "ARRAY"}})),
    ("gemini", "enum takes strings", put(*_DECLARED, 0, "parameters", "properties", "city", "enum", [1])),
    ("mistral", "field required", drop(*_FUNCTION, "parameters")),
    ("mistral", "call id", put("messages", 1, "tool_calls", 0, "id", "call_1")),
    (
        "mistral",
        "unexpected role 'user'",
        lambda body: body["messages"].append({"role": "user", "content": "so"}),
    ),
    ("mistral", "unknown tool_choice", put("tool_choice", {"function": {"name": "w"}})),
    ("cohere", "unknown tool_choice", put("tool_choice", "AUTO")),
    ("cohere", "strict: at least one", put("strict_tools", True)),
    ("cohere", "exclude each other", put("messages", 1, "content", "so")),
    ("cohere", "unknown tool content", put("messages", 2, "content", [{"type": "image"}])),
    ("ollama", "root must be an object", put(*_FUNCTION, "parameters", {"type": "string"})),
    ("ollama", "into an object", put("messages", 1, "tool_calls", 0, "function", "arguments", "{}")),
    ("ollama", "out of order", drop("messages", 2)),
    ("ollama", "without a result", drop("messages", 3)),
    ("ollama", "into a string", put("messages", 2, "content", [{"type": "text"}])),
]
