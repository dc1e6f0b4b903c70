"""Messages that are lists of blocks: the calls among them, whole or out of a stream, and what stands beside.

Does not know what a block of any one wire looks like.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeAlias, cast

from toolhaft.core.call import ToolCall
from toolhaft.formats.shapes import Shape
from toolhaft.formats.wire import CUT, Piece, Stream, Wire, WireCall, broken_call
from toolhaft.formats.writing import as_object, no_twins
from toolhaft.schema.json_text import has_repeated_key
from toolhaft.schema.json_value import JSONObject, JSONValue

Asked: TypeAlias = tuple[object, object, object, JSONObject | None]
"""What a block asks for: id, name, arguments, and what else the block says."""


class BlockWire(Wire):
    """A wire whose messages are lists of blocks.

    In a call's extras `before` has the blocks that stood before it, `block` what else its own block said, and
    `after`, on the last call alone, what followed.
    """

    cuts: ClassVar[frozenset[str]] = frozenset()
    """The reasons for which a message ends before it is complete."""

    @abstractmethod
    def asked(self, block: JSONObject) -> Asked | None:
        """What a block asks for; None where it is no call."""

    @abstractmethod
    def is_blank(self, block: JSONValue) -> bool:
        """True for a block that says nothing; servers refuse to read such a one again."""

    def tidy(self, block: JSONValue) -> JSONValue:
        """A block as it is kept: without what an SDK adds to those that the server sent."""
        return block

    @abstractmethod
    def write_block(self, call: WireCall) -> JSONObject:
        """The block of one call."""

    def is_cut(self, reason: object) -> bool:
        """True if a message that ended for this reason is not complete."""
        return isinstance(reason, str) and reason in self.cuts

    def read_blocks(
        self, blocks: Sequence[JSONValue], path: str = "", *, is_cut: bool = False
    ) -> list[ToolCall]:
        """The calls among the blocks of one message.

        Where the message was cut and ends in a call, that call is malformed: an object does not show whether
        something is missing from it.
        """
        calls: list[ToolCall] = []
        before: list[JSONValue] = []
        for block in blocks:
            if type(block) is not dict:
                Shape(block, self.name, f"{path}[{blocks.index(block)}]").fail("an object")
            asked = self.asked(block)
            if asked is None:
                before.append(block)
                continue
            id, name, arguments, said = asked
            number = len(calls)
            extras = self.extras(before, said, number) if before or said or not number else None
            calls.append(self.call(number, id, name, arguments, extras))
            if before:
                before = []
        if calls and (before or is_cut):
            self._end(calls, before)
        return calls if len(calls) < 2 else no_twins(calls)  # noqa: PLR2004 -- one has no twin

    def _end(self, calls: list[ToolCall], after: list[JSONValue]) -> None:
        """What followed the last call stays with it; a message that was cut in a call has broken that one."""
        if after:
            self.put_after(calls[-1], after)
        else:
            calls[-1] = cut_call(calls[-1])

    def extras(self, before: Sequence[JSONValue], said: JSONObject | None, number: int) -> JSONObject | None:  # noqa: ARG002 -- a wire may mark the first
        """What is kept with a call; None where there is nothing."""
        told = [self.tidy(block) for block in before if not self.is_blank(block)] if before else None
        if told:
            kept: JSONObject = {"before": told, "block": said} if said else {"before": told}
            return {self.name: kept}
        return {self.name: {"block": said}} if said else None

    def put_after(self, call: ToolCall, after: Iterable[JSONValue]) -> None:
        """Keep what followed the last call with it, also where it was given out already."""
        told: list[JSONValue] = [self.tidy(block) for block in after if not self.is_blank(block)]
        if told and call.extras is None:
            call.extras = {self.name: {"after": told}}
        elif told:
            kept = cast("dict[str, JSONObject]", call.extras)[self.name]
            kept["after"] = _listed(kept.get("after")) + told

    def write_blocks(self, calls: Sequence[WireCall]) -> list[JSONValue]:
        """The blocks of one message, as they came."""
        blocks: list[JSONValue] = []
        for call in calls:
            if call.extras:
                blocks += _listed(call.extras.get("before"))
                blocks.append(self.write_block(call))
                blocks += _listed(call.extras.get("after"))
            else:
                blocks.append(self.write_block(call))
        return blocks


def said_of(extras: JSONObject) -> JSONObject:
    """What else the block of a call said when it came."""
    said = extras.get("block")
    return said if isinstance(said, dict) else {}


def _listed(kept: JSONValue) -> list[JSONValue]:
    return kept if isinstance(kept, list) else []


def cut_call(call: ToolCall) -> ToolCall:
    """The last call of a message that was cut."""
    return broken_call(call.id, call.name, call.arguments, CUT, call.extras)


class Growing:
    """A block beside the calls of which pieces have come."""

    __slots__ = ("block", "pieces")

    def __init__(self, block: JSONObject) -> None:
        self.block = block
        self.pieces: dict[str, list[JSONValue]] = {}

    def add(self, key: str, piece: JSONValue) -> None:
        """One more piece of one of its members."""
        pieces = self.pieces.get(key)
        if pieces is None:
            start = self.block.get(key)
            pieces = self.pieces[key] = [start] if isinstance(start, str) else []
        pieces.append(piece)

    def text(self, key: str) -> str:
        """All pieces of a member that is text."""
        return "".join([piece for piece in self.pieces.get(key, ()) if isinstance(piece, str)])


class BlockStream(Stream):
    """The blocks of one message, each call given out when it is complete.

    A call whose arguments are no whole object when its block ends waits for the next block, or for the reason
    of the message's end, which tells whether it was cut.
    """

    def __init__(self, wire: BlockWire) -> None:
        super().__init__(wire)
        self.blocks = wire
        self.growing: dict[object, Growing] = {}
        self._beside: list[Growing] = []
        self._given: dict[int, object] = {}
        self._waiting: dict[object, None] = {}
        self._seen: set[str] = set()
        self._last: ToolCall | None = None

    @abstractmethod
    def assemble(self, growing: Growing) -> None:
        """Put the pieces of a block into it; may be asked again when more have come."""

    def begin_call(self, key: object, asked: Asked) -> list[ToolCall]:
        """A block that is a call begins; those that waited go out."""
        done = self.release() + self.abandon(key)
        id, name, arguments, said = asked
        piece = self.begin(key, id, name, self.blocks.extras(self._told(), said, self.count))
        self._given[piece.number] = arguments
        return done

    def whole_call(self, asked: Asked) -> list[ToolCall]:
        """A call that came in one piece."""
        done = self.begin_call(None, asked)
        return done + self._give(self.end(None))

    def give(self, key: object, arguments: object) -> list[ToolCall]:
        """A call is complete, with these arguments."""
        self._given[self.open[key].number] = arguments
        return self._give(self.end(key))

    def abandon(self, key: object) -> list[ToolCall]:
        """A call whose end will not be told, marked malformed."""
        piece = self.open.pop(key, None)
        return [] if piece is None else self._give([self._cut(piece)])

    def begin_beside(self, key: object, block: JSONObject) -> list[ToolCall]:
        """A block of another kind begins; the calls that waited go out."""
        done = self.release()
        self.growing[key] = growing = Growing(block)
        self._beside.append(growing)
        return done

    def end_block(self, key: object) -> list[ToolCall]:
        """A block is complete."""
        self.growing.pop(key, None)
        piece = self.open.get(key)
        if piece is None:
            return []
        text = "".join(piece.arguments)
        if text:
            value = as_object(text)
            if value is None or has_repeated_key(text, value):  # the executor says what is wrong with it
                self._waiting[key] = None
                return []
            self._given[piece.number] = value
        elif not self._given[piece.number]:
            self._waiting[key] = None
            return []
        return self._give(self.end(key))

    def release(self, *, is_cut: bool = False) -> list[ToolCall]:
        """The calls that waited; the last one broken where the message was cut."""
        done: list[ToolCall] = []
        for key in self._waiting:
            piece = self.open[key]
            if piece.arguments:
                self._given[piece.number] = "".join(piece.arguments)
            done += self.end(key)
        self._waiting.clear()
        if is_cut and done:
            done[-1] = cut_call(done[-1])
        return self._give(done)

    def finish(self) -> None:
        """The message is over: what came after the last call stays with it."""
        told = self._told()
        if told and self._last is not None:
            self.blocks.put_after(self._last, told)

    def close(self) -> list[ToolCall]:
        """The calls that the stream left half-said, marked malformed."""
        self._waiting.clear()
        left = self._give(super().close())
        self.finish()
        return left

    def made(self, piece: Piece) -> ToolCall:
        """The call that the pieces make."""
        given = self._given.pop(piece.number, None)
        return self.wire.call(piece.number, piece.id, piece.name, given, piece.extras)

    def _told(self) -> list[JSONValue]:
        """The blocks since the last call."""
        beside, self._beside = self._beside, []
        for growing in beside:
            self.assemble(growing)
        return [growing.block for growing in beside]

    def _give(self, calls: list[ToolCall]) -> list[ToolCall]:
        given = no_twins(calls, self._seen)
        if given:
            self._last = given[-1]
        return given
