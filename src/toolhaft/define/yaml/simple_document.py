"""Reads the form of YAML that most tool files have, many times faster than the parser, with the same nodes.

That form is block mappings and lists with texts, lists in brackets on one line, and `|` and `>` blocks.
Anything else, and anything that may be a mistake, is left to the parser, which explains it.
"""

from __future__ import annotations

import re
from sys import intern, maxunicode
from typing import Final, NoReturn

from toolhaft.define.yaml.nodes import (
    CHARACTERS_PER_NODE,
    MAX_WEIGHT,
    WORDS,
    Scalar,
    Style,
    YamlEntry,
    YamlNode,
    resolve_plain,
)

_MAX_CHARACTERS: Final = 200_000
_MAX_DEPTH: Final = 32
_HEX: Final = "[0-9A-Fa-f]"
_ESCAPE: Final = re.compile(rf"""\\(?:["\\/nt]|x{_HEX}{{2}}|u{_HEX}{{4}}|U{_HEX}{{8}})""")
_QUOTED: Final = rf""""(?:[^"\\\n]|{_ESCAPE.pattern})*"|'(?:[^'\n]|'')*'(?!')"""
_KEY: Final = re.compile(rf"""(?P<key>[A-Za-z_][A-Za-z0-9_-]{{0,99}}|{_QUOTED}):(?:[ ]+|(?=\n)|\Z)""")
_ITEM: Final = re.compile("-[ ]+")
_STRING: Final = re.compile(_QUOTED.replace(r"\n]", "]"))  # also on several lines
_FLOW_TEXT: Final = re.compile(r"""[A-Za-z0-9_$(/.+^=<;~-][^,\[\]{}:#?&*!|>'"%@`\n]*""")
_WORD: Final = "(?P<key>[A-Za-z_][A-Za-z0-9_-]{0,99}):[ ]+"
_PAIR: Final = re.compile(
    rf"""{_WORD}(?P<value>[A-Za-z][^:#\n]*(?<![ ])|"[^"\\\n]*")\n(?P<indent>[ ]*)(?=[^ #\n])"""
)
"""A line with a key and a text, as most lines are, and the indentation of the next line."""
_FLOW_PAIR: Final = re.compile(
    rf"""{_WORD}(?P<value>[A-Za-z][^,\[\]{{}}:#?&*!|>'"%@`\n]*)(?<![ ])(?=[,}}])"""
)
_INDENT: Final = re.compile(r"(?:[ ]*(?:#[^\n]*)?\n)*([ ]*)(?:#[^\n]*)?")
_LINE_END: Final = re.compile(r"[ ]*(?:[ ]#[^\n]*)?(?:\n(?:[ ]*(?:#[^\n]*)?\n)*([ ]*)(?:#[^\n]*)?|\Z)")
_MORE: Final = re.compile(r"[ ]*\n(?P<indent>[ ]+)(?P<text>[^ \n][^\n]*)")
"""A line that continues the text of the line before it, if it is indented enough."""
_BREAKS: Final = re.compile(r"(?<![ ])[ ]*\n(?:[ ]*\n)*(?P<indent>[ ]*)")
_COMMENT: Final = re.compile("[ ]*#")
_BLOCK_HEAD: Final = re.compile(r"[|>](?P<chomping>-?)(?=\n(?P<indent>[ ]+)[^ \n])")
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "t": "\t"}
_NOT_TEXT: Final = frozenset("-?:,[]{}#&*!|>'\"%@` ")
"""Characters with which a plain text does not start here."""
_NUMBER_STARTS: Final = frozenset("-+.0123456789")


class _NotSimpleError(Exception):
    """The text may mean something that only the parser knows."""


def read_simple(text: str) -> YamlNode | None:
    """The root of a document, exactly as the parser reads it; None if the document may have another form."""
    if len(text) > _MAX_CHARACTERS or not text.replace("\n", "").isprintable():
        return None
    try:
        return _SimpleReader(text).read()
    except _NotSimpleError:
        return None


def _give_up() -> NoReturn:
    raise _NotSimpleError


