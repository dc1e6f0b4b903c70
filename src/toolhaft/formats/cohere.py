"""Cohere's Chat API v2: functions, `tool_calls`, results as `tool` messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatFormat, ChatStream
from toolhaft.formats.choices import Form
from toolhaft.formats.message_parts import document_text, result_text, text_without_value
from toolhaft.formats.names import rule
from toolhaft.formats.openai_shared import LOOSE
from toolhaft.formats.provider_format import Media, OutgoingResult, RequestSettings, Stream
from toolhaft.formats.subset.target import Subset
from toolhaft.schema.json_value import JSONObject, JSONValue

_NAME: Final = "A-Za-z0-9_"
_EVENTS: Final = ("message-", "content-", "tool-", "citation-", "debug")
STRICT: Final = Subset(
    keywords=frozenset(
        (
            "$defs",
            "$ref",
            "additionalProperties",
            "anyOf",
            "const",
            "default",
            "description",
            "enum",
            "format",
            "items",
            "pattern",
            "properties",
            "required",
            "title",
            "type",
        )
    ),
    formats=frozenset(("date-time", "uuid", "date", "time")),
    enums="scalar",
    patterns="unanchored",
    any="text",
    maps="pairs",
    tuples="object",
    root="wrap",
    root_banned=frozenset(("anyOf", "enum", "const")),
    some_required=True,
    most_properties=200,
)
"""The subset of JSON Schema that `strict_tools` accepts."""


class Cohere(ChatFormat):
    """`tools`, `tool_choice`, `strict_tools`; messages with `tool_plan`, `tool_calls`, or of role `tool`."""

    name = "cohere"
    call_start = re.compile("tool-call-start")
    needs_properties = True
    tool_names = rule(_NAME, 64, first="A-Za-z_")
    has_strict = True
    choices: ClassVar[frozenset[Form]] = frozenset(("none", "required"))
    parts = frozenset(("document",))
    truncation_reasons = frozenset(("MAX_TOKENS", "ERROR", "TIMEOUT"))

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has one dialect
        """Any schema with an object at its root, or the subset of `strict_tools`."""
        return STRICT if strict else LOOSE

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The fields of a request."""
        fields: JSONObject = {"tools": tools}
        if settings.strict:
            fields["strict_tools"] = True
        if settings.choice is not None:
            fields["tool_choice"] = settings.choice.mode.upper()
        return fields

    def is_event(self, value: JSONObject) -> bool:
        """True for an event of a stream."""
        kind = value.get("type")
        return isinstance(kind, str) and kind.startswith(_EVENTS)

    def stream(self) -> Stream:
        """Events that mark where each call begins and ends."""
        return _CohereStream(self)

    def supports_part(self, part: Media) -> bool:
        """True for a text document, or one with a URL."""
        return part.kind == "document" and (part.text is not None or part.url is not None)

    def write_results(self, results: Sequence[OutgoingResult], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- it has one dialect
        """One message per result."""
        return [
            {"role": "tool", "tool_call_id": result.id, "content": _content(result)} for result in results
        ]


def _content(result: OutgoingResult) -> JSONValue:
    """Text, or blocks if there are documents; an object value becomes a document too."""
    value = result.value
    rest = None if result.is_error or not isinstance(value, dict) or not value else text_without_value(result)
    text = result_text(result) if rest is None else rest
    if rest is None and not result.parts:
        return text
    blocks: list[JSONValue] = [{"type": "text", "text": text}] if text else []
    if rest is not None:
        blocks.append({"type": "document", "document": {"data": value}})
    return blocks + [_block(part) for part in result.parts]


def _block(part: Media) -> JSONObject:
    title = part.name if part.kind == "document" else ""
    data: JSONObject = {"title": title} if title else {}
    data |= {"text": document_text(part, named=False)} if part.url is None else {"url": part.url}
    return {"type": "document", "document": {"data": data}}


class _CohereStream(ChatStream):
    """A call is complete at its end event if its arguments are valid, else at the end of the message."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one event."""
        message = _message(event)
        key = event.get("index")
        key = key if isinstance(key, int) else -1
        match event.get("type"):
            case "tool-call-start":
                self._begin(key, message.get("tool_calls"))
            case "tool-call-delta":
                self.add(key, _function(message.get("tool_calls")).get("arguments"))
            case "tool-call-end":
                return self._ready()
            case "message-end":
                return self.finish(is_truncated=_reason(event) in self.format.truncation_reasons)
            case kind:
                self._collect_fields(kind, message)
        return []

    def _collect_fields(self, kind: JSONValue, message: JSONObject) -> None:
        """Add the other fields of the message."""
        match kind:
            case "tool-plan-delta":
                self._add_plan(message.get("tool_plan"))
            case "content-start":
                self._add_item("content", message.get("content"))
            case "content-delta":
                self._add_content(message.get("content"))
            case "citation-start":
                self._add_item("citations", message.get("citations"))
            case _:
                pass

    def _begin(self, key: int, call: JSONValue) -> None:
        if isinstance(call, dict):
            more: JSONObject = {name: value for name, value in call.items() if name not in ("id", "function")}
            function = _function(call)
            self.begin(key, call.get("id"), function.get("name"), more)
            self.add(key, function.get("arguments"))

    def _ready(self) -> list[ToolCall]:
        done: list[ToolCall] = []
        for key, piece in list(self.open.items()):
            if not self.is_whole(piece):
                break
            done += self.end(key)
        return done

    def _add_plan(self, plan: JSONValue) -> None:
        before = self.fields.get("tool_plan")
        if isinstance(plan, str):
            self.fields["tool_plan"] = before + plan if isinstance(before, str) else plan

    def _add_item(self, name: str, value: JSONValue) -> None:
        before = self.fields.get(name)
        if isinstance(value, dict):
            self.fields[name] = [*(before if isinstance(before, list) else ()), {**value}]

    def _add_content(self, content: JSONValue) -> None:
        message_fields = self.fields.get("content")
        last = message_fields[-1] if isinstance(message_fields, list) else None
        if isinstance(last, dict) and isinstance(content, dict):
            for name, value in content.items():
                before = last.get(name)
                is_more = isinstance(before, str) and isinstance(value, str) and name != "type"
                last[name] = f"{before}{value}" if is_more else value


def _message(event: JSONObject) -> JSONObject:
    delta = event.get("delta")
    message = delta.get("message") if isinstance(delta, dict) else None
    return message if isinstance(message, dict) else {}


def _function(call: JSONValue) -> JSONObject:
    function = call.get("function") if isinstance(call, dict) else None
    return function if isinstance(function, dict) else {}


def _reason(event: JSONObject) -> str:
    delta = event.get("delta")
    reason = delta.get("finish_reason") if isinstance(delta, dict) else None
    return reason if isinstance(reason, str) else ""


FORMAT: Final = Cohere()
