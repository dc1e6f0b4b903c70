"""OpenAI's Responses: functions, free-form tools and namespaces; calls and results are items of one list.

Knows this wire alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from pydantic_core import to_json

from toolhaft.core.call import ToolCall
from toolhaft.formats.choices import ALL_FORMS, Choice
from toolhaft.formats.hints import FLAG, WORDS, Hints, left_out_hint, not_taken, taken, words_of
from toolhaft.formats.names import WORD, fit, rule
from toolhaft.formats.openai_pieces import (
    FREE_FORM_SCHEMA,
    free_form_text,
    grammar_of,
    read_grammar,
    shows,
    told_of_free_form,
)
from toolhaft.formats.openai_strict import LOOSE, STRICT
from toolhaft.formats.responses_items import ItemReader
from toolhaft.formats.responses_stream import Items
from toolhaft.formats.shapes import Shape
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.formats.wire import Answer, Declared, Imported, Media, Setting, Stream, Wire, WireCall
from toolhaft.formats.writing import (
    WEB,
    address,
    arguments_text,
    document_text,
    is_taken,
    request_fields,
    spoken,
)
from toolhaft.schema.json_value import JSONObject, JSONValue

_NAMESPACE: Final = rule(WORD, 64)
_CALLERS: Final = frozenset(("direct", "programmatic"))
_BESIDE: Final[Hints] = {
    "defer_loading": FLAG,
    "async": FLAG,
    "allowed_callers": words_of("'direct' or 'programmatic'", _CALLERS.__contains__),
}
"""The hints that stand in the tool itself, under their own names."""
_AROUND: Final[Hints] = {"namespace": WORDS, "namespace_description": WORDS}
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
_KINDS: Final = "'function', 'custom' or 'namespace' (tools that run at the provider are none to import)"

_JSON_TYPES: Final = frozenset(("array", "boolean", "integer", "number", "object"))


class OpenAIResponses(Wire):
    """`tools`, `tool_choice`, `parallel_tool_calls`; items such as `function_call` and its output."""

    name = "openai_responses"
    beginning = re.compile("output_item.added.*tool_call|output_item.added.*function_call")
    needs_properties = True
    call_ids = rule("!-~", 64)
    has_strict = True
    arranges = True
    fields = frozenset(("output_schema",))
    hints = frozenset(("free_form", *_AROUND, *_BESIDE))
    choices = ALL_FORMS
    has_parallel = True
    parts = frozenset(("image", "document"))
    has_messages = False

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has one dialect
        """Any schema but for its root, or the strict subset."""
        return STRICT if strict else LOOSE

    def write_tool(self, tool: Declared) -> JSONObject:
        """A function or a free-form tool; its namespace is written around it by `join`."""
        written: JSONObject = {"type": "function", "name": tool.name, "description": tool.description}
        if tool.hints.get("free_form"):
            written["type"] = "custom"
            grammar = grammar_of(tool.hints["free_form"])
            if grammar is not None:
                written["format"] = {"type": "grammar", **grammar}
        else:
            written["parameters"] = tool.schema
            written["strict"] = tool.strict  # left out, the server would make it strict where it can
            if _is_json(tool.tool.output_schema):
                written["output_schema"] = cast("JSONObject", tool.tool.output_schema)
        if tool.hints:
            asked = taken(tool.hints, _BESIDE)
            written.update({key: value for key, value in asked.items() if value is not False})
        return written

    def told(self, tool: Declared) -> Sequence[SchemaLoss]:
        """Hints that say nothing here, and what a free-form tool has no place for."""
        said = tool.tool.output_schema
        is_text = said is not None and not _is_json(said) and not tool.hints.get("free_form")
        texts = (
            (SchemaLoss("", "output_schema", "left out", "a text goes back bare, not as JSON"),)
            if is_text
            else ()
        )
        if not tool.hints:
            return texts
        losses = [*texts, *told_of_free_form(tool), *not_taken(tool.hints, _AROUND | _BESIDE)]
        around = taken(tool.hints, _AROUND)
        name = _namespace_of(tool.hints)
        if name is not None and name != around["namespace"]:
            losses.append(SchemaLoss("", "metadata.wire.namespace", "renamed", name))
        if name is None and "namespace_description" in around:
            losses.append(left_out_hint("namespace_description", "there is no namespace"))
        if tool.hints.get("free_form") and tool.tool.output_schema is not None:
            losses.append(SchemaLoss("", "output_schema", "left out", "a free-form tool has none"))
        return losses

    def arrange(self, tools: Sequence[tuple[JSONObject, bytes]]) -> list[bytes]:
        """The tools one after the other, those of one namespace together where its first stands."""
        groups: dict[str | int, list[tuple[JSONObject, bytes]]] = {}
        for number, (hints, written) in enumerate(tools):
            groups.setdefault(_namespace_of(hints) or number, []).append((hints, written))
        return [
            _namespace(name, group) if isinstance(name, str) else group[0][1]
            for name, group in groups.items()
        ]

    def told_together(self, hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
        """Descriptions of a namespace that has one already."""
        told = left_out_hint("namespace_description", "its namespace has another one already")
        first: dict[str, JSONValue] = {}
        found: dict[int, SchemaLoss] = {}
        for number, hint in enumerate(hints):
            name, said = _namespace_of(hint), taken(hint, _AROUND).get("namespace_description")
            if name is not None and said is not None and first.setdefault(name, said) != said:
                found[number] = told
        return found

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The three fields of a request."""
        choice = None if setting.choice is None else _choice(setting.choice, setting.free_form)
        return request_fields(tools, choice, parallel=setting.parallel)

    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """Functions and free-form tools, in namespaces or not."""
        is_one = isinstance(payload.value, dict) and "type" in payload.value
        tools = (payload,) if is_one else payload.members("tools")  # a namespace has "tools" of its own
        yield from _apart([found for tool in tools for found in _read_tool(tool, {})])

    def read_calls(self, message: Shape) -> list[ToolCall]:
        """The calls of a response, of a list of items, or of one item."""
        return ItemReader(self).read(message)

    def is_event(self, value: JSONObject) -> bool:
        """True for an event of a stream."""
        kind = value.get("type")
        return isinstance(kind, str) and (kind.startswith("response.") or kind == "error")

    def stream(self) -> Stream:
        """Items that are added, filled and done."""
        return Items(self)

    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """The items of a turn: each call with what stood before it."""
        items: list[JSONObject] = []
        for call in calls:
            items += _items(call.extras.get("before"))
            items.append(_write_call(call))
            items += _items(call.extras.get("after"))
        return items

    def carries(self, part: Media) -> bool:
        """True for a picture that the models look at, a file that they read, and any text."""
        is_read = part.kind == "document" and (part.text is not None or is_taken(part, _FILES, WEB))
        return is_read or shows(part)

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- it has one dialect
        """An item a result."""
        return [_write_result(answer) for answer in answers]


