"""Anthropic's Messages: tools with schemas and examples, `tool_use` blocks, `tool_result` blocks.

Knows this wire alone. Thinking, text and blocks of the server's own tools travel beside the calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from pydantic_core import to_json

from toolhaft.core.call import ToolCall
from toolhaft.formats.anthropic_stream import Events
from toolhaft.formats.anthropic_strict import LOOSE, STRICT
from toolhaft.formats.blocks import Asked, BlockWire, said_of
from toolhaft.formats.choices import Choice
from toolhaft.formats.hints import (
    CACHE_CONTROL,
    FLAG,
    Hints,
    left_out_hint,
    not_taken,
    surplus_points,
    taken,
    words_of,
)
from toolhaft.formats.names import WORD, rule
from toolhaft.formats.shapes import Shape
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.formats.wire import Answer, Declared, Imported, Media, Setting, Stream, WireCall
from toolhaft.formats.writing import IMAGES, WEB, arguments_object, is_taken
from toolhaft.schema.json_value import JSONObject, JSONValue

_CALLER: Final = re.compile("direct|code_execution_[0-9]{8}")
_HINTS: Final[Hints] = {  # the last two last: `arrange` may take the end of a tool off again
    "allowed_callers": words_of(
        "'direct' or 'code_execution_<date>'", lambda word: _CALLER.fullmatch(word) is not None
    ),
    "eager_input_streaming": FLAG,
    "defer_loading": FLAG,
    "cache_control": CACHE_CONTROL,
}
_OWN: Final = frozenset(("type", "id", "name", "input"))
_FILES: Final = {"image": IMAGES, "document": frozenset(("application/pdf",))}
_EVENTS: Final = frozenset(
    (
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    )
)
_TYPES: Final = {"auto": "auto", "none": "none", "required": "any"}


class Anthropic(BlockWire):
    """`tools` and `tool_choice`; messages whose `content` is a list of blocks."""

    name = "anthropic"
    beginning = re.compile("content_block_start.*tool_use")
    tool_names = rule(WORD, 128)
    call_ids = rule(WORD, 256)
    has_strict = True
    arranges = True
    fields = frozenset(("examples",))
    hints = frozenset(_HINTS)
    choices = frozenset(("auto", "none", "required", "one"))
    has_parallel = True
    parts = frozenset(("image", "document"))
    cuts = frozenset(("max_tokens", "model_context_window_exceeded", "refusal"))

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has one dialect
        """Any schema but for its root, or the strict subset."""
        return STRICT if strict else LOOSE

    def write_tool(self, tool: Declared) -> JSONObject:
        """A tool of the caller's own."""
        written: JSONObject = {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.schema,
        }
        hints = _hints(tool.hints) if tool.hints else tool.hints
        if tool.strict and not _is_programmatic(hints):
            written["strict"] = True
        if tool.examples:
            written["input_examples"] = [*tool.examples]
        written.update(hints)
        return written

    def told(self, tool: Declared) -> Sequence[SchemaLoss]:
        """Hints that say nothing here, or exclude each other."""
        if not tool.hints:
            return ()
        hints = _hints(tool.hints)
        found = not_taken(tool.hints, _HINTS)
        if "cache_control" in taken(tool.hints, _HINTS) and "cache_control" not in hints:
            found.append(left_out_hint("cache_control", "a deferred tool is not cached"))
        if tool.strict and _is_programmatic(hints):
            why = "code that calls tools calls no strict ones"
            found.append(SchemaLoss("", "strict", "checked locally", why))
        return found

    def arrange(self, tools: Sequence[tuple[JSONObject, bytes]]) -> list[bytes]:
        """The tools one after the other, as many deferred and cached as the server takes."""
        written = [tool for _, tool in tools]
        asked = [_hints(hints) for hints, _ in tools]
        if _all_deferred(asked):
            written[0] = _without(written[0], "defer_loading", asked[0])
        for number in _surplus(asked):
            written[number] = _without(written[number], "cache_control", asked[number])
        return written

    def told_together(self, hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
        """The first of tools that are all deferred, and the first of too many that are cached."""
        asked = [_hints(hint) for hint in hints]
        if _all_deferred(asked):
            return {0: left_out_hint("defer_loading", "one tool must be loaded at once")}
        return _surplus(asked)

    def can_be_single(self, hints: Sequence[JSONObject]) -> str | None:
        """Not where code may call a tool: the server refuses the two together."""
        is_code = any(_is_programmatic(_hints(hint)) for hint in hints)
        return "tools that code may call are not called one at a time" if is_code else None

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The two fields of a request."""
        fields: JSONObject = {"tools": tools}
        if setting.choice is not None or setting.parallel is not None:
            fields["tool_choice"] = _choice(setting.choice or Choice(), setting.parallel)
        return fields

    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """Tools of the caller's own; the server's have no schema to read."""
        for tool in payload.members("tools"):
            kind = tool.get("type")
            if kind is not None and kind.value != "custom":
                kind.fail("'custom': a tool of the server's own has no schema to import")
            examples = tool.get("input_examples")
            yield Imported(
                tool.need("name").text(),
                tool.maybe_text("description"),
                tool.need("input_schema").object("a JSON Schema"),
                tool.path,
                {}
                if examples is None
                else {"examples": [{"input": example.object()} for example in examples.items()]},
                {key: hint.value for key in _HINTS if (hint := tool.get(key)) is not None},
            )

    def read_calls(self, message: Shape) -> list[ToolCall]:
        """The calls of a response, of a message, of several, or of a list of blocks."""
        body = message.value
        if type(body) is dict:
            blocks = body.get("content")
            if type(blocks) is list:
                return self.read_blocks(blocks, "content", is_cut=self.is_cut(body.get("stop_reason")))
            if body.get("type") in ("tool_use", "server_tool_use"):
                return self.read_blocks([body])
            if not isinstance(blocks, str):
                message.need("content").fail("a list of blocks")
            return []
        members = list(message.items("a message, or a list of blocks"))
        if any(isinstance(member.value, dict) and "role" in member.value for member in members):
            return list(chain.from_iterable(self.read_calls(member) for member in members))
        return self.read_blocks([member.value for member in members])

    def asked(self, block: JSONObject) -> Asked | None:
        """What a `tool_use` block asks for."""
        if block.get("type") != "tool_use":
            return None
        said: JSONObject | None = None
        if len(block) > len(_OWN):  # who calls, and of which set of tools
            said = {key: value for key, value in block.items() if key not in _OWN and value is not None}
        return block.get("id"), block.get("name"), block.get("input"), said

    def is_blank(self, block: JSONValue) -> bool:
        """True for text without a word."""
        if not isinstance(block, dict) or block.get("type") != "text":
            return False
        text = block.get("text")
        return not isinstance(text, str) or not text.strip()

    def tidy(self, block: JSONValue) -> JSONValue:
        """A block without the nulls of a dumped object; `content` may be null on the wire too."""
        if not isinstance(block, dict) or None not in block.values():
            return block
        return {key: value for key, value in block.items() if value is not None or key == "content"}

    def write_block(self, call: WireCall) -> JSONObject:
        """A `tool_use` block."""
        given = arguments_object(call)
        return {"type": "tool_use", "id": call.id, "name": call.name, "input": given, **said_of(call.extras)}

    def is_event(self, value: JSONObject) -> bool:
        """True for an event."""
        kind = value.get("type")
        return isinstance(kind, str) and kind in _EVENTS

    def stream(self) -> Stream:
        """Blocks in deltas, joined by their index."""
        return Events(self)

    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """One message of the assistant."""
        return [{"role": "assistant", "content": self.write_blocks(calls)}]

    def carries(self, part: Media) -> bool:
        """True for a picture or a PDF, here or on the web, and for text that is not blank."""
        if part.kind == "document" and part.text is not None:
            return bool(part.text.strip())
        return is_taken(part, _FILES.get(part.kind, ()), WEB)

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- it has one dialect
        """One message of the user with a block a result."""
        return [{"role": "user", "content": [_result(answer) for answer in answers]}]


def _hints(given: JSONObject) -> JSONObject:
    """The hints of one tool as they go out."""
    hints = taken(given, _HINTS)
    if hints.get("defer_loading") is True:
        hints.pop("cache_control", None)
    return hints


def _surplus(hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
    return surplus_points([number for number, hint in enumerate(hints) if "cache_control" in hint])


def _without(tool: bytes, key: str, hints: JSONObject) -> bytes:
    """A written tool without its last hint."""
    return tool.removesuffix(b"," + to_json({key: hints[key]})[1:]) + b"}"


def _all_deferred(hints: Sequence[JSONObject]) -> bool:
    return bool(hints) and all(hint.get("defer_loading") is True for hint in hints)


def _is_programmatic(hints: JSONObject) -> bool:
    callers = hints.get("allowed_callers")
    return isinstance(callers, list) and any(caller != "direct" for caller in callers)


def _choice(choice: Choice, parallel: bool | None) -> JSONObject:  # noqa: FBT001 -- a setting of the request
    form: JSONObject = {"type": _TYPES[choice.mode]}
    if choice.form == "one" and choice.tools:
        form = {"type": "tool", "name": choice.tools[0]}
    if parallel is not None and choice.mode != "none":
        form["disable_parallel_tool_use"] = not parallel
    return form


def _result(answer: Answer) -> JSONObject:
    block: JSONObject = {"type": "tool_result", "tool_use_id": answer.id}
    text = answer.text
    if answer.is_error and not text.strip():
        text = answer.kind  # an error must say something
    if answer.parts:
        said: list[JSONValue] = [{"type": "text", "text": text}] if text.strip() else []
        block["content"] = said + [_part(part) for part in answer.parts]
    else:
        block["content"] = text
    if answer.is_error:
        block["is_error"] = True
    family = said_of(answer.extras).get("toolset_name")
    if family is not None:
        block["toolset_name"] = family
    return block


def _part(part: Media) -> JSONObject:
    source: JSONObject = {"type": "url", "url": part.url}
    if part.kind == "document" and part.text is not None:
        source = {"type": "text", "media_type": "text/plain", "data": part.text}
    elif part.url is None:
        source = {"type": "base64", "media_type": part.media_type, "data": part.base64}
    block: JSONObject = {"type": part.kind, "source": source}
    if part.kind == "document" and part.name:
        block["title"] = part.name
    return block


WIRE: Final = Anthropic()
