"""Mistral's chat: functions, arguments as text or as an object, ids of nine characters, results in chunks.

Knows this wire alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatWire, write_function
from toolhaft.formats.choices import Choice, Form
from toolhaft.formats.chunks import Chunks
from toolhaft.formats.names import NINE
from toolhaft.formats.openai_strict import LOOSE, STRICT
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.wire import Answer, Declared, Media, Setting, Stream, WireCall
from toolhaft.formats.writing import IMAGES, WEB, address, document_text, is_taken, request_fields, spoken
from toolhaft.schema.json_value import JSONObject, JSONValue

_NO_ID: Final = "null"  # what its SDK makes of an id that did not come
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


class Mistral(ChatWire):
    """`tools`, `tool_choice`, `parallel_tool_calls`; messages with `tool_calls`, and of role `tool`."""

    name = "mistral"
    beginning = re.compile(r'"tool_calls"\s*:')
    needs_properties = True
    call_ids = NINE
    needs_ids = False
    has_strict = True
    choices: ClassVar[frozenset[Form]] = frozenset(("auto", "none", "required", "one"))
    has_parallel = True
    parts = frozenset(("image", "audio", "document"))
    cut_reasons = frozenset(("length", "model_length", "error"))
    left_behind = frozenset(("role", "tool_calls", "index", "metadata", "tool_call_id"))
    usual_keys = 4
    silence = {"content": ""}  # noqa: RUF012 -- read only

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has one dialect
        """OpenAI's, the narrowest known: neither what its root may be nor its strict mode is published."""
        return STRICT if strict else LOOSE

    def write_tool(self, tool: Declared) -> JSONObject:
        """A function."""
        written = write_function(tool)
        if tool.strict and isinstance(written["function"], dict):
            written["function"]["strict"] = True
        return written

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The three fields of a request."""
        choice = None if setting.choice is None else _choice(setting.choice)
        return request_fields(tools, choice, parallel=setting.parallel)

    def read_call(self, number: int, call: JSONObject, said: JSONObject | None) -> ToolCall:
        """One call of a message."""
        if call.get("id") == _NO_ID:
            call = {**call, "id": None}
        return super().read_call(number, call, said)

    def is_event(self, value: JSONObject) -> bool:
        """True for a chunk, bare or as its SDK wraps it."""
        inner = value.get("data")
        choices = (inner if isinstance(inner, dict) else value).get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        return isinstance(inner, dict) or (isinstance(first, dict) and "delta" in first)

    def stream(self) -> Stream:
        """Deltas, joined by their index."""
        return _ContentChunks(self)

    def write_call(self, call: WireCall) -> JSONObject:
        """A call of history, its arguments as they came."""
        return {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}

    def carries(self, part: Media) -> bool:
        """True for what a chunk can hold, here or on the web, and for any text."""
        if part.kind == "document" and part.text is not None:
            return True
        return is_taken(part, _FILES.get(part.kind, ()), WEB)

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- it has one dialect
        """A message a result."""
        return [
            {"role": "tool", "tool_call_id": answer.id, "name": answer.name, "content": _content(answer)}
            for answer in answers
        ]


def _choice(choice: Choice) -> JSONValue:
    if choice.tools is not None and choice.form == "one":
        return {"type": "function", "function": {"name": choice.tools[0]}}
    return choice.mode


def _content(answer: Answer) -> JSONValue:
    text = spoken(answer)
    if not answer.parts:
        return text
    chunks: list[JSONValue] = [{"type": "text", "text": text}] if text else []
    return chunks + [_chunk(part) for part in answer.parts]


def _chunk(part: Media) -> JSONObject:
    text = document_text(part)
    if text is not None:
        return {"type": "text", "text": text}
    if part.kind == "image":
        return {"type": "image_url", "image_url": address(part)}
    if part.kind == "audio":
        return {"type": "input_audio", "input_audio": part.base64 if part.url is None else part.url}
    name = part.name if part.kind == "document" else ""
    named: JSONObject = {"document_name": name} if name else {}
    return {"type": "document_url", "document_url": address(part), **named}


class _ContentChunks(Chunks):
    """The chunks of this wire, whose content may be a list of chunks itself."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one chunk, bare or as the SDK wraps it."""
        inner = event.get("data")
        return super().feed(inner if isinstance(inner, dict) else event)

    def hear(self, delta: JSONObject) -> None:
        """Add to what was said beside the calls."""
        content = delta.get("content")
        before = self.heard.get("content")
        if isinstance(content, list) or isinstance(before, list):
            joined = _as_chunks(before)
            for chunk in _as_chunks(content):
                _join(joined, chunk)
            self.heard["content"] = joined
            delta = {key: value for key, value in delta.items() if key != "content"}
        super().hear(delta)

    def id_of(self, call: JSONObject) -> JSONValue:
        """The id that a delta brings."""
        id = call.get("id")
        return None if id == _NO_ID else id


def _as_chunks(content: JSONValue) -> list[JSONValue]:
    if isinstance(content, list):
        return list(content)
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def _join(chunks: list[JSONValue], chunk: JSONValue) -> None:
    """Add a chunk to those before it: more of the last one where both are text, or both are thoughts."""
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


WIRE: Final = Mistral()