def _namespace_of(hints: JSONObject) -> str | None:
    """The namespace of a tool as the wire has it; None where it is in none.

    One that must be changed always gets a hash: two never become one, whatever else the request holds, and a
    call says the same one as its tool.
    """
    name = taken(hints, _AROUND).get("namespace")
    if not isinstance(name, str):
        return None
    return fit(name, _NAMESPACE, is_taken=not _NAMESPACE.admits(name))


def _namespace(name: str, group: list[tuple[JSONObject, bytes]]) -> bytes:
    said = (taken(hints, _AROUND).get("namespace_description") for hints, _ in group)
    description = next((text for text in said if text is not None), group[0][0]["namespace"])
    around: JSONObject = {"type": "namespace", "name": name, "description": description}
    inside = b",".join(written for _, written in group)
    return to_json(around)[:-1] + b',"tools":[' + inside + b"]}"


def _choice(choice: Choice, free_form: frozenset[str]) -> JSONValue:
    if choice.tools is None or choice.mode == "none":
        return choice.mode
    named: list[JSONValue] = [
        {"type": "custom" if name in free_form else "function", "name": name} for name in choice.tools
    ]
    return (
        named[0] if choice.form == "one" else {"type": "allowed_tools", "mode": choice.mode, "tools": named}
    )


