"""OpenAI's Responses API: functions, free-form tools, namespaces, call items and output items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from pydantic_core import to_json

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import WireError
from toolhaft.formats.choices import ALL_FORMS, Choice
from toolhaft.formats.description_text import is_only_described
from toolhaft.formats.hints import (
    FLAG,
    NON_BLANK_TEXT,
    HintRules,
    accepted_hints,
    dropped_hint,
    known_words,
    read_hints,
    rejected_hints,
)
from toolhaft.formats.losses import SchemaLoss
from toolhaft.formats.message_parts import (
    WEB,
    arguments_text,
    data_url,
    document_text,
    is_supported_file,
    list_or_empty,
    object_or_empty,
    request_fields,
    result_text,
)
from toolhaft.formats.names import WORD, fit_name, rule
from toolhaft.formats.openai_responses_items import ItemReader, ResponsesStream
from toolhaft.formats.openai_shared import (
    FREE_FORM_SCHEMA,
    LOOSE,
    STRICT,
    free_form_losses,
    free_form_text,
    grammar_of,
    read_grammar,
    supports_image,
)
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.provider_format import (
    ImportedTool,
    Media,
    OutgoingCall,
    OutgoingResult,
    ProviderFormat,
    ProviderTool,
    ReadTool,
    RequestSettings,
    ToolDeclaration,
    UnreadTool,
    kept_fields,
    put_back,
    read_each,
)
from toolhaft.formats.subset.lower import newest_draft
from toolhaft.schema.json_value import JSONObject, JSONValue

_NAMESPACE: Final = rule(WORD, 64)
_CALLERS: Final = frozenset(("direct", "programmatic"))
_TOOL_HINTS: Final[HintRules] = {
    "defer_loading": FLAG,
    "async": FLAG,
    "allowed_callers": known_words("'direct' or 'programmatic'", _CALLERS.__contains__),
}
"""The hints that are fields of the tool, under the same names."""
_NAMESPACE_HINTS: Final[HintRules] = {"namespace": NON_BLANK_TEXT, "namespace_description": NON_BLANK_TEXT}
_FILES: Final = frozenset(
    (
        "application/json",
        "application/msword",
        "application/pdf",
        "application/rtf",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "text/csv",
        "text/html",
        "text/markdown",
        "text/plain",
    )
)
_TOOL_KEYS: Final = frozenset(
    ("type", "name", "description", "parameters", "format", "output_schema", "strict")
)
_OTHER_SCHEMAS: Final = frozenset(("function", "input_schema", "inputSchema"))
"""Keys of tools in other formats, which no tool of OpenAI's own has."""

_JSON_TYPES: Final = frozenset(("array", "boolean", "integer", "number", "object"))


