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
from toolhaft.formats.names import made_up_id
from toolhaft.formats.registry import wire_of
from toolhaft.formats.shapes import parse, plain
from toolhaft.formats.verbs.exports import Export, check_export
from toolhaft.formats.verbs.returning import returned
from toolhaft.formats.wire import CUT, Wire, broken_call
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject

_Raw = str | bytes | bytearray
_DATA: Final = "data:"
_FIELDS: Final = ("event:", "id:", "retry:", ":")
_STARTS: Final = (_DATA, *_FIELDS, "{")
_ENDS: Final = re.compile("\r\n|\n|\r")
_DONE: Final = "[DONE]"
_LONGEST_LINE: Final = 50_000_000


class StreamDecoder:
    """Reads one stream: `feed` takes an event, or a piece of the raw text; `close` says no more comes."""

    def __init__(self, format: str, *, export: Export | None = None) -> None:
        self._wire = wire_of(format)
        check_export(export, format)
        self._stream = self._wire.stream()
        self._export = export
        self._lines = _Lines(format)
        self._has_begun = False

    def feed(self, event: object) -> list[ToolCall]:
        """Take one event (the SDK's object, JSON, or text and bytes as they came); give the calls it ends.

        Raises:
            WireError: where it is no event at all, or says that the server failed; events of unknown kinds
                are passed over, for providers add to them.
        """
        if isinstance(event, _Raw):
            return [call for text in self._lines.add(event) for call in self._read(text)]
        return self._take(event)

    def close(self) -> list[ToolCall]:
        """The calls that the stream left half-said, marked malformed.

        Raises:
            WireError: where nothing that came was of the format's shape.
        """
        left = [call for text in self._lines.rest() for call in self._read_rest(text)]
        return left + [self._back(call) for call in self._stream.close()]

    def _read(self, text: str) -> list[ToolCall]:
        if text == _DONE:
            return [self._back(call) for call in self._stream.finished()]
        return self._take(plain(text, self._wire.name))

    def _read_rest(self, text: str) -> list[ToolCall]:
        try:
            return self._read(text)
        except WireError:
            is_start = text.startswith("{") or any(field.startswith(text) for field in (_DATA, *_FIELDS))
            if not self._has_begun and not is_start:
                raise
        if self._stream.open or not self._wire.beginning.search(text):
            return []  # what is open tells that the stream was cut
        return [self._back(broken_call(made_up_id(self._stream.count, "", text), "", text, CUT))]

    def _take(self, event: object) -> list[ToolCall]:
        value = plain(event, self._wire.name)
        if not isinstance(value, dict):
            raise WireError(
                f"got {type(value).__name__}", format=self._wire.name, expected="an event of a stream"
            )
        self._has_begun = True
        if _says_error(value) and not self._stream.open:
            raise WireError(f"the server failed: {to_json_text(value):.300}", format=self._wire.name)
        return [self._back(call) for call in self._stream.feed(value)]

    def _back(self, call: ToolCall) -> ToolCall:
        return call if self._export is None else returned(call, self._export)


def _says_error(event: JSONObject) -> bool:
    """True for an event in place of an answer; where a call is open, the stream's end tells of it."""
    delta = event.get("delta")
    is_inside = isinstance(delta, dict) and bool(delta.get("error"))
    if is_inside or event.get("error") or "error" in (event.get("type"), event.get("object")):
        return True
    return len(event) == 1 and next(iter(event)).endswith("Exception")


class _Lines:
    """Raw bytes or text, cut anywhere or line by line, as the JSON of one event after the other."""

    def __init__(self, format: str) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._format = format
        self._left: list[str] = []
        self._size = 0

    def add(self, piece: _Raw) -> Iterator[str]:
        text = piece if isinstance(piece, str) else self._decode(bytes(piece))
        # clients that give line by line leave the ends out
        if len(self._left) == 1 and text.startswith(_STARTS) and _is_line(self._left[0]):
            yield from self._ended("")
        start = 0
        for end in _ENDS.finditer(text):
            yield from self._ended(text[start : end.start()])
            start = end.end()
        if start < len(text):
            self._left.append(text[start:])
            self._size += len(text) - start
            if self._size > _LONGEST_LINE:
                raise WireError(
                    f"one event has more than {_LONGEST_LINE} characters",
                    format=self._format,
                    expected="less",
                )

    def rest(self) -> Iterator[str]:
        yield from self._ended("")

    def _ended(self, tail: str) -> Iterator[str]:
        """The JSON of the line that ends here, where it has any."""
        line = "".join((*self._left, tail)) if self._left else tail
        self._left, self._size = [], 0
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
        return plain(said, wire.name)
    if wire.has_whole_events or type(value) is not dict:
        return value
    return [text] if wire.is_event(value) else value


def _is_event(given: object, wire: Wire) -> bool:
    try:
        value = plain(given, wire.name)
    except WireError:
        return False
    return isinstance(value, dict) and wire.is_event(value)
