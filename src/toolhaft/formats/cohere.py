"""Cohere's chat, version 2: functions, a plan told before the calls, results as text or documents.

Knows this wire alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatWire
from toolhaft.formats.choices import Form
from toolhaft.formats.chunks import Pieces
from toolhaft.formats.names import rule
from toolhaft.formats.openai_strict import LOOSE
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.wire import Answer, Media, Setting, Stream
from toolhaft.formats.writing import beside_value, document_text, spoken
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
"""What `strict_tools` takes of JSON Schema."""


class Cohere(ChatWire):
    """`tools`, `tool_choice`, `strict_tools`; messages with `tool_plan`, `tool_calls`, or of role `tool`."""

    name = "cohere"
    beginning = re.compile("tool-call-start")
    needs_properties = True
    tool_names = rule(_NAME, 64, first="A-Za-z_")
    has_strict = True
    choices: ClassVar[frozenset[Form]] = frozenset(("none", "required"))
    parts = frozenset(("document",))
    cut_reasons = frozenset(("MAX_TOKENS", "ERROR", "TIMEOUT"))

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has one dialect
        """Any schema with an object at its root, or what `strict_tools` takes."""
        return STRICT if strict else LOOSE

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The fields of a request."""
        fields: JSONObject = {"tools": tools}
        if setting.strict:
            fields["strict_tools"] = True
        if setting.choice is not None:
            fields["tool_choice"] = setting.choice.mode.upper()
        return fields

    def is_event(self, value: JSONObject) -> bool:
        """True for an event of a stream."""
        kind = value.get("type")
        return isinstance(kind, str) and kind.startswith(_EVENTS)

    def stream(self) -> Stream:
        """Events that say where each call begins and ends."""
        return _Events(self)

    def carries(self, part: Media) -> bool:
        """True for a document of text, or one that is elsewhere."""
        return part.kind == "document" and (part.text is not None or part.url is not None)

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- it has one dialect
        """A message a result."""
        return [
            {"role": "tool", "tool_call_id": answer.id, "content": _content(answer)} for answer in answers
        ]


def _content(answer: Answer) -> JSONValue:
    """Text, or blocks where there are documents: a value that is an object is one too."""
    value = answer.value
    beside = None if answer.is_error or not isinstance(value, dict) or not value else beside_value(answer)
    text = spoken(answer) if beside is None else beside
    if beside is None and not answer.parts:
        return text
    blocks: list[JSONValue] = [{"type": "text", "text": text}] if text else []
    if beside is not None:
        blocks.append({"type": "document", "document": {"data": value}})
    return blocks + [_block(part) for part in answer.parts]


def _block(part: Media) -> JSONObject:
    title = part.name if part.kind == "document" else ""
    data: JSONObject = {"title": title} if title else {}
    data |= {"text": document_text(part, named=False)} if part.url is None else {"url": part.url}
    return {"type": "document", "document": {"data": data}}


class _Events(Pieces):
    """A call is complete where its end is said and it reads whole, else where the message ends."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one event."""
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
                return self.finish(is_cut=_reason(event) in self.chat.cut_reasons)
            case kind:
                self._hear(kind, message)
        return []

    def _hear(self, kind: JSONValue, message: JSONObject) -> None:
        """Add to what was said beside the calls."""
        match kind:
            case "tool-plan-delta":
                self._hear_text(message.get("tool_plan"))
            case "content-start":
                self._hear_one("content", message.get("content"))
            case "content-delta":
                self._hear_more(message.get("content"))
            case "citation-start":
                self._hear_one("citations", message.get("citations"))
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

    def _hear_text(self, plan: JSONValue) -> None:
        before = self.heard.get("tool_plan")
        if isinstance(plan, str):
            self.heard["tool_plan"] = before + plan if isinstance(before, str) else plan

    def _hear_one(self, name: str, value: JSONValue) -> None:
        before = self.heard.get(name)
        if isinstance(value, dict):
            self.heard[name] = [*(before if isinstance(before, list) else ()), {**value}]

    def _hear_more(self, content: JSONValue) -> None:
        said = self.heard.get("content")
        last = said[-1] if isinstance(said, list) else None
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


WIRE: Final = Cohere()
