"""Reads the text of one YAML 1.2 document into nodes that know where they stand.

Knows YAML and JSON values, not tools. Nothing is built that a bomb could grow: every alias is weighed
before it is followed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final, Literal, TypeAlias, cast

from toolhaft.define.yaml.events import DEEPEST, Event, Flaw, UnreadableError, read_events, too_deep
from toolhaft.schema.json_value import JSONValue
from toolhaft.schema.problems import show

HEAVIEST: Final = 10_000
"""Nodes, aliases written out; 64 characters of a text weigh as much as a node."""
_CHARACTERS_A_NODE: Final = 64
_MOST_DIGITS: Final = 300

_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_FLAGS: Final = {word: word[0] in "tT" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NUMBER: Final = re.compile(rf"{_INTEGER.pattern}|{_FLOAT.pattern}|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_HALVES: Final = re.compile(r"[\ud800-\udfff]")
_COLON: Final = re.compile(r"[ \t]*:")

Scalar: TypeAlias = str | int | float | bool | None
Style: TypeAlias = Literal["plain", "quoted", "literal", "empty", "alias", "block", "flow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value, and the part of the text that says it: for an alias that is the alias."""

    value: Scalar | list[Node] | dict[str, Entry]
    style: Style
    line: int
    column: int
    start: int
    end: int
    weight: int = 1
    height: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One key of a mapping; a merged one stands elsewhere in the text."""

    line: int
    node: Node
    is_merged: bool = False


def read_document(text: str) -> tuple[Node | None, list[Flaw]]:
    """The root of the one document in a text, None where it cannot be read, and every flaw found."""
    composer = _Composer(text)
    try:
        return composer.compose(), composer.flaws
    except UnreadableError as error:
        return None, [*composer.flaws, error.flaw]


def plain(node: Node) -> JSONValue:
    """The value of a node without its places."""
    if isinstance(node.value, dict):
        return {key: plain(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    return node.value


class _Composer:
    """Makes nodes of events."""

    def __init__(self, text: str) -> None:
        self.flaws: list[Flaw] = []
        self._text = text
        self._events = read_events(text)
        self._line = 1
        self._weight = 0
        self._anchors: dict[str, Node | None] = {}

    def compose(self) -> Node:
        self._next()
        start = self._next()
        if start.kind == "StreamEnd":
            raise _empty()
        if start.version not in (None, (1, 2)):
            self._flaw("only YAML 1.2 is read", "take the %YAML line out")
        root = self._node(self._next(), 1)
        self._next()
        if root.style == "empty":
            raise _empty()
        if self._next().kind != "StreamEnd":
            raise UnreadableError(self._line, "a second document starts here", "keep one tool in one file")
        return root

    def _next(self) -> Event:
        event = next(self._events)
        self._line = event.line
        return event

    def _flaw(self, what: str, fix: str, line: int = 0) -> None:
        self.flaws.append(Flaw(line=line or self._line, what=what, fix=fix))

    def _weigh(self, weight: int) -> int:
        self._weight += weight
        if self._weight > HEAVIEST:
            what = f"the file has more than {HEAVIEST} values, aliases written out"
            raise UnreadableError(self._line, what, "use fewer aliases, or split the file")
        return weight

    def _check_depth(self, depth: int) -> None:
        if depth > DEEPEST:
            raise too_deep(self._line)

    def _node(self, event: Event, depth: int) -> Node:
        if event.kind == "Alias":
            return self._alias(event, depth)
        self._check_depth(depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if event.kind == "Scalar":
            node = self._scalar(event)
        elif event.kind == "SequenceStart":
            node = self._sequence(event, depth)
        else:
            node = self._mapping(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Event, depth: int) -> Node:
        name = cast("str", event.anchor)
        node = self._anchors.get(name)
        if node is None:
            what = f"the alias *{name:.60} stands inside its own anchor"
            if name not in self._anchors:
                what = f"there is no anchor &{name:.60} before this alias"
            raise UnreadableError(event.line, what, "write the value out, or quote a text that starts with *")
        self._check_depth(depth - 1 + node.height)
        self._weigh(node.weight)
        return replace(
            node, style="alias", line=event.line, column=event.column, start=event.start, end=event.end
        )

    def _scalar(self, event: Event) -> Node:
        value: Scalar = event.value
        style: Style = "quoted"
        end = event.end
        if not event.style:
            style = "plain" if event.value or event.anchor else "empty"
            value = self._resolve(event.value)
        elif event.style in "|>":
            style = "literal"
            # the blank lines after it stay where they are
            end = event.start + len(self._text[event.start : end].rstrip())
        if isinstance(value, str) and _HALVES.search(value):
            value = self._join(value)
        return Node(
            value=value,
            style=style,
            line=event.line,
            column=event.column,
            start=event.start,
            end=end,
            weight=self._weigh(1 + len(event.value) // _CHARACTERS_A_NODE),
        )

    def _resolve(self, text: str) -> Scalar:
        """What a plain word means, by the core schema of YAML 1.2."""
        if text in _NULLS:
            return None
        if text in _FLAGS:
            return _FLAGS[text]
        if _INTEGER.fullmatch(text):
            if len(text) <= _MOST_DIGITS:
                return int(text, 0 if text[:2] in ("0o", "0x") else 10)
        elif _FLOAT.fullmatch(text) and isfinite(float(text)):
            return float(text)
        if _NUMBER.fullmatch(text):
            self._flaw(f"{text:.40} is no number that JSON has", "give a finite number, or quote it")
            return None
        return text

    def _join(self, text: str) -> str:
        """The text with characters that were escaped in two halves, as JSON does."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._flaw("the text has half of a character in it", "write the character itself")
            return _HALVES.sub("?", text)

    def _sequence(self, start: Event, depth: int) -> Node:
        self._weigh(1)
        items: list[Node] = []
        while (event := self._next()).kind != "SequenceEnd":
            item = self._node(event, depth + 1)
            # the parser puts an empty one where the next token starts: it must not stretch the list
            items.append(replace(item, start=0, end=0) if item.style == "empty" else item)
        return _collection(start, event, items, items)

    def _mapping(self, start: Event, depth: int) -> Node:
        self._weigh(1)
        parts: list[Node] = []
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        while (event := self._next()).kind != "MappingEnd":
            key = self._node(event, depth + 1)
            node = self._node(self._next(), depth + 1)
            if node.style == "empty":
                colon = _COLON.match(self._text, key.end)
                place = colon.end() if colon else key.end
                node = replace(node, line=key.line, start=place, end=place)
            parts += (key, node)
            if key.value == "<<" and key.style == "plain":
                self._merge(node, merged)
            elif self._is_new_key(key, entries):
                entries[cast("str", key.value)] = Entry(line=key.line, node=node)
        entries.update((key, entry) for key, entry in merged.items() if key not in entries)
        return _collection(start, event, parts, entries)

    def _is_new_key(self, key: Node, entries: dict[str, Entry]) -> bool:
        if not isinstance(key.value, str):
            shown = show(plain(key))
            self._flaw(f"the key {shown} is not text", "put it in quotes", key.line)
            return False
        if key.value in entries:
            first = entries[key.value].line
            what = f"the key {key.value!r:.80} is given twice (first on line {first})"
            self._flaw(what, "keep one of the two", key.line)
            return False
        return True

    def _merge(self, node: Node, merged: dict[str, Entry]) -> None:
        for source in node.value if isinstance(node.value, list) else [node]:
            if not isinstance(source.value, dict):
                self._flaw("<< takes mappings only", "give it an alias of a mapping, or a list of them")
                continue
            for key, entry in source.value.items():
                merged.setdefault(key, replace(entry, is_merged=True))


def _empty() -> UnreadableError:
    return UnreadableError(1, "the file is empty", "write id: ..., name: ... and description: ...")


def _collection(start: Event, last: Event, parts: list[Node], value: list[Node] | dict[str, Entry]) -> Node:
    is_flow = start.style == "flow"
    return Node(
        value=value,
        style="flow" if is_flow else "block",
        line=start.line,
        column=start.column,
        start=start.start,
        # a block ends with its last value; the parser's own mark is past the comments after it
        end=last.end if is_flow else max((part.end for part in parts), default=start.start),
        weight=1 + sum(part.weight for part in parts),
        height=1 + max((part.height for part in parts), default=0),
    )
