"""Anthropic's Messages API: tools with schemas and examples, `tool_use` blocks, `tool_result` blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic_core import from_json, to_json

from toolhaft.core.call import ToolCall
from toolhaft.formats.blocks import BlockCall, BlockFormat, BlockStream, PartialBlock, block_fields
from toolhaft.formats.choices import Choice
from toolhaft.formats.hints import (
    CACHE_CONTROL,
    FLAG,
    HintRules,
    accepted_hints,
    dropped_hint,
    known_words,
    read_hints,
    rejected_hints,
    surplus_cache_points,
)
from toolhaft.formats.losses import SchemaLoss
from toolhaft.formats.message_parts import IMAGES, WEB, arguments_object, as_object, is_supported_file
from toolhaft.formats.names import WORD, rule
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.provider_format import (
    ImportedTool,
    Media,
    OutgoingCall,
    OutgoingResult,
    ProviderTool,
    ReadTool,
    RequestSettings,
    ToolDeclaration,
    kept_fields,
    read_each,
)
from toolhaft.formats.subset.target import COMBINATORS, STRICT_KEYWORDS, Subset
from toolhaft.schema.json_value import JSONObject, JSONValue

_ROOT_KEYS: Final = "[a-zA-Z0-9_.-]{1,64}"

LOOSE: Final = Subset(root="flatten", root_banned=COMBINATORS, root_keys=_ROOT_KEYS)
"""Any JSON Schema with a plain object at its root."""

STRICT: Final = Subset(
    keywords=STRICT_KEYWORDS | {"default", "minItems"},
    formats=frozenset(
        ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
    ),
    ref_siblings=False,
    recursion="refuse",
    any="refuse",
    closed=True,
    maps="pairs",
    tuples="object",
    enums="scalar",
    patterns="plain",
    min_items=1,
    items_needed=True,
    root="wrap",
    root_banned=COMBINATORS,
    root_keys=_ROOT_KEYS,
)
"""Optional parameters are not made nullable: they would count as unions, whose number is limited."""


class AnthropicStream(BlockStream):
    """The events of one streamed message."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one event."""
        index = event.get("index")
        key = index if isinstance(index, int) else None
        match event.get("type"):
            case "content_block_start":
                return self._begin(key, event.get("content_block"))
            case "content_block_delta":
                delta = event.get("delta")
                if isinstance(delta, dict):
                    self._delta(key, delta)
            case "content_block_stop":
                return self.end_block(key)
            case "message_delta":
                delta = event.get("delta")
                reason = delta.get("stop_reason") if isinstance(delta, dict) else None
                return self.release(is_truncated=self.provider.is_truncated(reason)) if reason else []
            case "message_stop":
                done = self.release()
                self.finish()
                return done
            case _:
                pass
        return []

    def _begin(self, key: object, block: JSONValue) -> list[ToolCall]:
        if not isinstance(block, dict):
            return []
        block_call = self.provider.block_call(block)
        return self.begin_other(key, dict(block)) if block_call is None else self.begin_call(key, block_call)

    def _delta(self, key: object, delta: JSONObject) -> None:
        partial = self.partial_blocks.get(key)
        if partial is None:
            self.add(key, delta.get("partial_json"))
            return
        match delta.get("type"):
            case "input_json_delta":
                partial.add("input", delta.get("partial_json"))
            case "citations_delta":
                partial.add("citations", delta.get("citation"))
            case _:
                for name, piece in delta.items():
                    if name != "type":
                        partial.add(name, piece)

    def assemble(self, partial: PartialBlock) -> None:
        """Joins text, lists citations, and parses the input of a server tool."""
        for name, pieces in partial.pieces.items():
            if name == "citations":
                partial.block[name] = [*pieces]
            elif name == "input":
                partial.block[name] = as_object(partial.text(name)) or {}
            else:
                partial.block[name] = partial.text(name)


