"""Reads the items of an OpenAI response as calls, whole or streamed; other items go with the next call."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.formats.message_parts import as_object, object_or_empty, unique_ids, without_nulls
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.provider_format import TRUNCATED, ProviderFormat, Stream, malformed_call
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments

CALLS: Final = ("function_call", "custom_tool_call")
_READ_KEYS: Final = frozenset(("type", "call_id", "name", "arguments", "input"))
_CALL_KEYS: Final = 4
"""The number of keys that every call has: type, id, name and arguments."""
_ASYNC: Final = "async_"  # the SDK's name for `async`
_FROM_EXPORT: Final = {"namespace"}
"""If this is the only extra key of a call, it is not stored: the namespace is known from the export."""
_EXPECTED: Final = "a response with 'output', a list of items, or one item"


class ItemReader:
    """Reads the items of one response in order."""

    __slots__ = ("_last", "_provider", "_waiting", "count")

    def __init__(self, provider: ProviderFormat) -> None:
        self._provider = provider
        self._waiting: list[JSONValue] = []
        self._last: ToolCall | None = None
        self.count = 0

    def read(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of a whole response, of a list of items, or of one item."""
        body = message.value
        if type(body) is dict and body.get("type") in CALLS:  # one item
            return [self.call(body)]
        items, status = _listed(message)
        found: list[ToolCall] = []
        for item in items:
            if type(item) is not dict:
                where = "output" if isinstance(message.value, dict) else ""
                PayloadCursor(item, message.format, f"{where}[{items.index(item)}]").fail("an item")
            if item.get("type") in CALLS:
                found.append(self.call(item))
            else:
                self.other(item)
        if found:
            self.finish()
            found = unique_ids(found)
            if status is not None and is_truncated(status):
                found[-1] = mark_truncated(found[-1], items[-1])
        return found

    def other(self, item: JSONObject) -> None:
        """An item that is not a call: stored with the next call, or with the last if none follows."""
        kept = {key: value for key, value in item.items() if key != _ASYNC}
        self._waiting.append(without_nulls(kept, depth=7))

    def finish(self) -> None:
        """The response ended: store the remaining items with the last call."""
        if self._waiting and self._last is not None:
            name = self._provider.name
            kept = object_or_empty(object_or_empty(cast("JSONValue", self._last.extras)).get(name))
            self._last.extras = {name: {**kept, "after": self._waiting}}
            self._waiting = []

    def call(self, item: JSONObject) -> ToolCall:
        """An item that is a call."""
        extras: JSONObject = {}
        if self._waiting:
            extras["before"] = self._waiting
            self._waiting = []
        own = _own_fields(item) if len(item) > _CALL_KEYS else {}
        arguments = item.get("arguments")
        if item.get("type") == "custom_tool_call":
            own["type"] = "custom_tool_call"
            arguments = item.get("input")
            arguments = {"input": arguments} if isinstance(arguments, str) else arguments
        if own:
            extras["item"] = own
        kept = {self._provider.name: extras} if extras else None
        made = self._provider.call(self.count, item.get("call_id"), item.get("name"), arguments, kept)
        self.count += 1
        self._last = made
        return made


def _own_fields(item: JSONObject) -> JSONObject:
    """The fields of a call's item that must be sent back with it."""
    own: JSONObject = {
        key: value for key, value in item.items() if value is not None and key not in _READ_KEYS
    }
    if own.keys() == _FROM_EXPORT:
        return {}
    if _ASYNC in own:
        own["async"] = own.pop(_ASYNC)
    return own


def _listed(message: PayloadCursor) -> tuple[list[JSONValue], JSONValue]:
    """The items, and the status of their response."""
    body = message.value
    if not isinstance(body, dict):
        return (body if isinstance(body, list) else message.fail(_EXPECTED)), None
    if "type" in body:
        return [body], None
    items = body.get("output")
    if not isinstance(items, list):
        message.need("output", _EXPECTED).fail("a list of items")
    return items, body.get("status")


