"""Gemini's generateContent: function declarations, parts that call and answer, signatures of thoughts.

Knows this wire alone, of the developer API and of Vertex. Both read camel case and snake case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.formats.blocks import Asked, BlockWire, said_of
from toolhaft.formats.choices import ALL_FORMS, Choice
from toolhaft.formats.gemini_schema import JSON_SCHEMA, SCHEMA_MESSAGE, from_message, lower_output
from toolhaft.formats.gemini_stream import TEXT_KEYS, Chunks, is_partial, unreadable
from toolhaft.formats.gemini_tidy import tidy_parts
from toolhaft.formats.hints import Hints, not_taken, one_of, taken
from toolhaft.formats.names import NameRule, rule
from toolhaft.formats.shapes import Shape
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.formats.wire import Answer, Declared, Imported, Media, Setting, Stream, WireCall
from toolhaft.formats.writing import WEB, arguments_object, beside_value, is_taken
from toolhaft.schema.json_value import JSONObject, JSONValue

FOREIGN: Final = "skip_thought_signature_validator"
"""The signature of a first call that no Gemini model made; without any, the server refuses the turn."""
_MESSAGE: Final = "parameters"
_HINTS: Final[Hints] = {"behavior": one_of("BLOCKING", "NON_BLOCKING", "UNSPECIFIED")}
_NO_WORDS: Final = frozenset(("", "OK"))
"""The messages of a success that say nothing beside the value."""
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
_PLACES: Final = (*WEB, "gs://")
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_OF_A_RESPONSE: Final = frozenset(
    ("candidates", "usageMetadata", "promptFeedback", "modelVersion", "responseId", "usage_metadata")
)
_OF_AN_ANSWER: Final = _OF_A_RESPONSE | {"role", "finishReason", "finish_reason"}

_FOREIGN_KEYS: Final = frozenset(("function", "inputSchema", "input_schema", "toolSpec"))
"""Where other wires have the schema: read as this one, such a tool would lose it."""


class Gemini(BlockWire):
    """`tools` and `toolConfig`; contents whose `parts` are a list.

    `unsigned` in a first call's extras tells that Gemini itself left it so; `no_id` that the id was made up.
    """

    name = "gemini"
    beginning = re.compile("function_?[Cc]all")
    dialects = ("parametersJsonSchema", _MESSAGE)
    tool_names = rule("A-Za-z0-9_.:-", 64, first="A-Za-z_")  # the SDK says 128, servers said 64
    call_ids = NameRule(re.compile(".+", re.DOTALL), re.compile("(?!)"), 1000)  # anything but nothing
    needs_ids = False
    fields = frozenset(("output_schema",))
    hints = frozenset(_HINTS)
    choices = ALL_FORMS
    parts = frozenset(("image", "video", "document"))
    cuts = frozenset(("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"))

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- it has no strict mode
        """JSON Schema as far as it is known to be read, or the fields of a Schema message."""
        return SCHEMA_MESSAGE if dialect == _MESSAGE else JSON_SCHEMA

    def write_tool(self, tool: Declared) -> JSONObject:
        """A function declaration."""
        written: JSONObject = {"name": tool.name, "description": tool.description}
        if tool.dialect == _MESSAGE:
            if tool.schema.get("properties"):  # an object without properties is refused
                written["parameters"] = tool.schema
        else:
            written["parametersJsonSchema"] = tool.schema
            if tool.tool.output_schema is not None:
                output, _ = lower_output(tool.tool.output_schema)  # pyright: ignore[reportArgumentType] -- a JSON Schema
                if output is not None:
                    written["responseJsonSchema"] = output
        if tool.hints:
            written.update(taken(tool.hints, _HINTS))
        return written

    def told(self, tool: Declared) -> Sequence[SchemaLoss]:
        """What becomes of the output schema, and of a wish that few servers have an ear for."""
        told = not_taken(tool.hints, _HINTS)
        if taken(tool.hints, _HINTS):
            told.append(SchemaLoss("", "metadata.wire.behavior", "kept", "only the Live API reads it"))
        if tool.tool.output_schema is None:
            return told
        if tool.dialect == _MESSAGE:
            return [*told, SchemaLoss("", "output_schema", "left out")]
        return [*told, *lower_output(tool.tool.output_schema)[1]]  # pyright: ignore[reportArgumentType] -- a JSON Schema

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The two fields of a request, in snake case where the dialect is the seed's."""
        if setting.dialect == _MESSAGE:
            fields: JSONObject = {"tools": [{"function_declarations": tools}]}
            if setting.choice is not None:
                config = _choice(setting.choice, "allowed_function_names")
                fields["tool_config"] = {"function_calling_config": config}
            return fields
        fields = {"tools": [{"functionDeclarations": tools}]}
        if setting.choice is not None:
            config = _choice(setting.choice, "allowedFunctionNames")
            fields["toolConfig"] = {"functionCallingConfig": config}
        return fields

    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """Function declarations in either dialect; Google's own tools have no schema to read."""
        for tool in payload.members("tools"):
            declared = _either(tool, "functionDeclarations", "function_declarations")
            if declared is not None:
                for function in declared.items():
                    yield _read_function(function)
            elif "name" in tool.object():
                yield _read_function(tool)
            else:
                tool.fail("'functionDeclarations': a tool of the server's own has no schema to import")

    def read_calls(self, message: Shape) -> list[ToolCall]:
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
            Shape(first, self.name, "candidates[0]").fail("a candidate")
        return self._read_content(first, "candidates[0]") or unreadable(self, first)

    def _read_content(self, body: JSONObject, path: str) -> list[ToolCall]:
        """The calls of a candidate, or of a content."""
        content = body.get("content", body)
        parts = content.get("parts") if type(content) is dict else None
        if type(parts) is list:
            reason = body.get("finishReason") or body.get("finish_reason")
            inside = "parts" if content is body else f"{path}.content.parts"
            return self._read_parts(parts, inside, reason)
        if content is None or _is_silent(content):
            return []
        if "functionCall" in body or "function_call" in body:
            return self._read_parts([body], path, None)
        at = Shape(body, self.name, path)
        return (at if content is body else at.need("content")).need("parts").fail("a list of parts")

    def _read_list(self, message: Shape) -> list[ToolCall]:
        members = list(message.items("a response, a content, or a list of parts"))
        bodies = [member.value for member in members if isinstance(member.value, dict)]
        if any(self.is_event(body) for body in bodies):  # how a stream comes where no events are asked for
            stream = Chunks(self)
            return [call for body in bodies for call in stream.feed(body)] + stream.close()
        if any("parts" in body for body in bodies):
            return list(chain.from_iterable(self.read_calls(member) for member in members))
        return self._read_parts([member.value for member in members], "", None)

    def _read_parts(self, parts: list[JSONValue], path: str, reason: JSONValue) -> list[ToolCall]:
        parts = tidy_parts(parts)
        for part in parts:
            if is_partial(part):
                stream = Chunks(self)
                return stream.take(parts, reason) + stream.close()
        return self.read_blocks(parts, path, is_cut=self.is_cut(reason))

    def asked(self, block: JSONObject) -> Asked | None:
        """What a `functionCall` part asks for."""
        if "functionCall" not in block:
            return None
        call = block["functionCall"]
        if type(call) is not dict:
            return None, None, call, None
        said: JSONObject | None = None
        if len(block) == 2 and "thoughtSignature" in block:  # noqa: PLR2004 -- the common case, quickly
            said = {"thoughtSignature": block["thoughtSignature"]}
        elif len(block) > 1:
            said = {key: value for key, value in block.items() if key != "functionCall"}
        id = call.get("id")
        if not id:
            said = {"no_id": True} if said is None else {**said, "no_id": True}
        return id, call.get("name"), call.get("args", {}), said

    def extras(self, before: Sequence[JSONValue], said: JSONObject | None, number: int) -> JSONObject | None:
        """What is kept with a call; of a first one also that Gemini itself made it, or that it did not."""
        if number:
            return super().extras(before, said, number)
        if said and said.get("thoughtSignature") == FOREIGN:
            del said["thoughtSignature"]  # of the call alone: its block stays as it came
            return super().extras(before, said, number) if said or before else None
        return super().extras(before, said, number) or {self.name: {"unsigned": True}}

    def is_blank(self, block: JSONValue) -> bool:
        """True for an empty text that is not signed."""
        return isinstance(block, dict) and block.get("text") == "" and block.keys() <= TEXT_KEYS

    def write_block(self, call: WireCall) -> JSONObject:
        """A `functionCall` part."""
        said = dict(said_of(call.extras))
        given = arguments_object(call)
        if said.pop("no_id", None):
            return {"functionCall": {"name": call.name, "args": given}, **said}
        return {"functionCall": {"id": call.id, "name": call.name, "args": given}, **said}

    def is_event(self, value: JSONObject) -> bool:
        """True for a response: a stream is made of such ones."""
        return not _OF_A_RESPONSE.isdisjoint(value)

    def stream(self) -> Stream:
        """Responses with some parts each."""
        return Chunks(self)

    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """One content of the model; a first call from elsewhere says that it cannot be signed."""
        parts = self.write_blocks(calls)
        if not calls[0].extras:
            parts[0] = {**self.write_block(calls[0]), "thoughtSignature": FOREIGN}
        return [{"role": "model", "parts": parts}]

    def carries(self, part: Media) -> bool:
        """True for what a response may hold, here or in Google's reach, and for any text."""
        if part.kind == "document" and part.text:
            return True
        return is_taken(part, _FILES.get(part.kind, ()), _PLACES)

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:  # noqa: ARG002 -- results are the same in both
        """One content of the user with a part a result, in the order of the calls."""
        return [{"role": "user", "parts": [{"functionResponse": _response(answer)} for answer in answers]}]


