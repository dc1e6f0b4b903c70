"""OpenAI's Chat Completions: functions, free-form tools, `tool_calls`, `tool` messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatChunkStream, ChatFormat, read_function
from toolhaft.formats.choices import ALL_FORMS, Choice
from toolhaft.formats.losses import SchemaLoss
from toolhaft.formats.message_parts import (
    data_url,
    document_text,
    is_supported_file,
    request_fields,
    result_text,
)
from toolhaft.formats.names import rule
from toolhaft.formats.openai_shared import (
    FREE_FORM_SCHEMA,
    LOOSE,
    STRICT,
    free_form_losses,
    free_form_text,
    grammar_of,
    read_grammar,
    supports_image,
)
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.provider_format import (
    TRUNCATED,
    ImportedTool,
    Media,
    OutgoingCall,
    OutgoingResult,
    PartialCall,
    ReadTool,
    RequestSettings,
    ToolDeclaration,
    kept_fields,
    malformed_call,
    read_each,
)
from toolhaft.schema.json_value import JSONObject, JSONValue

_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_FILES: Final = frozenset(("application/pdf",))
_CUSTOM_KEYS: Final = frozenset(("name", "description", "format"))


class _FreeFormStream(ChatChunkStream):
    """Chunks with calls of functions and of free-form tools."""

    def __init__(self, provider: OpenAIChat) -> None:
        super().__init__(provider)
        self._free: set[int] = set()

    def part(self, piece: PartialCall, call: JSONObject) -> JSONValue:
        """The arguments, or the free text, in a delta."""
        custom = call.get("custom")
        if not isinstance(custom, dict):
            return super().part(piece, call)
        self._free.add(piece.number)
        piece.name = piece.name or custom.get("name")
        return custom.get("input")

    def whole(self, piece: PartialCall) -> JSONObject:
        """The call as a whole message would have it."""
        call = super().whole(piece)
        if piece.number in self._free:
            function = call.pop("function")
            name = function.get("name") if isinstance(function, dict) else None
            call["custom"] = {"name": name, "input": "".join(piece.arguments)}
        return call

    def is_whole(self, piece: PartialCall) -> bool:
        """True if the arguments are complete; free text may always continue."""
        return piece.number not in self._free and super().is_whole(piece)


class OpenAIChat(ChatFormat):
    """`tools`, `tool_choice`, `parallel_tool_calls`; messages with `tool_calls`, and of role `tool`."""

    name = "openai_chat"
    call_start = re.compile(r'"tool_calls"\s*:')
    needs_properties = True
    call_ids = rule("!-~", 40)  # longer ids were refused until 2025; any characters are accepted
    loose_subset = LOOSE
    strict_subset = STRICT
    stream_type = _FreeFormStream
    has_strict_field = True
    hints = frozenset(("free_form",))
    choices = ALL_FORMS
    has_parallel = True
    parts = frozenset(("image", "audio", "document"))
    truncation_reasons = frozenset(("length", "content_filter"))
    ignored_keys = frozenset(
        ("role", "tool_calls", "annotations", "function_call")
    )  # not accepted in a history
    empty_message = {"content": None}  # noqa: RUF012 -- read only

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """A function, or a free-form tool."""
        if tool.hints.get("free_form"):
            return {"type": "custom", "custom": _custom(tool)}
        return super().write_tool(tool)

    def tool_losses(self, tool: ToolDeclaration) -> Sequence[SchemaLoss]:
        """The losses of a free-form tool."""
        return free_form_losses(tool) if tool.hints else ()

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The three fields of a request."""
        choice = None if settings.choice is None else _choice(settings.choice, settings.free_form)
        return request_fields(tools, choice, parallel=settings.parallel)

    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """Functions, free-form tools, and the provider's own tools."""
        return read_each(payload.members("tools"), _read_tool)

    def call_extras(self, call: JSONObject, message_fields: JSONObject | None) -> JSONObject:
        """The extras of a call; the audio of its message is sent back by its id only."""
        sound = None if message_fields is None else message_fields.get("audio")
        if isinstance(sound, dict):
            message_fields = {**(message_fields or {}), "audio": {"id": sound.get("id")}}
        return super().call_extras(call, message_fields)

    def read_other(self, number: int, call: JSONObject, message_fields: JSONObject | None) -> ToolCall:
        """A call of a free-form tool."""
        custom = call.get("custom")
        if not isinstance(custom, dict):
            return super().read_other(number, call, message_fields)
        extras = {self.name: {**self.call_extras(call, message_fields), "type": "custom"}}
        arguments = custom.get("input")
        arguments = {"input": arguments} if isinstance(arguments, str) else arguments
        return self.call(number, call.get("id"), custom.get("name"), arguments, extras)

    def mark_truncated(self, decoded: ToolCall, call: JSONValue) -> ToolCall:
        """The last call of a truncated message; the text of a free-form call may be incomplete."""
        custom = call.get("custom") if isinstance(call, dict) else None
        if not isinstance(custom, dict):
            return super().mark_truncated(decoded, call)
        arguments = custom.get("input")
        return malformed_call(
            decoded.id,
            decoded.name,
            arguments if isinstance(arguments, str) else "",
            TRUNCATED,
            decoded.extras,
        )

    def is_event(self, value: JSONObject) -> bool:
        """True for a chunk."""
        choices = value.get("choices")
        if value.get("object") == "chat.completion.chunk" or choices == []:
            return True
        first = choices[0] if isinstance(choices, list) else None
        return isinstance(first, dict) and "delta" in first

    def write_call(self, call: OutgoingCall) -> JSONObject:
        """A call of a function, or of a free-form tool."""
        if call.is_free_form or call.extras.get("type") == "custom":
            return {"type": "custom", "custom": {"name": call.name, "input": free_form_text(call)}}
        return super().write_call(call)

    def supports_part(self, part: Media) -> bool:
        """True for a part that a user message can contain."""
        if part.kind == "audio":
            return is_supported_file(part, _AUDIO_FORMATS)
        is_read = part.kind == "document" and (part.text is not None or is_supported_file(part, _FILES))
        return is_read or supports_image(part)

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One message per result; media follow in one user message, since `tool` messages are text."""
        messages: list[JSONObject] = [
            {"role": "tool", "tool_call_id": result.id, "content": result_text(result)} for result in results
        ]
        shown: list[JSONValue] = []
        for result in results:
            if result.parts:
                shown.append({"type": "text", "text": f"From {result.name} ({result.id}):"})
                shown += [_part(part) for part in result.parts]
        return [*messages, {"role": "user", "content": shown}] if shown else messages


def _custom(tool: ToolDeclaration) -> JSONObject:
    custom: JSONObject = {"name": tool.name, "description": tool.description}
    grammar = grammar_of(tool.hints["free_form"])
    if grammar is not None:
        custom["format"] = {"type": "grammar", "grammar": grammar}
    return custom


def _read_tool(tool: PayloadCursor) -> ReadTool:
    is_custom = tool.object().get("type") == "custom"
    return _read_custom(tool, tool.need("custom")) if is_custom else read_function(tool)


def _read_custom(tool: PayloadCursor, custom: PayloadCursor) -> ImportedTool:
    grammar = read_grammar((custom.maybe_object("format") or {}).get("grammar"))
    read = _CUSTOM_KEYS if isinstance(grammar, dict) else _CUSTOM_KEYS - {"format"}
    inside = kept_fields(custom.object(), read, "description")
    more = kept_fields(tool.object(), ("type", "custom"))
    if inside:
        more["custom"] = inside
    return ImportedTool(
        custom.need("name").text(),
        custom.maybe_text("description"),
        FREE_FORM_SCHEMA,
        custom.path,
        {},
        {"free_form": grammar},
        more,
    )


def _choice(choice: Choice, free_form: frozenset[str]) -> JSONValue:
    if choice.tools is None or choice.mode == "none":
        return choice.mode
    named: list[JSONValue] = []
    for name in choice.tools:
        kind = "custom" if name in free_form else "function"
        named.append({"type": kind, kind: {"name": name}})
    if choice.form == "one":
        return named[0]
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": named}}


def _part(part: Media) -> JSONObject:
    text = document_text(part)
    if text is not None:
        return {"type": "text", "text": text}
    if part.kind == "image":
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    if part.kind == "audio":
        sound: JSONObject = {"data": part.base64, "format": _AUDIO_FORMATS[part.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    name = part.name if part.kind == "document" else ""
    return {"type": "file", "file": {"filename": name or "document", "file_data": data_url(part)}}


FORMAT: Final = OpenAIChat()
