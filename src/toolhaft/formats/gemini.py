"""Google's Gemini API: function declarations, `functionCall` parts, `functionResponse` parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import WireError
from toolhaft.formats.blocks import BlockCall, BlockFormat, block_fields
from toolhaft.formats.choices import ALL_FORMS, Choice
from toolhaft.formats.description_text import is_only_described
from toolhaft.formats.gemini_schema import (
    JSON_SCHEMA,
    MESSAGES,
    SCHEMA_MESSAGE,
    from_message,
    lower_output,
    means_same,
)
from toolhaft.formats.gemini_stream import (
    TEXT_KEYS,
    GeminiStream,
    is_partial,
    normalize_parts,
    unreadable_call,
)
from toolhaft.formats.hints import HintRules, accepted_hints, one_of, read_hints, rejected_hints
from toolhaft.formats.losses import SchemaLoss
from toolhaft.formats.message_parts import (
    WEB,
    arguments_object,
    is_supported_file,
    object_or_empty,
    text_without_value,
)
from toolhaft.formats.names import NameRule, rule
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
    UnreadTool,
    kept_fields,
    put_back,
    read_each,
)
from toolhaft.formats.subset.target import Subset
from toolhaft.schema.json_value import JSONObject, JSONValue

FOREIGN: Final = "skip_thought_signature_validator"
"""The signature for a first call that no Gemini model made; the server refuses a turn without one."""
_PARAMETERS: Final = "parameters"
_HINTS: Final[HintRules] = {"behavior": one_of("BLOCKING", "NON_BLOCKING", "UNSPECIFIED")}
_EMPTY_MESSAGES: Final = frozenset(("", "OK"))
"""Success messages that add nothing to the value."""
_TEXT: Final = "text/plain"
_FILES: Final[Mapping[str, frozenset[str]]] = {
    "image": frozenset(("image/png", "image/jpeg", "image/webp")),
    "video": frozenset(
        (
            "video/mp4",
            "video/mpeg",
            "video/quicktime",
            "video/webm",
            "video/x-flv",
            "video/x-ms-wmv",
            "video/3gpp",
        )
    ),
    "document": frozenset(("application/pdf", _TEXT)),
}
_URL_SCHEMES: Final = (*WEB, "gs://")
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_RESPONSE_KEYS: Final = frozenset(
    (
        "candidates",
        "usageMetadata",
        "usage_metadata",
        "promptFeedback",
        "prompt_feedback",
        "modelVersion",
        "model_version",
        "responseId",
        "response_id",
    )
)
_MESSAGE_KEYS: Final = _RESPONSE_KEYS | {"role", "finishReason", "finish_reason"}

_FOREIGN_KEYS: Final = frozenset(("function", "inputSchema", "input_schema", "toolSpec"))
"""Schema keys of other formats: a tool with one is refused, since its schema would be ignored."""
_DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
_NEWEST_KEYS: Final = {
    "parameters_json_schema": "parametersJsonSchema",
    _PARAMETERS: "parametersJsonSchema",
    "response_json_schema": "responseJsonSchema",
    "response": "responseJsonSchema",
}
"""The key that an export writes, by the other keys of the same schema."""
_SCHEMA_KEYS: Final = frozenset(("name", "description", *_NEWEST_KEYS, *_NEWEST_KEYS.values()))
_FUNCTION_KEYS: Final = _FOREIGN_KEYS | _SCHEMA_KEYS | {"type"}


class Gemini(BlockFormat):
    """`tools` and `toolConfig`; contents whose `parts` are a list.

    In extras, `unsigned` marks a first call without a signature, and `no_id` a generated id.
    """

    name = "gemini"
    call_start = re.compile("function_?[Cc]all")
    dialects = ("parametersJsonSchema", _PARAMETERS)
    tool_names = rule("A-Za-z0-9_.:-", 64, first="A-Za-z_")  # the SDK documents 128, servers accepted 64
    call_ids = NameRule(re.compile(".+", re.DOTALL), re.compile("(?!)"), 1000)  # any text but ''
    needs_ids = False
    wraps_functions = {"parametersJsonSchema": _DECLARATIONS[0], _PARAMETERS: _DECLARATIONS[1]}  # noqa: RUF012 -- read only
    stream_type = GeminiStream
    fields = frozenset(("output_schema",))
    hints = frozenset(_HINTS)
    choices = ALL_FORMS
    parts = frozenset(("image", "video", "document"))
    truncation_reasons = frozenset(("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE"))
    marks_first_call = True

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has no strict mode
        """The JSON Schema keywords that servers accept, or the fields of a Schema message."""
        return SCHEMA_MESSAGE if dialect == _PARAMETERS else JSON_SCHEMA

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """A function declaration."""
        written: JSONObject = {"name": tool.name, "description": tool.description}
        if tool.dialect == _PARAMETERS:
            if tool.schema.get("properties"):  # an object without properties is refused
                written["parameters"] = tool.schema
        else:
            written["parametersJsonSchema"] = tool.schema
            if tool.tool.output_schema is not None:
                output, _ = lower_output(tool.tool.output_schema)
                if output is not None:
                    written["responseJsonSchema"] = output
        if tool.hints:
            written.update(accepted_hints(tool.hints, _HINTS))
        return written

    def declares_output(self, tool: AnyTool, hints: JSONObject, dialect: str) -> bool:  # noqa: ARG002 -- an override
        """True if the dialect has a field for it, and the schema can be expressed."""
        return dialect != _PARAMETERS and lower_output(tool.output_schema)[0] is not None

    def tool_losses(self, tool: ToolDeclaration) -> Sequence[SchemaLoss]:
        """Losses of the output schema and of the `behavior` hint."""
        losses = rejected_hints(tool.hints, _HINTS)
        if accepted_hints(tool.hints, _HINTS):
            losses.append(SchemaLoss("", "metadata.wire.behavior", "kept", "only the Live API reads it"))
        if tool.tool.output_schema is None or is_only_described(tool.tool.output_schema):
            return losses
        if tool.dialect == _PARAMETERS:
            return [*losses, SchemaLoss("", "output_schema", "left out")]
        return [*losses, *lower_output(tool.tool.output_schema)[1]]

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The two fields of a request, in snake case for the dialect `parameters`."""
        if settings.dialect == _PARAMETERS:
            fields: JSONObject = {"tools": tools}
            if settings.choice is not None:
                config = _choice(settings.choice, "allowed_function_names")
                fields["tool_config"] = {"function_calling_config": config}
            return fields
        fields = {"tools": tools}
        if settings.choice is not None:
            config = _choice(settings.choice, "allowedFunctionNames")
            fields["toolConfig"] = {"functionCallingConfig": config}
        return fields

    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """Function declarations in either dialect, and Google's own tools."""
        for tool in payload.members("tools"):
            try:
                declared = _declared(tool)
            except WireError as error:
                yield UnreadTool(tool.path, error)
                continue
            yield from read_each(declared or (), _read_function)
            if declared is None or _own_tools(tool):
                yield from read_each((tool,), _read_other)

    def restore_fields(self, written: JSONObject, more: JSONObject, tool: ToolDeclaration) -> None:  # noqa: ARG002 -- an override
        """As for any format; an older form of a schema only if it still means the same."""
        for key in [key for key in more if key in _NEWEST_KEYS]:  # not a set, whose order differs
            own, schema = more[key], written.get(_NEWEST_KEYS[key])
            if schema is not None and (own is None or means_same(key, own, schema)):
                del written[_NEWEST_KEYS[key]]
                written[key] = schema if own is None else own
        put_back(written, {key: value for key, value in more.items() if key not in _NEWEST_KEYS})

    def read_calls(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of a response, of a content, of several, or of a list of parts."""
        body = message.value
        if type(body) is not dict:
            return self._read_list(message)
        candidates = body.get("candidates")
        if candidates is None:
            return self._read_content(body, message.path)
        if type(candidates) is not list:
            message.need("candidates").fail("a list of candidates")
        if not candidates:
            return []
        first = candidates[0]
        if type(first) is not dict:
            PayloadCursor(first, self.name, "candidates[0]").fail("a candidate")
        return self._read_content(first, "candidates[0]") or unreadable_call(self, first)

    def _read_content(self, body: JSONObject, path: str) -> list[ToolCall]:
        """The calls of a candidate, or of a content."""
        content = body.get("content", body)
        parts = content.get("parts") if type(content) is dict else None
        if type(parts) is list:
            reason = body.get("finishReason") or body.get("finish_reason")
            inside = "parts" if content is body else f"{path}.content.parts"
            return self._read_parts(parts, inside, reason)
        if content is None or _is_empty(content) or (content is not body and content == {}):
            return []
        if "functionCall" in body or "function_call" in body:
            return self._read_parts([body], path, None)
        at = PayloadCursor(body, self.name, path)
        return (at if content is body else at.need("content")).need("parts").fail("a list of parts")

    def _read_list(self, message: PayloadCursor) -> list[ToolCall]:
        members = list(message.items("a response, a content, or a list of parts"))
        bodies = [member.value for member in members if isinstance(member.value, dict)]
        if any(self.is_event(body) for body in bodies):  # a stream without server-sent events is a list
            stream = GeminiStream(self)
            return [call for body in bodies for call in stream.feed(body)] + stream.close()
        if any("parts" in body for body in bodies):
            return list(chain.from_iterable(self.read_calls(member) for member in members))
        return self._read_parts([member.value for member in members], "", None)

    def _read_parts(self, parts: list[JSONValue], path: str, reason: JSONValue) -> list[ToolCall]:
        parts = normalize_parts(parts)
        for part in parts:
            if is_partial(part):
                stream = GeminiStream(self)
                return stream.read_parts(parts, reason) + stream.close()
        return self.read_blocks(parts, path, reason)

    def block_call(self, block: JSONObject) -> BlockCall | None:
        """The call of a `functionCall` part."""
        if "functionCall" not in block:
            return None
        call = block["functionCall"]
        if type(call) is not dict:
            return None, None, call, None
        fields: JSONObject | None = None
        if len(block) == 2 and "thoughtSignature" in block:  # noqa: PLR2004 -- the common case first
            fields = {"thoughtSignature": block["thoughtSignature"]}
        elif len(block) > 1:
            fields = {key: value for key, value in block.items() if key != "functionCall"}
        id = call.get("id")
        if not id:
            fields = {"no_id": True} if fields is None else {**fields, "no_id": True}
        return id, call.get("name"), call.get("args", {}), fields

    def extras(
        self, before: Sequence[JSONValue], fields: JSONObject | None, number: int
    ) -> JSONObject | None:
        """The extras of a call; those of a first call also tell whether a Gemini model made it."""
        if number:
            return super().extras(before, fields, number)
        if fields and fields.get("thoughtSignature") == FOREIGN:
            del fields["thoughtSignature"]  # `fields` is a copy: the block is unchanged
            return super().extras(before, fields, number) if fields or before else None
        return super().extras(before, fields, number) or {self.name: {"unsigned": True}}

    def is_blank(self, block: JSONValue) -> bool:
        """True for empty text without a signature."""
        return isinstance(block, dict) and block.get("text") == "" and block.keys() <= TEXT_KEYS

    def write_block(self, call: OutgoingCall) -> JSONObject:
        """A `functionCall` part."""
        fields = dict(block_fields(call.extras))
        arguments = arguments_object(call)
        if fields.pop("no_id", None):
            return {"functionCall": {"name": call.name, "args": arguments}, **fields}
        return {"functionCall": {"id": call.id, "name": call.name, "args": arguments}, **fields}

    def is_event(self, value: JSONObject) -> bool:
        """True for a response, which is also the event of a stream."""
        return not _RESPONSE_KEYS.isdisjoint(value)

    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """One content of the model; a first call from another provider gets the signature `FOREIGN`."""
        parts = self.write_blocks(calls)
        if not calls[0].extras:
            parts[0] = {**self.write_block(calls[0]), "thoughtSignature": FOREIGN}
        return [{"role": "model", "parts": parts}]

    def supports_part(self, part: Media) -> bool:
        """True for the supported file types, as data or a web or Cloud Storage URL, and for any text."""
        if part.kind == "document" and part.text:
            return True
        return is_supported_file(part, _FILES.get(part.kind, ()), _URL_SCHEMES)

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One user content with one part per result, in the order of the calls."""
        return [{"role": "user", "parts": [{"functionResponse": _response(result)} for result in results]}]


def _is_empty(content: JSONValue) -> bool:
    """True for a response or content without parts: it was blocked or is empty."""
    return (
        isinstance(content, dict) and content.get("parts") is None and not _MESSAGE_KEYS.isdisjoint(content)
    )


def _choice(choice: Choice, names_key: str) -> JSONObject:
    if choice.tools is None or choice.mode == "none":
        return {"mode": _MODES[choice.mode]}
    mode = "ANY" if choice.mode == "required" else "VALIDATED"  # AUTO takes no names
    return {"mode": mode, names_key: [*choice.tools]}


def _declared(tool: PayloadCursor) -> list[PayloadCursor] | None:
    """The functions of a tool; None if it has none."""
    body = object_or_empty(tool.value)
    key = next((key for key in _DECLARATIONS if body.get(key) is not None), None)
    return None if key is None else list(tool.members(key))


def _own_tools(tool: PayloadCursor) -> JSONObject:
    """The parts of a tool that are not functions: tools that Google defines."""
    body = object_or_empty(tool.value)
    return {key: value for key, value in body.items() if value is not None and key not in _DECLARATIONS}


def _read_other(tool: PayloadCursor) -> ReadTool:
    own = _own_tools(tool)
    is_own = _FUNCTION_KEYS.isdisjoint(own) and all(isinstance(part, dict | list) for part in own.values())
    return ProviderTool("_".join(own), own, tool.path) if own and is_own else _read_function(tool)


def _read_function(function: PayloadCursor) -> ImportedTool:
    body = function.object()
    if not _FOREIGN_KEYS.isdisjoint(body):
        function.fail("'parameters' or 'parametersJsonSchema'")
    hints = read_hints(body, _HINTS)
    key, schema = _read_schema(function, "parametersJsonSchema")
    output_key, output = _read_schema(function, "responseJsonSchema")
    always = ("description", "parametersJsonSchema") if schema is None else ("description",)
    more = kept_fields(body, {*_SCHEMA_KEYS, *hints}, *always)
    for used in (key, output_key):
        if used in _NEWEST_KEYS:
            more[used] = body[used] if used in MESSAGES else None
    return ImportedTool(
        function.need("name").text(),
        function.maybe_text("description"),
        {"type": "object", "properties": {}} if schema is None else schema,
        function.path,
        {} if output is None else {"output_schema": output},
        hints,
        more,
    )


def _read_schema(function: PayloadCursor, newest: str) -> tuple[str, JSONObject | None]:
    """A schema with its key, which may be an older one of the same meaning."""
    for key in (newest, *(key for key, other in _NEWEST_KEYS.items() if other == newest)):
        found = function.get(key)
        if found is not None:
            body = found.object("a Schema" if key in MESSAGES else "a JSON Schema")
            return key, cast("JSONObject", from_message(body)) if key in MESSAGES else body
    return newest, None


def _response(result: OutgoingResult) -> JSONObject:
    """One result; the server reads only `output` and `error`."""
    fields: JSONObject = {"error": result.text or result.kind}
    if not result.is_error:
        rest = text_without_value(result)
        fields = {"output": result.text if rest is None or rest not in _EMPTY_MESSAGES else result.value}
    response: JSONObject = {"id": result.id, "name": result.name, "response": fields}
    if block_fields(result.extras).get("no_id"):
        del response["id"]
    if result.parts:
        response["parts"] = [_part(part) for part in result.parts]
    return response


def _part(part: Media) -> JSONObject:
    if part.url is not None:
        return {"fileData": {"fileUri": part.url, "mimeType": part.media_type}}
    is_text = part.kind == "document" and part.text is not None  # the API accepts only this text type
    return {"inlineData": {"mimeType": _TEXT if is_text else part.media_type, "data": part.base64}}


FORMAT: Final = Gemini()
