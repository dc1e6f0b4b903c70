"""Bedrock's Converse: `toolConfig`, `toolUse` and `toolResult` blocks, for whichever model stands behind it.

Knows this wire alone; its schemas are held to what Claude takes, the narrowest of the models that it serves.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, cast

from pydantic_core import to_json

from toolhaft.core.call import ToolCall
from toolhaft.errors import WireError
from toolhaft.formats.anthropic_strict import LOOSE, STRICT
from toolhaft.formats.bedrock_stream import Events
from toolhaft.formats.blocks import Asked, BlockWire, said_of
from toolhaft.formats.choices import Choice
from toolhaft.formats.hints import CACHE_CONTROL, Hints, not_taken, surplus_points, taken
from toolhaft.formats.names import WORD, rule
from toolhaft.formats.shapes import Shape
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.formats.wire import Answer, Declared, Imported, Media, Setting, Stream, WireCall
from toolhaft.formats.writing import arguments_object, beside_value, is_taken
from toolhaft.schema.json_value import JSONObject, JSONValue

_HINTS: Final[Hints] = {"cache_control": CACHE_CONTROL}
_OWN: Final = frozenset(("toolUseId", "name", "input"))
_FORMATS: Final[Mapping[str, Mapping[str, str]]] = {
    "image": {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"},
    "audio": {},
    "video": {
        "video/x-matroska": "mkv",
        "video/quicktime": "mov",
        "video/mp4": "mp4",
        "video/webm": "webm",
        "video/x-flv": "flv",
        "video/mpeg": "mpeg",
        "video/x-ms-wmv": "wmv",
        "video/3gpp": "three_gp",
    },
    "document": {
        "application/pdf": "pdf",
        "text/csv": "csv",
        "application/msword": "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.ms-excel": "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "text/html": "html",
        "text/plain": "txt",
        "text/markdown": "md",
    },
}
_BUCKET: Final = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?")
_LONGEST_URL: Final = 1024
_EVENTS: Final = frozenset(
    (
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
        "internalServerException",
        "modelStreamErrorException",
        "validationException",
        "throttlingException",
        "serviceUnavailableException",
    )
)
_BAD_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9\s\-()\[\]]")
_LONGEST_NAME: Final = 200
_NO_WORDS: Final = "OK"
"""The message of a success that has nothing to say."""


class Bedrock(BlockWire):
    """`toolConfig`; messages whose `content` is a list of blocks, each an object with one key.

    The dialect says who writes the request: boto3 takes bytes as bytes and encodes them itself; over plain
    HTTP they are Base64.
    """

    name = "bedrock"
    beginning = re.compile("contentBlockStart.*toolUse")
    dialects = ("boto3", "http")
    tool_names = rule(WORD, 64)
    call_ids = rule("A-Za-z0-9_.:-", 64)
    has_strict = True
    arranges = True
    hints = frozenset(_HINTS)
    choices = frozenset(("auto", "required", "one"))
    parts = frozenset(("image", "document", "video"))
    cuts = frozenset(
        (
            "max_tokens",
            "model_context_window_exceeded",
            "malformed_tool_use",
            "malformed_model_output",
            "content_filtered",
            "guardrail_intervened",
        )
    )

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- its dialects differ in bytes alone
        """Any schema but for its root, or the strict subset."""
        return STRICT if strict else LOOSE

    def write_tool(self, tool: Declared) -> JSONObject:
        """A `toolSpec`."""
        spec: JSONObject = {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"json": tool.schema},
        }
        if tool.strict:
            spec["strict"] = True
        return {"toolSpec": spec}

    def told(self, tool: Declared) -> Sequence[SchemaLoss]:
        """A wish to be cached that cannot be read."""
        return not_taken(tool.hints, _HINTS) if tool.hints else ()

    def arrange(self, tools: Sequence[tuple[JSONObject, bytes]]) -> list[bytes]:
        """The tools one after the other, a cache point after each that gets one."""
        asked = [taken(hints, _HINTS) for hints, _ in tools]
        surplus = _surplus(asked)
        written: list[bytes] = []
        for number, (_, tool) in enumerate(tools):
            written.append(tool)
            if asked[number] and number not in surplus:
                written.append(to_json({"cachePoint": _cache_point(asked[number]["cache_control"])}))
        return written

    def told_together(self, hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
        """The first of too many tools that are to be cached."""
        return _surplus([taken(hint, _HINTS) for hint in hints])

    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The one field of a request."""
        config: JSONObject = {"tools": tools}
        if setting.choice is not None:
            config["toolChoice"] = _choice(setting.choice)
        return {"toolConfig": config}

    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """The `toolSpec`s, each with the cache point that follows it."""
        if isinstance(payload.value, dict) and "toolConfig" in payload.value:
            payload = payload.need("toolConfig")
        last: Imported | None = None
        for tool in payload.members("tools"):
            body = tool.object()
            if "cachePoint" in body:
                if last is not None:
                    last = last._replace(hints={"cache_control": _cache_control(tool.need("cachePoint"))})
                continue
            if last is not None:
                yield last
            if "systemTool" in body:
                tool.fail("a 'toolSpec': a tool of the server's own has no schema to import")
            last = _read_spec(tool.need("toolSpec"))
        if last is not None:
            yield last

    def read_calls(self, message: Shape) -> list[ToolCall]:
        """The calls of a response, of a message, of several, or of a list of blocks."""
        body = message.value
        if type(body) is dict:
            output = body.get("output")
            inside = output.get("message") if type(output) is dict else body
            blocks = inside.get("content") if type(inside) is dict else None
            if type(blocks) is list:
                path = "content" if inside is body else "output.message.content"
                return self.read_blocks(blocks, path, is_cut=self.is_cut(body.get("stopReason")))
            return self._read_odd(message, body)
        members = list(message.items("a message, or a list of blocks"))
        if any(isinstance(member.value, dict) and "role" in member.value for member in members):
            return list(chain.from_iterable(self.read_calls(member) for member in members))
        return self.read_blocks([member.value for member in members])

    def _read_odd(self, message: Shape, body: JSONObject) -> list[ToolCall]:
        """The call of a block alone, or what is wrong with the message."""
        if "toolUse" in body:
            return self.read_blocks([body])
        if "stream" in body:
            told = "its events: response['stream']"
            raise WireError("got the response of a stream", format=self.name, expected=told)
        if "output" in body:
            message = message.need("output").need("message")
        return message.need("content").fail("a list of blocks")

    def asked(self, block: JSONObject) -> Asked | None:
        """What a `toolUse` block asks for; one that the server runs itself is none."""
        if "toolUse" not in block:
            return None
        use = block["toolUse"]
        if not isinstance(use, dict):
            return None, None, use, None
        if use.get("type") == "server_tool_use":
            return None
        said = None
        if len(use) > len(_OWN):
            said = {key: value for key, value in use.items() if key not in _OWN}
        return use.get("toolUseId"), use.get("name"), use.get("input"), said

    def is_blank(self, block: JSONValue) -> bool:
        """True for text without a word."""
        if not isinstance(block, dict) or "text" not in block:
            return False
        text = block["text"]
        return not isinstance(text, str) or not text.strip()

    def write_block(self, call: WireCall) -> JSONObject:
        """A `toolUse` block."""
        given = arguments_object(call)
        return {"toolUse": {"toolUseId": call.id, "name": call.name, "input": given, **said_of(call.extras)}}

    def is_event(self, value: JSONObject) -> bool:
        """True for an event, which is an object with one key."""
        return not _EVENTS.isdisjoint(value)

    def stream(self) -> Stream:
        """Blocks in deltas, joined by their index."""
        return Events(self)

    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """One message of the assistant; what was kept as Base64 goes to boto3 as the bytes that it was."""
        blocks = self.write_blocks(calls)
        if calls[0].dialect != "http":
            blocks = [_with_bytes(block) for block in blocks]
        return [{"role": "assistant", "content": blocks}]

    def tidy(self, block: JSONValue) -> JSONValue:
        """A block as it is kept: JSON, with Base64 for bytes, whoever read it off the wire."""
        hidden = _hidden(block)
        if not isinstance(hidden, bytes):
            return block
        return {"reasoningContent": {"redactedContent": b64encode(hidden).decode()}}

    def carries(self, part: Media) -> bool:
        """True for what it has a format for, here or in a bucket; it fetches nothing from the web."""
        if part.url is not None and (len(part.url) > _LONGEST_URL or not _BUCKET.fullmatch(part.url)):
            return False
        return is_taken(part, _FORMATS[part.kind], ("s3://",))

    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:
        """One message of the user with a block a result."""
        names: set[str] = set()
        return [
            {
                "role": "user",
                "content": [{"toolResult": _result(answer, dialect, names)} for answer in answers],
            }
        ]


