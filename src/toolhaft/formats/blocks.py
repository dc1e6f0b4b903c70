"""Shared by formats whose messages are lists of blocks: reads calls and keeps the other blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import ClassVar, TypeAlias, cast

from toolhaft.core.call import ToolCall
from toolhaft.formats.message_parts import as_object, list_or_empty, object_or_empty, unique_ids
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.provider_format import (
    TRUNCATED,
    OutgoingCall,
    PartialCall,
    ProviderFormat,
    Stream,
    malformed_call,
)
from toolhaft.schema.json_text import has_repeated_key
from toolhaft.schema.json_value import JSONObject, JSONValue

BlockCall: TypeAlias = tuple[object, object, object, JSONObject | None]
"""A call block: id, name, arguments, and the other fields of the block."""


class BlockFormat(ProviderFormat):
    """A format whose messages are lists of blocks.

    In a call's extras, `before` has the blocks since the previous call, `block` the other fields of its own
    block, and `after`, on the last call only, the blocks that follow.
    """

    truncation_reasons: ClassVar[frozenset[str]] = frozenset()
    """The stop reasons of an incomplete message."""
    marks_first_call: ClassVar[bool] = False
    """True if the first call of a message always has extras."""

    @abstractmethod
    def block_call(self, block: JSONObject) -> BlockCall | None:
        """The call of a block; None if the block is not a call."""

    @abstractmethod
    def is_blank(self, block: JSONValue) -> bool:
        """True for an empty block, which servers refuse in a history."""

    def cleaned(self, block: JSONValue) -> JSONValue:
        """The block as the server sent it, without what an SDK added."""
        return block

    @abstractmethod
    def write_block(self, call: OutgoingCall) -> JSONObject:
        """The block of one call."""

    def is_truncated(self, reason: object) -> bool:
        """True if a message with this stop reason is incomplete."""
        return isinstance(reason, str) and reason in self.truncation_reasons

    def read_blocks(
        self, blocks: Sequence[JSONValue], path: str = "", reason: object = None
    ) -> list[ToolCall]:
        """The calls among the blocks of one message, with its stop reason.

        If the message was truncated and ends in a call, that call is malformed: parts may be missing.
        """
        calls: list[ToolCall] = []
        before: list[JSONValue] = []
        for block in blocks:
            if type(block) is not dict:
                PayloadCursor(block, self.name, f"{path}[{blocks.index(block)}]").fail("an object")
            block_call = self.block_call(block)
            if block_call is None:
                before.append(block)
                continue
            id, name, arguments, fields = block_call
            number = len(calls)
            extras: JSONObject | None = None
            if before or fields or (self.marks_first_call and not number):
                extras = self.extras(before, fields, number)
                before = []
            calls.append(self.call(number, id, name, arguments, extras))
        if calls and (before or (reason is not None and self.is_truncated(reason))):
            self._end(calls, before)
        return calls if len(calls) < 2 else unique_ids(calls)  # noqa: PLR2004 -- a single id cannot repeat

    def _end(self, calls: list[ToolCall], after: list[JSONValue]) -> None:
        """Store the blocks that follow the last call in its extras; if none follow, it was truncated."""
        if after:
            self.put_after(calls[-1], after)
        else:
            calls[-1] = truncated_call(calls[-1])

    def extras(
        self,
        before: Sequence[JSONValue],
        fields: JSONObject | None,
        number: int,  # noqa: ARG002 -- for overrides
    ) -> JSONObject | None:
        """The extras of a call; None if there are none."""
        blocks = [self.cleaned(block) for block in before if not self.is_blank(block)] if before else None
        if blocks:
            kept: JSONObject = {"before": blocks, "block": fields} if fields else {"before": blocks}
            return {self.name: kept}
        return {self.name: {"block": fields}} if fields else None

    def put_after(self, call: ToolCall, after: Iterable[JSONValue]) -> None:
        """Store the blocks that follow the last call in its extras, even if it was already returned."""
        blocks: list[JSONValue] = [self.cleaned(block) for block in after if not self.is_blank(block)]
        if blocks and call.extras is None:
            call.extras = {self.name: {"after": blocks}}
        elif blocks:
            kept = cast("dict[str, JSONObject]", call.extras)[self.name]
            kept["after"] = list_or_empty(kept.get("after")) + blocks

    def read_list(self, members: list[PayloadCursor]) -> list[ToolCall]:
        """The calls of a list of messages, or of a list of blocks."""
        if any(isinstance(member.value, dict) and "role" in member.value for member in members):
            return list(chain.from_iterable(map(self.read_calls, members)))
        return self.read_blocks([member.value for member in members])

    def write_blocks(self, calls: Sequence[OutgoingCall]) -> list[JSONValue]:
        """The blocks of one message, as the provider sent them."""
        blocks: list[JSONValue] = []
        for call in calls:
            blocks += list_or_empty(call.extras.get("before"))
            blocks.append(self.write_block(call))
            blocks += list_or_empty(call.extras.get("after"))
        return blocks


def block_fields(extras: JSONObject) -> JSONObject:
    """The other fields of a call's own block."""
    return object_or_empty(extras.get("block"))


