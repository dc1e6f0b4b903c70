"""Splits the raw text of a stream into single events: server-sent events, JSON lines or an array."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from pydantic_core import from_json

from toolhaft.errors import WireError
from toolhaft.formats.payload_cursor import parse
from toolhaft.schema.json_value import JSONValue

Raw: TypeAlias = str | bytes | bytearray
DONE: Final = "[DONE]"
_DATA: Final = "data:"
_FIELDS: Final = ("event:", "id:", "retry:", ":")
STARTS: Final = (_DATA, *_FIELDS)
"""How a line of server-sent events starts."""
_LINE_ENDS: Final = re.compile("\r\n|\n|\r")
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]"]')
"""A whole text, a bracket, or the quote of a text that does not end."""
_DEPTHS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}
_BETWEEN: Final = "[], \t\r\n"
"""The characters that may be between the events of an array."""
_LONGEST: Final = 50_000_000


class EventText:
    """Takes text or bytes, cut anywhere or given line by line, and yields each event once it is whole.

    An event may be spread over several lines. It is yielded as JSON; anything that is not JSON as its text.
    """

    def __init__(self, format: str) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._format = format
        self._line: list[str] = []
        """The pieces of the line that has not ended."""
        self._size = 0
        self._ends_in_return = False
        self._objects = _Objects()
        self._is_sse = False
        """Whether the event that is not whole yet began with `data:`."""

    def add(self, piece: Raw) -> Iterator[JSONValue]:
        """The events that are whole with this piece."""
        text = piece if isinstance(piece, str) else self._decode(bytes(piece))
        if not text:
            return
        if self._ends_in_return and text[0] == "\n":
            text = text[1:]
        self._ends_in_return = text.endswith("\r")
        if self._is_new_line(text):  # clients that yield lines omit the line ends
            yield from self._end_line("")
        start = 0
        for end in _LINE_ENDS.finditer(text):
            yield from self._end_line(text[start : end.start()])
            start = end.end()
        if start < len(text):
            self._line.append(text[start:])
            self._size += len(text) - start
        if self._size > _LONGEST:
            raise WireError(
                f"one event has more than {_LONGEST} characters", format=self._format, expected="less"
            )

    def rest(self) -> Iterator[JSONValue]:
        """What is left at the end; it may be an incomplete event."""
        yield from self._end_line("")
        if self._objects.is_open:
            yield self._objects.take()

    def _is_new_line(self, text: str) -> bool:
        """Whether a piece begins a new line, although the one before had no line end."""
        if len(self._line) != 1 or not text.startswith((*STARTS, "{")):
            return False
        line = self._line[0].strip()
        if line.startswith(_FIELDS):
            return True
        content = line.removeprefix(_DATA).strip()
        if _ends_in_text(content) or (not content and text[0] == "{"):
            return False
        # else it may be the colon of a field, or the one after a key
        return text[0] != ":" or not (f"{line}:" in STARTS or content.endswith('"'))

    def _end_line(self, tail: str) -> Iterator[JSONValue]:
        """The events that end with this line."""
        line = "".join((*self._line, tail)) if self._line else tail
        self._line = []
        text = line.strip().removeprefix("\ufeff")
        if self._objects.is_open:
            self._size += len(tail)
            if self._is_sse and (not text or text.startswith(_FIELDS)):
                if not text:
                    yield self._objects.take()  # the event ended before its JSON did
                return
        else:
            self._size = len(text)
            if not text or text.startswith(_FIELDS):
                return
            self._is_sse = text.startswith(_DATA)
        yield from self._read_content(text.removeprefix(_DATA).strip())

    def _read_content(self, content: str) -> Iterator[JSONValue]:
        """The events that end with this content of a line."""
        if not self._objects.is_open and content[:1] != "[":
            value = json_or_text(content)
            if value is not content:  # the common case: a whole event in one line
                yield value
                return
        elif content == DONE:
            yield content
            return
        was_open = self._objects.is_open
        for text in self._objects.add(content):
            yield json_or_text(text)
        if self._objects.is_open and not was_open and not self._objects.can_become_json():
            yield self._objects.take()


def first_object(text: str) -> str | None:
    """The first whole JSON object of a text that has several; None if it has none."""
    found = _Objects()
    for line in _LINE_ENDS.split(text):
        for content in found.add(line):
            return content
    return None


class _Objects:
    """Finds whole JSON objects in lines: one after the other, or the members of an array."""

    __slots__ = ("_depth", "_lines")

    def __init__(self) -> None:
        self._depth = 0
        self._lines: list[str] = []

    @property
    def is_open(self) -> bool:
        """Whether an object has begun and not ended."""
        return self._depth > 0

    def can_become_json(self) -> bool:
        """Whether the object so far is the start of a JSON object."""
        try:
            from_json("\n".join(self._lines), allow_partial=True)
        except ValueError:
            return False
        return True

    def take(self) -> str:
        """The object so far, which is given up."""
        text = "\n".join(self._lines)
        self._lines, self._depth = [], 0
        return text

    def add(self, line: str) -> Iterator[str]:
        """The objects that end in this line, and text that is not JSON."""
        start = 0
        for token in _TOKENS.finditer(line):
            mark = token[0]
            if self._depth:
                self._depth += _DEPTHS.get(mark, 0)
                if not self._depth:
                    self._lines.append(line[start : token.end()])
                    start = token.end()
                    yield self.take()
            elif mark == "{" and not line[start : token.start()].strip(_BETWEEN):
                start, self._depth = token.start(), 1
            if mark == '"':  # no text of JSON goes on in the next line
                self._lines.append(line[start:])
                yield self.take()
                return
        rest = line[start:]
        if self._depth:
            self._lines.append(rest)
        elif rest.strip(_BETWEEN):
            yield rest


def _ends_in_text(content: str) -> bool:
    """Whether a part of a JSON value ends inside a text."""
    return any(token[0] == '"' for token in _TOKENS.finditer(content))


def json_or_text(text: str) -> JSONValue:
    """The JSON value of a text; the text itself if it is not JSON."""
    try:
        return parse(text)
    except ValueError:
        return text
