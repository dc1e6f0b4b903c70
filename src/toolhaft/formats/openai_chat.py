"""OpenAI's Chat Completions: functions and free-form tools, calls with text arguments, results as text.

Knows this wire alone; servers that copy it (Groq, Together and others) take the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import ChatWire, read_function, write_function
from toolhaft.formats.choices import ALL_FORMS, Choice
from toolhaft.formats.chunks import Chunks
from toolhaft.formats.names import rule
from toolhaft.formats.openai_pieces import (
    FREE_FORM_SCHEMA,
    free_form_text,
    grammar_of,
    read_grammar,
    shows,
    told_of_free_form,
)
from toolhaft.formats.openai_strict import LOOSE, STRICT
from toolhaft.formats.shapes import Shape
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.formats.wire import (
    CUT,
    Answer,
    Declared,
    Imported,
    Media,
    Piece,
    Setting,
    Stream,
    WireCall,
    broken_call,
)
from toolhaft.formats.writing import address, document_text, is_taken, request_fields, spoken
from toolhaft.schema.json_value import JSONObject, JSONValue

_SOUNDS: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_FILES: Final = frozenset(("application/pdf",))


class OpenAIChat(ChatWire):
    """`tools`, `tool_choice`, `parallel_tool_calls`; messages with `tool_calls`, and of role `tool`."""

    name = "openai_chat"
    beginning = re.compile(r'"tool_calls"\s*:')
    needs_properties = True
    call_ids = rule("!-~", 40)  # longer ones were refused until 2025; what they are made of is free
    has_strict = True
    hints = frozenset(("free_form",))
    choices = ALL_FORMS
    has_parallel = True
    parts = frozenset(("image", "audio", "document"))
    cut_reasons = frozenset(("length", "content_filter"))
    left_behind = frozenset(("role", "tool_calls", "annotations", "function_call"))  # no place in history
    silence = {"content": None}  # noqa: RUF012 -- read only

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has one dialect
        """Any schema but for its root, or the strict subset."""
        return STRICT if strict else LOOSE

    def write_tool(self, tool: Declared) -> JSONObject:
        """A function, or a free-form tool."""
        if tool.hints.get("free_form"):
            return {"type": "custom", "custom": _custom(tool)}
        written = write_function(tool)
        if tool.strict and isinstance(written["function"], dict):
            written["function"]["strict"] = True
        return written

    def told(self, tool: Declared) -> Sequence[SchemaLoss]:
        """What a free-form tool cannot show."""
        return told_of_free_form(tool) if tool.hints else ()

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The three fields of a request."""
        choice = None if setting.choice is None else _choice(setting.choice, setting.free_form)
        return request_fields(tools, choice, parallel=setting.parallel)

    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """Functions and free-form tools."""
        for tool in payload.members("tools"):
            if tool.object().get("type") == "custom":
                yield _read_custom(tool.need("custom"))
            else:
                yield read_function(tool, "'function' or 'custom'")

    def kept(self, call: JSONObject, said: JSONObject | None) -> JSONObject:
        """What must go back with the call; a sound that was made beside it goes back by its id alone."""
        sound = None if said is None else said.get("audio")
        if isinstance(sound, dict):
            said = {**(said or {}), "audio": {"id": sound.get("id")}}
        return super().kept(call, said)

    def read_other(self, number: int, call: JSONObject, said: JSONObject | None) -> ToolCall:
        """A call of a free-form tool."""
        custom = call.get("custom")
        if not isinstance(custom, dict):
            return super().read_other(number, call, said)
        extras = {self.name: {**self.kept(call, said), "type": "custom"}}
        given = custom.get("input")
        arguments = {"input": given} if isinstance(given, str) else given
        return self.call(number, call.get("id"), custom.get("name"), arguments, extras)

    def cut_short(self, made: ToolCall, call: JSONValue) -> ToolCall:
        """The last call of a message that ended too soon; free text is never known to be whole."""
        custom = call.get("custom") if isinstance(call, dict) else None
        if not isinstance(custom, dict):
            return super().cut_short(made, call)
        given = custom.get("input")
        return broken_call(made.id, made.name, given if isinstance(given, str) else "", CUT, made.extras)

    def is_event(self, value: JSONObject) -> bool:
        """True for a chunk."""
        choices = value.get("choices")
        if value.get("object") == "chat.completion.chunk" or choices == []:
            return True
        first = choices[0] if isinstance(choices, list) else None
        return isinstance(first, dict) and "delta" in first

    def stream(self) -> Stream:
        """Deltas, joined by their index."""
        return _FreeChunks(self)

    def write_call(self, call: WireCall) -> JSONObject:
        """A call of a function, or of a free-form tool."""
        if call.is_free_form or call.extras.get("type") == "custom":
            return {"type": "custom", "custom": {"name": call.name, "input": free_form_text(call)}}
        return super().write_call(call)

    def carries(self, part: Media) -> bool:
        """True for a part that a message of the user can show."""
        if part.kind == "audio":
            return is_taken(part, _SOUNDS)
        is_read = part.kind == "document" and (part.text is not None or is_taken(part, _FILES))
        return is_read or shows(part)

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- it has one dialect
        """A message a result; what is not text follows in one message of the user, as this wire wants it."""
        messages: list[JSONObject] = [
            {"role": "tool", "tool_call_id": answer.id, "content": spoken(answer)} for answer in answers
        ]
        shown: list[JSONValue] = []
        for answer in answers:
            if answer.parts:
                shown.append({"type": "text", "text": f"From {answer.name} ({answer.id}):"})
                shown += [_part(part) for part in answer.parts]
        return [*messages, {"role": "user", "content": shown}] if shown else messages


def _custom(tool: Declared) -> JSONObject:
    custom: JSONObject = {"name": tool.name, "description": tool.description}
    grammar = grammar_of(tool.hints["free_form"])
    if grammar is not None:
        custom["format"] = {"type": "grammar", "grammar": grammar}
    return custom


def _read_custom(custom: Shape) -> Imported:
    form = custom.maybe_object("format") or {}
    return Imported(
        custom.need("name").text(),
        custom.maybe_text("description"),
        FREE_FORM_SCHEMA,
        custom.path,
        {},
        {"free_form": read_grammar(form.get("grammar"))},
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
        return {"type": "image_url", "image_url": {"url": address(part)}}
    if part.kind == "audio":
        sound: JSONObject = {"data": part.base64, "format": _SOUNDS[part.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    name = part.name if part.kind == "document" else ""
    return {"type": "file", "file": {"filename": name or "document", "file_data": address(part)}}


class _FreeChunks(Chunks):
    """The chunks of this wire, in which free-form calls come too."""

    def __init__(self, wire: OpenAIChat) -> None:
        super().__init__(wire)
        self._free: set[int] = set()

    def part(self, piece: Piece, call: JSONObject) -> JSONValue:
        """The arguments, or the free text, that a delta brings."""
        custom = call.get("custom")
        if not isinstance(custom, dict):
            return super().part(piece, call)
        self._free.add(piece.number)
        piece.name = piece.name or custom.get("name")
        return custom.get("input")

    def whole(self, piece: Piece) -> JSONObject:
        """The call as a whole message has it."""
        call = super().whole(piece)
        if piece.number in self._free:
            function = call.pop("function")
            name = function.get("name") if isinstance(function, dict) else None
            call["custom"] = {"name": name, "input": "".join(piece.arguments)}
        return call

    def is_whole(self, piece: Piece) -> bool:
        """True if the arguments can have no more to them; free text may always go on."""
        return piece.number not in self._free and super().is_whole(piece)


WIRE: Final = OpenAIChat()
