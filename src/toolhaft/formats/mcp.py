"""The Model Context Protocol: `tools/list`, `tools/call` requests and their results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool
from toolhaft.core.effect import Effect
from toolhaft.formats.hints import (
    FLAG,
    OBJECT,
    TEXT,
    HintRules,
    accepted_hints,
    dropped_hint,
    fits,
    list_of,
    object_of,
    one_of,
    read_hints,
    rejected_hints,
)
from toolhaft.formats.losses import SchemaLoss
from toolhaft.formats.mcp_output import WRAPPED, OutputSchema, export_output_schema, unwrap
from toolhaft.formats.message_parts import (
    arguments_object,
    list_or_empty,
    object_or_empty,
    unique_ids,
    write_part,
)
from toolhaft.formats.names import rule
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.provider_format import (
    ABSENT,
    ImportedTool,
    OutgoingCall,
    OutgoingResult,
    ProviderFormat,
    ReadTool,
    RequestSettings,
    Stream,
    ToolDeclaration,
    kept_fields,
    put_back,
    read_each,
)
from toolhaft.formats.subset.target import NEWEST_DRAFT
from toolhaft.schema.json_value import JSONObject, JSONValue

_NEWEST: Final = "2026-07-28"
_WITH_TASKS: Final = "2025-11-25"
_OLDEST: Final = "2025-06-18"
_CALL: Final = "tools/call"
_PARAMS: Final = frozenset(("name", "arguments"))
_META: Final = "_meta"
_TOOL_KEYS: Final = frozenset(
    ("name", "title", "description", "inputSchema", "outputSchema", "annotations", _META)
)

_DEFAULTS: Final[Mapping[str, bool]] = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""The protocol's defaults for absent hints."""
_EFFECT_HINTS: Final[Mapping[Effect, Mapping[str, bool]]] = {
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
_HINT_RULES: Final[HintRules] = {
    "annotations": object_of({}, {"title": TEXT, **dict.fromkeys(_DEFAULTS, FLAG)}, is_open=True),
    "icons": list_of(_ICON),
    "execution": object_of({}, {"taskSupport": one_of("forbidden", "optional", "required")}, is_open=True),
    _META: OBJECT,
}


class _MCPStream(Stream["MCP"]):
    """A connection; each request contains one whole call."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one message."""
        found = self.provider.read_request(self.count, PayloadCursor(event, self.provider.name))
        self.count += len(found)
        return unique_ids(found, self.ids)


class MCP(ProviderFormat):
    """`{"tools": [...]}` as a server lists them; `tools/call` requests; one CallToolResult per call."""

    name = "mcp"
    call_start = re.compile("tools/call")
    has_whole_events = True
    dialects = (_NEWEST, _WITH_TASKS, _OLDEST)
    tool_names = rule("A-Za-z0-9_.-", 128)
    needs_ids = False
    loose_subset = NEWEST_DRAFT
    stream_type = _MCPStream
    fields = frozenset(("title", "output_schema", "effect"))
    hints = frozenset(_HINT_RULES)
    parts = frozenset(("image", "audio", "video", "document"))
    takes_any_id = True
    sends_empty = True

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """One tool of the list."""
        made = tool.tool
        written: JSONObject = {"name": tool.name}
        if made.title:
            written["title"] = made.title
        written["description"] = tool.description
        written["inputSchema"] = tool.schema
        shown = _output_schema(tool.tool, tool.dialect)
        if shown is not None and shown.schema is not None:
            written["outputSchema"] = shown.schema
        hints = accepted_hints(tool.hints, _known(tool.dialect)) if tool.hints else tool.hints
        written["annotations"] = _annotations(made.effect, hints.get("annotations"))
        written.update({key: hints[key] for key in ("icons", "execution") if key in hints})
        meta = hints.get(_META)
        if shown is not None and shown.is_wrapped:
            meta = {**object_or_empty(meta), WRAPPED: True}
        if isinstance(meta, dict):
            written[_META] = meta
        return written

    def declares_output(self, tool: AnyTool, hints: JSONObject, dialect: str) -> bool:  # noqa: ARG002 -- an override
        """True if this revision can list the output schema."""
        shown = _output_schema(tool, dialect)
        return shown is not None and shown.schema is not None

    def tool_losses(self, tool: ToolDeclaration) -> Sequence[SchemaLoss]:
        """What a revision cannot express: output that is not an object, icons, tasks."""
        shown = _output_schema(tool.tool, tool.dialect)
        losses = [] if shown is None or shown.loss is None else [shown.loss]
        if tool.hints:
            losses += [
                dropped_hint(key, f"not in {tool.dialect}")
                for key in _missing(tool.dialect)
                if key in tool.hints
            ]
            losses += rejected_hints(tool.hints, _known(tool.dialect))
        return losses

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The list of tools; in the newest revision also that it is complete and how long to cache it."""
        if settings.dialect != _NEWEST:
            return {"tools": tools}
        return {"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}

    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """A list of tools, with or without the envelope of the response."""
        if isinstance(payload.value, dict) and "result" in payload.value:
            payload = payload.need("result")
        return read_each(payload.members("tools"), _read_tool)

    def restore_fields(self, written: JSONObject, more: JSONObject, tool: ToolDeclaration) -> None:
        """As for any format; annotations and title only if they still mean the same."""
        own = object_or_empty(more.get("annotations"))
        same = {
            "annotations": effect_of(own) is tool.tool.effect,
            "title": tool.tool.title == own.get("title"),
        }
        kept = {key: value for key, value in more.items() if same.get(key, True)}
        if same["annotations"] and "annotations" in kept:
            del written["annotations"]
        kept[ABSENT] = [name for name in list_or_empty(more.get(ABSENT)) if same.get(str(name), True)]
        put_back(written, kept)

    def read_calls(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of one request, of its params, or of a list of either."""
        if type(message.value) is dict:
            return self.read_request(0, message)
        found: list[ToolCall] = []
        for member in message.items("a tools/call request, its params, or a list of them"):
            found += self.read_request(len(found), member)
        return unique_ids(found)

    def read_request(self, number: int, message: PayloadCursor) -> list[ToolCall]:
        """The call of one request or of its params; empty for other messages of the protocol."""
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
        if type(id) is int:  # ids are strings or numbers
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
            return ToolCall("", name, arguments, extras=_extras(kept))  # valid in JSON-RPC
        return self.call(number, id, name, arguments, _extras(kept))

    def is_event(self, value: JSONObject) -> bool:
        """True for a message of JSON-RPC."""
        return "jsonrpc" in value

    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """One request per call, as the client sent it."""
        return [_write_call(call) for call in calls]

    def client_checks_output(self, output_schema: JSONValue) -> bool:
        """True for every tool whose output schema is listed."""
        return export_output_schema(output_schema, any_root=True).schema is not None

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One CallToolResult per call; the transport adds the envelope with the request's id."""
        return [_result(result) for result in results]


def _missing(dialect: str) -> tuple[str, ...]:
    """The fields of other revisions that this one does not have."""
    if dialect == _NEWEST:
        return ("execution",)
    return ("icons", "execution") if dialect == _OLDEST else ()


def _known(dialect: str) -> HintRules:
    missing = _missing(dialect)
    return {key: hint for key, hint in _HINT_RULES.items() if key not in missing}


def _output_schema(tool: AnyTool, dialect: str) -> OutputSchema | None:
    schema = tool.output_schema
    if schema is None:
        return None
    return export_output_schema(cast("JSONValue", schema), any_root=dialect == _NEWEST)


def _annotations(effect: Effect, own: JSONValue) -> JSONObject:
    """The four hints: the imported ones if they still mean this effect, else the effect's own."""
    made: JSONObject = dict(_EFFECT_HINTS[effect])
    if isinstance(own, dict):
        made = {**made, **own} if effect_of(own) is effect else {**own, **made}
    return made


def effect_of(annotations: JSONObject) -> Effect:
    """The effect that the hints describe; the most dangerous one if they are absent."""
    hints = {**_DEFAULTS, **annotations}
    if hints["readOnlyHint"] is True:
        return Effect.READ
    if hints["idempotentHint"] is True:
        return Effect.IDEMPOTENT
    is_safe = hints["destructiveHint"] is False and hints["openWorldHint"] is False
    return Effect.REVERSIBLE if is_safe else Effect.IRREVERSIBLE


def _read_tool(tool: PayloadCursor) -> ImportedTool:
    fields: dict[str, object] = {}
    body = tool.object()
    hints = read_hints(body, {key: _HINT_RULES[key] for key in ("icons", "execution")})
    changed = _changed_keys(body)
    more = kept_fields(body, (_TOOL_KEYS - changed) | hints.keys(), "description", *changed)
    annotations = tool.maybe_object("annotations") or {}
    title = tool.maybe_text("title") or annotations.get("title")
    if isinstance(title, str) and title.strip():
        fields["title"] = title
    effect = fields["effect"] = effect_of(annotations)
    own: JSONObject = {key: value for key, value in annotations.items() if value is not None}
    if own.get("title") == title:
        own.pop("title", None)
    is_more = {**_EFFECT_HINTS[effect], **own} != _EFFECT_HINTS[effect]
    if is_more and fits(own, _HINT_RULES["annotations"]):
        hints["annotations"] = own
    meta = tool.maybe_object(_META) or {}
    output = tool.maybe_object("outputSchema")
    if output is not None:
        fields["output_schema"] = unwrap(output) if meta.get(WRAPPED) is True else output
    rest: JSONObject = {key: value for key, value in meta.items() if key != WRAPPED}
    if rest:
        hints[_META] = rest
    schema = tool.need("inputSchema").object("a JSON Schema")
    return ImportedTool(
        tool.need("name").text(), tool.maybe_text("description"), schema, tool.path, fields, hints, more
    )


def _changed_keys(body: JSONObject) -> frozenset[str]:
    """The fields that a new export would write differently."""
    annotations = object_or_empty(body.get("annotations"))
    is_own_title = isinstance(body.get("title"), str) and str(body["title"]).strip()
    changed: list[str] = []
    if not is_own_title and (annotations.get("title") or "title" in body):
        changed.append("title")
    if body.get("annotations") != _EFFECT_HINTS[effect_of(annotations)]:
        changed.append("annotations")
    return frozenset(changed)


def _extras(kept: JSONObject) -> JSONObject | None:
    return {"mcp": kept} if kept else None


def _write_call(call: OutgoingCall) -> JSONObject:
    params: JSONObject = {"name": call.name, "arguments": arguments_object(call)}
    params |= object_or_empty(call.extras.get("params"))
    if call.extras.get("envelope") is False:
        return params
    id = call.extras.get("id", call.id)
    return {"jsonrpc": "2.0", "id": id, "method": _CALL, "params": params}


def _result(result: OutgoingResult) -> JSONObject:
    content: list[JSONValue] = [{"type": "text", "text": result.text}] if result.text else []
    content += [write_part(part) for part in result.parts]
    written: JSONObject = {"resultType": "complete"} if result.dialect == _NEWEST else {}
    written["content"] = content
    if result.is_error:
        written["isError"] = True
    elif result.has_value:  # the value of an error need not match the output schema
        is_fit = result.dialect == _NEWEST or isinstance(result.value, dict)
        written["structuredContent"] = result.value if is_fit else {"result": result.value}
    return written


FORMAT: Final = MCP()
