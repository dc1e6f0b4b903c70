"""Amazon Bedrock's Converse API: tool specs, `toolUse` blocks, `toolResult` blocks."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from pydantic_core import to_json

from toolhaft.core.call import ToolCall
from toolhaft.errors import WireError
from toolhaft.formats.anthropic import LOOSE, STRICT
from toolhaft.formats.bedrock_stream import BedrockStream
from toolhaft.formats.blocks import BlockCall, BlockFormat, block_fields
from toolhaft.formats.choices import Choice
from toolhaft.formats.hints import (
    CACHE_CONTROL,
    HintRules,
    accepted_hints,
    fits,
    rejected_hints,
    surplus_cache_points,
)
from toolhaft.formats.losses import SchemaLoss
from toolhaft.formats.message_parts import arguments_object, is_supported_file, text_without_value
from toolhaft.formats.names import WORD, rule
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
    kept_fields,
    read_each,
)
from toolhaft.schema.json_value import JSONObject, JSONValue

_HINTS: Final[HintRules] = {"cache_control": CACHE_CONTROL}
_OWN: Final = frozenset(("toolUseId", "name", "input"))
_SPEC_KEYS: Final = frozenset(("name", "description", "inputSchema"))
_OTHER_FORMATS: Final = frozenset(("function", "custom", "functionDeclarations", "function_declarations"))
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
_EMPTY_MESSAGE: Final = "OK"
"""The message of a success without text."""


class Bedrock(BlockFormat):
    """`toolConfig`; messages whose `content` is a list of blocks, each an object with one key.

    The dialect is the client: boto3 takes bytes and encodes them itself; plain HTTP needs Base64.
    """

    name = "bedrock"
    call_start = re.compile("contentBlockStart.*toolUse")
    dialects = ("boto3", "http")
    tool_names = rule(WORD, 64)
    call_ids = rule("A-Za-z0-9_.:-", 64)
    loose_subset = LOOSE
    strict_subset = STRICT
    stream_type = BedrockStream
    arranges = True
    hints = frozenset(_HINTS)
    choices = frozenset(("auto", "required", "one"))
    parts = frozenset(("image", "document", "video"))
    truncation_reasons = frozenset(
        (
            "max_tokens",
            "model_context_window_exceeded",
            "malformed_tool_use",
            "malformed_model_output",
            "content_filtered",
            "guardrail_intervened",
        )
    )

    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """A `toolSpec`."""
        spec: JSONObject = {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"json": tool.schema},
        }
        if tool.strict:
            spec["strict"] = True
        return {"toolSpec": spec}

    def tool_losses(self, tool: ToolDeclaration) -> Sequence[SchemaLoss]:
        """An invalid `cache_control`."""
        return rejected_hints(tool.hints, _HINTS) if tool.hints else ()

    def arrange(self, tools: Sequence[tuple[JSONObject, bytes]]) -> list[bytes]:
        """The tools, with a cache point after each that gets one."""
        accepted = [accepted_hints(hints, _HINTS) for hints, _ in tools]
        surplus = surplus_cache_points(accepted)
        written: list[bytes] = []
        for number, (_, tool) in enumerate(tools):
            written.append(tool)
            if accepted[number] and number not in surplus:
                written.append(to_json({"cachePoint": _cache_point(accepted[number]["cache_control"])}))
        return written

    def joint_losses(self, hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
        """The losses of the cache points over the limit."""
        return surplus_cache_points([accepted_hints(hint, _HINTS) for hint in hints])

    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The one field of a request."""
        config: JSONObject = {"tools": tools}
        if settings.choice is not None:
            config["toolChoice"] = _choice(settings.choice)
        return {"toolConfig": config}

    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """The `toolSpec`s and AWS's own tools, each with the cache point that follows it."""
        if isinstance(payload.value, dict) and "toolConfig" in payload.value:
            payload = payload.need("toolConfig")
        last: ReadTool | None = None
        for found in read_each(payload.members("tools"), _read_member):
            hints = _cache_hints(found)
            if hints is not None and isinstance(last, ImportedTool | ProviderTool) and not last.hints:
                last = last._replace(hints=hints)
                continue
            if last is not None:
                yield last
            last = found
        if last is not None:
            yield last

    def read_calls(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of a response, of a message, of several, or of a list of blocks."""
        body = message.value
        if type(body) is dict:
            output = body.get("output")
            inside = output.get("message") if type(output) is dict else body
            blocks = inside.get("content") if type(inside) is dict else None
            if type(blocks) is list:
                path = "content" if inside is body else "output.message.content"
                return self.read_blocks(blocks, path, body.get("stopReason"))
            return self._read_single_block(message, body)
        return self.read_list(list(message.items("a message, or a list of blocks")))

    def _read_single_block(self, message: PayloadCursor, body: JSONObject) -> list[ToolCall]:
        """The call of a single block.

        Raises:
            WireError: for anything else.
        """
        if "toolUse" in body:
            return self.read_blocks([body])
        if "stream" in body:
            expected = "its events: response['stream']"
            raise WireError("got the response of a stream", format=self.name, expected=expected)
        if "output" in body:
            message = message.need("output").need("message")
        return message.need("content").fail("a list of blocks")

    def block_call(self, block: JSONObject) -> BlockCall | None:
        """The call of a `toolUse` block; None for a tool that the server runs."""
        if "toolUse" not in block:
            return None
        use = block["toolUse"]
        if not isinstance(use, dict):
            return None, None, use, None
        if use.get("type") == "server_tool_use":
            return None
        fields = None
        if len(use) > len(_OWN):
            fields = {key: value for key, value in use.items() if key not in _OWN}
        return use.get("toolUseId"), use.get("name"), use.get("input"), fields

    def is_blank(self, block: JSONValue) -> bool:
        """True for blank text."""
        if not isinstance(block, dict) or "text" not in block:
            return False
        text = block["text"]
        return not isinstance(text, str) or not text.strip()

    def write_block(self, call: OutgoingCall) -> JSONObject:
        """A `toolUse` block."""
        use: JSONObject = {"toolUseId": call.id, "name": call.name, "input": arguments_object(call)}
        return {"toolUse": {**use, **block_fields(call.extras)}}

    def is_event(self, value: JSONObject) -> bool:
        """True for an event: an object with one key."""
        return not _EVENTS.isdisjoint(value)

    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """One message of the assistant; stored Base64 becomes bytes again for boto3."""
        blocks = self.write_blocks(calls)
        if calls[0].dialect != "http":
            blocks = [_with_bytes(block) for block in blocks]
        return [{"role": "assistant", "content": blocks}]

    def cleaned(self, block: JSONValue) -> JSONValue:
        """The block as JSON, with Base64 for the bytes that boto3 returns."""
        redacted = _redacted(block)
        if not isinstance(redacted, bytes):
            return block
        return {"reasoningContent": {"redactedContent": b64encode(redacted).decode()}}

    def supports_part(self, part: Media) -> bool:
        """True for the supported file types, as data or an S3 URL; other URLs are not fetched."""
        if part.url is not None and (len(part.url) > _LONGEST_URL or not _BUCKET.fullmatch(part.url)):
            return False
        return is_supported_file(part, _FORMATS[part.kind], ("s3://",))

    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """One user message with one block per result."""
        names: set[str] = set()
        return [
            {"role": "user", "content": [{"toolResult": _result(result, names)} for result in results]},
        ]


def _choice(choice: Choice) -> JSONObject:
    if choice.form == "one" and choice.tools:
        return {"tool": {"name": choice.tools[0]}}
    return {"any": {}} if choice.mode == "required" else {"auto": {}}


def _cache_point(control: JSONValue) -> JSONObject:
    ttl = control.get("ttl") if isinstance(control, dict) else None
    return {"type": "default"} if ttl is None else {"type": "default", "ttl": ttl}


def _cache_hints(found: ReadTool) -> JSONObject | None:
    """The hint for the tool before a cache point; None for anything else."""
    point = found.declaration.get("cachePoint") if isinstance(found, ProviderTool) else None
    if not isinstance(point, dict) or not point.keys() <= {"type", "ttl"}:
        return None
    ttl = point.get("ttl")
    hint: JSONValue = {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}
    return {"cache_control": hint} if fits(hint, CACHE_CONTROL) else None


def _read_member(tool: PayloadCursor) -> ReadTool:
    body = tool.object()
    if "toolSpec" in body:
        return _read_spec(tool.need("toolSpec"), kept_fields(body, ("toolSpec",)))
    kind = next(iter(body), "")
    if len(body) != 1 or kind in _OTHER_FORMATS or not isinstance(body[kind], dict):
        tool.need("toolSpec", "a 'toolSpec', or a tool that AWS defines")
    return ProviderTool(tool.need(kind).maybe_text("name") or kind, body, tool.path)


def _read_spec(spec: PayloadCursor, outside: JSONObject) -> ImportedTool:
    schema = spec.need("inputSchema").need("json").object("a JSON Schema")
    inside = kept_fields(spec.object(), _SPEC_KEYS, "description")
    more: JSONObject = {**outside, **({"toolSpec": inside} if inside else {})}
    name, description = spec.need("name").text(), spec.maybe_text("description")
    return ImportedTool(name, description, schema, spec.path, {}, {}, more)


def _redacted(block: JSONValue) -> object:
    """The redacted reasoning of a block, the only bytes besides results."""
    thought = block.get("reasoningContent") if isinstance(block, dict) else None
    return thought.get("redactedContent") if isinstance(thought, dict) else None


def _with_bytes(block: JSONValue) -> JSONValue:
    redacted = _redacted(block)
    if not isinstance(redacted, str):
        return block
    try:
        content = b64decode(redacted, validate=True)
    except ValueError:
        return block
    return {"reasoningContent": {"redactedContent": cast("JSONValue", content)}}


def _result(result: OutgoingResult, names: set[str]) -> JSONObject:
    """One result; a value is sent as JSON if it is an object, the only type that the API accepts."""
    rest = text_without_value(result) if isinstance(result.value, dict) else None
    text = result.text if rest is None else rest if rest != _EMPTY_MESSAGE else ""
    content: list[JSONValue] = [{"text": text}] if text.strip() else []
    if rest is not None:
        content.append({"json": result.value})
    content += [_part(part, result, names) for part in result.parts]
    return {
        "toolUseId": result.id,
        "content": content or [{"text": result.kind or _EMPTY_MESSAGE}],  # blank text is refused
        "status": "error" if result.is_error else "success",
    }


def _part(part: Media, result: OutgoingResult, names: set[str]) -> JSONObject:
    form = _FORMATS[part.kind][part.media_type]
    source: JSONObject = {"s3Location": {"uri": part.url}}
    if part.url is None:
        source = {"bytes": part.base64 if result.dialect == "http" else cast("str", part.data)}
    if part.kind != "document":
        return {part.kind: {"format": form, "source": source}}
    return {
        "document": {"format": form, "name": _document_name(part.name, result.id, names), "source": source}
    }


def _document_name(name: str, id: str, names: set[str]) -> str:
    """A name of the accepted characters that no other document of the turn has."""
    safe = " ".join(_BAD_IN_NAMES.sub("-", name).split()) or _BAD_IN_NAMES.sub("-", f"document {id}")
    made, count = safe[:_LONGEST_NAME], 1
    while made in names:
        count += 1
        made = f"{safe[: _LONGEST_NAME - 10]} ({count})"
    names.add(made)
    return made


FORMAT: Final = Bedrock()
