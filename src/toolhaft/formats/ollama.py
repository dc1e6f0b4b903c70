"""Ollama's own chat: functions of which its SDK keeps a part, calls whole and without ids, results by name.

Knows this wire alone; Ollama's copy of Chat Completions is openai_chat.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatWire
from toolhaft.formats.names import is_made_up
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.wire import Answer, Declared, Media, Setting, Stream, WireCall
from toolhaft.formats.writing import arguments_object, is_taken, no_twins, spoken
from toolhaft.schema.json_value import JSONObject, JSONValue

_SUBSET: Final = Subset(
    keywords=frozenset(("description", "enum", "items", "properties", "required", "type")),
    refs="inline",
    recursion="unroll",
    tuples="widen",
    nested="describe",
    root="flatten",
    root_banned=frozenset(("enum", "items")),
)
"""What its SDK hands on of a schema; the rest would be dropped unsaid."""
_IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/webp"))


class Ollama(ChatWire):
    """`tools`; messages with `tool_calls`, and of role `tool` with a `tool_name`."""

    name = "ollama"
    beginning = re.compile(r'"tool_calls"\s*:')
    has_whole_events = True
    needs_ids = False
    parts = frozenset(("image",))
    reason_key = "done_reason"
    usual_keys = 1
    silence = {"content": ""}  # noqa: RUF012 -- read only

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has one of each
        """Parameters one level deep."""
        return _SUBSET

    def write_tool(self, tool: Declared) -> JSONObject:
        """A function; what its schema says of the whole stands in its own description."""
        said = tool.schema.get("description")
        if isinstance(said, str):
            schema = {key: value for key, value in tool.schema.items() if key != "description"}
            words = tool.description if said in tool.description else f"{tool.description}\n\n{said}"
            tool = tool._replace(description=words, schema=schema)
        return super().write_tool(tool)

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:  # noqa: ARG002 -- it has no settings
        """The one field of a request."""
        return {"tools": tools}

    def is_event(self, value: JSONObject) -> bool:
        """True for a piece of a response, which looks like a whole one."""
        return "message" in value and "role" not in value

    def stream(self) -> Stream:
        """Responses of which each brings some text, or whole calls."""
        return _Responses(self)

    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """One message of the assistant; newer servers take ids, but none that was made up here."""
        (message,) = super().write_calls(calls)
        written = message["tool_calls"]
        for call, given in zip(calls, written if isinstance(written, list) else [], strict=True):
            if isinstance(given, dict) and is_made_up(call.id):
                del given["id"]
        return [message]

    def write_call(self, call: WireCall) -> JSONObject:
        """A call of history, its id aside."""
        return {"function": {"name": call.name, "arguments": arguments_object(call)}}

    def carries(self, part: Media) -> bool:
        """True for a picture that is here; the server fetches none."""
        return part.kind == "image" and is_taken(part, _IMAGES)

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- it has one dialect
        """A message a result, in the order of the calls."""
        return [_result(answer) for answer in answers]


def _result(answer: Answer) -> JSONObject:
    message: JSONObject = {"role": "tool", "tool_name": answer.name, "content": spoken(answer)}
    if not is_made_up(answer.id):
        message["tool_call_id"] = answer.id
    if answer.parts:
        message["images"] = [part.base64 for part in answer.parts]
    return message


class _Responses(Stream):
    """Every call comes whole; what was said before the first goes with it."""

    def __init__(self, wire: Ollama) -> None:
        super().__init__(wire)
        self._ollama = wire
        self._heard: JSONObject = {}
        self._ids: set[str] = set()

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one piece of a response."""
        message = event.get("message")
        if not isinstance(message, dict):
            return []
        for key, value in self._ollama.said(message).items():
            before = self._heard.get(key)
            is_more = isinstance(before, str) and isinstance(value, str)
            self._heard[key] = f"{before}{value}" if is_more else value
        calls = message.get("tool_calls")
        done: list[ToolCall] = []
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                done.append(self._ollama.read_call(self.count, call, None if self.count else {**self._heard}))
                self.count += 1
        return no_twins(done, self._ids)


WIRE: Final = Ollama()
