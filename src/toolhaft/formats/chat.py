"""What the wires that grew out of Chat Completions share: functions, and messages with `tool_calls`.

Does not know what any one of them has beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.shapes import Shape
from toolhaft.formats.wire import CUT, Declared, Imported, Wire, WireCall, broken_call
from toolhaft.formats.writing import arguments_text, as_object, no_twins, without_nulls
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments

NO_ARGUMENTS: Final[JSONObject] = {"type": "object", "properties": {}}
MESSAGE_KEYS: Final = frozenset(("tool_calls", "role", "content"))
CALL_KEYS: Final = frozenset(("id", "type", "index", "function", "custom"))
_WRAPPED: Final = frozenset(("choices", "message", *MESSAGE_KEYS))
_EXPECTED: Final = "a response, its message, or a list of calls"


def write_function(tool: Declared) -> JSONObject:
    """A tool as all of them write it."""
    function: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
    }
    return {"type": "function", "function": function}


def read_function(tool: Shape, kinds: str = "'function'") -> Imported:
    """A tool as all of them write it."""
    kind = tool.need("type")
    if kind.value != "function":
        kind.fail(f"{kinds} (tools that run at the provider are none to import)")
    function = tool.need("function")
    parameters = function.maybe_object("parameters")
    return Imported(
        function.need("name").text(),
        function.maybe_text("description"),
        NO_ARGUMENTS if parameters is None else parameters,
        function.path,
        {},
        {},
    )


class ChatWire(Wire):
    """Reads and writes messages of the assistant; what stands beside the calls goes with the first one."""

    reason_key: ClassVar[str] = "finish_reason"
    cut_reasons: ClassVar[frozenset[str]] = frozenset()
    """Why a message may have ended in the middle of its last call."""
    left_behind: ClassVar[frozenset[str]] = frozenset(("role", "tool_calls"))
    """What of a message is not kept beside its calls."""
    usual_keys: ClassVar[int] = 3
    """How many keys a call has that has nothing to keep."""
    silence: ClassVar[Mapping[str, JSONValue]] = {}
    """What a message has where nothing is said beside the calls."""

    def write_tool(self, tool: Declared) -> JSONObject:
        """A function."""
        return write_function(tool)

    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """Functions."""
        return (read_function(tool) for tool in payload.members("tools"))

    def read_calls(self, message: Shape) -> list[ToolCall]:
        """The calls of a response, of its message, or of a list of messages or calls."""
        body = message.value
        reason: JSONValue = None
        if not isinstance(body, dict):
            return self._read_list(message)
        if "choices" in body:
            body = _first(message, body["choices"])
        if "message" in body:
            reason = body.get(self.reason_key)
            body = _inner(message, body["message"])
        calls = body.get("tool_calls")
        if not calls:
            if not MESSAGE_KEYS.isdisjoint(body):
                return []
            return self._found([body], {}, None) if "function" in body else message.fail(_EXPECTED)
        if not isinstance(calls, list):
            _place(message).need("tool_calls").fail("a list of calls")
        return self._found(calls, self.said(body), reason)

    def said(self, body: JSONObject) -> JSONObject:
        """What a message says beside its calls."""
        left = self.left_behind
        told: JSONObject = {}
        for key, value in body.items():
            if value and key not in left:
                told[key] = value if value.__class__ is str else without_nulls(value)
        return told

    def read_call(self, number: int, call: JSONObject, said: JSONObject | None) -> ToolCall:
        """One call of a message; `said` is what stood beside it."""
        function = call.get("function")
        if not isinstance(function, dict):
            return self.read_other(number, call, said)
        extras = None
        if said or len(call) > self.usual_keys:
            kept = self.kept(call, said)
            extras = {self.name: kept} if kept else None
        return self.call(number, call.get("id"), function.get("name"), function.get("arguments"), extras)

    def read_other(self, number: int, call: JSONObject, said: JSONObject | None) -> ToolCall:  # noqa: ARG002 -- the wire that has others asks
        """A call that is none of a function."""
        return self.call(number, call.get("id"), None, call)

    def kept(self, call: JSONObject, said: JSONObject | None) -> JSONObject:
        """What is neither name, id nor arguments and must go back with the call."""
        extras: JSONObject = {"message": said} if said else {}
        if not CALL_KEYS.issuperset(call):
            own: JSONObject = {key: value for key, value in call.items() if value and key not in CALL_KEYS}
            if own:
                extras["call"] = own
        return extras

    def cut_short(self, made: ToolCall, call: JSONValue) -> ToolCall:
        """The last call of a message that ended too soon: broken, unless its arguments came whole."""
        if isinstance(made.arguments, UnreadArguments):
            return made
        given = _given(call)
        if isinstance(given, dict) or (given is not None and as_object(given) is not None):
            return made
        return broken_call(made.id, made.name, given or "", CUT, made.extras)

    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """One message of the assistant."""
        said = next((call.extras["message"] for call in calls if "message" in call.extras), None)
        written: list[JSONValue] = [{**_more(call), "id": call.id, **self.write_call(call)} for call in calls]
        message: JSONObject = {"role": "assistant", **self.silence}
        if isinstance(said, dict):
            message.update(said)
        message["tool_calls"] = written
        return [message]

    def write_call(self, call: WireCall) -> JSONObject:
        """A call of history, its id aside."""
        return {"type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}

    def _found(self, calls: list[JSONValue], said: JSONObject, reason: JSONValue) -> list[ToolCall]:
        first = calls[0]
        found = [self.read_call(0, first, said) if isinstance(first, dict) else self._one(0, first, said)]
        if len(calls) > 1:
            found = no_twins(
                found + [self._one(index, call, None) for index, call in enumerate(calls) if index]
            )
        if isinstance(reason, str) and reason in self.cut_reasons:
            found[-1] = self.cut_short(found[-1], calls[-1])
        return found

    def _one(self, number: int, call: JSONValue, said: JSONObject | None) -> ToolCall:
        return (
            self.read_call(number, call, said)
            if isinstance(call, dict)
            else self.call(number, None, None, call)
        )

    def _read_list(self, listed: Shape) -> list[ToolCall]:
        members = list(listed.items(_EXPECTED))
        if all(not _WRAPPED.isdisjoint(member.object("a message or a call")) for member in members):
            return [call for member in members for call in self.read_calls(member)]
        return self._found([member.value for member in members], {}, None)


def _first(message: Shape, choices: JSONValue) -> JSONObject:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else message.need("choices").fail("one choice")


def _inner(message: Shape, body: JSONValue) -> JSONObject:
    return body if isinstance(body, dict) else _place(message).fail("a message")


def _place(message: Shape) -> Shape:
    """Where the message itself stands, for telling what is wrong with it."""
    if message.get("choices") is not None:
        message = next(message.need("choices").items())
    return message if "message" not in message.object() else message.need("message")


def _given(call: JSONValue) -> str | JSONObject | None:
    """The arguments of a function as they came; a free-form call's text is never known to be whole."""
    function = call.get("function") if isinstance(call, dict) else None
    given = function.get("arguments") if isinstance(function, dict) else None
    return given if isinstance(given, str | dict) else None


def _more(call: WireCall) -> JSONObject:
    more = call.extras.get("call")
    return more if isinstance(more, dict) else {}