def _is_silent(content: JSONValue) -> bool:
    """True for a response or a content without parts: a blocked or an empty one."""
    return (
        isinstance(content, dict) and content.get("parts") is None and not _OF_AN_ANSWER.isdisjoint(content)
    )


def _choice(choice: Choice, names_key: str) -> JSONObject:
    if choice.tools is None or choice.mode == "none":
        return {"mode": _MODES[choice.mode]}
    mode = "ANY" if choice.mode == "required" else "VALIDATED"  # AUTO takes no names
    return {"mode": mode, names_key: [*choice.tools]}


def _either(tool: Shape, camel: str, snake: str) -> Shape | None:
    return tool.get(camel) or tool.get(snake)


def _read_function(function: Shape) -> Imported:
    if not _FOREIGN_KEYS.isdisjoint(function.object()):
        function.fail("'parameters' or 'parametersJsonSchema'")
    written = _either(function, "parametersJsonSchema", "parameters_json_schema")
    message = function.get("parameters")
    schema: JSONValue = {"type": "object", "properties": {}}
    if written is not None:
        schema = written.object("a JSON Schema")
    elif message is not None:
        schema = from_message(message.object("a Schema"))
    behavior = function.maybe_text("behavior")
    return Imported(
        function.need("name").text(),
        function.maybe_text("description"),
        cast("JSONObject", schema),
        function.path,
        _read_output(function),
        {} if behavior is None else {"behavior": behavior},
    )


def _read_output(function: Shape) -> Mapping[str, object]:
    written = _either(function, "responseJsonSchema", "response_json_schema")
    if written is not None:
        return {"output_schema": written.object("a JSON Schema")}
    message = function.get("response")
    return {} if message is None else {"output_schema": from_message(message.object("a Schema"))}


def _response(answer: Answer) -> JSONObject:
    """One result; what the server reads is under `output` or `error` alone."""
    said: JSONObject = {"error": answer.text or answer.kind}
    if not answer.is_error:
        beside = beside_value(answer)
        said = {"output": answer.text if beside is None or beside not in _NO_WORDS else answer.value}
    response: JSONObject = {"id": answer.id, "name": answer.name, "response": said}
    if said_of(answer.extras).get("no_id"):
        del response["id"]
    if answer.parts:
        response["parts"] = [_part(part) for part in answer.parts]
    return response


def _part(part: Media) -> JSONObject:
    if part.url is not None:
        return {"fileData": {"fileUri": part.url, "mimeType": part.media_type}}
    is_text = part.kind == "document" and part.text is not None  # of whatever kind: the wire knows but one
    return {"inlineData": {"mimeType": _TEXT if is_text else part.media_type, "data": part.base64}}


WIRE: Final = Gemini()