def is_truncated(status: JSONValue) -> bool:
    """True for a response that may end in the middle of its last item."""
    return status is not None and status != "completed"


def mark_truncated(made: ToolCall, item: JSONValue) -> ToolCall:
    """The last call of a truncated response: malformed unless it is complete or another item follows."""
    if not isinstance(item, dict) or item.get("type") not in CALLS or is_whole(item):
        return made
    return made if isinstance(made.arguments, UnreadArguments) else incomplete_call(made, item)


def incomplete_call(made: ToolCall, item: JSONObject) -> ToolCall:
    """An incomplete call, marked malformed."""
    arguments = item.get("arguments" if item.get("type") == "function_call" else "input")
    return malformed_call(
        made.id, made.name, arguments if isinstance(arguments, str) else "", TRUNCATED, made.extras
    )


def is_whole(item: JSONObject) -> bool:
    """True if the item's arguments are complete; free text may always continue."""
    arguments = item.get("arguments")
    return (
        item.get("type") == "function_call"
        and isinstance(arguments, str)
        and as_object(arguments) is not None
    )


_ENDS: Final = frozenset(("response.completed", "response.incomplete", "response.failed"))
_FILLED: Final = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}


class ResponsesStream(Stream[ProviderFormat]):
    """A call is complete when its item is done and its arguments are valid, or when the next item begins."""

    def __init__(self, provider: ProviderFormat) -> None:
        super().__init__(provider)
        self._reader = ItemReader(provider)
        self._begun: dict[int, JSONObject] = {}
        self._done: dict[int, JSONObject] = {}
        self._next = 0

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one event."""
        kind = event.get("type")
        index = event.get("output_index")
        if isinstance(kind, str) and kind in _ENDS:
            return self._end(event.get("response"))
        if not isinstance(index, int) or index < self._next:
            return []
        item = event.get("item")
        if kind == "response.output_item.added" and isinstance(item, dict):
            self._begun[index] = {**item}
            return self._ready()
        if kind == "response.output_item.done" and isinstance(item, dict):
            self._begun.setdefault(index, item)
            self._done[index] = item
            return self._ready()
        if isinstance(kind, str) and kind in _FILLED:
            self._fill(index, _FILLED[kind], event.get("delta"))
        return []

    def close(self) -> list[ToolCall]:
        """The calls that the stream left incomplete, marked malformed."""
        left: list[ToolCall] = []
        for index in sorted(index for index in self._begun if index >= self._next):
            is_done = index in self._done
            item = self._done[index] if is_done else self._begun[index]
            if item.get("type") in CALLS:
                call = self._reader.call(item)
                left.append(call if is_done and is_whole(item) else incomplete_call(call, item))
            elif is_done:
                self._reader.other(item)
        self._begun.clear()
        self._reader.finish()
        return unique_ids(left, self.ids)

    def _fill(self, index: int, key: str, delta: JSONValue) -> None:
        begun = self._begun.get(index)
        if begun is not None and isinstance(delta, str):
            before = begun.get(key)
            begun[key] = before + delta if isinstance(before, str) else delta

    def _ready(self, *, is_over: bool = False) -> list[ToolCall]:
        """The complete calls, up to the first incomplete item."""
        found: list[ToolCall] = []
        newest = max(self._begun, default=-1)
        while self._next in self._done:
            item = self._done[self._next]
            is_call = item.get("type") in CALLS
            if is_call and not is_over and self._next == newest and not is_whole(item):
                break  # the last event may report that it was truncated
            self._next += 1
            if is_call:
                found.append(self._reader.call(item))
            else:
                self._reader.other(item)
        return unique_ids(found, self.ids)

    def _end(self, response: JSONValue) -> list[ToolCall]:
        """The remaining calls; the last event contains the whole response."""
        body = response if isinstance(response, dict) else {}
        output = body.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                self._begun.setdefault(index, item)
                self._done.setdefault(index, item)
        found = self._ready(is_over=True)
        if found and is_truncated(body.get("status")):
            found[-1] = mark_truncated(found[-1], self._done[self._next - 1])
        return found + self.close()
