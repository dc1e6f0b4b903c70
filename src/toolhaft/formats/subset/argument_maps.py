"""Maps arguments between a tool's own shape and the shape of its lowered schema.

Nothing is checked here: a value that does not fit passes unchanged, and the executor reports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from types import MappingProxyType
from typing import Final, Protocol

import jsonschema_rs

from toolhaft.schema.json_schema import map_subschemas, type_name
from toolhaft.schema.json_text import read_json, to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.raw_definition import compile_validator

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class ArgumentMap(Protocol):
    """Maps a value between the tool's shape and the shape as sent."""

    @property
    def renames(self) -> Mapping[str, str]:
        """The tool's own top-level names by the names as sent, where they differ."""
        return _NONE

    def decode(self, value: JSONValue) -> JSONValue:
        """The tool's value from the one sent."""
        ...

    def encode(self, value: JSONValue) -> JSONValue:
        """The value to send from the tool's."""
        ...

    @property
    def changes(self) -> bool:
        """Whether it changes values itself, apart from the maps inside it."""
        return True

    def parts(self) -> Iterable[ArgumentMap | None]:
        """The maps inside it."""
        return ()


def decoded(mapping: ArgumentMap | None, value: JSONValue) -> JSONValue:
    """The tool's value from the one sent; unchanged without a map."""
    return value if mapping is None else mapping.decode(value)


def encoded(mapping: ArgumentMap | None, value: JSONValue) -> JSONValue:
    """The value to send from the tool's; unchanged without a map."""
    return value if mapping is None else mapping.encode(value)


def effective(mapping: ArgumentMap | None) -> ArgumentMap | None:
    """The map, or None if it changes nothing."""
    waiting, seen = [mapping], set[int]()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        if part.changes:
            return mapping
        seen.add(id(part))
        waiting.extend(part.parts())
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectMap(ArgumentMap):
    """An object: renamed keys, null for absent keys, mapped members, other keys in one list."""

    inside: Mapping[str, ArgumentMap] = field(default_factory=dict[str, ArgumentMap])
    """The map of each member by the tool's own key."""
    nulls: Mapping[str, None] = field(default_factory=dict[str, None])
    """The tool's own keys that are sent as null when they are absent."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The tool's own key by the key as sent."""
    rest: str = ""
    """The key as sent that holds all keys not in `known` as a list; '' if there is none."""
    rest_mapping: ArgumentMap | None = None
    rest_always: bool = False
    """Whether the list is sent even if it is empty."""
    others: ArgumentMap | None = None
    """The map of the values of keys not in `known`."""
    known: frozenset[str] = frozenset()

    @property
    def renames(self) -> Mapping[str, str]:
        """The tool's own names by the names as sent."""
        return self.names

    def decode(self, value: JSONValue) -> JSONValue:
        """Drops nulls that mean absent, and restores the keys."""
        if not isinstance(value, dict) or self._clashes(value):
            return value
        own: JSONObject = {}
        for key, member in value.items():
            name = self.names.get(key, key)
            if member is None and name in self.nulls:
                continue
            mapping = self._mapping(name)
            own[name] = member if mapping is None else mapping.decode(member)
        return self._spread(own) if self.rest else own

    def encode(self, value: JSONValue) -> JSONValue:
        """Renames the keys, and adds nulls for absent ones."""
        if not isinstance(value, dict) or self._clashes(value):
            return value
        sent_names = {own: lowered for lowered, own in self.names.items()}
        sent: JSONObject = {}
        others: JSONObject = {}
        for name, member in value.items():
            if self.rest and name not in self.known:
                others[name] = member
                continue
            sent[sent_names.get(name, name)] = encoded(self._mapping(name), member)
        for name in self.nulls:
            sent.setdefault(sent_names.get(name, name), None)
        if self.rest and (others or self.rest_always):
            sent[self.rest] = encoded(self.rest_mapping, others)
        return sent

    def _clashes(self, value: JSONObject) -> bool:
        """Whether a key is present under both names: neither value may be dropped silently."""
        return bool(self.names) and any(
            lowered in value and own in value for lowered, own in self.names.items()
        )

    def _mapping(self, name: str) -> ArgumentMap | None:
        if self.others is None or name in self.known:
            return self.inside.get(name)
        return self.others

    def _spread(self, own: JSONObject) -> JSONObject:
        if self.rest not in own or self.rest_mapping is None:
            return own
        others = self.rest_mapping.decode(own[self.rest])
        if not isinstance(others, dict) or others.keys() & self.known:
            return own
        return {**{name: member for name, member in own.items() if name != self.rest}, **others}

    @property
    def changes(self) -> bool:
        """True if keys differ as sent."""
        return bool(self.nulls or self.names or self.rest)

    def parts(self) -> Iterable[ArgumentMap | None]:
        """The maps of its members."""
        return (*self.inside.values(), self.others)


