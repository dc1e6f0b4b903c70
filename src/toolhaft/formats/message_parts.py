"""Pieces of messages that several formats read and write in the same way."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Final, cast
from urllib.parse import quote

from toolhaft.core.call import ToolCall
from toolhaft.core.content import Audio, Document, Image, Text, read_part, returned_parts
from toolhaft.core.result import FEEDBACK, ToolResult
from toolhaft.formats.provider_format import Media, OutgoingCall, OutgoingResult, malformed_call
from toolhaft.schema.json_text import NotJSONError, object_to_text, read_json, to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

DUPLICATE_ID: Final = "another call of the same turn has this id"
_UNREAD: Final = "INVALID_JSON"
"""The key for arguments that are not an object, in histories that accept only objects."""
IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The image types that most providers accept."""
WEB: Final = ("https://", "http://")


def object_or_empty(value: JSONValue) -> JSONObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: JSONValue) -> list[JSONValue]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_object(arguments: object) -> JSONObject | None:
    """Arguments as a JSON object; None if they are not one."""
    try:
        text = (
            arguments
            if isinstance(arguments, str)
            else object_to_text(dict(cast("Mapping[str, object]", arguments)))
        )
        value = read_json(text)
    except (ValueError, TypeError, NotJSONError):
        return None
    return value if isinstance(value, dict) else None


def arguments_text(call: OutgoingCall) -> str:
    """The arguments for a format that carries them as text."""
    return call.arguments if isinstance(call.arguments, str) else object_to_text(call.arguments)


def arguments_object(call: OutgoingCall) -> JSONObject:
    """The arguments for a format that carries them as an object."""
    value = as_object(call.arguments)
    return {_UNREAD: cast("str", call.arguments)} if value is None else value


def request_fields(tools: list[JSONValue], choice: JSONValue, *, parallel: bool | None) -> JSONObject:
    """The fields of a request that OpenAI's formats and those that copy them share."""
    fields: JSONObject = {"tools": tools}
    if choice is not None:
        fields["tool_choice"] = choice
    if parallel is not None:
        fields["parallel_tool_calls"] = parallel
    return fields


def result_text(result: OutgoingResult) -> str:
    """The text of a result for formats without an error flag: an error becomes a JSON object."""
    if not result.is_error:
        return result.text
    return object_to_text({"error": {"type": result.kind, "message": result.text}})


def data_url(part: Media) -> str:
    """The URL of a part: its own, or a data URL."""
    return part.url if part.url is not None else f"data:{part.media_type};base64,{part.base64}"


def is_supported_file(part: Media, types: Container[str], schemes: tuple[str, ...] = ()) -> bool:
    """True for a part of one of these media types that has data, or a URL of one of these schemes."""
    is_there = bool(part.data) if part.url is None else part.url.startswith(schemes)
    return is_there and part.media_type in types


def unique_ids(calls: list[ToolCall], seen: set[str] | None = None) -> list[ToolCall]:
    """The calls of one turn; a call whose id repeats an earlier one is marked malformed."""
    if len(calls) == 1 and seen is None:
        return calls
    ids: set[str] = set() if seen is None else seen
    for index, call in enumerate(calls):
        if call.id and call.id in ids:
            calls[index] = malformed_call(call.id, call.name, call.arguments, DUPLICATE_ID, call.extras)
        ids.add(call.id)
    return calls


def write_part(part: Media) -> JSONObject:
    """A part as MCP writes it and `read_part` reads it: media, a resource, or a link to one."""
    name = part.name if isinstance(part, Document) else ""
    if part.url is not None:
        name = name or part.url.rstrip("/").rpartition("/")[2] or part.kind
        return {"type": "resource_link", "uri": part.url, "name": name, "mimeType": part.media_type}
    if isinstance(part, Image | Audio):
        return {"type": part.kind, "data": part.base64, "mimeType": part.media_type}
    resource: JSONObject = {
        "uri": f"attachment:///{quote(name or part.kind, safe='')}",
        "mimeType": part.media_type,
    }
    text = part.text if isinstance(part, Document) else None
    inside: JSONObject = {"blob": part.base64} if text is None else {"text": text}
    return {"type": "resource", "resource": {**resource, **inside}}


def is_content(result: ToolResult[Any]) -> bool:
    """True if the value has nothing that the content, images and other parts, does not have."""
    return bool(result.content) and (result.value is None or returned_parts(result.value) is not None)


def content_blocks(result: ToolResult[Any]) -> list[JSONObject]:
    """The content of a result as MCP's content blocks."""
    return [
        {"type": "text", "text": part.text} if isinstance(part, Text) else write_part(part)
        for part in map(read_part, result.content)
    ]


def document_text(part: Media, *, named: bool = True) -> str | None:
    """The text of a text document, after its name; None for any other part."""
    if not isinstance(part, Document) or part.text is None:
        return None
    return f"{part.name}:\n{part.text}" if named and part.name else part.text


def text_without_value(result: OutgoingResult) -> str | None:
    """The text of a result without its value; None if the text does not contain the value as JSON.

    If None, only the text is for the model: the value renders itself differently, or is excluded.
    """
    if not result.has_value:
        return None
    text, blank, feedback = result.text.partition(f"\n\n{FEEDBACK}")
    body = to_json_text(result.value)
    if text in (body, result.value):
        rest = ""
    elif text.endswith(f"\n\n{body}"):
        rest = text.removesuffix(f"\n\n{body}")
    else:
        return None
    return f"{rest}{blank if rest else FEEDBACK}{feedback}" if blank else rest


def without_nulls(value: JSONValue, depth: int = 6) -> JSONValue:
    """A provider's value without the nulls that an SDK adds for absent fields."""
    if not depth or not value:
        return value
    if isinstance(value, dict):
        return {key: without_nulls(part, depth - 1) for key, part in value.items() if part is not None}
    return [without_nulls(part, depth - 1) for part in value] if isinstance(value, list) else value
