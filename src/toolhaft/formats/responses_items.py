"""The items of OpenAI's Responses read as calls; every other item goes with the call that follows it.

Does not know how items are written, nor streams of them.
"""

from __future__ import annotations

from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.shapes import Shape
from toolhaft.formats.wire import CUT, Wire, broken_call
from toolhaft.formats.writing import as_object, no_twins, without_nulls
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments

CALLS: Final = ("function_call", "custom_tool_call")
_TOLD: Final = frozenset(("type", "call_id", "name", "arguments", "input"))
_LEAST: Final = 4
"""The keys that every call has: its type, its id, its name and what it is given."""
_ASYNC: Final = "async_"  # what the SDK calls `async` where it does not dump it by the wire's name
_FROM_EXPORT: Final = {"namespace"}
"""All that is said beside a call that came from elsewhere: its export knows it. A server's has an id too."""
_EXPECTED: Final = "a response with 'output', a list of items, or one item"


class ItemReader:
    """Takes the items of one response in their order."""

    __slots__ = ("_kept", "_last", "_waiting", "_wire", "count")

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._waiting: list[JSONValue] = []
        self._last: ToolCall | None = None
        self._kept: JSONObject = {}
        self.count = 0

    def read(self, message: Shape) -> list[ToolCall]:
        """The calls of a whole response, of a list of items, or of one item."""
        items, status = _listed(message)
        found: list[ToolCall] = []
        for index, item in enumerate(items):
            if not isinstance(item, dict):
                where = "output" if isinstance(message.value, dict) else ""
                Shape(item, message.format, f"{where}[{index}]").fail("an item")
            if item.get("type") in CALLS:
                found.append(self.call(item))
            else:
                self.other(item)
        if found:
            self.finish()
            found = no_twins(found)
            if is_cut(status):
                found[-1] = cut_short(found[-1], items[-1])
        return found

    def other(self, item: JSONObject) -> None:
        """An item that is no call: it goes with the next one, or with the last where none follows."""
        self._waiting.append(_own(item))

    def finish(self) -> None:
        """Nothing more comes: what still waits goes with the last call."""
        if self._waiting and self._last is not None:
            self._kept["after"] = self._waiting
            self._last.extras = {self._wire.name: self._kept}
            self._waiting = []

    def call(self, item: JSONObject) -> ToolCall:
        """An item that is a call."""
        extras: JSONObject = {}
        if self._waiting:
            extras["before"] = self._waiting
            self._waiting = []
        number, self.count = self.count, self.count + 1
        own: JSONObject = {}
        if len(item) > _LEAST:
            own = {key: value for key, value in item.items() if value is not None and key not in _TOLD}
        if own.keys() == _FROM_EXPORT:
            own = {}
        if _ASYNC in own:
            own["async"] = own.pop(_ASYNC)
        arguments = item.get("arguments")
        if item.get("type") == "custom_tool_call":
            own["type"] = "custom_tool_call"
            arguments = item.get("input")
            arguments = {"input": arguments} if isinstance(arguments, str) else arguments
        if own:
            extras["item"] = own
        kept = {self._wire.name: extras} if extras else None
        made = self._wire.call(number, item.get("call_id"), item.get("name"), arguments, kept)
        self._last, self._kept = made, extras
        return made


def _listed(message: Shape) -> tuple[list[JSONValue], JSONValue]:
    """The items, and the status of the response that they stand in."""
    body = message.value
    if not isinstance(body, dict):
        return (body if isinstance(body, list) else message.fail(_EXPECTED)), None
    if "type" in body:
        return [body], None
    items = body.get("output")
    if not isinstance(items, list):
        message.need("output", _EXPECTED).fail("a list of items")
    return items, body.get("status")


def _own(item: JSONObject) -> JSONObject:
    """An item as the wire wants it back."""
    return {key: without_nulls(value) for key, value in item.items() if value is not None and key != _ASYNC}


def is_cut(status: JSONValue) -> bool:
    """True for a response that may have ended in the middle of its last item."""
    return status is not None and status != "completed"


def cut_short(made: ToolCall, item: JSONValue) -> ToolCall:
    """The last call of a response that ended too soon: broken, unless more than it came, or it came whole."""
    if not isinstance(item, dict) or item.get("type") not in CALLS or is_whole(item):
        return made
    return made if isinstance(made.arguments, UnreadArguments) else half_said(made, item)


def half_said(made: ToolCall, item: JSONObject) -> ToolCall:
    """A call of which only a part came."""
    given = item.get("arguments" if item.get("type") == "function_call" else "input")
    return broken_call(made.id, made.name, given if isinstance(given, str) else "", CUT, made.extras)


def is_whole(item: JSONObject) -> bool:
    """True if the item's arguments can have no more to them; free text may always go on."""
    given = item.get("arguments")
    return item.get("type") == "function_call" and isinstance(given, str) and as_object(given) is not None
