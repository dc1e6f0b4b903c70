"""The way of arguments between a tool's own shape and the wire's, and back.

Does not know why a shape was changed, and checks nothing: what does not fit is handed on as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

from toolhaft.schema.json_schema import type_name
from toolhaft.schema.json_text import read_json, to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class Turn(Protocol):
    """One place where arguments have another shape on the wire."""

    @property
    def renames(self) -> Mapping[str, str]:
        """The top-level names that the wire has instead of the tool's own, with those."""
        return _NONE

    def back(self, value: JSONValue) -> JSONValue:
        """The tool's own arguments, from those of the wire."""
        ...

    def forth(self, value: JSONValue) -> JSONValue:
        """The wire's arguments, from the tool's own."""
        ...

    @property
    def changes(self) -> bool:
        """Whether it changes values itself, beside what is inside it."""
        return True

    def parts(self) -> Iterable[Turn | None]:
        """The turns inside it."""
        return ()


def acting(turn: Turn | None) -> Turn | None:
    """The turn, or None for one that changes nothing."""
    waiting, seen = [turn], set[int]()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        if part.changes:
            return turn
        seen.add(id(part))
        waiting.extend(part.parts())
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields(Turn):
    """An object: keys renamed, nulls that mean absent, members turned, other keys gathered in one list."""

    inside: Mapping[str, Turn] = field(default_factory=dict[str, Turn])
    """By a key of the tool's own, what its value goes through."""
    nulls: Mapping[str, None] = field(default_factory=dict[str, None])
    """The tool's own keys of which a null is sent where they are absent."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """By a key of the wire, the tool's own."""
    rest: str = ""
    """The wire's key that holds all keys not in `known` as a list; '' where there is none."""
    rest_turn: Turn | None = None
    rest_always: bool = False
    """Whether the list is sent even where it is empty."""
    others: Turn | None = None
    """What the value of a key that is not in `known` goes through."""
    known: frozenset[str] = frozenset()

    @property
    def renames(self) -> Mapping[str, str]:
        """The names on the wire, with the tool's own."""
        return self.names

    def back(self, value: JSONValue) -> JSONValue:
        """Drops nulls that mean absent, and puts each key in its own place."""
        if not isinstance(value, dict) or self._clashes(value):
            return value
        own: JSONObject = {}
        for key, member in value.items():
            name = self.names.get(key, key)
            if member is None and name in self.nulls:
                continue
            turn = self._turn(name)
            own[name] = member if turn is None else turn.back(member)
        return self._spread(own) if self.rest else own

    def forth(self, value: JSONValue) -> JSONValue:
        """Puts each key where the wire has it, and null where one is absent."""
        if not isinstance(value, dict) or self._clashes(value):
            return value
        wire_names = {own: wire for wire, own in self.names.items()}
        sent: JSONObject = {}
        others: JSONObject = {}
        for name, member in value.items():
            if self.rest and name not in self.known:
                others[name] = member
                continue
            turn = self._turn(name)
            sent[wire_names.get(name, name)] = member if turn is None else turn.forth(member)
        for name in self.nulls:
            sent.setdefault(wire_names.get(name, name), None)
        if self.rest and (others or self.rest_always):
            sent[self.rest] = others if self.rest_turn is None else self.rest_turn.forth(others)
        return sent

    def _clashes(self, value: JSONObject) -> bool:
        """Whether a key is given under both its names: of two values none is taken in silence."""
        return bool(self.names) and any(wire in value and own in value for wire, own in self.names.items())

    def _turn(self, name: str) -> Turn | None:
        if self.others is None or name in self.known:
            return self.inside.get(name)
        return self.others

    def _spread(self, own: JSONObject) -> JSONObject:
        if self.rest not in own or self.rest_turn is None:
            return own
        others = self.rest_turn.back(own[self.rest])
        if not isinstance(others, dict) or others.keys() & self.known:
            return own
        return {**{name: member for name, member in own.items() if name != self.rest}, **others}

    @property
    def changes(self) -> bool:
        """Where keys are others on the wire."""
        return bool(self.nulls or self.names or self.rest)

    def parts(self) -> Iterable[Turn | None]:
        """Those of its members."""
        return (*self.inside.values(), self.others)


@dataclass(frozen=True, slots=True)
class Items(Turn):
    """An array whose members are turned, the first ones each by its place."""

    first: tuple[Turn | None, ...]
    others: Turn | None

    def back(self, value: JSONValue) -> JSONValue:
        """Each member turned back."""
        if not isinstance(value, list):
            return value
        return [member if turn is None else turn.back(member) for turn, member in self._pairs(value)]

    def forth(self, value: JSONValue) -> JSONValue:
        """Each member turned forth."""
        if not isinstance(value, list):
            return value
        return [member if turn is None else turn.forth(member) for turn, member in self._pairs(value)]

    def _pairs(self, members: Sequence[JSONValue]) -> list[tuple[Turn | None, JSONValue]]:
        first, others = self.first, self.others
        return [
            (first[index] if index < len(first) else others, member) for index, member in enumerate(members)
        ]

    @property
    def changes(self) -> bool:
        """Never: only its members are changed."""
        return False

    def parts(self) -> Iterable[Turn | None]:
        """Those of its members."""
        return (*self.first, self.others)