def _read_tool(tool: Shape, around: JSONObject) -> Iterator[Imported]:
    kind = tool.need("type")
    if kind.value == "namespace" and not around:
        inside: JSONObject = {"namespace": tool.need("name").text()}
        description = tool.maybe_text("description")
        if description is not None and description != inside["namespace"]:
            inside["namespace_description"] = description
        for member in tool.need("tools").items():
            yield from _read_tool(member, inside)
        return
    if kind.value not in ("function", "custom"):
        kind.fail(_KINDS)
    beside = {key: tool.object().get(key) for key in _BESIDE}
    hints: JSONObject = {**around, **{key: value for key, value in beside.items() if value}}
    schema = FREE_FORM_SCHEMA
    fields: dict[str, object] = {}
    if kind.value == "custom":
        hints["free_form"] = read_grammar(tool.maybe_object("format"))
    else:
        schema = tool.maybe_object("parameters") or {"type": "object", "properties": {}}
        output = tool.maybe_object("output_schema")
        if output is not None:
            fields["output_schema"] = output
    name = tool.need("name").text()
    yield Imported(name, tool.maybe_text("description"), schema, tool.path, fields, hints)


def _is_json(output: object) -> bool:
    """True where results of this schema go back as JSON, which is what the wire means by it."""
    return isinstance(output, dict) and cast("JSONObject", output).get("type") in _JSON_TYPES


def _apart(found: list[Imported]) -> list[Imported]:
    """The tools with a name each: of those that share one, only in other namespaces, one keeps it.

    The others are called by their namespace too, and remember what the wire called them.
    """
    owners: dict[str, JSONValue] = {}
    for tool in sorted(found, key=lambda tool: "namespace" in tool.hints):
        owners.setdefault(tool.name, tool.hints.get("namespace"))
    made: list[Imported] = []
    for tool in found:
        namespace = tool.hints.get("namespace")
        if namespace == owners[tool.name]:
            made.append(tool)
            continue
        own = f"{namespace}_{tool.name}"
        name = fit(own, WIRE.tool_names)
        name = fit(own, WIRE.tool_names, is_taken=name in owners)
        made.append(tool._replace(name=name, hints={**tool.hints, "name": tool.name}))
    return made


def _items(kept: JSONValue) -> list[JSONObject]:
    return [item for item in kept if isinstance(item, dict)] if isinstance(kept, list) else []


def _item(extras: JSONObject) -> JSONObject:
    item = extras.get("item")
    return item if isinstance(item, dict) else {}


def _is_custom(given: WireCall | Answer) -> bool:
    return given.is_free_form or _item(given.extras).get("type") == "custom_tool_call"


def _write_call(call: WireCall) -> JSONObject:
    kept = _item(call.extras)
    namespace = _namespace_of(call.hints) if kept.keys() <= {"type"} else None  # else it said so itself
    if namespace is not None:
        kept = {**kept, "namespace": namespace}
    if _is_custom(call):
        text = free_form_text(call)
        return {**kept, "type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": text}
    text = arguments_text(call)
    return {**kept, "type": "function_call", "call_id": call.id, "name": call.name, "arguments": text}


def _write_result(answer: Answer) -> JSONObject:
    kind = "custom_tool_call_output" if _is_custom(answer) else "function_call_output"
    item: JSONObject = {"type": kind, "call_id": answer.id, "output": spoken(answer)}
    if answer.parts:
        text: list[JSONValue] = [_text(spoken(answer))] if spoken(answer) else []
        item["output"] = text + [_part(part) for part in answer.parts]
    caller = _item(answer.extras).get("caller")
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
        return {"type": "input_image", "image_url": address(part), "detail": "auto"}
    if part.url is not None:
        return {"type": "input_file", "file_url": part.url}
    name = part.name if part.kind == "document" else ""
    return {"type": "input_file", "filename": name or "document", "file_data": address(part)}


WIRE: Final = OpenAIResponses()
