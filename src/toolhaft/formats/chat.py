"""Shared by the formats derived from Chat Completions: functions, `tool_calls`, streams of chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.formats.message_parts import (
    arguments_text,
    as_object,
    object_or_empty,
    unique_ids,
    without_nulls,
)
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.provider_format import (
    TRUNCATED,
    ImportedTool,
    OutgoingCall,
    PartialCall,
    ProviderFormat,
    ProviderTool,
    ReadTool,
    Stream,
    ToolDeclaration,
    kept_fields,
    malformed_call,
    read_each,
)
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments

NO_ARGUMENTS: Final[JSONObject] = {"type": "object", "properties": {}}
MESSAGE_KEYS: Final = frozenset(("tool_calls", "role", "content"))
CALL_KEYS: Final = frozenset(("id", "type", "index", "function", "custom"))
_WRAPPED: Final = frozenset(("choices", "message", *MESSAGE_KEYS))
_TOOL_KEYS: Final = frozenset(("type", "function"))
_FUNCTION_KEYS: Final = frozenset(("name", "description", "parameters"))
_OTHER_SCHEMAS: Final = frozenset(("input_schema", "inputSchema", "custom"))
"""Keys of tools in other formats, which no provider's own tool has."""
_EXPECTED: Final = "a response, its message, or a list of calls"


def read_function(tool: PayloadCursor) -> ImportedTool | ProviderTool:
    """A tool from a function declaration, whose type may be missing, or one that the provider defines."""
    body = tool.object()
    kind = tool.maybe_text("type")
    if kind not in (None, "function"):
        if kind == "custom" or not _OTHER_SCHEMAS.isdisjoint(body):
            tool.need("type").fail("'function'")
        return ProviderTool(_provider_name(kind, body), body, tool.path)
    function = tool.need("function")
    parameters = function.maybe_object("parameters")
    inside = kept_fields(function.object(), _FUNCTION_KEYS, "description", "parameters")
    more = kept_fields(body, _TOOL_KEYS, "type")
    if inside:
        more["function"] = inside
    return ImportedTool(
        function.need("name").text(),
        function.maybe_text("description"),
        NO_ARGUMENTS if parameters is None else parameters,
        function.path,
        {},
        {},
        more,
    )


def _provider_name(kind: str | None, body: JSONObject) -> str:
    name = object_or_empty(body.get("function")).get("name")
    return name if isinstance(name, str) and name else str(kind)