@dataclass(frozen=True, slots=True)
class ArrayMap(ArgumentMap):
    """An array with mapped members; the first ones each have their own map."""

    first: tuple[ArgumentMap | None, ...]
    others: ArgumentMap | None

    def decode(self, value: JSONValue) -> JSONValue:
        """Decodes each member."""
        if not isinstance(value, list):
            return value
        return [decoded(mapping, member) for mapping, member in self._pairs(value)]

    def encode(self, value: JSONValue) -> JSONValue:
        """Encodes each member."""
        if not isinstance(value, list):
            return value
        return [encoded(mapping, member) for mapping, member in self._pairs(value)]

    def _pairs(self, members: Sequence[JSONValue]) -> Iterable[tuple[ArgumentMap | None, JSONValue]]:
        return zip(chain(self.first, repeat(self.others)), members, strict=False)

    @property
    def changes(self) -> bool:
        """False: only its members change."""
        return False

    def parts(self) -> Iterable[ArgumentMap | None]:
        """The maps of its members."""
        return (*self.first, self.others)


@dataclass(frozen=True, slots=True)
class TupleMap(ArgumentMap):
    """An array of fixed length, sent as an object with one key per item."""

    keys: tuple[str, ...]
    mappings: tuple[ArgumentMap | None, ...]

    def decode(self, value: JSONValue) -> JSONValue:
        """The list of members."""
        if not isinstance(value, dict) or value.keys() != set(self.keys):
            return value
        members = (value[key] for key in self.keys)
        return list(map(decoded, self.mappings, members))

    def encode(self, value: JSONValue) -> JSONValue:
        """The object with one key per item."""
        if not isinstance(value, list) or len(value) != len(self.keys):
            return value
        return dict(zip(self.keys, map(encoded, self.mappings, value), strict=True))


@dataclass(frozen=True, slots=True)
class PairsMap(ArgumentMap):
    """An object with arbitrary keys, sent as a list of key-value pairs."""

    value_mapping: ArgumentMap | None

    def decode(self, value: JSONValue) -> JSONValue:
        """The object; a list with a repeated key is unchanged, so that the executor refuses it."""
        if not isinstance(value, list):
            return value
        own: JSONObject = {}
        for pair in value:
            if not isinstance(pair, dict) or not pair.keys() >= {"key", "value"}:
                return value
            key, member = pair["key"], pair["value"]
            if not isinstance(key, str) or key in own:
                return value
            own[key] = decoded(self.value_mapping, member)
        return own

    def encode(self, value: JSONValue) -> JSONValue:
        """The list of pairs."""
        if not isinstance(value, dict):
            return value
        return [{"key": key, "value": encoded(self.value_mapping, member)} for key, member in value.items()]


@dataclass(frozen=True, slots=True)
class JSONTextMap(ArgumentMap):
    """Any value, sent as a string of JSON."""

    def decode(self, value: JSONValue) -> JSONValue:
        """The parsed value."""
        if not isinstance(value, str):
            return value
        try:
            return read_json(value)
        except ValueError:
            return value

    def encode(self, value: JSONValue) -> JSONValue:
        """The value as JSON text."""
        return to_json_text(value)


@dataclass(frozen=True, slots=True)
class EnumMap(ArgumentMap):
    """An enum, some of whose values are sent as strings."""

    by_text: Mapping[str, JSONValue]

    def decode(self, value: JSONValue) -> JSONValue:
        """The value for a string."""
        return self.by_text.get(value, value) if isinstance(value, str) else value

    def encode(self, value: JSONValue) -> JSONValue:
        """The string for a value."""
        wanted = value_key(value)
        return next((text for text, own in self.by_text.items() if value_key(own) == wanted), value)

    @property
    def changes(self) -> bool:
        """True if a string replaces another value."""
        return any(text != own for text, own in self.by_text.items())


@dataclass(frozen=True, slots=True)
class WrapperMap(ArgumentMap):
    """All arguments, sent as the value of one argument."""

    key: str
    inside: ArgumentMap | None

    def decode(self, value: JSONValue) -> JSONValue:
        """The value of the argument."""
        if not isinstance(value, dict) or value.keys() != {self.key}:
            return value
        return decoded(self.inside, value[self.key])

    def encode(self, value: JSONValue) -> JSONValue:
        """The argument with this value."""
        return {self.key: encoded(self.inside, value)}


