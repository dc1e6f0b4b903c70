"""The responses of one Gemini stream put together to the parts that the whole one would have.

Knows this wire's parts alone; calls come whole, but for Vertex where it is asked to send them in pieces.
"""

from __future__ import annotations

from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.formats.blocks import BlockStream, BlockWire, Growing, cut_call
from toolhaft.formats.gemini_pieces import Arguments
from toolhaft.formats.gemini_tidy import tidy_parts
from toolhaft.formats.names import made_up_id
from toolhaft.formats.wire import Piece, broken_call
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

TEXT_KEYS: Final = frozenset(("text", "thought"))
_PIECES: Final = frozenset(("willContinue", "partialArgs"))
_OPEN: Final = "in pieces"
"""The key of the one call that can come in pieces."""
_MISFIT: Final = "the pieces of the arguments do not fit together"


def is_partial(part: JSONValue) -> bool:
    """True for a part that is not the whole of a call."""
    call = part.get("functionCall") if type(part) is dict else None
    return type(call) is dict and not _PIECES.isdisjoint(call) and (_goes_on(call) or bool(_pieces(call)))


def unreadable(wire: BlockWire, candidate: JSONObject) -> list[ToolCall]:
    """The call of which the server says only that it could not read it; none where it says no such thing."""
    reason = candidate.get("finishReason") or candidate.get("finish_reason")
    if not isinstance(reason, str) or not wire.is_cut(reason):
        return []
    said = candidate.get("finishMessage") or candidate.get("finish_message")
    text = said if isinstance(said, str) else ""
    problem = f"the server could not read the call: {reason}"
    return [broken_call(made_up_id(0, "", text), "", text, problem)]


def _goes_on(call: JSONObject) -> bool:
    return call.get("willContinue") is True


def _pieces(call: JSONObject) -> list[JSONValue]:
    pieces = call.get("partialArgs")
    return pieces if isinstance(pieces, list) else []


class Chunks(BlockStream):
    """Texts are joined where they follow each other, each call goes out as soon as it is there."""

    def __init__(self, wire: BlockWire) -> None:
        super().__init__(wire)
        self._arguments = Arguments({})

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one response."""
        candidates = event.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else ():
            if isinstance(candidate, dict) and not candidate.get("index"):
                content = candidate.get("content")
                parts = content.get("parts") if isinstance(content, dict) else None
                reason = candidate.get("finishReason") or candidate.get("finish_reason")
                done = self.take(parts if isinstance(parts, list) else [], reason)
                return done or ([] if self.count else unreadable(self.blocks, candidate))
        return []

    def take(self, parts: list[JSONValue], reason: JSONValue) -> list[ToolCall]:
        """Take some parts, and why there are no more where that is so."""
        done: list[ToolCall] = []
        for part in tidy_parts(parts):
            if isinstance(part, dict):
                done += self._part(part)
        if self.blocks.is_cut(reason) and done:
            done[-1] = cut_call(done[-1])
        if reason:
            self.finish()
        return done

    def _part(self, part: JSONObject) -> list[ToolCall]:
        asked = self.blocks.asked(part)
        if asked is None:
            return self._beside_part(part)
        self.growing.clear()
        call = part["functionCall"]
        if not isinstance(call, dict):
            return self.whole_call(asked)
        done: list[ToolCall] = []
        if _OPEN not in self.open or call.get("name"):
            done = self.abandon(_OPEN)
            self._arguments = Arguments(_object(call.get("args")))
            if not is_partial(part):
                return done + self.whole_call(asked)
            done += self.begin_call(_OPEN, asked)
        for piece in _pieces(call):
            self._arguments.add(piece)
        return done if _goes_on(call) else done + self.give(_OPEN, self._arguments.value)

    def _beside_part(self, part: JSONObject) -> list[ToolCall]:
        last = self.growing.get(None)
        if last is not None and _can_join(last.block, part):
            last.add("text", part["text"])
            return []
        return self.begin_beside(None, dict(part))

    def made(self, piece: Piece) -> ToolCall:
        """The call; a broken one where its pieces do not fit."""
        call = super().made(piece)
        if self._arguments.is_misfit:
            self._arguments = Arguments({})
            return broken_call(call.id, call.name, call.arguments, _MISFIT, call.extras)
        return call

    def close(self) -> list[ToolCall]:
        """The call that the stream left half-said, marked malformed."""
        for piece in self.open.values():
            piece.arguments = [to_json_text(self._arguments.value)]
        return super().close()

    def assemble(self, growing: Growing) -> None:
        """The text of a part that came in several."""
        if growing.pieces:
            growing.block["text"] = growing.text("text")


def _object(value: JSONValue) -> JSONObject:
    return dict(value) if isinstance(value, dict) else {}


def _can_join(last: JSONObject, part: JSONObject) -> bool:
    """True for two texts of one kind; what is signed stays as it is."""
    return (
        isinstance(part.get("text"), str)
        and isinstance(last.get("text"), str)
        and part.keys() <= TEXT_KEYS
        and last.keys() <= TEXT_KEYS
        and bool(part.get("thought")) == bool(last.get("thought"))
    )
