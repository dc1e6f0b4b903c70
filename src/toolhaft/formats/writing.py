"""What several wires write alike: arguments as text or object, errors where no flag exists, parts of results.

Does not know any one wire.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final, cast
from urllib.parse import quote

from toolhaft.core.call import ToolCall
from toolhaft.core.content import Audio, Document, Image
from toolhaft.core.result import FEEDBACK
from toolhaft.formats.wire import Answer, Media, WireCall, broken_call
from toolhaft.schema.json_text import NotJSONError, object_to_text, read_json, to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

TWIN: Final = "another call of the same turn has this id"
_UNREAD: Final = "INVALID_JSON"
"""The key under which arguments that are no object stand in the history of a wire that takes only objects."""
IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The pictures that the models of most providers look at."""
WEB: Final = ("https://", "http://")


def as_object(given: object) -> JSONObject | None:
    """Arguments as a JSON object; None where they are none."""
    try:
        text = given if isinstance(given, str) else object_to_text(dict(cast("Mapping[str, object]", given)))
        value = read_json(text)
    except (ValueError, TypeError, NotJSONError):
        return None
    return value if isinstance(value, dict) else None


def arguments_text(call: WireCall) -> str:
    """The arguments for a wire that carries them as text."""
    return call.arguments if isinstance(call.arguments, str) else object_to_text(call.arguments)


def arguments_object(call: WireCall) -> JSONObject:
    """The arguments for a wire that carries them as an object."""
    value = as_object(call.arguments)
    return {_UNREAD: cast("str", call.arguments)} if value is None else value


def request_fields(tools: list[JSONValue], choice: JSONValue, *, parallel: bool | None) -> JSONObject:
    """The fields of a request that OpenAI's wires and those that copy them share."""
    fields: JSONObject = {"tools": tools}
    if choice is not None:
        fields["tool_choice"] = choice
    if parallel is not None:
        fields["parallel_tool_calls"] = parallel
    return fields


def spoken(answer: Answer) -> str:
    """The text of a result for a wire without a flag for errors: an error says so in its first word."""
    if not answer.is_error:
        return answer.text
    return object_to_text({"error": {"type": answer.kind, "message": answer.text}})


def address(part: Media) -> str:
    """Where a part is to be had: its own address, or its data in one."""
    return part.url if part.url is not None else f"data:{part.media_type};base64,{part.base64}"


def is_taken(part: Media, types: Container[str], schemes: tuple[str, ...] = ()) -> bool:
    """True for a part of one of these media types that is here, or where a URL of these schemes leads."""
    is_there = bool(part.data) if part.url is None else part.url.startswith(schemes)
    return is_there and part.media_type in types


def no_twins(calls: list[ToolCall], seen: set[str] | None = None) -> list[ToolCall]:
    """The calls of one turn, each that has the id of one before it marked malformed."""
    if len(calls) == 1 and seen is None:
        return calls
    ids: set[str] = set() if seen is None else seen
    for index, call in enumerate(calls):
        if call.id and call.id in ids:
            calls[index] = broken_call(call.id, call.name, call.arguments, TWIN, call.extras)
        ids.add(call.id)
    return calls


def write_part(part: Media) -> JSONObject:
    """A part as MCP writes it, and `read_part` reads it: the thing itself, a resource, or a link to one."""
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


def document_text(part: Media, *, named: bool = True) -> str | None:
    """The text of a document of text, under its name; None for any other part."""
    if not isinstance(part, Document) or part.text is None:
        return None
    return f"{part.name}:\n{part.text}" if named and part.name else part.text


def beside_value(answer: Answer) -> str | None:
    """What the text of a result says beside its value; None where the value does not stand in it as JSON.

    Then the text is what the model is to read: the value shows itself in its own way, or is not to be shown.
    """
    if not answer.has_value:
        return None
    text, blank, feedback = answer.text.partition(f"\n\n{FEEDBACK}")
    body = to_json_text(answer.value)
    if text in (body, answer.value):
        beside = ""
    elif text.endswith(f"\n\n{body}"):
        beside = text.removesuffix(f"\n\n{body}")
    else:
        return None
    return f"{beside}{blank if beside else FEEDBACK}{feedback}" if blank else beside


def without_nulls(value: JSONValue, depth: int = 6) -> JSONValue:
    """What a provider said, without the nulls that an SDK fills in for what it did not say."""
    if not depth or not value:
        return value
    if isinstance(value, dict):
        return {key: without_nulls(part, depth - 1) for key, part in value.items() if part is not None}
    return [without_nulls(part, depth - 1) for part in value] if isinstance(value, list) else value
