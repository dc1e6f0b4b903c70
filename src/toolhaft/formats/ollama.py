"""Ollama's own chat API: calls arrive whole, without ids. Use `openai_chat` for its OpenAI endpoint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatFormat, ChatStream
from toolhaft.formats.message_parts import arguments_object, is_supported_file, result_text, unique_ids
from toolhaft.formats.names import is_generated_id
from toolhaft.formats.provider_format import (
    Media,
    OutgoingCall,
    OutgoingResult,
    RequestSettings,
    ToolDeclaration,
)
from toolhaft.formats.subset.target import Subset
from toolhaft.schema.json_value import JSONObject, JSONValue

_SUBSET: Final = Subset(
    keywords=frozenset(("description", "enum", "items", "properties", "required", "type")),
    refs="inline",
    recursion="unroll",
    tuples="widen",
    nested="describe",
    declared_required=True,
    root="flatten",
    root_banned=frozenset(("enum", "items")),
)
"""The part of a schema that its SDK sends; it drops the rest silently."""
_IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/webp"))


class _OllamaStream(ChatStream):
    """Calls arrive whole; the text before the first call is stored with it."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one piece of a response."""
        message = event.get("message")
        if not isinstance(message, dict):
            return []
        self.collect_fields(message)
        calls = message.get("tool_calls")
        done: list[ToolCall] = []
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                fields = None if self.count else self.provider.other_fields(self.fields)
                done.append(self.provider.read_call(self.count, call, fields))
                self.count += 1
        return unique_ids(done, self.ids)


class Ollama(ChatFormat):
    """`tools`; messages with `tool_calls`, and of role `tool` with a `tool_name`."""

    name = "ollama"
    call_start = re.compile(r'"tool_calls"\s*:')
    has_whole_events = True
    loose_subset = _SUBSET
    stream_type = _OllamaStream
    parts = frozenset(("image",))
    reason_key = "done_reason"
    plain_call_keys = 1
    empty_message = {"content": ""}  # noqa: RUF012 -- read only

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """A function; the description of its schema moves to its own description."""
        about = tool.schema.get("description")
        if isinstance(about, str):
            schema = {key: value for key, value in tool.schema.items() if key != "description"}
            text = tool.description if about in tool.description else f"{tool.description}\n\n{about}"
            tool = tool._replace(description=text, schema=schema)
        return super().write_tool(tool)

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:  # noqa: ARG002 -- it has no settings
        """The one field of a request."""
        return {"tools": tools}

    def is_event(self, value: JSONObject) -> bool:
        """True for a piece of a streamed response, which looks like a whole one."""
        return "message" in value and "role" not in value

    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """One message of the assistant, without ids that Toolhaft generated."""
        (message,) = super().write_calls(calls)
        written = message["tool_calls"]
        for call, written_call in zip(calls, written if isinstance(written, list) else [], strict=True):
            if isinstance(written_call, dict) and is_generated_id(call.id):
                del written_call["id"]
        return [message]

    def write_call(self, call: OutgoingCall) -> JSONObject:
        """A call of the history, without its id."""
        return {"function": {"name": call.name, "arguments": arguments_object(call)}}

    def supports_part(self, part: Media) -> bool:
        """True for an image with data; the server fetches no URLs."""
        return part.kind == "image" and is_supported_file(part, _IMAGES)

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One message per result, in the order of the calls."""
        return [_result(result) for result in results]


def _result(result: OutgoingResult) -> JSONObject:
    message: JSONObject = {"role": "tool", "tool_name": result.name, "content": result_text(result)}
    if not is_generated_id(result.id):
        message["tool_call_id"] = result.id
    if result.parts:
        message["images"] = [part.base64 for part in result.parts]
    return message


FORMAT: Final = Ollama()