def _choice(choice: Choice) -> JSONObject:
    if choice.form == "one" and choice.tools:
        return {"tool": {"name": choice.tools[0]}}
    return {"any": {}} if choice.mode == "required" else {"auto": {}}


def _surplus(hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
    return surplus_points([number for number, hint in enumerate(hints) if hint])


def _cache_point(control: JSONValue) -> JSONObject:
    ttl = control.get("ttl") if isinstance(control, dict) else None
    return {"type": "default"} if ttl is None else {"type": "default", "ttl": ttl}


def _cache_control(point: Shape) -> JSONObject:
    ttl = point.maybe_text("ttl")
    return {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}


def _read_spec(spec: Shape) -> Imported:
    schema = spec.need("inputSchema").need("json").object("a JSON Schema")
    return Imported(spec.need("name").text(), spec.maybe_text("description"), schema, spec.path, {}, {})


def _hidden(block: JSONValue) -> object:
    """The one thing beside results that is bytes: reasoning that only its server can read."""
    thought = block.get("reasoningContent") if isinstance(block, dict) else None
    return thought.get("redactedContent") if isinstance(thought, dict) else None


def _with_bytes(block: JSONValue) -> JSONValue:
    hidden = _hidden(block)
    if not isinstance(hidden, str):
        return block
    try:
        content = b64decode(hidden, validate=True)
    except ValueError:
        return block
    return {"reasoningContent": {"redactedContent": cast("JSONValue", content)}}


def _result(answer: Answer, dialect: str, names: set[str]) -> JSONObject:
    """One result; a value goes as JSON where it is an object, the only kind that the wire takes as such."""
    beside = beside_value(answer) if isinstance(answer.value, dict) else None
    text = answer.text if beside is None else beside if beside != _NO_WORDS else ""
    content: list[JSONValue] = [{"text": text}] if text.strip() else []
    if beside is not None:
        content.append({"json": answer.value})
    content += [_part(part, answer.id, dialect, names) for part in answer.parts]
    return {
        "toolUseId": answer.id,
        "content": content or [{"text": answer.kind or _NO_WORDS}],  # blank text is refused
        "status": "error" if answer.is_error else "success",
    }


def _part(part: Media, id: str, dialect: str, names: set[str]) -> JSONObject:
    form = _FORMATS[part.kind][part.media_type]
    source: JSONObject = {"s3Location": {"uri": part.url}}
    if part.url is None:
        source = {"bytes": part.base64 if dialect == "http" else cast("str", part.data)}
    if part.kind != "document":
        return {part.kind: {"format": form, "source": source}}
    return {"document": {"format": form, "name": _document_name(part.name, id, names), "source": source}}


def _document_name(name: str, id: str, names: set[str]) -> str:
    """A name of the few characters that the wire takes, no other document's of the turn."""
    safe = " ".join(_BAD_IN_NAMES.sub("-", name).split()) or _BAD_IN_NAMES.sub("-", f"document {id}")
    made, count = safe[:_LONGEST_NAME], 1
    while made in names:
        count += 1
        made = f"{safe[: _LONGEST_NAME - 10]} ({count})"
    names.add(made)
    return made


WIRE: Final = Bedrock()
