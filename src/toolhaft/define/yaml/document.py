"""Reads one YAML 1.2 document into nodes with positions; checks the size of an alias before expanding it."""

from __future__ import annotations

import re
from typing import Final, cast

from toolhaft.define.yaml.events import (
    MAX_DEPTH,
    UnreadableError,
    YamlEvent,
    YamlProblem,
    read_events,
    too_deep,
)
from toolhaft.define.yaml.nodes import (
    CHARACTERS_PER_NODE,
    MAX_WEIGHT,
    Scalar,
    Style,
    YamlEntry,
    YamlNode,
    resolve_plain,
)
from toolhaft.define.yaml.simple_document import read_simple
from toolhaft.schema.json_value import JSONValue
from toolhaft.schema.problems import show

_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_COLON: Final = re.compile(r"[ \t]*:")


def read_document(text: str) -> tuple[YamlNode | None, list[YamlProblem]]:
    """Return the root of the document, None if it cannot be parsed, and every problem found."""
    simple = read_simple(text)
    if simple is not None:
        return simple, []
    return parse_document(text)


def parse_document(text: str) -> tuple[YamlNode | None, list[YamlProblem]]:
    """The same for any document, with the parser."""
    composer = _Composer(text)
    try:
        return composer.compose(), composer.problems
    except UnreadableError as error:
        return None, [*composer.problems, error.problem]


def plain_value(node: YamlNode) -> JSONValue:
    """Return the value of a node without positions."""
    if isinstance(node.value, dict):
        return {key: plain_value(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, list):
        return [plain_value(item) for item in node.value]
    return node.value


class _Composer:
    """Builds nodes from events."""

    def __init__(self, text: str) -> None:
        self.problems: list[YamlProblem] = []
        self._text = text
        self._events = read_events(text)
        self._line = 1
        self._weight = 0
        self._anchors: dict[str, YamlNode | None] = {}

    def compose(self) -> YamlNode:
        self._next()
        start = self._next()
        if start.kind == "StreamEnd":
            raise _empty()
        if start.version not in (None, (1, 2)):
            self._problem("only YAML 1.2 is read", "take the %YAML line out")
        root = self._node(self._next(), 1)
        self._next()
        if root.style == "empty":
            raise _empty()
        if self._next().kind != "StreamEnd":
            raise UnreadableError(self._line, "a second document starts here", "keep one tool in one file")
        return root

    def _next(self) -> YamlEvent:
        event = next(self._events)
        self._line = event.line
        return event

    def _problem(self, what: str, fix: str, line: int = 0) -> None:
        self.problems.append(YamlProblem(line=line or self._line, what=what, fix=fix))

    def _weigh(self, weight: int) -> int:
        self._weight += weight
        if self._weight > MAX_WEIGHT:
            what = f"the file has more than {MAX_WEIGHT} values, aliases written out"
            raise UnreadableError(self._line, what, "use fewer aliases, or split the file")
        return weight

    def _check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise too_deep(self._line)

    def _node(self, event: YamlEvent, depth: int) -> YamlNode:
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

    def _alias(self, event: YamlEvent, depth: int) -> YamlNode:
        name = cast("str", event.anchor)
        node = self._anchors.get(name)
        if node is None:
            what = f"the alias *{name:.60} is inside its own anchor"
            if name not in self._anchors:
                what = f"there is no anchor &{name:.60} before this alias"
            raise UnreadableError(event.line, what, "write the value out, or quote a text that starts with *")
        self._check_depth(depth - 1 + node.height)
        self._weigh(node.weight)
        return node._replace(
            style="alias", line=event.line, column=event.column, start=event.start, end=event.end
        )

    def _scalar(self, event: YamlEvent) -> YamlNode:
        value: Scalar = event.value
        style: Style = "quoted"
        end = event.end
        if not event.style:
            style = "plain" if event.value or event.anchor else "empty"
            value = self._resolve(event.value)
        elif event.style in "|>":
            style = "literal"
            # without the blank lines after it
            end = event.start + len(self._text[event.start : end].rstrip())
        if isinstance(value, str) and _SURROGATES.search(value):
            value = self._join_surrogates(value)
        return YamlNode(
            value=value,
            style=style,
            line=event.line,
            column=event.column,
            start=event.start,
            end=end,
            weight=self._weigh(1 + len(event.value) // CHARACTERS_PER_NODE),
        )

    def _resolve(self, text: str) -> Scalar:
        try:
            return resolve_plain(text)
        except ValueError as error:
            self._problem(str(error), "give a finite number, or quote it")
            return None

    def _join_surrogates(self, text: str) -> str:
        """Join surrogate pairs that were written as two escapes, as in JSON."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._problem("the text has a lone surrogate in it", "write the character itself")
            return _SURROGATES.sub("?", text)

    def _sequence(self, start: YamlEvent, depth: int) -> YamlNode:
        self._weigh(1)
        items: list[YamlNode] = []
        while (event := self._next()).kind != "SequenceEnd":
            item = self._node(event, depth + 1)
            # the parser puts an empty item where the next token starts; it must not extend the list
            items.append(item._replace(start=0, end=0) if item.style == "empty" else item)
        return _collection(start, event, items, items)

    def _mapping(self, start: YamlEvent, depth: int) -> YamlNode:
        self._weigh(1)
        parts: list[YamlNode] = []
        entries: dict[str, YamlEntry] = {}
        merged: dict[str, YamlEntry] = {}
        while (event := self._next()).kind != "MappingEnd":
            key = self._node(event, depth + 1)
            node = self._node(self._next(), depth + 1)
            if node.style == "empty":
                colon = _COLON.match(self._text, key.end)
                place = colon.end() if colon else key.end
                node = node._replace(line=key.line, column=0, start=place, end=place)
            parts += (key, node)
            if key.value == "<<" and key.style == "plain":
                self._merge(node, merged)
            elif self._is_new_key(key, entries):
                entries[cast("str", key.value)] = YamlEntry(line=key.line, node=node)
        entries.update((key, entry) for key, entry in merged.items() if key not in entries)
        return _collection(start, event, parts, entries)

    def _is_new_key(self, key: YamlNode, entries: dict[str, YamlEntry]) -> bool:
        if not isinstance(key.value, str):
            shown = show(plain_value(key))
            self._problem(f"the key {shown} is not text", "put it in quotes", key.line)
            return False
        if key.value in entries:
            first = entries[key.value].line
            what = f"the key {key.value!r:.80} is given twice (first on line {first})"
            self._problem(what, "keep one of the two", key.line)
            return False
        return True

    def _merge(self, node: YamlNode, merged: dict[str, YamlEntry]) -> None:
        for source in node.value if isinstance(node.value, list) else [node]:
            if not isinstance(source.value, dict):
                self._problem("<< takes mappings only", "give it an alias of a mapping, or a list of them")
                continue
            for key, entry in source.value.items():
                merged.setdefault(key, entry._replace(is_merged=True))


def _empty() -> UnreadableError:
    return UnreadableError(1, "the file is empty", "write id: ..., name: ... and description: ...")


def _collection(
    start: YamlEvent, last: YamlEvent, parts: list[YamlNode], value: list[YamlNode] | dict[str, YamlEntry]
) -> YamlNode:
    is_flow = start.style == "flow"
    return YamlNode(
        value=value,
        style="flow" if is_flow else "block",
        line=start.line,
        column=start.column,
        start=start.start,
        # a block ends with its last value; the parser's end mark is after the comments that follow
        end=last.end if is_flow else max((part.end for part in parts), default=start.start),
        weight=1 + sum(part.weight for part in parts),
        height=1 + max((part.height for part in parts), default=0),
    )