def truncated_call(call: ToolCall) -> ToolCall:
    """The last call of a truncated message, marked malformed."""
    return malformed_call(call.id, call.name, call.arguments, TRUNCATED, call.extras)


class PartialBlock:
    """A block of a stream, not a call, that is not complete yet."""

    __slots__ = ("block", "pieces")

    def __init__(self, block: JSONObject) -> None:
        self.block = block
        self.pieces: dict[str, list[JSONValue]] = {}

    def add(self, key: str, piece: JSONValue) -> None:
        """Append a piece to one of its members."""
        pieces = self.pieces.get(key)
        if pieces is None:
            start = self.block.get(key)
            pieces = self.pieces[key] = [start] if isinstance(start, str) else []
        pieces.append(piece)

    def text(self, key: str) -> str:
        """The joined text of a member."""
        return "".join([piece for piece in self.pieces.get(key, ()) if isinstance(piece, str)])


class BlockStream(Stream[BlockFormat]):
    """The blocks of one streamed message; each call is returned when it is complete.

    A call whose arguments are not a whole object when its block ends waits for the next block or the stop
    reason, which tell whether it was truncated.
    """

    def __init__(self, provider: BlockFormat) -> None:
        super().__init__(provider)
        self.partial_blocks: dict[object, PartialBlock] = {}
        self._others: list[PartialBlock] = []
        self._waiting: dict[object, None] = {}
        self._last: ToolCall | None = None

    @abstractmethod
    def assemble(self, partial: PartialBlock) -> None:
        """Join the pieces of a block; called again if more arrive later."""

    def begin_call(self, key: object, block_call: BlockCall) -> list[ToolCall]:
        """Begin a call block; return the calls that waited."""
        done = self.release() + self.abandon(key)
        id, name, arguments, fields = block_call
        piece = self.begin(key, id, name, self.provider.extras(self._blocks_since_call(), fields, self.count))
        piece.value = arguments
        return done

    def whole_call(self, block_call: BlockCall) -> list[ToolCall]:
        """Add a call that arrived whole; return the calls that are now complete."""
        done = self.begin_call(None, block_call)
        return done + self._checked(self.end(None))

    def complete(self, key: object, arguments: object) -> list[ToolCall]:
        """Complete a call with these arguments."""
        self.open[key].value = arguments
        return self._checked(self.end(key))

    def abandon(self, key: object) -> list[ToolCall]:
        """A call that will not be completed, marked malformed."""
        piece = self.open.pop(key, None)
        return [] if piece is None else self._checked([self._truncated(piece)])

    def begin_other(self, key: object, block: JSONObject) -> list[ToolCall]:
        """Begin a block that is not a call; return the calls that waited."""
        done = self.release()
        self.partial_blocks[key] = partial = PartialBlock(block)
        self._others.append(partial)
        return done

    def end_block(self, key: object) -> list[ToolCall]:
        """End a block; return its call if that is complete."""
        self.partial_blocks.pop(key, None)
        piece = self.open.get(key)
        if piece is None:
            return []
        text = "".join(piece.arguments)
        if text:
            value = as_object(text)
            if value is None or has_repeated_key(text, value):  # the executor reports the problem
                self._waiting[key] = None
                return []
            piece.value = value
        elif not piece.value:
            self._waiting[key] = None
            return []
        return self._checked(self.end(key))

    def release(self, *, is_truncated: bool = False) -> list[ToolCall]:
        """The calls that waited; the last one is malformed if the message was truncated."""
        done: list[ToolCall] = []
        for key in self._waiting:
            piece = self.open[key]
            if piece.arguments:
                piece.value = "".join(piece.arguments)
            done += self.end(key)
        self._waiting.clear()
        if is_truncated and done:
            done[-1] = truncated_call(done[-1])
        return self._checked(done)

    def finish(self) -> None:
        """End the message: store the blocks that follow the last call in its extras."""
        blocks = self._blocks_since_call()
        if blocks and self._last is not None:
            self.provider.put_after(self._last, blocks)

    def close(self) -> list[ToolCall]:
        """The calls that the stream left incomplete, marked malformed."""
        self._waiting.clear()
        left = self._checked(super().close())
        self.finish()
        return left

    def assembled_call(self, piece: PartialCall) -> ToolCall:
        """The call that was assembled."""
        return self.provider.call(piece.number, piece.id, piece.name, piece.value, piece.extras)

    def _blocks_since_call(self) -> list[JSONValue]:
        """The blocks since the last call."""
        others, self._others = self._others, []
        for partial in others:
            self.assemble(partial)
        return [partial.block for partial in others]

    def _checked(self, calls: list[ToolCall]) -> list[ToolCall]:
        calls = unique_ids(calls, self.ids)
        if calls:
            self._last = calls[-1]
        return calls