class DeferredMap(ArgumentMap):
    """The map of a definition that may be recursive; set when the definition is finished."""

    __slots__ = ("mapping",)

    def __init__(self) -> None:
        self.mapping: ArgumentMap | None = None

    def decode(self, value: JSONValue) -> JSONValue:
        """As the definition's map does."""
        return decoded(self.mapping, value)

    def encode(self, value: JSONValue) -> JSONValue:
        """As the definition's map does."""
        return encoded(self.mapping, value)

    @property
    def changes(self) -> bool:
        """False: only the definition's map may change values."""
        return False

    def parts(self) -> Iterable[ArgumentMap | None]:
        """The definition's map."""
        return (self.mapping,)


def value_key(value: JSONValue) -> str:
    """A text that is the same for two values exactly if JSON Schema treats them as equal."""
    return to_json_text(_canonical(value))


def _canonical(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {key: _canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_canonical(member) for member in value]
    if isinstance(value, float) and type_name(value) == "integer":
        return int(value)
    return value


_NAME: Final = "urn:toolhaft:schema"
_BRANCH: Final = "x-branch"


class SchemaDocuments:
    """The tool's own schema and the lowered one, to resolve references in."""

    def __init__(self, root: JSONObject) -> None:
        self.own = root
        self.lowered: JSONObject = {}
        """The lowered definitions; set when the whole schema is lowered."""

    def validator(self, part: JSONValue) -> jsonschema_rs.Validator:
        """The validator of a part of the tool's own schema."""
        name = self.own.get("$id")
        name = name if isinstance(name, str) and ":" in name else _NAME
        document: JSONObject = {**self.own, "$id": name, _BRANCH: part}
        return compile_validator({"definitions": {"own": document}, "$ref": f"{name}#/{_BRANCH}"}, "branch")

    def lowered_validator(self, part: JSONObject) -> jsonschema_rs.Validator:
        """The validator of a part of the lowered schema."""
        return compile_validator({**_plain(part), **_plain({"$defs": self.lowered})}, "branch")


def _plain(schema: JSONObject) -> JSONObject:
    """A schema with `nullable` rewritten as a null type."""
    new = map_subschemas(schema, _plain)
    return {"anyOf": [new, {"type": "null"}]} if new.pop("nullable", False) is True else new


class UnionBranch:
    """One branch of a union: the tool's own schema, the lowered one, and the map between them."""

    def __init__(
        self, own: JSONValue, lowered: JSONObject, mapping: ArgumentMap | None, documents: SchemaDocuments
    ) -> None:
        self.own = own
        self.lowered = lowered
        self.mapping = mapping
        self._documents = documents

    @cached_property
    def own_validator(self) -> jsonschema_rs.Validator:
        """Checks values in the tool's shape; compiled on first use."""
        return self._documents.validator(self.own)

    @cached_property
    def lowered_validator(self) -> jsonschema_rs.Validator:
        """Checks values as sent; compiled on first use."""
        return self._documents.lowered_validator(self.lowered)


class UnionMap(ArgumentMap):
    """A union whose branches have different maps.

    The first branch in which a value is valid both for the tool and as sent maps it; if there is none, the
    first in which it is valid for the tool.
    """

    def __init__(self, branches: tuple[UnionBranch, ...]) -> None:
        self.branches = branches

    def decode(self, value: JSONValue) -> JSONValue:
        """The tool's value from the one sent."""
        second: list[JSONValue] = []
        for branch in self.branches:
            own = decoded(branch.mapping, value)
            if branch.own_validator.is_valid(own):
                if branch.lowered_validator.is_valid(value):
                    return own
                second.append(own)
        return second[0] if second else value

    def encode(self, value: JSONValue) -> JSONValue:
        """The value to send from the tool's."""
        second: list[JSONValue] = []
        for branch in self.branches:
            if branch.own_validator.is_valid(value):
                sent = encoded(branch.mapping, value)
                if branch.lowered_validator.is_valid(sent):
                    return sent
                second.append(sent)
        return second[0] if second else value

    @property
    def changes(self) -> bool:
        """False: only the maps of its branches change values."""
        return False

    def parts(self) -> Iterable[ArgumentMap | None]:
        """The maps of its branches."""
        return [branch.mapping for branch in self.branches]
