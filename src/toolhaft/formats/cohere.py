"""Cohere's Chat API v2: functions, `tool_calls`, results as `tool` messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatFormat, ChatStream
from toolhaft.formats.choices import Form
from toolhaft.formats.message_parts import document_text, object_or_empty, result_text, text_without_value
from toolhaft.formats.names import rule
from toolhaft.formats.openai_shared import LOOSE
from toolhaft.formats.provider_format import Media, OutgoingResult, RequestSettings
from toolhaft.formats.subset.target import STRICT_KEYWORDS, Subset
from toolhaft.schema.json_value import JSONObject, JSONValue

_NAME: Final = "A-Za-z0-9_"
_EVENTS: Final = ("message-", "content-", "tool-", "citation-", "debug")
STRICT: Final = Subset(
    keywords=STRICT_KEYWORDS | {"default"},
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


class _CohereStream(ChatStream):
    """A call is complete at its end event if its arguments are valid, else at the end of the message."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one event."""
        delta = object_or_empty(event.get("delta"))
        message = object_or_empty(delta.get("message"))
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
                reason = delta.get("finish_reason")
                is_truncated = isinstance(reason, str) and reason in self.provider.truncation_reasons
                return self.finish(is_truncated=is_truncated)
            case kind:
                self._other_event(kind, message)
        return []

    def _other_event(self, kind: JSONValue, message: JSONObject) -> None:
        """An event that belongs to no call: collects the other fields of the message."""
        match kind:
            case "tool-plan-delta":
                self.collect_fields({"tool_plan": message.get("tool_plan")})
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

    def _add_item(self, name: str, value: JSONValue) -> None:
        if isinstance(value, dict):
            self.collect_fields({name: [{**value}]})

    def _add_content(self, content: JSONValue) -> None:
        blocks = self.fields.get("content")
        last = blocks[-1] if isinstance(blocks, list) else None
        if isinstance(last, dict) and isinstance(content, dict):
            for name, value in content.items():
                before = last.get(name)
                is_more = isinstance(before, str) and isinstance(value, str) and name != "type"
                last[name] = f"{before}{value}" if is_more else value


class Cohere(ChatFormat):
    """`tools`, `tool_choice`, `strict_tools`; messages with `tool_plan`, `tool_calls`, or of role `tool`."""

    name = "cohere"
    call_start = re.compile("tool-call-start")
    needs_properties = True
    tool_names = rule(_NAME, 64, first="A-Za-z_")
    loose_subset = LOOSE
    strict_subset = STRICT
    has_strict_tools = False
    stream_type = _CohereStream
    choices: ClassVar[frozenset[Form]] = frozenset(("none", "required"))
    parts = frozenset(("document",))
    truncation_reasons = frozenset(("MAX_TOKENS", "ERROR", "TIMEOUT"))

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

    def supports_part(self, part: Media) -> bool:
        """True for a text document, or one with a URL."""
        return part.kind == "document" and (part.text is not None or part.url is not None)

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
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


def _function(call: JSONValue) -> JSONObject:
    return object_or_empty(object_or_empty(call).get("function"))


FORMAT: Final = Cohere()