@dataclass(frozen=True, slots=True)
class Places(Turn):
    """An array of fixed length, sent as an object with one key a place."""

    keys: tuple[str, ...]
    turns: tuple[Turn | None, ...]

    def back(self, value: JSONValue) -> JSONValue:
        """The members in their order."""
        if not isinstance(value, dict) or value.keys() != set(self.keys):
            return value
        members = (value[key] for key in self.keys)
        return [
            member if turn is None else turn.back(member)
            for turn, member in zip(self.turns, members, strict=True)
        ]

    def forth(self, value: JSONValue) -> JSONValue:
        """Each member under the key of its place."""
        if not isinstance(value, list) or len(value) != len(self.keys):
            return value
        return {
            key: member if turn is None else turn.forth(member)
            for key, turn, member in zip(self.keys, self.turns, value, strict=True)
        }


@dataclass(frozen=True, slots=True)
class Pairs(Turn):
    """An object with keys of the caller's choosing, sent as a list of key and value."""

    value_turn: Turn | None

    def back(self, value: JSONValue) -> JSONValue:
        """The object; a list with one key twice is handed on, for the tool to refuse."""
        if not isinstance(value, list):
            return value
        own: JSONObject = {}
        for pair in value:
            if not isinstance(pair, dict) or not pair.keys() >= {"key", "value"}:
                return value
            key, member = pair["key"], pair["value"]
            if not isinstance(key, str) or key in own:
                return value
            own[key] = member if self.value_turn is None else self.value_turn.back(member)
        return own

    def forth(self, value: JSONValue) -> JSONValue:
        """The list."""
        if not isinstance(value, dict):
            return value
        turn = self.value_turn
        return [
            {"key": key, "value": member if turn is None else turn.forth(member)}
            for key, member in value.items()
        ]


@dataclass(frozen=True, slots=True)
class Text(Turn):
    """Any value, sent as JSON in a text."""

    def back(self, value: JSONValue) -> JSONValue:
        """The value that the text says."""
        if not isinstance(value, str):
            return value
        try:
            return read_json(value)
        except ValueError:
            return value

    def forth(self, value: JSONValue) -> JSONValue:
        """The value as a text."""
        return to_json_text(value)


@dataclass(frozen=True, slots=True)
class Values(Turn):
    """A choice of values, some of them sent as texts."""

    by_text: Mapping[str, JSONValue]

    def back(self, value: JSONValue) -> JSONValue:
        """The value that a text stands for."""
        return self.by_text.get(value, value) if isinstance(value, str) else value

    def forth(self, value: JSONValue) -> JSONValue:
        """The text that stands for a value."""
        wanted = value_key(value)
        return next((text for text, own in self.by_text.items() if value_key(own) == wanted), value)

    @property
    def changes(self) -> bool:
        """Where a text stands for something else than itself."""
        return any(text != own for text, own in self.by_text.items())


@dataclass(frozen=True, slots=True)
class Wrapped(Turn):
    """All arguments, sent as the value of one."""

    key: str
    inside: Turn | None

    def back(self, value: JSONValue) -> JSONValue:
        """What the one argument holds."""
        if not isinstance(value, dict) or value.keys() != {self.key}:
            return value
        member = value[self.key]
        return member if self.inside is None else self.inside.back(member)

    def forth(self, value: JSONValue) -> JSONValue:
        """The one argument that holds them."""
        return {self.key: value if self.inside is None else self.inside.forth(value)}


class Later(Turn):
    """The turn of a definition, which may lead back to itself; known when the definition is finished."""

    __slots__ = ("turn",)

    def __init__(self) -> None:
        self.turn: Turn | None = None

    def back(self, value: JSONValue) -> JSONValue:
        """As the definition does."""
        return value if self.turn is None else self.turn.back(value)

    def forth(self, value: JSONValue) -> JSONValue:
        """As the definition does."""
        return value if self.turn is None else self.turn.forth(value)

    @property
    def changes(self) -> bool:
        """Never: what it stands for does."""
        return False

    def parts(self) -> Iterable[Turn | None]:
        """What it stands for."""
        return (self.turn,)


def value_key(value: JSONValue) -> str:
    """A text that two values share only where JSON Schema takes them for equal."""
    return to_json_text(_settled(value))


def _settled(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {key: _settled(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_settled(member) for member in value]
    if isinstance(value, float) and type_name(value) == "integer":
        return int(value)
    return value