_CALLER: Final = re.compile("direct|code_execution_[0-9]{8}")
_HINTS: Final[HintRules] = {
    "allowed_callers": known_words(
        "'direct' or 'code_execution_<date>'", lambda word: _CALLER.fullmatch(word) is not None
    ),
    "eager_input_streaming": FLAG,
    "defer_loading": FLAG,
    "cache_control": CACHE_CONTROL,
}
_OWN: Final = frozenset(("type", "id", "name", "input"))
_TOOL_KEYS: Final = frozenset(("name", "description", "input_schema", "input_examples"))
_CUSTOM_KEYS: Final = frozenset(("function", "input_schema", "parameters", "inputSchema"))
"""A tool with a schema is not one that Anthropic defines."""
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


class Anthropic(BlockFormat):
    """`tools` and `tool_choice`; messages whose `content` is a list of blocks."""

    name = "anthropic"
    call_start = re.compile("content_block_start.*tool_use")
    tool_names = rule(WORD, 128)
    call_ids = rule(WORD, 256)
    loose_subset = LOOSE
    strict_subset = STRICT
    stream_type = AnthropicStream
    arranges = True
    fields = frozenset(("examples",))
    examples_field = "input_examples"
    hints = frozenset(_HINTS)
    choices = frozenset(("auto", "none", "required", "one"))
    has_parallel = True
    parts = frozenset(("image", "document"))
    truncation_reasons = frozenset(("max_tokens", "model_context_window_exceeded", "refusal"))

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """A client tool."""
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

    def tool_losses(self, tool: ToolDeclaration) -> Sequence[SchemaLoss]:
        """Losses of hints that are invalid or exclude each other."""
        if not tool.hints:
            return ()
        hints = _hints(tool.hints)
        found = rejected_hints(tool.hints, _HINTS)
        if "cache_control" in accepted_hints(tool.hints, _HINTS) and "cache_control" not in hints:
            found.append(dropped_hint("cache_control", "a deferred tool is not cached"))
        if tool.strict and _is_programmatic(hints):
            why = "strict tools cannot be called from code"
            found.append(SchemaLoss("", "strict", "checked locally", why))
        return found

    def arrange(self, tools: Sequence[tuple[JSONObject, bytes]]) -> list[bytes]:
        """The tools, with as many deferred and cached as the server accepts."""
        written = [tool for _, tool in tools]
        accepted = [_hints(hints) for hints, _ in tools]
        if _all_deferred(accepted):
            written[0] = _without(written[0], "defer_loading")
        for number in surplus_cache_points(accepted):
            written[number] = _without(written[number], "cache_control")
        return written

    def joint_losses(self, hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
        """The loss of `defer_loading` if all tools are deferred, else of the cache points over the limit."""
        accepted = [_hints(hint) for hint in hints]
        if _all_deferred(accepted):
            return {0: dropped_hint("defer_loading", "at least one tool must be loaded immediately")}
        return surplus_cache_points(accepted)

    def parallel_only_reason(self, hints: Sequence[JSONObject]) -> str | None:
        """The reason for tools that code may call: the server refuses them in requests for single calls."""
        is_code = any(_is_programmatic(_hints(hint)) for hint in hints)
        return "tools that code may call cannot be called one at a time" if is_code else None

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The two fields of a request."""
        fields: JSONObject = {"tools": tools}
        if settings.choice is not None or settings.parallel is not None:
            fields["tool_choice"] = _choice(settings.choice or Choice(), settings.parallel)
        return fields

    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """Custom tools, and those that Anthropic defines."""
        return read_each(payload.members("tools"), _read_tool)

    def read_calls(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of a response, of a message, of several, or of a list of blocks."""
        body = message.value
        if type(body) is dict:
            blocks = body.get("content")
            if type(blocks) is list:
                return self.read_blocks(blocks, "content", body.get("stop_reason"))
            if body.get("type") in ("tool_use", "server_tool_use"):
                return self.read_blocks([body])
            if not isinstance(blocks, str):
                message.need("content").fail("a list of blocks")
            return []
        return self.read_list(list(message.items("a message, or a list of blocks")))

    def block_call(self, block: JSONObject) -> BlockCall | None:
        """The call of a `tool_use` block."""
        if block.get("type") != "tool_use":
            return None
        fields: JSONObject | None = None
        if len(block) > len(_OWN):  # `caller` and `toolset_name`
            fields = {key: value for key, value in block.items() if key not in _OWN and value is not None}
        return block.get("id"), block.get("name"), block.get("input"), fields

    def is_blank(self, block: JSONValue) -> bool:
        """True for blank text."""
        if not isinstance(block, dict) or block.get("type") != "text":
            return False
        text = block.get("text")
        return not isinstance(text, str) or not text.strip()

    def cleaned(self, block: JSONValue) -> JSONValue:
        """The block without the nulls that an SDK adds; the API itself sends a null `content`."""
        if not isinstance(block, dict) or None not in block.values():
            return block
        return {key: value for key, value in block.items() if value is not None or key == "content"}

    def write_block(self, call: OutgoingCall) -> JSONObject:
        """A `tool_use` block."""
        block: JSONObject = {"type": "tool_use", "id": call.id, "name": call.name}
        return {**block, "input": arguments_object(call), **block_fields(call.extras)}

    def is_event(self, value: JSONObject) -> bool:
        """True for an event."""
        kind = value.get("type")
        return isinstance(kind, str) and kind in _EVENTS

    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """One message of the assistant."""
        return [{"role": "assistant", "content": self.write_blocks(calls)}]

    def supports_part(self, part: Media) -> bool:
        """True for an image or a PDF, as data or a web URL, and for text that is not blank."""
        if part.kind == "document" and part.text is not None:
            return bool(part.text.strip())
        return is_supported_file(part, _FILES.get(part.kind, ()), WEB)

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One user message with one block per result."""
        return [{"role": "user", "content": [_result(result) for result in results]}]


def _read_tool(tool: PayloadCursor) -> ImportedTool | ProviderTool:
    body = tool.object()
    kind = tool.maybe_text("type")
    if kind not in (None, "custom"):
        if not _CUSTOM_KEYS.isdisjoint(body):
            tool.need("type").fail("'custom', or no type")
        return ProviderTool(tool.maybe_text("name") or str(kind), body, tool.path)
    examples = tool.get("input_examples")
    hints = read_hints(body, _HINTS)
    return ImportedTool(
        tool.need("name").text(),
        tool.maybe_text("description"),
        tool.need("input_schema").object("a JSON Schema"),
        tool.path,
        {}
        if examples is None
        else {"examples": [{"input": example.object()} for example in examples.items()]},
        hints,
        kept_fields(body, {*_TOOL_KEYS, *hints}, "description"),
    )


def _hints(declared: JSONObject) -> JSONObject:
    """The hints of one tool that can be sent."""
    hints = accepted_hints(declared, _HINTS)
    if hints.get("defer_loading") is True:
        hints.pop("cache_control", None)
    return hints


def _without(tool: bytes, hint: str) -> bytes:
    """A written tool without one of its hints."""
    return to_json({key: value for key, value in from_json(tool).items() if key != hint})


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


def _result(result: OutgoingResult) -> JSONObject:
    block: JSONObject = {"type": "tool_result", "tool_use_id": result.id}
    text = result.text
    if result.is_error and not text.strip():
        text = result.kind  # an error must have text
    if result.parts:
        content: list[JSONValue] = [{"type": "text", "text": text}] if text.strip() else []
        block["content"] = content + [_part(part) for part in result.parts]
    else:
        block["content"] = text
    if result.is_error:
        block["is_error"] = True
    toolset = block_fields(result.extras).get("toolset_name")
    if toolset is not None:
        block["toolset_name"] = toolset
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


FORMAT: Final = Anthropic()
