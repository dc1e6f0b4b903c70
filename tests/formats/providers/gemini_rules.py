"""What Gemini's server accepts, and how it refuses requests."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Mapping, Sequence
from typing import Any

from tests.formats.providers.provider import KEY, answered, demand, known_keys, names_are, needed_keys
from tests.formats.providers.server import Answer, Request, whole

MODEL = "gemini-3.5-pro"
NAME = r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"
FOREIGN = "skip_thought_signature_validator"
"""What stands for a signature in a history that another model wrote."""
_PROTO = {
    "type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties",
    "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern",
    "example", "anyOf", "propertyOrdering", "default",
}  # fmt: skip
_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_DECLARATION = {
    "name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior",
}  # fmt: skip
_PART = {"text", "thought", "thoughtSignature", "functionCall", "functionResponse", "inlineData", "fileData"}


def refuse(problem: str) -> Answer:
    """A bad request, in Google's words."""
    return whole({"error": {"code": 400, "message": problem, "status": "INVALID_ARGUMENT"}}, status=400)


def check(request: Request) -> None:
    """What the server wants of a request."""
    paths = [f"/v1/models/{MODEL}:{verb}" for verb in ("generateContent", "streamGenerateContent?alt=sse")]
    demand(request.path in paths, f"no such path: {request.path}")
    demand(request.headers.get("x-goog-api-key") == KEY, "no key")
    body = known_keys(request.body, ("contents", "tools", "toolConfig", "generationConfig"), "request")
    names = [
        _check_declaration(made) for tool in body.get("tools", ()) for made in tool["functionDeclarations"]
    ]
    names_are(names, NAME, most=512)
    config = body.get("toolConfig", {}).get("functionCallingConfig", {})
    _check_config(config, names)
    check_contents(body["contents"])


def _camel(message: Any) -> Any:
    """The server reads the fields of its messages in both spellings, and the SDK sends both."""
    return {re.sub("_([a-z])", lambda found: found[1].upper(), key): value for key, value in message.items()}


def _check_declaration(written: Any) -> str:
    made = _camel(written)
    needed_keys(known_keys(made, _DECLARATION, "functionDeclarations"), ("name",), "functionDeclarations")
    demand(
        not {"parameters", "parametersJsonSchema"} <= set(made),
        "parameters and parametersJsonSchema exclude each other",
    )
    if "parameters" in made:
        demand(made["parameters"].get("type") == "OBJECT", "parameters should be of type OBJECT")
        _check_proto(made["parameters"])
    if "parametersJsonSchema" in made:
        demand(
            made["parametersJsonSchema"].get("type") == "object", "parametersJsonSchema should be an object"
        )
    return made["name"]


def _check_proto(written: Any) -> None:
    """A Schema message: known fields only, text enums, items where there is an array."""
    schema = known_keys(_camel(written), _PROTO, "parameters")
    demand(schema.get("type", "STRING") in _TYPES, f"unknown type {schema.get('type')!r}")
    demand(all(isinstance(value, str) for value in schema.get("enum", ())), "enum takes strings")
    demand(schema.get("type") != "ARRAY" or "items" in schema, "items: missing field")
    demand(
        set(schema.get("required", ())) <= set(schema.get("properties", ())),
        "required: property is not defined",
    )
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        _check_proto(inner)
    if "items" in schema:
        _check_proto(schema["items"])


def _check_config(config: Mapping[str, Any], names: Sequence[str]) -> None:
    mode = config.get("mode", "AUTO")
    demand(mode in ("AUTO", "ANY", "NONE", "VALIDATED"), f"unknown mode {mode!r}")
    allowed = config.get("allowedFunctionNames", [])
    demand(not allowed or mode in ("ANY", "VALIDATED"), "allowedFunctionNames is for ANY and VALIDATED")
    demand(set(allowed) <= set(names), "allowedFunctionNames names an unknown function")


def check_contents(contents: Sequence[Mapping[str, Any]]) -> None:
    """As many responses as calls, in the next content, in their order; the first call of a step is signed."""
    asked: list[Mapping[str, Any]] = []
    for content in contents:
        role, parts = content.get("role", "user"), content.get("parts")
        demand(role in ("user", "model"), "Please use a valid role: user, model.")
        demand(parts, "contents.parts must not be empty")
        parts = [_check_part(part) for part in parts]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        _check_pairs(asked, results)
        asked = _check_calls(parts) if role == "model" else []
    demand(not asked, "function call turn comes without its function response turn")


def _check_part(written: Any) -> Mapping[str, Any]:
    part = known_keys(_camel(written), _PART, "parts")
    signature = part.get("thoughtSignature")
    if signature is not None:
        demand(signature == FOREIGN or _is_base64(signature), "thoughtSignature: base64 decoding failed")
    return part


def _is_base64(signature: str) -> bool:
    try:
        return b64decode(signature, validate=True) != b""
    except Error:
        return False


def _check_calls(parts: Sequence[Any]) -> list[Mapping[str, Any]]:
    calls = [part for part in parts if "functionCall" in part]
    if calls:
        demand(
            "thoughtSignature" in calls[0],
            "function call is missing a thought_signature in functionCall parts",
        )
    for call in calls:
        known_keys(call["functionCall"], ("id", "name", "args"), "functionCall")
        demand(isinstance(call["functionCall"].get("args", {}), dict), "args must be a Struct")
    return [call["functionCall"] for call in calls]


def _check_pairs(asked: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> None:
    demand(
        len(asked) == len(results), "the number of function response parts is not that of function call parts"
    )
    for result in results:
        known_keys(
            result, ("id", "name", "response", "parts", "willContinue", "scheduling"), "functionResponse"
        )
        needed_keys(result, ("name", "response"), "functionResponse")
        demand(isinstance(result["response"], dict), "response must be a Struct")
    if all("id" in part for part in (*asked, *results)):
        answered([call["id"] for call in asked], [result["id"] for result in results])
    demand([call["name"] for call in asked] == [result["name"] for result in results], "names out of order")
