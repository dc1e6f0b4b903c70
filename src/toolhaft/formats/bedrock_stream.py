"""Assembles the events of a Converse stream into the blocks that the whole message would have."""

from __future__ import annotations

from toolhaft.core.call import ToolCall
from toolhaft.formats.blocks import BlockStream, PartialBlock
from toolhaft.formats.message_parts import as_object, object_or_empty
from toolhaft.schema.json_value import JSONObject, JSONValue


class BedrockStream(BlockStream):
    """Joins blocks by their index; only tool and image blocks have a start event."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one event."""
        for kind, body in event.items():
            if isinstance(body, dict):
                return self._event(kind, body)
        return []

    def _event(self, kind: str, body: JSONObject) -> list[ToolCall]:
        index = body.get("contentBlockIndex")
        key = index if isinstance(index, int) else None
        match kind:
            case "contentBlockStart":
                start = body.get("start")
                return self._begin(key, start) if isinstance(start, dict) else []
            case "contentBlockDelta":
                delta = body.get("delta")
                return self._delta(key, delta) if isinstance(delta, dict) else []
            case "contentBlockStop":
                return self.end_block(key)
            case "messageStop":
                done = self.release(is_truncated=self.provider.is_truncated(body.get("stopReason")))
                self.finish()
                return done
            case _:
                return []

    def _begin(self, key: object, start: JSONObject) -> list[ToolCall]:
        use = start.get("toolUse")
        block_call = self.provider.block_call(
            {"toolUse": {"input": {}, **use}} if isinstance(use, dict) else start
        )
        return self.begin_other(key, dict(start)) if block_call is None else self.begin_call(key, block_call)

    def _delta(self, key: object, delta: JSONObject) -> list[ToolCall]:
        partial = self.partial_blocks.get(key)
        if "toolUse" in delta and (partial is None or "toolUse" not in partial.block):
            self.add(key, object_or_empty(delta["toolUse"]).get("input"))
            return []
        done: list[ToolCall] = []
        if partial is None:
            done = self.begin_other(key, {})
            partial = self.partial_blocks[key]
        for name, piece in delta.items():
            partial.add(name, piece)
        return done

    def assemble(self, partial: PartialBlock) -> None:
        """The block as a whole message would have it."""
        block, pieces = partial.block, partial.pieces
        for name in pieces:
            match name:
                case "text":
                    block[name] = partial.text(name)
                case "reasoningContent":
                    block[name] = _reasoning(_objects(pieces[name]))
                case "toolUse":
                    text = "".join([str(piece.get("input", "")) for piece in _objects(pieces[name])])
                    block[name] = {**object_or_empty(block.get(name)), "input": as_object(text) or {}}
                case "toolResult":
                    block[name] = {**object_or_empty(block.get(name)), "content": _contents(pieces[name])}
                case "image":
                    block[name] = {**object_or_empty(block.get(name)), **_image(_objects(pieces[name]))}
                case _:
                    pass
        if "citation" in pieces:
            content: list[JSONValue] = [{"text": block.pop("text", "")}]
            block["citationsContent"] = {"content": content, "citations": [*pieces["citation"]]}


def _objects(pieces: list[JSONValue]) -> list[JSONObject]:
    return [piece for piece in pieces if isinstance(piece, dict)]


def _reasoning(pieces: list[JSONObject]) -> JSONObject:
    redacted = _joined(pieces, "redactedContent")
    if redacted is not None:
        return {"redactedContent": redacted}
    reasoning: JSONObject = {"text": _joined(pieces, "text") or ""}
    signature = _joined(pieces, "signature")
    if signature is not None:
        reasoning["signature"] = signature
    return {"reasoningText": reasoning}


def _image(pieces: list[JSONObject]) -> JSONObject:
    sources = [object_or_empty(piece.get("source")) for piece in pieces]
    data = _joined(sources, "bytes")
    if data is not None:
        return {"source": {"bytes": data}}
    return {name: piece[name] for piece in pieces for name in piece}


def _joined(pieces: list[JSONObject], key: str) -> str | None:
    """The joined pieces of a text, or of bytes from boto3; None if there are none."""
    found = [piece[key] for piece in pieces if isinstance(piece.get(key), str | bytes)]
    if not found:
        return None
    joined = found[0]
    for piece in found[1:]:
        if type(piece) is type(joined):
            joined += piece  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType] -- text to text, bytes to bytes
    return joined  # pyright: ignore[reportReturnType, reportUnknownVariableType] -- as above


def _contents(pieces: list[JSONValue]) -> list[JSONValue]:
    """The content of a server tool's result, with its texts joined."""
    contents: list[JSONValue] = []
    for piece in pieces:
        for part in _objects(piece) if isinstance(piece, list) else ():
            last = object_or_empty(contents[-1]) if contents else {}
            if isinstance(part.get("text"), str) and isinstance(last.get("text"), str):
                contents[-1] = {"text": f"{last['text']}{part['text']}"}
            else:
                contents.append(part)
    return contents