class ChatFormat(ProviderFormat):
    """Reads and writes assistant messages; the other fields of a message are stored with its first call."""

    has_strict_field: ClassVar[bool] = False
    """Whether each function declares that it is strict."""
    needs_ids = False  # many servers that copy Chat Completions send none
    reason_key: ClassVar[str] = "finish_reason"
    truncation_reasons: ClassVar[frozenset[str]] = frozenset()
    """The finish reasons of a message that may end in the middle of a call."""
    ignored_keys: ClassVar[frozenset[str]] = frozenset(("role", "tool_calls"))
    """The keys of a message that are not stored with its calls."""
    plain_call_keys: ClassVar[int] = 3
    """The number of keys of a call without extra fields."""
    empty_message: ClassVar[Mapping[str, JSONValue]] = {}
    """The fields of a message that has only calls."""

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """A function."""
        function: JSONObject = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        if tool.strict and self.has_strict_field:
            function["strict"] = True
        return {"type": "function", "function": function}

    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """Functions, and the provider's own tools."""
        return read_each(payload.members("tools"), read_function)

    def read_calls(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of a response, of its message, or of a list of messages or calls."""
        body = message.value
        reason: JSONValue = None
        if not isinstance(body, dict):
            return self._read_list(message)
        if "choices" in body:
            body = _first(message, body["choices"])
        inner = body.get("message")
        if inner is not None and inner != {}:
            reason = body.get(self.reason_key)
            body = _inner(message, inner)
        calls = body.get("tool_calls")
        if not calls:
            if not MESSAGE_KEYS.isdisjoint(body) or self.reason_key in body:  # blocked: without a message
                return []
            return self._read_listed([body], {}, None) if "function" in body else message.fail(_EXPECTED)
        if not isinstance(calls, list):
            _place(message).need("tool_calls").fail("a list of calls")
        return self._read_listed(calls, self.other_fields(body), reason)

    def other_fields(self, body: JSONObject) -> JSONObject:
        """The fields of a message besides its calls."""
        ignored = self.ignored_keys
        fields: JSONObject = {}
        for key, value in body.items():
            if value and key not in ignored:
                fields[key] = value if value.__class__ is str else without_nulls(value)
        return fields

    def read_call(self, number: int, call: JSONObject, message_fields: JSONObject | None) -> ToolCall:
        """One call of a message; `message_fields` are those that are stored with it."""
        function = call.get("function")
        if not isinstance(function, dict):
            return self.read_other(number, call, message_fields)
        extras = None
        if message_fields or len(call) > self.plain_call_keys:
            kept = self.call_extras(call, message_fields)
            extras = {self.name: kept} if kept else None
        return self.call(number, call.get("id"), function.get("name"), function.get("arguments"), extras)

    def read_other(self, number: int, call: JSONObject, message_fields: JSONObject | None) -> ToolCall:  # noqa: ARG002 -- for overrides
        """A call that is not a function call."""
        return self.call(number, call.get("id"), None, call)

    def call_extras(self, call: JSONObject, message_fields: JSONObject | None) -> JSONObject:
        """The extras of a call: everything besides id, name and arguments that must be sent back."""
        extras: JSONObject = {"message": message_fields} if message_fields else {}
        if not CALL_KEYS.issuperset(call):
            own: JSONObject = {key: value for key, value in call.items() if value and key not in CALL_KEYS}
            if own:
                extras["call"] = own
        return extras

    def mark_truncated(self, decoded: ToolCall, call: JSONValue) -> ToolCall:
        """The last call of a truncated message: malformed unless its arguments are complete."""
        if isinstance(decoded.arguments, UnreadArguments):
            return decoded
        arguments = _arguments_of(call)
        if isinstance(arguments, dict) or (arguments is not None and as_object(arguments) is not None):
            return decoded
        return malformed_call(decoded.id, decoded.name, arguments or "", TRUNCATED, decoded.extras)

    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """One message of the assistant."""
        message_fields = next((call.extras["message"] for call in calls if "message" in call.extras), None)
        written: list[JSONValue] = [
            {**object_or_empty(call.extras.get("call")), "id": call.id, **self.write_call(call)}
            for call in calls
        ]
        message: JSONObject = {"role": "assistant", **self.empty_message, **object_or_empty(message_fields)}
        message["tool_calls"] = written
        return [message]

    def write_call(self, call: OutgoingCall) -> JSONObject:
        """A call of the history, without its id."""
        return {"type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}

    def _read_listed(
        self, calls: list[JSONValue], message_fields: JSONObject, reason: JSONValue
    ) -> list[ToolCall]:
        first = calls[0]
        found = [
            self.read_call(0, first, message_fields)
            if isinstance(first, dict)
            else self._read_member(0, first, message_fields)
        ]
        if len(calls) > 1:
            found = unique_ids(
                found + [self._read_member(index, call, None) for index, call in enumerate(calls) if index]
            )
        if isinstance(reason, str) and reason in self.truncation_reasons:
            found[-1] = self.mark_truncated(found[-1], calls[-1])
        return found

    def _read_member(self, number: int, call: JSONValue, message_fields: JSONObject | None) -> ToolCall:
        return (
            self.read_call(number, call, message_fields)
            if isinstance(call, dict)
            else self.call(number, None, None, call)
        )

    def _read_list(self, listed: PayloadCursor) -> list[ToolCall]:
        members = list(listed.items(_EXPECTED))
        if all(not _WRAPPED.isdisjoint(member.object("a message or a call")) for member in members):
            return [call for member in members for call in self.read_calls(member)]
        return self._read_listed([member.value for member in members], {}, None)


def _first(message: PayloadCursor, choices: JSONValue) -> JSONObject:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else message.need("choices").fail("one choice")


def _inner(message: PayloadCursor, body: JSONValue) -> JSONObject:
    return body if isinstance(body, dict) else _place(message).fail("a message")


def _place(message: PayloadCursor) -> PayloadCursor:
    """The message itself, with its path, for error messages."""
    if message.get("choices") is not None:
        message = next(message.need("choices").items())
    return message if "message" not in message.object() else message.need("message")


def _arguments_of(call: JSONValue) -> str | JSONObject | None:
    """The arguments of a function call; None for a free-form call, whose text may be incomplete."""
    arguments = object_or_empty(object_or_empty(call).get("function")).get("arguments")
    return arguments if isinstance(arguments, str | dict) else None


class ChatStream(Stream[ChatFormat]):
    """Assembles calls from pieces and reads them like those of a whole message, in order."""

    def __init__(self, provider: ChatFormat) -> None:
        super().__init__(provider)
        self.fields: JSONObject = {}
        """The other fields of the message so far."""

    def end(self, key: object) -> list[ToolCall]:
        """The call, now complete."""
        piece = self.open.pop(key, None)
        return [] if piece is None else unique_ids([self.assembled_call(piece)], self.ids)

    def assembled_call(self, piece: PartialCall) -> ToolCall:
        """The call that was assembled."""
        message_fields = None if piece.number else self.provider.other_fields(self.fields)
        return self.provider.read_call(piece.number, self.whole(piece), message_fields)

    def whole(self, piece: PartialCall) -> JSONObject:
        """The call as a whole message would have it."""
        arguments = "".join(piece.arguments) if piece.value is None else piece.value
        call = {"id": piece.id, "function": {"name": piece.name, "arguments": arguments}}
        return {**(piece.extras or {}), **cast("JSONObject", call)}

    def finish(self, *, is_truncated: bool) -> list[ToolCall]:
        """Every open call, at the end of the message."""
        last = next(reversed(self.open.values()), None)
        done = self.end_all()
        if is_truncated and last is not None:
            done[-1] = self.provider.mark_truncated(done[-1], self.whole(last))
        return done

    def finished(self) -> list[ToolCall]:
        """Every open call: some servers send no finish reason."""
        return self.finish(is_truncated=True)

    def is_whole(self, piece: PartialCall) -> bool:
        """True if the arguments are complete."""
        return as_object(self.text(piece)) is not None

    def close(self) -> list[ToolCall]:
        """The calls that the stream left incomplete, marked malformed."""
        decoded = [(self.assembled_call(piece), self.text(piece)) for piece in self.open.values()]
        self.open.clear()
        left = [malformed_call(call.id, call.name, text, TRUNCATED, call.extras) for call, text in decoded]
        return unique_ids(left, self.ids)

    def text(self, piece: PartialCall) -> str:
        """The arguments so far."""
        value = cast("JSONValue", piece.value)
        return "".join(piece.arguments) if value is None else to_json_text(value)

    def collect_fields(self, delta: JSONObject) -> None:
        """Add the other fields of the message."""
        fields = self.fields
        for key, value in delta.items():
            if not value or key in self.provider.ignored_keys:
                continue
            before = fields.get(key)
            if isinstance(value, str):
                fields[key] = before + value if isinstance(before, str) else value
            elif isinstance(value, list):
                fields[key] = [*before, *value] if isinstance(before, list) else value
            elif isinstance(value, dict):
                fields[key] = {**before, **value} if isinstance(before, dict) else value


class ChatChunkStream(ChatStream):
    """A call is complete at the end of the message, or when another begins and its arguments are valid."""

    def __init__(self, provider: ChatFormat) -> None:
        super().__init__(provider)
        self._ended: dict[int, JSONValue] = {}

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one chunk."""
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                return self._choice(choice)
        return []

    def part(self, piece: PartialCall, call: JSONObject) -> JSONValue:
        """The arguments in a delta."""
        function = call.get("function")
        if not isinstance(function, dict):
            return None
        piece.name = piece.name or function.get("name")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            piece.value = arguments
        return arguments

    def _choice(self, choice: JSONObject) -> list[ToolCall]:
        delta = choice.get("delta")
        done: list[ToolCall] = []
        if isinstance(delta, dict):
            self.collect_fields(delta)
            calls = delta.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    done += self._piece(call)
        reason = choice.get("finish_reason")
        if reason:
            done += self.finish(
                is_truncated=isinstance(reason, str) and reason in self.provider.truncation_reasons
            )
        return done

    def _piece(self, call: JSONObject) -> list[ToolCall]:
        index = call.get("index")
        key = index if isinstance(index, int) else -1
        piece = self.open.get(key)
        done: list[ToolCall] = []
        if piece is None or self._is_next(piece, call):
            if piece is None and self._is_over(key, call):
                return done
            self._free_index(key)
            done = self._ready()
            piece = self.begin(key, None, None, {})
        piece.id = piece.id or self.id_of(call)
        for name in call.keys() - CALL_KEYS:
            if call[name] and piece.extras is not None:
                piece.extras[name] = call[name]
        self.add(key, self.part(piece, call))
        return done

    def id_of(self, call: JSONObject) -> JSONValue:
        """The id in a delta."""
        return call.get("id")

    def _is_next(self, piece: PartialCall, call: JSONObject) -> bool:
        """True for a new call at the index of an earlier one: some servers repeat or omit the index."""
        if not piece.name or not self._has_name(call):
            return False
        id = self.id_of(call)
        if id and piece.id:
            return id != piece.id
        return not id and (self.is_whole(piece) or self._name_in(call) != piece.name)

    def _is_over(self, key: int, call: JSONObject) -> bool:
        """True for another piece of a call that was already returned."""
        if key not in self._ended:
            return False
        return self.id_of(call) in (None, "", self._ended[key]) or not self._has_name(call)

    def _has_name(self, call: JSONObject) -> bool:
        return bool(self._name_in(call))

    def _name_in(self, call: JSONObject) -> JSONValue:
        part = call.get("function") or call.get("custom")
        return part.get("name") if isinstance(part, dict) else None

    def _free_index(self, key: int) -> None:
        """Free the index of a call for the next one."""
        if key in self.open:
            self.open = {
                ("before", piece.number) if place == key else place: piece
                for place, piece in self.open.items()
            }

    def _ready(self) -> list[ToolCall]:
        """The calls that are complete when another begins, up to the first incomplete one."""
        done: list[ToolCall] = []
        for key, piece in list(self.open.items()):
            if isinstance(key, int):
                if not self.is_whole(piece):
                    break
                self._ended[key] = piece.id if isinstance(piece.id, str) else None
            done += self.end(key)
        return done
