"""Toolhaft's own format: the full document of a tool, as registries store it, with calls and results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final, cast, get_args

from pydantic_core import to_jsonable_python

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool
from toolhaft.core.options import metadata_options, resolve_options
from toolhaft.core.tool import OPTION_NAMES
from toolhaft.errors import WireError
from toolhaft.formats.description_text import examples_of, metadata_of
from toolhaft.formats.message_parts import unique_ids, write_part
from toolhaft.formats.names import rule
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.provider_format import (
    ImportedTool,
    OutgoingCall,
    OutgoingResult,
    ProviderFormat,
    ReadTool,
    RequestSettings,
    Stream,
    ToolDeclaration,
    ToolField,
    read_each,
)
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest

REQUIRED: Final = ("name", "description", "input_schema")
FIELDS: Final = (*REQUIRED, "output_schema", *OPTION_NAMES)
_DEFAULTS: Final = tuple(resolve_options({}).items())


def document_of(tool: AnyTool) -> JSONObject:
    """The short document: name, description, input schema, and `when_to_use`, examples and metadata if any.

    Examples that the metadata has are not repeated.

    It shares its schema with the tool: copy it before you return it to a caller.
    """
    document: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": {"type": "object", "properties": {}, **cast("JSONObject", tool.input_schema)},
    }
    if tool.when_to_use:
        document["when_to_use"] = tool.when_to_use
    if tool.examples != metadata_options(tool.metadata).get("examples", ()):
        document["examples"] = cast("list[JSONValue]", examples_of(tool))
    if tool.metadata:
        document["metadata"] = cast("JSONValue", to_jsonable_python(metadata_of(tool)))
    return document


def full_document_of(tool: AnyTool) -> JSONObject:
    """The full document: the short one with every other option that neither default nor metadata gives."""
    document = document_of(tool)
    inherited = metadata_options(tool.metadata)
    if tool.output_schema is not None:
        document["output_schema"] = cast("JSONValue", tool.output_schema)
    for name, default in _DEFAULTS:
        value = getattr(tool, name)
        if value != inherited.get(name, default) and name not in document:
            document[name] = cast("JSONValue", to_jsonable_python(value))
    return document


def unknown_field(keys: Iterable[str]) -> str | None:
    """The first unknown key of a document, with the nearest known field."""
    for key in keys:
        if key not in FIELDS:
            close = nearest(key, FIELDS)
            return f"'{key}'" + (f"; did you mean '{close}'?" if close else "")
    return None


_MESSAGE: Final = frozenset(("content", "role", "text"))
"""The keys of a message without calls."""


class _NativeStream(Stream["Native"]):
    """One JSON object per line.

    `{"call": {...}}` is a whole call. `{"index": 0, "call": {"id", "name"}}` begins one, `{"index": 0,
    "arguments": "..."}` appends to its text, `{"index": 0, "done": true}` ends it.
    """

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one event."""
        call = event.get("call")
        index = event.get("index")
        if index is None:
            return self._whole(call) if "call" in event else []
        if not isinstance(index, int):
            raise WireError(
                f"got {index!r:.80}", format=self.provider.name, path="index", expected="a number"
            )
        if isinstance(call, dict):
            extras = call.get("extras")
            self.begin(index, call.get("id"), call.get("name"), extras if isinstance(extras, dict) else None)
        self.add(index, event.get("arguments"))
        return unique_ids(self.end(index), self.ids) if event.get("done") else []

    def _whole(self, call: JSONValue) -> list[ToolCall]:
        number, self.count = self.count, self.count + 1
        return unique_ids([self.provider.read_call(number, call)], self.ids)


class Native(ProviderFormat):
    """`{"tools": [...]}`; a message with `tool_calls`; a list of results."""

    name = "native"
    call_start = re.compile('"call')
    tool_names = rule("A-Za-z0-9_.-", 128, first="A-Za-z0-9_-")
    fields: ClassVar[frozenset[ToolField]] = frozenset(get_args(ToolField))
    parts = frozenset(("image", "audio", "video", "document"))
    stream_type = _NativeStream
    keeps_extras = True
    takes_any_id = True
    sends_empty = True

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """The full document."""
        return full_document_of(tool.tool)

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:  # noqa: ARG002 -- it has no settings
        """The document of all tools, as a registry writes it."""
        return {"tools": tools}

    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """Documents of tools."""
        return read_each(payload.members("tools"), _read_document)

    def read_calls(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of one or several messages, of a list of calls, or a single call."""
        found: list[ToolCall] = []
        for call in _calls(message):
            found.append(self.read_call(len(found), call))
        return unique_ids(found)

    def read_call(self, number: int, call: JSONValue) -> ToolCall:
        """One call; its id may be empty."""
        if not isinstance(call, dict):
            return self.call(number, None, None, call)
        id, name = call.get("id", ""), call.get("name")
        arguments, extras = call.get("arguments"), call.get("extras")
        if id == "" and type(name) is str and name and type(arguments) in _ARGUMENT_TYPES:
            return ToolCall("", name, cast("str | JSONObject", arguments), extras=extras)
        return self.call(number, id, name, arguments, extras)

    def is_event(self, value: JSONObject) -> bool:
        """True for an event of `Native.stream`."""
        return "call" in value or "index" in value

    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """One message."""
        written: list[JSONValue] = []
        for call in calls:
            one: JSONObject = {"id": call.id, "name": call.name, "arguments": call.arguments}
            if call.extras:
                one["extras"] = call.extras
            written.append(one)
        return [{"tool_calls": written}]

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One object per result."""
        return [_result(result) for result in results]


def _read_document(tool: PayloadCursor) -> ImportedTool:
    document = tool.object("the document of a tool")
    unknown = unknown_field(document)
    if unknown is not None:
        known = f"some of {', '.join(FIELDS)}"
        raise WireError(f"no field {unknown}", format=tool.format, path=tool.path, expected=known)
    return ImportedTool(
        tool.need("name").text(),
        tool.need("description").text(),
        tool.need("input_schema").object("a JSON Schema"),
        tool.path,
        {key: value for key, value in document.items() if key not in REQUIRED},
        {},
    )


_ARGUMENT_TYPES: Final = frozenset((str, dict))


def _calls(message: PayloadCursor) -> Iterator[JSONValue]:
    value = message.value
    if isinstance(value, list):
        for member in message.items():
            is_message = isinstance(member.value, dict) and "tool_calls" in member.value
            yield from _calls(member) if is_message else (member.value,)
        return
    body = message.object("a message, a call, or a list of them")
    calls = body.get("tool_calls")
    if calls is not None or "tool_calls" in body:
        yield from calls if isinstance(calls, list) else _checked_calls(message)
    elif "name" in body:
        yield body
    elif _MESSAGE.isdisjoint(body):
        message.fail("a message, a call, or a list of them")


def _checked_calls(message: PayloadCursor) -> list[JSONValue]:
    calls = message.need("tool_calls")
    return [] if calls.value is None else calls.fail("a list of calls")


def _result(result: OutgoingResult) -> JSONObject:
    content: list[JSONValue] = [{"type": "text", "text": result.text}] if result.text else []
    content += [write_part(part) for part in result.parts]
    written: JSONObject = {
        "call_id": result.id,
        "name": result.name,
        "success": not result.is_error,
        "content": content,
    }
    if result.has_value:
        written["value"] = result.value
    if result.is_error:
        written["failure"] = {"kind": result.kind}
    return written


FORMAT: Final = Native()