class OpenAIResponses(ProviderFormat):
    """`tools`, `tool_choice`, `parallel_tool_calls`; items such as `function_call` and its output."""

    name = "openai_responses"
    call_start = re.compile("output_item.added.*tool_call|output_item.added.*function_call")
    needs_properties = True
    call_ids = rule("!-~", 64)
    needs_ids = False
    loose_subset = LOOSE
    strict_subset = STRICT
    stream_type = ResponsesStream
    arranges = True
    fields = frozenset(("output_schema",))
    hints = frozenset(("free_form", *_NAMESPACE_HINTS, *_TOOL_HINTS))
    choices = ALL_FORMS
    has_parallel = True
    parts = frozenset(("image", "document"))
    has_messages = False

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """A function or a free-form tool; `arrange` adds its namespace."""
        written: JSONObject = {"type": "function", "name": tool.name, "description": tool.description}
        if tool.hints.get("free_form"):
            written["type"] = "custom"
            grammar = grammar_of(tool.hints["free_form"])
            if grammar is not None:
                written["format"] = {"type": "grammar", **grammar}
        else:
            written["parameters"] = tool.schema
            written["strict"] = tool.strict  # if absent, the server decides
            if _is_json(tool.tool.output_schema):
                written["output_schema"] = newest_draft(cast("JSONObject", tool.tool.output_schema))
        if tool.hints:
            accepted = accepted_hints(tool.hints, _TOOL_HINTS)
            written.update({key: value for key, value in accepted.items() if value is not False})
        return written

    def declares_output(self, tool: AnyTool, hints: JSONObject, dialect: str) -> bool:  # noqa: ARG002 -- an override
        """True for a function whose results are sent as JSON."""
        return _is_json(tool.output_schema) and not hints.get("free_form")

    def tool_losses(self, tool: ToolDeclaration) -> Sequence[SchemaLoss]:
        """Losses of invalid hints, and of a free-form tool."""
        schema = None if is_only_described(tool.tool.output_schema) else tool.tool.output_schema
        losses: list[SchemaLoss] = []
        if schema is not None and not _is_json(schema) and not tool.hints.get("free_form"):
            why = "text results are sent as plain text, not as JSON"
            losses.append(SchemaLoss("", "output_schema", "left out", why))
        if not tool.hints:
            return losses
        losses += [*free_form_losses(tool), *rejected_hints(tool.hints, _NAMESPACE_HINTS | _TOOL_HINTS)]
        namespace_hints = accepted_hints(tool.hints, _NAMESPACE_HINTS)
        name = _namespace_of(tool.hints)
        if name is not None and name != namespace_hints["namespace"]:
            losses.append(SchemaLoss("", "metadata.wire.namespace", "renamed", name))
        if name is None and "namespace_description" in namespace_hints:
            losses.append(dropped_hint("namespace_description", "there is no namespace"))
        if tool.hints.get("free_form") and schema is not None:
            losses.append(SchemaLoss("", "output_schema", "left out", "a free-form tool has none"))
        return losses

    def arrange(self, tools: Sequence[tuple[JSONObject, bytes]]) -> list[bytes]:
        """The tools, with those of a namespace grouped at the position of its first tool."""
        groups: dict[str | int, list[tuple[JSONObject, bytes]]] = {}
        for number, (hints, written) in enumerate(tools):
            groups.setdefault(_namespace_of(hints) or number, []).append((hints, written))
        return [
            _namespace(name, group) if isinstance(name, str) else group[0][1]
            for name, group in groups.items()
        ]

    def joint_losses(self, hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
        """The losses of further descriptions of one namespace."""
        loss = dropped_hint("namespace_description", "its namespace already has another one")
        first: dict[str, JSONValue] = {}
        found: dict[int, SchemaLoss] = {}
        for number, hint in enumerate(hints):
            name = _namespace_of(hint)
            text = accepted_hints(hint, _NAMESPACE_HINTS).get("namespace_description")
            if name is not None and text is not None and first.setdefault(name, text) != text:
                found[number] = loss
        return found

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The three fields of a request."""
        choice = None if settings.choice is None else _choice(settings.choice, settings.free_form)
        return request_fields(tools, choice, parallel=settings.parallel)

    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """Functions and free-form tools, in namespaces or not, and OpenAI's own tools."""
        is_one = isinstance(payload.value, dict) and "type" in payload.value
        tools = iter((payload,)) if is_one else payload.members("tools")  # a namespace also has "tools"
        return iter(_with_unique_names([found for tool in tools for found in _read_member(tool)]))

    def restore_fields(self, written: JSONObject, more: JSONObject, tool: ToolDeclaration) -> None:  # noqa: ARG002 -- an override
        """As for any format; whether a tool is strict is always written, so it is removed first."""
        if "strict" in more:
            written.pop("strict", None)
        put_back(written, more)

    def read_calls(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of a response, of a list of items, or of one item."""
        return ItemReader(self).read(message)

    def is_event(self, value: JSONObject) -> bool:
        """True for an event of a stream."""
        kind = value.get("type")
        return isinstance(kind, str) and (kind.startswith("response.") or kind == "error")

    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """The items of a turn: each call after the items that came before it."""
        items: list[JSONValue] = []
        for call in calls:
            items += list_or_empty(call.extras.get("before"))
            items.append(_write_call(call))
            items += list_or_empty(call.extras.get("after"))
        return [item for item in items if isinstance(item, dict)]

    def supports_part(self, part: Media) -> bool:
        """True for an image or file type that the models accept, and for any text."""
        is_read = part.kind == "document" and (part.text is not None or is_supported_file(part, _FILES, WEB))
        return is_read or supports_image(part)

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One item per result."""
        return [_write_result(result) for result in results]


def _namespace_of(hints: JSONObject) -> str | None:
    """The namespace of a tool as sent; None if it has none.

    A changed name always gets a hash, so that two namespaces never collide and calls and tools agree.
    """
    name = accepted_hints(hints, _NAMESPACE_HINTS).get("namespace")
    if not isinstance(name, str):
        return None
    return fit_name(name, _NAMESPACE, is_taken=not _NAMESPACE.admits(name))


def _namespace(name: str, group: list[tuple[JSONObject, bytes]]) -> bytes:
    accepted = [accepted_hints(hints, _NAMESPACE_HINTS) for hints, _ in group]
    texts = [hints["namespace_description"] for hints in accepted if "namespace_description" in hints]
    description = texts[0] if texts else accepted[0]["namespace"]
    namespace: JSONObject = {"type": "namespace", "name": name, "description": description}
    inside = b",".join(written for _, written in group)
    return to_json(namespace)[:-1] + b',"tools":[' + inside + b"]}"


def _choice(choice: Choice, free_form: frozenset[str]) -> JSONValue:
    if choice.tools is None or choice.mode == "none":
        return choice.mode
    named: list[JSONValue] = [
        {"type": "custom" if name in free_form else "function", "name": name} for name in choice.tools
    ]
    return (
        named[0] if choice.form == "one" else {"type": "allowed_tools", "mode": choice.mode, "tools": named}
    )


def _read_member(tool: PayloadCursor) -> Iterator[ReadTool]:
    """One tool, or those of a namespace."""
    if not isinstance(tool.value, dict) or tool.value.get("type") != "namespace":
        return read_each((tool,), lambda one: _read_tool(one, {}))
    try:
        inside: JSONObject = {"namespace": tool.need("name").text()}
        description = tool.maybe_text("description")
        members = list(tool.need("tools").items())
    except WireError as error:
        return iter((UnreadTool(str(tool.value.get("name") or tool.path), error),))
    if description is not None and description != inside["namespace"]:
        inside["namespace_description"] = description
    return read_each(members, lambda one: _read_tool(one, inside))


def _read_tool(tool: PayloadCursor, namespace_hints: JSONObject) -> ReadTool:
    body = tool.object()
    kind = tool.need("type").text()
    if kind not in ("function", "custom"):
        if namespace_hints or not _OTHER_SCHEMAS.isdisjoint(body):
            tool.need("type").fail("'function' or 'custom'")
        return ProviderTool(_provider_name(kind, body), body, tool.path)
    own_hints = read_hints(body, _TOOL_HINTS)
    hints: JSONObject = {**namespace_hints, **{key: value for key, value in own_hints.items() if value}}
    read = _read_custom if kind == "custom" else _read_function
    return read(tool, body, hints)


def _read_custom(tool: PayloadCursor, body: JSONObject, hints: JSONObject) -> ImportedTool:
    grammar = read_grammar(tool.maybe_object("format"))
    read = _TOOL_KEYS if isinstance(grammar, dict) else _TOOL_KEYS - {"format"}
    more = kept_fields(body, read | hints.keys(), "description")
    hints["free_form"] = grammar
    name, description = tool.need("name").text(), tool.maybe_text("description")
    return ImportedTool(name, description, FREE_FORM_SCHEMA, tool.path, {}, hints, more)


def _read_function(tool: PayloadCursor, body: JSONObject, hints: JSONObject) -> ImportedTool:
    schema = tool.maybe_object("parameters") or {"type": "object", "properties": {}}
    output = tool.maybe_object("output_schema")
    fields = {} if output is None else {"output_schema": output}
    read = _TOOL_KEYS - {"strict"} if body.get("strict") is True else _TOOL_KEYS
    more = kept_fields(body, read | hints.keys(), "description", "parameters", "strict")
    name, description = tool.need("name").text(), tool.maybe_text("description")
    return ImportedTool(name, description, schema, tool.path, fields, hints, more)


def _provider_name(kind: str, body: JSONObject) -> str:
    label = body.get("name") or body.get("server_label")
    return f"{kind}_{label}" if isinstance(label, str) else kind


def _is_json(output: object) -> bool:
    """True if results of this schema are sent as JSON, which is when the API uses the schema."""
    return isinstance(output, dict) and cast("JSONObject", output).get("type") in _JSON_TYPES


def _with_unique_names(found: list[ReadTool]) -> list[ReadTool]:
    """The tools with unique names: of those that share a name across namespaces, one keeps it.

    The others get their namespace as a prefix, and a hint with their original name.
    """
    owners: dict[str, JSONValue] = {}
    tools = [tool for tool in found if isinstance(tool, ImportedTool)]
    for tool in sorted(tools, key=lambda tool: "namespace" in tool.hints):
        owners.setdefault(tool.name, tool.hints.get("namespace"))
    made = list(found)
    for number, tool in enumerate(found):
        if isinstance(tool, ImportedTool) and tool.hints.get("namespace") != owners[tool.name]:
            own = f"{tool.hints.get('namespace')}_{tool.name}"
            is_taken = fit_name(own, FORMAT.tool_names) in owners
            name = fit_name(own, FORMAT.tool_names, is_taken=is_taken)
            made[number] = tool._replace(name=name, hints={**tool.hints, "name": tool.name})
    return made


def _is_custom(outgoing: OutgoingCall | OutgoingResult) -> bool:
    item = object_or_empty(outgoing.extras.get("item"))
    return outgoing.is_free_form or item.get("type") == "custom_tool_call"


def _write_call(call: OutgoingCall) -> JSONObject:
    kept = object_or_empty(call.extras.get("item"))
    namespace = _namespace_of(call.hints) if kept.keys() <= {"type"} else None  # else the item has its own
    if namespace is not None:
        kept = {**kept, "namespace": namespace}
    if _is_custom(call):
        text = free_form_text(call)
        return {**kept, "type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": text}
    text = arguments_text(call)
    return {**kept, "type": "function_call", "call_id": call.id, "name": call.name, "arguments": text}


def _write_result(result: OutgoingResult) -> JSONObject:
    kind = "custom_tool_call_output" if _is_custom(result) else "function_call_output"
    item: JSONObject = {"type": kind, "call_id": result.id, "output": result_text(result)}
    if result.parts:
        text: list[JSONValue] = [_text(result_text(result))] if result_text(result) else []
        item["output"] = text + [_part(part) for part in result.parts]
    caller = object_or_empty(result.extras.get("item")).get("caller")
    if caller is not None:
        item["caller"] = caller
    return item


def _text(text: str) -> JSONObject:
    return {"type": "input_text", "text": text}


def _part(part: Media) -> JSONObject:
    text = document_text(part)
    if text is not None:
        return _text(text)
    if part.kind == "image":
        return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
    if part.url is not None:
        return {"type": "input_file", "file_url": part.url}
    name = part.name if part.kind == "document" else ""
    return {"type": "input_file", "filename": name or "document", "file_data": data_url(part)}


FORMAT: Final = OpenAIResponses()
