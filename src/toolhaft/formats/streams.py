"""Calls out of a stream: events go in one at a time, each call comes out when it is complete.

Knows server-sent events and JSON lines; what an event means is the wire's to say.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.errors import WireError
from toolhaft.formats.exports import Export
from toolhaft.formats.registry import wire_of
from toolhaft.formats.returning import returned
from toolhaft.formats.shapes import parse, plain
from toolhaft.formats.wire import Wire

_Raw = str | bytes | bytearray
_DATA: Final = "data:"
_FIELDS: Final = ("event:", "id:", "retry:", ":")
_STARTS: Final = (_DATA, *_FIELDS, "{")
_ENDS: Final = re.compile("\r\n|\n|\r")
_DONE: Final = "[DONE]"


class StreamDecoder:
    """Reads one stream: `feed` takes an event, or a piece of the raw text; `close` says no more comes."""

    def __init__(self, format: str, *, export: Export | None = None) -> None:
        self._wire = wire_of(format)
        self._stream = self._wire.stream()
        self._export = export
        self._lines = _Lines()

    def feed(self, event: object) -> list[ToolCall]:
        """Take one event (the SDK's object, JSON, or text and bytes as they came); give the calls it ends.

        Raises:
            WireError: where the event is not of the format's shape.
        """
        if isinstance(event, _Raw):
            return [call for text in self._lines.add(event) for call in self._read(text)]
        return self._take(event)

    def close(self) -> list[ToolCall]:
        """The calls that the stream left half-said, marked malformed."""
        left = [call for text in self._lines.rest() for call in self._read_rest(text)]
        return left + [self._back(call) for call in self._stream.close()]

    def _read(self, text: str) -> list[ToolCall]:
        return [] if text == _DONE else self._take(plain(text, self._wire.name))

    def _read_rest(self, text: str) -> list[ToolCall]:
        try:
            return self._read(text)
        except WireError:  # a line that the stream's end cut short
            return []

    def _take(self, event: object) -> list[ToolCall]:
        value = plain(event, self._wire.name)
        if not isinstance(value, dict):
            raise WireError(
                f"got {type(value).__name__}", format=self._wire.name, expected="an event of a stream"
            )
        return [self._back(call) for call in self._stream.feed(value)]

    def _back(self, call: ToolCall) -> ToolCall:
        return call if self._export is None else returned(call, self._export)


class _Lines:
    """Raw bytes or text, cut anywhere or line by line, as the JSON of one event after the other."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._left = ""

    def add(self, piece: _Raw) -> Iterator[str]:
        text = piece if isinstance(piece, str) else self._decode(bytes(piece))
        if self._left and text.startswith(_STARTS) and _is_line(self._left):
            text = f"\n{text}"  # clients that give line by line leave the ends out
        *lines, self._left = _ENDS.split(self._left + text)
        yield from self._data(lines)

    def rest(self) -> Iterator[str]:
        left, self._left = self._left, ""
        yield from self._data([left])

    def _data(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            text = line.strip().removeprefix("\ufeff")
            if text and not text.startswith(_FIELDS):
                yield text.removeprefix(_DATA).strip()


def _is_line(text: str) -> bool:
    """True for a line that is whole, so that nothing of it can be still to come."""
    if text.startswith(_FIELDS):
        return True
    said = text.removeprefix(_DATA).strip()
    if said == _DONE:
        return True
    try:
        parse(said)
    except ValueError:
        return False
    return True


def events_of(given: object, wire: Wire) -> Iterable[object] | None:
    """The events of a stream, or its raw text in pieces; None for a message."""
    if isinstance(given, list | tuple):
        first = cast("object", given[0]) if given else None
        is_many = isinstance(first, _Raw) or (first is not None and _is_event(first, wire))
        return cast("Iterable[object]", given) if is_many else None
    if isinstance(given, Mapping) or hasattr(given, "model_dump") or not isinstance(given, Iterable):
        return None
    return cast("Iterable[object]", given)


def read_raw(text: _Raw, wire: Wire) -> object:
    """The message that a text holds; where it holds a stream, the text as its one piece."""
    try:
        value = parse(text)
    except ValueError:
        said = text if isinstance(text, str) else bytes(text).decode("utf-8-sig", "replace")
        said = said.lstrip("\ufeff\r\n ")
        if said.startswith((_DATA, *_FIELDS)) or _is_event(_ENDS.split(said, 1)[0], wire):
            return [text]
        return plain(text, wire.name)
    if wire.has_whole_events or type(value) is not dict:
        return value
    return [text] if wire.is_event(value) else value


def _is_event(given: object, wire: Wire) -> bool:
    try:
        value = plain(given, wire.name)
    except WireError:
        return False
    return isinstance(value, dict) and wire.is_event(value)
