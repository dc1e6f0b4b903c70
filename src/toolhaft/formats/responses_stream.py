"""The stream of OpenAI's Responses: items are added, filled and done, and come out in their order.

Does not know how items are written.
"""

from __future__ import annotations

from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.responses_items import CALLS, ItemReader, cut_short, half_said, is_cut, is_whole
from toolhaft.formats.wire import Stream, Wire
from toolhaft.formats.writing import no_twins
from toolhaft.schema.json_value import JSONObject, JSONValue

_ENDS: Final = frozenset(("response.completed", "response.incomplete", "response.failed"))
_FILLED: Final = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}


class Items(Stream):
    """A call is complete where its item is done and reads whole, or where the next or the end has come."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)
        self._reader = ItemReader(wire)
        self._begun: dict[int, JSONObject] = {}
        self._done: dict[int, JSONObject] = {}
        self._next = 0
        self._ids: set[str] = set()

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one event."""
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
        """The calls that the stream left half-said, marked malformed."""
        left: list[ToolCall] = []
        for index in sorted(index for index in self._begun if index >= self._next):
            is_done = index in self._done
            item = self._done[index] if is_done else self._begun[index]
            if item.get("type") in CALLS:
                call = self._reader.call(item)
                left.append(call if is_done and is_whole(item) else half_said(call, item))
            elif is_done:
                self._reader.other(item)
        self._begun.clear()
        self._reader.finish()
        return no_twins(left, self._ids)

    def _fill(self, index: int, key: str, delta: JSONValue) -> None:
        begun = self._begun.get(index)
        if begun is not None and isinstance(delta, str):
            before = begun.get(key)
            begun[key] = before + delta if isinstance(before, str) else delta

    def _ready(self, *, is_over: bool = False) -> list[ToolCall]:
        """The calls that are complete, as far as nothing before them is open."""
        found: list[ToolCall] = []
        newest = max(self._begun, default=-1)
        while self._next in self._done:
            item = self._done[self._next]
            is_call = item.get("type") in CALLS
            if is_call and not is_over and self._next == newest and not is_whole(item):
                break  # the end may say that it was cut short
            self._next += 1
            if is_call:
                found.append(self._reader.call(item))
            else:
                self._reader.other(item)
        return no_twins(found, self._ids)

    def _end(self, response: JSONValue) -> list[ToolCall]:
        """All that is left. The last event has the whole response, for those who listened to no other."""
        body = response if isinstance(response, dict) else {}
        output = body.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                self._begun.setdefault(index, item)
                self._done.setdefault(index, item)
        found = self._ready(is_over=True)
        if found and is_cut(body.get("status")):
            found[-1] = cut_short(found[-1], self._done[self._next - 1])
        return found + self.close()
