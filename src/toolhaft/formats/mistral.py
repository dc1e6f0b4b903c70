"""Mistral's Chat API: functions, `tool_calls` with ids of nine characters, content in chunks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatChunkStream, ChatFormat
from toolhaft.formats.choices import Choice, Form
from toolhaft.formats.message_parts import (
    IMAGES,
    WEB,
    data_url,
    document_text,
    is_supported_file,
    request_fields,
    result_text,
)
from toolhaft.formats.names import NINE_CHARACTERS
from toolhaft.formats.openai_shared import LOOSE, STRICT
from toolhaft.formats.provider_format import (
    Media,
    OutgoingCall,
    OutgoingResult,
    RequestSettings,
)
from toolhaft.schema.json_value import JSONObject, JSONValue

_NO_ID: Final = "null"  # the SDK writes this for a missing id
_FILES: Final[Mapping[str, frozenset[str]]] = {
    "image": IMAGES,
    "audio": frozenset(("audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "audio/flac", "audio/ogg")),
    "document": frozenset(
        (
            "application/pdf",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        )
    ),
}


class _MistralStream(ChatChunkStream):
    """Mistral's chunks, whose content may itself be a list of chunks."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one chunk, plain or wrapped by the SDK."""
        inner = event.get("data")
        return super().feed(inner if isinstance(inner, dict) else event)

    def collect_fields(self, delta: JSONObject) -> None:
        """Add the other fields of the message."""
        content = delta.get("content")
        before = self.fields.get("content")
        if isinstance(content, list) or isinstance(before, list):
            joined = _as_chunks(before)
            for chunk in _as_chunks(content):
                _join(joined, chunk)
            self.fields["content"] = joined
            delta = {key: value for key, value in delta.items() if key != "content"}
        super().collect_fields(delta)

    def id_of(self, call: JSONObject) -> JSONValue:
        """The id in a delta."""
        id = call.get("id")
        return None if id == _NO_ID else id


class Mistral(ChatFormat):
    """`tools`, `tool_choice`, `parallel_tool_calls`; messages with `tool_calls`, and of role `tool`."""

    name = "mistral"
    call_start = re.compile(r'"tool_calls"\s*:')
    needs_properties = True
    call_ids = NINE_CHARACTERS
    loose_subset = LOOSE  # OpenAI's are the narrowest known: Mistral publishes no rules
    strict_subset = STRICT
    stream_type = _MistralStream
    has_strict_field = True
    choices: ClassVar[frozenset[Form]] = frozenset(("auto", "none", "required", "one"))
    has_parallel = True
    parts = frozenset(("image", "audio", "document"))
    truncation_reasons = frozenset(("length", "model_length", "error"))
    ignored_keys = frozenset(("role", "tool_calls", "index", "metadata", "tool_call_id"))
    plain_call_keys = 4
    empty_message = {"content": ""}  # noqa: RUF012 -- read only

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The three fields of a request."""
        choice = None if settings.choice is None else _choice(settings.choice)
        return request_fields(tools, choice, parallel=settings.parallel)

    def read_call(self, number: int, call: JSONObject, message_fields: JSONObject | None) -> ToolCall:
        """One call of a message."""
        if call.get("id") == _NO_ID:
            call = {**call, "id": None}
        return super().read_call(number, call, message_fields)

    def is_event(self, value: JSONObject) -> bool:
        """True for a chunk, plain or wrapped by the SDK."""
        inner = value.get("data")
        choices = (inner if isinstance(inner, dict) else value).get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        return isinstance(inner, dict) or (isinstance(first, dict) and "delta" in first)

    def write_call(self, call: OutgoingCall) -> JSONObject:
        """A call of the history, with its arguments unchanged."""
        return {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}

    def supports_part(self, part: Media) -> bool:
        """True for files that a chunk can contain, as data or a web URL, and for any text."""
        if part.kind == "document" and part.text is not None:
            return True
        return is_supported_file(part, _FILES.get(part.kind, ()), WEB)

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One message per result."""
        return [
            {"role": "tool", "tool_call_id": result.id, "name": result.name, "content": _content(result)}
            for result in results
        ]


def _choice(choice: Choice) -> JSONValue:
    if choice.tools is not None and choice.form == "one":
        return {"type": "function", "function": {"name": choice.tools[0]}}
    return choice.mode


def _content(result: OutgoingResult) -> JSONValue:
    text = result_text(result)
    if not result.parts:
        return text
    chunks: list[JSONValue] = [{"type": "text", "text": text}] if text else []
    return chunks + [_chunk(part) for part in result.parts]


def _chunk(part: Media) -> JSONObject:
    text = document_text(part)
    if text is not None:
        return {"type": "text", "text": text}
    if part.kind == "image":
        return {"type": "image_url", "image_url": data_url(part)}
    if part.kind == "audio":
        return {"type": "input_audio", "input_audio": part.base64 if part.url is None else part.url}
    name = part.name if part.kind == "document" else ""
    named: JSONObject = {"document_name": name} if name else {}
    return {"type": "document_url", "document_url": data_url(part), **named}


def _as_chunks(content: JSONValue) -> list[JSONValue]:
    if isinstance(content, list):
        return list(content)
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def _join(chunks: list[JSONValue], chunk: JSONValue) -> None:
    """Append a chunk, joined to the last one if both are text or both are thinking."""
    last = chunks[-1] if chunks else None
    if isinstance(last, dict) and isinstance(chunk, dict) and last.get("type") == chunk.get("type"):
        text, more = last.get("text"), chunk.get("text")
        if isinstance(text, str) and isinstance(more, str):
            chunks[-1] = {**last, **chunk, "text": text + more}
            return
        thoughts, further = last.get("thinking"), chunk.get("thinking")
        if isinstance(thoughts, list) and isinstance(further, list):
            joined = list(thoughts)
            for thought in further:
                _join(joined, thought)
            chunks[-1] = {**last, **chunk, "thinking": joined}
            return
    chunks.append(chunk)


FORMAT: Final = Mistral()
