"""Toolhaft's own format: seed 001's document of a tool, with every field, and calls and results to match.

Knows no provider. A file of it is also what a registry writes and reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast

from pydantic_core import to_jsonable_python

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool
from toolhaft.core.policy import settle_options
from toolhaft.core.tool import OPTION_NAMES
from toolhaft.errors import WireError
from toolhaft.formats.names import rule
from toolhaft.formats.shapes import Shape
from toolhaft.formats.wire import Answer, Declared, Imported, Setting, Stream, Wire, WireCall
from toolhaft.formats.words import examples_of
from toolhaft.formats.writing import no_twins, write_part
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest

REQUIRED: Final = ("name", "description", "input_schema")
FIELDS: Final = (*REQUIRED, "output_schema", *OPTION_NAMES)
_DEFAULTS: Final = tuple(settle_options({}).items())


def document_of(tool: AnyTool) -> JSONObject:
    """The seed's document: name, description, input schema, and metadata and examples where there are any.

    It shares its schema with the tool: copy it before you hand it out.
    """
    document: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": {"type": "object", "properties": {}, **cast("JSONObject", tool.input_schema)},
    }
    if tool.when_to_use:
        document["when_to_use"] = tool.when_to_use
    if tool.examples:
        document["examples"] = cast("list[JSONValue]", examples_of(tool))
    if tool.metadata:
        document["metadata"] = cast("JSONValue", to_jsonable_python(tool.metadata))
    return document


def full_document_of(tool: AnyTool) -> JSONObject:
    """The same with everything else that the tool says of itself, as far as it differs from the defaults."""
    document = document_of(tool)
    if tool.output_schema is not None:
        document["output_schema"] = cast("JSONValue", tool.output_schema)
    for name, default in _DEFAULTS:
        value = getattr(tool, name)
        if value != default and name not in document:
            document[name] = cast("JSONValue", to_jsonable_python(value))
    return document


def unknown_field(keys: Iterable[str]) -> str | None:
    """The first key of a document that is no field of it, with the field that was most likely meant."""
    for key in keys:
        if key not in FIELDS:
            close = nearest(key, FIELDS)
            return f"'{key}'" + (f"; did you mean '{close}'?" if close else "")
    return None


_MESSAGE: Final = frozenset(("content", "role", "text"))
"""What a message has that calls nothing."""


class Native(Wire):
    """`{"tools": [...]}`; a message with `tool_calls`; a list of results."""

    name = "native"
    beginning = re.compile('"call')
    tool_names = rule("A-Za-z0-9_.-", 128, first="A-Za-z0-9_-")
    fields = frozenset(
        (
            "title",
            "output_schema",
            "examples",
            "tags",
            "version",
            "metadata",
            "effect",
            "policy",
            "when_to_use",
        )
    )
    parts = frozenset(("image", "audio", "video", "document"))
    keeps_extras = True
    takes_any_id = True
    sends_empty = True

    def write_tool(self, tool: Declared) -> JSONObject:
        """The full document."""
        return full_document_of(tool.tool)

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:  # noqa: ARG002 -- nobody to ask
        """The document of all tools, as a registry writes it."""
        return {"tools": tools}

    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """Documents of tools."""
        for tool in payload.members("tools"):
            document = tool.object("the document of a tool")
            unknown = unknown_field(document)
            if unknown is not None:
                known = f"some of {', '.join(FIELDS)}"
                raise WireError(f"no field {unknown}", format=self.name, path=tool.path, expected=known)
            yield Imported(
                tool.need("name").text(),
                tool.need("description").text(),
                tool.need("input_schema").object("a JSON Schema"),
                tool.path,
                {key: value for key, value in document.items() if key not in REQUIRED},
                {},
            )

    def read_calls(self, message: Shape) -> list[ToolCall]:
        """The calls of a message or of several, of a list, or one alone."""
        found: list[ToolCall] = []
        for call in _calls(message):
            found.append(self.read_call(len(found), call))
        return no_twins(found)

    def read_call(self, number: int, call: JSONValue) -> ToolCall:
        """One call; its id may be empty, as a call that nobody answers has it."""
        if not isinstance(call, dict):
            return self.call(number, None, None, call)
        id, name, arguments, extras = (
            call.get("id", ""),
            call.get("name"),
            call.get("arguments"),
            call.get("extras"),
        )
        if id == "" and type(name) is str and name and type(arguments) in _WHOLE:
            return ToolCall("", name, cast("str | JSONObject", arguments), extras=extras)
        return self.call(number, id, name, arguments, extras)

    def is_event(self, value: JSONObject) -> bool:
        """True for an event of `Native.stream`."""
        return "call" in value or "index" in value

    def stream(self) -> Stream:
        """Whole calls, or calls whose arguments come in pieces."""
        return _Events(self)

    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """One message."""
        written: list[JSONValue] = []
        for call in calls:
            one: JSONObject = {"id": call.id, "name": call.name, "arguments": call.arguments}
            if call.extras:
                one["extras"] = call.extras
            written.append(one)
        return [{"tool_calls": written}]

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- it has one dialect
        """One object a result."""
        return [_result(answer) for answer in answers]


_WHOLE: Final = frozenset((str, dict))


def _calls(message: Shape) -> Iterator[JSONValue]:
    given = message.value
    if isinstance(given, list):
        for member in message.items():
            is_message = isinstance(member.value, dict) and "tool_calls" in member.value
            yield from _calls(member) if is_message else (member.value,)
        return
    body = message.object("a message, a call, or a list of them")
    calls = body.get("tool_calls")
    if calls is not None or "tool_calls" in body:
        yield from calls if isinstance(calls, list) else _no_calls(message)
    elif "name" in body:
        yield body
    elif _MESSAGE.isdisjoint(body):
        message.fail("a message, a call, or a list of them")


def _no_calls(message: Shape) -> list[JSONValue]:
    told = message.need("tool_calls")
    return [] if told.value is None else told.fail("a list of calls")


def _result(answer: Answer) -> JSONObject:
    content: list[JSONValue] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [write_part(part) for part in answer.parts]
    result: JSONObject = {
        "call_id": answer.id,
        "name": answer.name,
        "success": not answer.is_error,
        "content": content,
    }
    if answer.has_value:
        result["value"] = answer.value
    if answer.is_error:
        result["failure"] = {"kind": answer.kind}
    return result


class _Events(Stream):
    """One JSON object a line.

    `{"call": {...}}` is a whole call. `{"index": 0, "call": {"id", "name"}}` begins one, `{"index": 0,
    "arguments": "..."}` brings more of its text, `{"index": 0, "done": true}` ends it.
    """

    def __init__(self, wire: Native) -> None:
        super().__init__(wire)
        self._native = wire
        self._seen: set[str] = set()

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one event."""
        call = event.get("call")
        index = event.get("index")
        if index is None:
            return [self._once(self._whole(call))] if "call" in event else []
        if not isinstance(index, int):
            raise WireError(f"got {index!r:.80}", format=self.wire.name, path="index", expected="a number")
        if isinstance(call, dict):
            extras = call.get("extras")
            self.begin(index, call.get("id"), call.get("name"), extras if isinstance(extras, dict) else None)
        self.add(index, event.get("arguments"))
        return [self._once(call) for call in self.end(index)] if event.get("done") else []

    def _whole(self, call: JSONValue) -> ToolCall:
        number, self.count = self.count, self.count + 1
        return self._native.read_call(number, call)

    def _once(self, call: ToolCall) -> ToolCall:
        return no_twins([call], self._seen)[0]


WIRE: Final = Native()
