"""The Model Context Protocol, as a server speaks it: the list of tools, `tools/call` requests, their results.

Knows three revisions of the protocol; sessions, tasks and the envelope of a reply are the transport's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.core.effect import Effect
from toolhaft.formats.hints import (
    FLAG,
    OBJECT,
    TEXT,
    Hints,
    left_out_hint,
    list_of,
    not_taken,
    object_of,
    one_of,
    taken,
)
from toolhaft.formats.mcp_output import WRAPPED, Shown, show_output, unwrap
from toolhaft.formats.names import rule
from toolhaft.formats.shapes import Shape
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.formats.wire import Answer, Declared, Imported, Setting, Stream, Wire, WireCall
from toolhaft.formats.writing import arguments_object, no_twins, write_part
from toolhaft.schema.json_value import JSONObject, JSONValue

_NEWEST: Final = "2026-07-28"
_WITH_TASKS: Final = "2025-11-25"
_OLDEST: Final = "2025-06-18"
_CALL: Final = "tools/call"
_PARAMS: Final = frozenset(("name", "arguments"))
_META: Final = "_meta"

_DEFAULTS: Final[Mapping[str, bool]] = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""What the protocol takes for a hint that is not given."""
_HINTS: Final[Mapping[Effect, Mapping[str, bool]]] = {
    Effect.READ: {**_DEFAULTS, "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True},
    Effect.IDEMPOTENT: {**_DEFAULTS, "idempotentHint": True},
    Effect.REVERSIBLE: {**_DEFAULTS, "destructiveHint": False, "openWorldHint": False},
    Effect.IRREVERSIBLE: _DEFAULTS,
}


_ICON: Final = object_of(
    {"src": TEXT},
    {"mimeType": TEXT, "sizes": list_of(TEXT), "theme": one_of("light", "dark")},
    is_open=True,
)
_ASKED: Final[Hints] = {
    "annotations": object_of({}, {"title": TEXT, **dict.fromkeys(_DEFAULTS, FLAG)}, is_open=True),
    "icons": list_of(_ICON),
    "execution": object_of({}, {"taskSupport": one_of("forbidden", "optional", "required")}, is_open=True),
    _META: OBJECT,
}


class MCP(Wire):
    """`{"tools": [...]}` as a server lists them; requests to call one; one CallToolResult a call."""

    name = "mcp"
    beginning = re.compile("tools/call")
    has_whole_events = True
    dialects = (_NEWEST, _WITH_TASKS, _OLDEST)
    tool_names = rule("A-Za-z0-9_.-", 128)
    needs_ids = False
    fields = frozenset(("title", "output_schema", "effect"))
    hints = frozenset(_ASKED)
    parts = frozenset(("image", "audio", "video", "document"))
    takes_any_id = True
    sends_empty = True

    def write_tool(self, tool: Declared) -> JSONObject:
        """One tool of the list."""
        made = tool.tool
        written: JSONObject = {"name": tool.name}
        if made.title:
            written["title"] = made.title
        written["description"] = tool.description
        written["inputSchema"] = tool.schema
        shown = _shown(tool)
        if shown is not None and shown.schema is not None:
            written["outputSchema"] = shown.schema
        hints = taken(tool.hints, _known(tool.dialect)) if tool.hints else tool.hints
        written["annotations"] = _annotations(made.effect, hints.get("annotations"))
        written.update({key: hints[key] for key in ("icons", "execution") if key in hints})
        meta = hints.get(_META)
        if shown is not None and shown.is_wrapped:
            meta = {**(meta if isinstance(meta, dict) else {}), WRAPPED: True}
        if isinstance(meta, dict):
            written[_META] = meta
        return written

    def told(self, tool: Declared) -> Sequence[SchemaLoss]:
        """What a revision has no place for: another root of the output, icons, tasks."""
        shown = _shown(tool)
        losses = [] if shown is None or shown.loss is None else [shown.loss]
        if tool.hints:
            losses += [
                left_out_hint(key, f"not in {tool.dialect}")
                for key in _missing(tool.dialect)
                if key in tool.hints
            ]
            losses += not_taken(tool.hints, _known(tool.dialect))
        return losses

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The list of tools; the newest revision also says that it is whole, and how long it may be kept."""
        if setting.dialect != _NEWEST:
            return {"tools": tools}
        return {"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}

    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """A list of tools, in the envelope of its reply or without it."""
        if isinstance(payload.value, dict) and "result" in payload.value:
            payload = payload.need("result")
        for tool in payload.members("tools"):
            yield _read_tool(tool)

    def read_calls(self, message: Shape) -> list[ToolCall]:
        """The calls of one request, of its params alone, or of a list of either."""
        if type(message.value) is dict:
            return self.read_request(0, message)
        found: list[ToolCall] = []
        for member in message.items("a tools/call request, its params, or a list of them"):
            found += self.read_request(len(found), member)
        return no_twins(found)

    def read_request(self, number: int, message: Shape) -> list[ToolCall]:
        """The call of one request, or of its params; nothing for any other message of the protocol."""
        request = message.value
        if not isinstance(request, dict):
            return [self.call(number, None, None, request)]
        method = request.get("method")
        if method == _CALL:
            return [self._call(number, request.get("id"), request.get("params"), {})]
        if method is not None or "result" in request or "error" in request:
            return []
        if "name" not in request:
            message.fail("a tools/call request, or its params")
        return [self._call(number, None, request, {"envelope": False})]

    def _call(self, number: int, id: JSONValue, params: JSONValue, kept: JSONObject) -> ToolCall:
        if type(id) is int:  # the protocol's ids are texts or numbers
            kept["id"] = id
            id = str(id)
        if not isinstance(params, dict):
            return self.call(number, id, None, params, _extras(kept))
        rest: JSONObject = {key: value for key, value in params.items() if key not in _PARAMS}
        if rest:
            kept["params"] = rest
        name, arguments = params.get("name"), params.get("arguments")
        if arguments is None:
            arguments = {}
        if id == "" and type(name) is str and name and isinstance(arguments, dict):
            return ToolCall("", name, arguments, extras=_extras(kept))  # an id like any other to JSON-RPC
        return self.call(number, id, name, arguments, _extras(kept))

    def is_event(self, value: JSONObject) -> bool:
        """True for a message of JSON-RPC."""
        return "jsonrpc" in value

    def stream(self) -> Stream:
        """The messages of a connection, one by one."""
        return _Messages(self)

    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """A request a call, as its client sent it."""
        return [_write_call(call) for call in calls]

    def promises(self, output_schema: JSONValue) -> bool:
        """True for every tool whose output is listed: clients check results against it."""
        return show_output(output_schema, any_root=True).schema is not None

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:
        """A CallToolResult a call; the envelope with the request's id is the transport's."""
        return [_result(answer, dialect) for answer in answers]


def _missing(dialect: str) -> tuple[str, ...]:
    """What other revisions have and this one has not."""
    if dialect == _NEWEST:
        return ("execution",)
    return ("icons", "execution") if dialect == _OLDEST else ()


def _known(dialect: str) -> Hints:
    missing = _missing(dialect)
    return {key: hint for key, hint in _ASKED.items() if key not in missing}


def _shown(tool: Declared) -> Shown | None:
    schema = tool.tool.output_schema
    return (
        None if schema is None else show_output(cast("JSONValue", schema), any_root=tool.dialect == _NEWEST)
    )


def _annotations(effect: Effect, own: JSONValue) -> JSONObject:
    """The four hints: those that it was imported with while they still say the same, else the effect's."""
    made: JSONObject = dict(_HINTS[effect])
    if isinstance(own, dict):
        made = {**made, **own} if effect_of(own) is effect else {**own, **made}
    return made


def effect_of(annotations: JSONObject) -> Effect:
    """What the hints say that a tool does; the worst where they say nothing."""
    said = {**_DEFAULTS, **annotations}
    if said["readOnlyHint"] is True:
        return Effect.READ
    if said["idempotentHint"] is True:
        return Effect.IDEMPOTENT
    is_safe = said["destructiveHint"] is False and said["openWorldHint"] is False
    return Effect.REVERSIBLE if is_safe else Effect.IRREVERSIBLE


def _read_tool(tool: Shape) -> Imported:
    fields: dict[str, object] = {}
    hints: JSONObject = {}
    annotations = tool.maybe_object("annotations") or {}
    title = tool.maybe_text("title") or annotations.get("title")
    if isinstance(title, str):
        fields["title"] = title
    effect = fields["effect"] = effect_of(annotations)
    own: JSONObject = {key: value for key, value in annotations.items() if value is not None}
    if own.get("title") == title:
        own.pop("title", None)
    if {**_HINTS[effect], **own} != _HINTS[effect]:
        hints["annotations"] = own
    for key in ("icons", "execution"):
        member = tool.get(key)
        if member is not None:
            hints[key] = member.value
    meta = tool.maybe_object(_META) or {}
    output = tool.maybe_object("outputSchema")
    if output is not None:
        fields["output_schema"] = unwrap(output) if meta.get(WRAPPED) is True else output
    rest: JSONObject = {key: value for key, value in meta.items() if key != WRAPPED}
    if rest:
        hints[_META] = rest
    schema = tool.need("inputSchema").object("a JSON Schema")
    return Imported(
        tool.need("name").text(), tool.maybe_text("description"), schema, tool.path, fields, hints
    )


def _extras(kept: JSONObject) -> JSONObject | None:
    return {"mcp": kept} if kept else None


def _write_call(call: WireCall) -> JSONObject:
    kept = call.extras.get("params")
    params: JSONObject = {"name": call.name, "arguments": arguments_object(call)}
    if isinstance(kept, dict):
        params |= kept
    if call.extras.get("envelope") is False:
        return params
    id = call.extras.get("id", call.id)
    return {"jsonrpc": "2.0", "id": id, "method": _CALL, "params": params}


def _result(answer: Answer, dialect: str) -> JSONObject:
    content: list[JSONValue] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [write_part(part) for part in answer.parts]
    result: JSONObject = {"resultType": "complete"} if dialect == _NEWEST else {}
    result["content"] = content
    if answer.is_error:
        result["isError"] = True
    elif answer.has_value:  # an error's value need not be what the output schema promises
        is_fit = dialect == _NEWEST or isinstance(answer.value, dict)
        result["structuredContent"] = answer.value if is_fit else {"result": answer.value}
    return result


class _Messages(Stream):
    """A connection: each request brings its call whole."""

    def __init__(self, wire: MCP) -> None:
        super().__init__(wire)
        self._mcp = wire
        self._seen: set[str] = set()

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one message."""
        found = self._mcp.read_request(self.count, Shape(cast("JSONValue", event), self.wire.name))
        self.count += len(found)
        return no_twins(found, self._seen)


WIRE: Final = MCP()