class _SimpleReader:
    """Reads a text line by line; `_next_indent` is the indentation of the line that is read next."""

    __slots__ = ("_line", "_line_start", "_next_indent", "_place", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = 1
        self._line_start = 0
        self._place = 0
        self._next_indent = 0

    def read(self) -> YamlNode:
        """Read the whole text."""
        self._next_line()
        text = self._text
        if self._next_indent == 0 and text.startswith("---\n", self._place):
            self._place += 3
            self._end_line()
        if self._next_indent != 0 or text.startswith(("-", "%", "..."), self._place):
            _give_up()
        root = self._mapping(0, 1)
        if self._next_indent >= 0 or root.weight > MAX_WEIGHT:
            _give_up()
        return root

    def _next_line(self) -> None:
        """Go to the next line with content."""
        self._go_to(_INDENT.match(self._text, self._place))

    def _end_line(self) -> None:
        """Skip the rest of the line, which holds at most a comment, and go to the next line with content."""
        self._go_to(_LINE_END.match(self._text, self._place))

    def _go_to(self, found: re.Match[str] | None) -> None:
        """Go to the end of an indentation; `_next_indent` is -1 at the end of the text."""
        if found is None:
            _give_up()
        start, place = found.span(1)
        if found.end() == len(self._text):  # also after a comment on the last line
            self._next_indent = -1
            return
        self._line += self._text.count("\n", self._place, start)
        self._line_start = start
        self._place = place
        self._next_indent = place - start

    def _mapping(self, indent: int, depth: int) -> YamlNode:
        text, start, line = self._text, self._place, self._line
        if depth > _MAX_DEPTH:
            _give_up()
        entries: dict[str, YamlEntry] = {}
        weight, height, end = 1, 0, start
        while True:
            key_line = self._line
            found = _PAIR.match(text, self._place)
            if found is not None and found.end("indent") - found.start("indent") <= indent:
                key, node = self._pair(found, entries)
                self._line += 1
                self._line_start, self._place = found.span("indent")
                self._next_indent = self._place - self._line_start
            elif (found := _KEY.match(text, self._place)) is not None:
                key = self._key(found, entries)
                self._place = found.end()
                node = self._value(indent, found.end("key") + 1, depth)
            else:
                _give_up()
            entries[key] = YamlEntry(key_line, node)
            weight += 1 + len(key) // CHARACTERS_PER_NODE + node.weight
            height = max(height, node.height)
            end = max(end, node.end)
            if self._next_indent != indent or text.startswith("- ", self._place):
                break
        if self._next_indent > indent or self._next_indent == indent:
            _give_up()
        return YamlNode(entries, "block", line, indent, start, end, weight, height + 1)

    def _pair(self, found: re.Match[str], entries: dict[str, YamlEntry]) -> tuple[str, YamlNode]:
        key, written = found.group("key", "value")
        if key in WORDS or key in entries:
            _give_up()
        start, end = found.span("value")
        value, style = (
            (written[1:-1], "quoted") if written[0] == '"' else (WORDS.get(written, written), "plain")
        )
        length = end - start - 2 * (style == "quoted")
        return intern(key), self._scalar(value, style, start, end, length)

    @staticmethod
    def _key(found: re.Match[str], entries: dict[str, YamlEntry]) -> str:
        key = found["key"]
        if key[0] in "\"'":
            key = _unquote(key)
        elif key in WORDS:
            _give_up()
        if key in entries:
            _give_up()
        return intern(key)  # the same few keys are looked up again and again

    def _value(self, indent: int, after_colon: int, depth: int) -> YamlNode:
        """The value of a key, on its line or below it."""
        text, place = self._text, self._place
        first = text[place : place + 1]
        if first not in ("", "\n", "#"):
            return self._on_line(indent, depth)
        line = self._line
        if first == "#":
            self._place -= 1  # a comment needs a space before it
        self._end_line()
        is_list = text.startswith("- ", self._place)
        if self._next_indent > indent:
            below = self._next_indent
            return self._list(below, depth + 1) if is_list else self._mapping(below, depth + 1)
        if self._next_indent == indent and is_list:
            return self._list(indent, depth + 1)
        return YamlNode(None, "empty", line, 0, after_colon, after_colon)

    def _list(self, indent: int, depth: int) -> YamlNode:
        text, start, line = self._text, self._place, self._line
        if depth > _MAX_DEPTH:
            _give_up()
        items: list[YamlNode] = []
        weight, height, end = 1, 0, start
        while self._next_indent == indent and (found := _ITEM.match(text, self._place)):
            self._place = found.end()
            if (
                text[self._place : self._place + 2] in ("- ", "-\n")
                or text[self._place : self._place + 1] in "\n#"
            ):
                _give_up()
            inner = self._place - self._line_start
            if _KEY.match(text, self._place):
                item = self._mapping(inner, depth + 1)
            else:
                item = self._on_line(indent, depth)
            items.append(item)
            weight += item.weight
            height = max(height, item.height)
            end = max(end, item.end)
        if self._next_indent > indent:
            _give_up()
        return YamlNode(items, "block", line, indent, start, end, weight, height + 1)

    def _on_line(self, indent: int, depth: int) -> YamlNode:
        """A value that begins on this line."""
        text, start = self._text, self._place
        first = text[start]
        if first in "\"'":
            node = self._string(indent)
        elif first in "[{":
            node = self._flow(depth + 1)
        elif first in "|>":
            return self._block_text(indent)
        else:
            node = self._plain(indent)
        self._end_line()
        if self._next_indent > indent:
            _give_up()
        return node

    def _scalar(self, value: Scalar, style: Style, start: int, end: int, length: int) -> YamlNode:
        column, weight = start - self._line_start, 1 + length // CHARACTERS_PER_NODE
        return YamlNode(value, style, self._line, column, start, end, weight)

    def _plain(self, indent: int) -> YamlNode:
        text, start = self._text, self._place
        end = text.find("\n", start)
        content, comment, _ = text[start : end if end >= 0 else len(text)].partition(" #")
        lines = [_checked_plain(content)]
        self._place = start + len(lines[0])
        while not comment and (found := _MORE.match(text, self._place)) and len(found["indent"]) > indent:
            content, comment, _ = found["text"].partition(" #")
            lines.append(_checked_plain(content))
            self._place = found.start("text") + len(lines[-1])
        content = " ".join(lines)
        node = self._scalar(_resolve(content), "plain", start, self._place, len(content))
        self._line += len(lines) - 1
        return node

    def _string(self, indent: int | None = None) -> YamlNode:
        """A text in quotes; on several lines if it is not in brackets."""
        found = _STRING.match(self._text, self._place)
        if found is None:
            _give_up()
        self._place = found.end()
        written = found[0]
        below = written.count("\n")
        if below:
            if indent is None or any(len(more["indent"]) <= indent for more in _BREAKS.finditer(written)):
                _give_up()
            written = _fold(written)
        value = _unquote(written)
        node = self._scalar(value, "quoted", found.start(), found.end(), len(value))
        self._line += below
        return node

    def _flow(self, depth: int) -> YamlNode:
        """A list or mapping in brackets, on one line."""
        text, start = self._text, self._place
        if depth > _MAX_DEPTH:
            _give_up()
        is_list = text[start] == "["
        closing = "]" if is_list else "}"
        items: list[YamlNode] = []
        entries: dict[str, YamlEntry] = {}
        weight, height, separator = 1, 0, ","
        self._skip(1)
        if text.startswith(closing, self._place):
            separator = closing
        while separator == ",":
            if is_list:
                node = self._in_flow(depth)
                items.append(node)
            else:
                if (found := _FLOW_PAIR.match(text, self._place)) is not None:
                    key, node = self._pair(found, entries)
                    self._place = found.end()
                else:
                    key = self._flow_key(entries)
                    node = self._in_flow(depth)
                entries[key] = YamlEntry(self._line, node)
                weight += 1 + len(key) // CHARACTERS_PER_NODE
            weight += node.weight
            height = max(height, node.height)
            self._skip(0)
            separator = text[self._place : self._place + 1]
            self._skip(separator == ",")
        if separator != closing:
            _give_up()
        self._place += 1
        column = start - self._line_start
        value = items if is_list else entries
        return YamlNode(value, "flow", self._line, column, start, self._place, weight, height + 1)

    def _flow_key(self, entries: dict[str, YamlEntry]) -> str:
        found = _KEY.match(self._text, self._place)
        if found is None:
            _give_up()
        self._place = found.end()
        return self._key(found, entries)

    def _in_flow(self, depth: int) -> YamlNode:
        first = self._text[self._place : self._place + 1]
        if first in ('"', "'"):
            return self._string()
        if first in ("[", "{"):
            return self._flow(depth + 1)
        found = _FLOW_TEXT.match(self._text, self._place)
        if found is None:
            _give_up()
        content = found[0].rstrip(" ")
        if content[0] == "-" and not content[1:2].isalnum():
            _give_up()
        start = self._place
        self._place = start + len(content)
        return self._scalar(_resolve(content), "plain", start, self._place, len(content))

    def _skip(self, count: int) -> None:
        """Skip some characters, and the spaces after them."""
        text, place = self._text, self._place + count
        while text.startswith(" ", place):
            place += 1
        self._place = place

    def _block_text(self, indent: int) -> YamlNode:
        """A block of text, whose lines are all indented at least as its first one."""
        text, start = self._text, self._place
        head = _BLOCK_HEAD.match(text, start)
        if head is None:
            _give_up()
        line, column = self._line, start - self._line_start
        inner = len(head["indent"])
        lines, end = self._block_lines(head.end() + 1, head["indent"])
        if inner <= indent:
            _give_up()
        value = "\n".join(lines).rstrip("\n")
        if text[start] == ">":
            if "\n " in value:
                _give_up()  # a line that is indented further is not joined
            value = _fold(value)
        value += "" if head["chomping"] else "\n"
        self._line += len(lines) + 1
        self._next_line()
        if self._next_indent > indent:
            _give_up()
        weight = 1 + len(value) // CHARACTERS_PER_NODE
        return YamlNode(value, "literal", line, column, start, end, weight)

    def _block_lines(self, place: int, prefix: str) -> tuple[list[str], int]:
        """The lines of a block of text without their indentation, and where the last non-empty one ends."""
        text, lines, end = self._text, list[str](), place
        while place < len(text):
            stop = text.find("\n", place)
            line = text[place:stop]
            if line and not line.startswith(prefix) and not line.isspace():
                break
            if stop < 0 or line.endswith(" "):
                _give_up()  # what the parser makes of the end of a line is not simple
            lines.append(line[len(prefix) :])
            place = stop + 1
            end = stop if line else end
        if _COMMENT.match(text, place):
            _give_up()
        self._place = place
        return lines, end


def _unquote(written: str) -> str:
    inner = written[1:-1]
    if written[0] == "'":
        return inner.replace("''", "'")
    return _ESCAPE.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(found: re.Match[str]) -> str:
    kind, digits = found[0][1], found[0][2:]
    if not digits:
        return _ESCAPES[kind]
    number = int(digits, 16)
    if number > maxunicode or not (character := chr(number)).isprintable():
        _give_up()
    return character


def _fold(text: str) -> str:
    """Join lines: a single line break becomes a space, and of several one is left out."""
    return _BREAKS.sub(lambda found: "\n" * (found[0].count("\n") - 1) or " ", text)


def _checked_plain(content: str) -> str:
    """A line of a plain text without spaces at its end."""
    content = content.rstrip(" ")
    is_dash = content[0] == "-" and content[1:2].isalnum()
    if (content[0] in _NOT_TEXT and not is_dash) or ": " in content or content[-1] == ":":
        _give_up()
    return content


def _resolve(text: str) -> Scalar:
    if text[0] not in _NUMBER_STARTS:
        return WORDS.get(text, text)
    try:
        return resolve_plain(text)
    except ValueError:
        _give_up()
