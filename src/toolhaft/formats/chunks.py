"""The stream that the chat wires share: chunks with deltas of a message, its calls joined by their index.

Does not know what a wire makes of a call that has come whole.
"""

from __future__ import annotations

from typing import cast

from toolhaft.core.call import ToolCall
from toolhaft.formats.chat import CALL_KEYS, ChatWire
from toolhaft.formats.wire import CUT, Piece, Stream, broken_call
from toolhaft.formats.writing import as_object, no_twins
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue


class Pieces(Stream):
    """Calls that come in pieces, each read as it would stand in a whole message; they keep their order."""

    def __init__(self, wire: ChatWire) -> None:
        super().__init__(wire)
        self.chat = wire
        self.heard: JSONObject = {}
        """What was said beside the calls."""
        self._ids: set[str] = set()

    def end(self, key: object) -> list[ToolCall]:
        """The call, now complete."""
        piece = self.open.pop(key, None)
        return [] if piece is None else no_twins([self.made(piece)], self._ids)

    def made(self, piece: Piece) -> ToolCall:
        """The call that the pieces make."""
        said = None if piece.number else self.chat.said(self.heard)
        return self.chat.read_call(piece.number, self.whole(piece), said)

    def whole(self, piece: Piece) -> JSONObject:
        """The call as a whole message has it."""
        function: JSONObject = {
            "name": cast("JSONValue", piece.name),
            "arguments": "".join(piece.arguments),
        }
        return {**(piece.extras or {}), "id": cast("JSONValue", piece.id), "function": function}

    def finish(self, *, is_cut: bool) -> list[ToolCall]:
        """Every call that is open, at the end of the message."""
        last = next(reversed(self.open.values()), None)
        done = self.end_all()
        if is_cut and last is not None:
            done[-1] = self.chat.cut_short(done[-1], self.whole(last))
        return done

    def finished(self) -> list[ToolCall]:
        """Every call that is open: some servers give no other reason for the end."""
        return self.finish(is_cut=True)

    def is_whole(self, piece: Piece) -> bool:
        """True if the arguments can have no more to them."""
        return as_object(self.text(piece)) is not None

    def close(self) -> list[ToolCall]:
        """The calls that the stream left half-said, marked malformed."""
        made = [(self.made(piece), self.text(piece)) for piece in self.open.values()]
        self.open.clear()
        left = [broken_call(call.id, call.name, text, CUT, call.extras) for call, text in made]
        return no_twins(left, self._ids)

    def text(self, piece: Piece) -> str:
        """As much of the arguments as has come."""
        return "".join(piece.arguments)


class Chunks(Pieces):
    """A call is complete where the turn ends, or where another begins and its arguments read whole."""

    def __init__(self, wire: ChatWire) -> None:
        super().__init__(wire)
        self._objects: dict[int, JSONObject] = {}
        self._ended: dict[int, JSONValue] = {}

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one chunk."""
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                return self._choice(choice)
        return []

    def hear(self, delta: JSONObject) -> None:
        """Add to what was said beside the calls."""
        heard = self.heard
        for key, value in delta.items():
            if not value or key in self.chat.left_behind:
                continue
            before = heard.get(key)
            if isinstance(value, str):
                heard[key] = before + value if isinstance(before, str) else value
            elif isinstance(value, list):
                heard[key] = [*before, *value] if isinstance(before, list) else value
            elif isinstance(value, dict):
                heard[key] = {**before, **value} if isinstance(before, dict) else value

    def whole(self, piece: Piece) -> JSONObject:
        """The call as a whole message has it."""
        call = super().whole(piece)
        given = self._objects.get(piece.number)
        if given is not None:
            call["function"] = {"name": cast("JSONValue", piece.name), "arguments": given}
        return call

    def text(self, piece: Piece) -> str:
        """As much of the arguments as has come."""
        given = self._objects.get(piece.number)
        return super().text(piece) if given is None else to_json_text(given)

    def part(self, piece: Piece, call: JSONObject) -> JSONValue:
        """The arguments that a delta brings."""
        function = call.get("function")
        if not isinstance(function, dict):
            return None
        piece.name = piece.name or function.get("name")
        given = function.get("arguments")
        if isinstance(given, dict):
            self._objects[piece.number] = given
        return given

    def _choice(self, choice: JSONObject) -> list[ToolCall]:
        delta = choice.get("delta")
        done: list[ToolCall] = []
        if isinstance(delta, dict):
            self.hear(delta)
            calls = delta.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    done += self._piece(call)
        reason = choice.get("finish_reason")
        if reason:
            done += self.finish(is_cut=isinstance(reason, str) and reason in self.chat.cut_reasons)
        return done

    def _piece(self, call: JSONObject) -> list[ToolCall]:
        index = call.get("index")
        key = index if isinstance(index, int) else -1
        piece = self.open.get(key)
        done: list[ToolCall] = []
        if piece is None or self._is_next(piece, call):
            if piece is None and self._is_over(key, call):
                return done
            self._set_aside(key)
            done = self._ready()
            piece = self.begin(key, None, None, {})
        piece.id = piece.id or self.id_of(call)
        for name in call.keys() - CALL_KEYS:
            if call[name] and piece.extras is not None:
                piece.extras[name] = call[name]
        self.add(key, self.part(piece, call))
        return done

    def id_of(self, call: JSONObject) -> JSONValue:
        """The id that a delta brings."""
        return call.get("id")

    def _is_next(self, piece: Piece, call: JSONObject) -> bool:
        """True for another call at the place of one before: some servers give them all one index, or none."""
        if not piece.name or not self._names_one(call):
            return False
        id = self.id_of(call)
        return id != piece.id if id and piece.id else not id and self.is_whole(piece)

    def _is_over(self, key: int, call: JSONObject) -> bool:
        """True for more of a call that was given already: nothing that it needs can come now."""
        if key not in self._ended:
            return False
        return self.id_of(call) in (None, "", self._ended[key]) or not self._names_one(call)

    def _names_one(self, call: JSONObject) -> bool:
        part = call.get("function") or call.get("custom")
        return isinstance(part, dict) and bool(part.get("name"))

    def _set_aside(self, key: int) -> None:
        """Make the place of a call free for the next."""
        if key in self.open:
            self.open = {
                ("before", piece.number) if place == key else place: piece
                for place, piece in self.open.items()
            }

    def _ready(self) -> list[ToolCall]:
        """The calls that are complete where another begins, as far as none before them is open."""
        done: list[ToolCall] = []
        for key, piece in list(self.open.items()):
            if isinstance(key, int):
                if not self.is_whole(piece):
                    break
                self._ended[key] = piece.id if isinstance(piece.id, str) else None
            done += self.end(key)
        return done
