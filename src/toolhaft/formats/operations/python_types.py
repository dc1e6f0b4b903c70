"""Renders JSON Schemas as Python types: `list[str] | None`, `Literal["a"]`, a record per object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from toolhaft.formats.subset.keywords import ARRAY, LOGIC, NUMBER, STRING, UNIONS
from toolhaft.formats.subset.to_description import constraint_text, is_vacuous
from toolhaft.schema.json_schema import resolve
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_SCALARS: Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict",
    "array": "list",
}
_NOTED: Final = frozenset(
    (
        *NUMBER,
        *STRING,
        *(ARRAY - {"items", "prefixItems", "unevaluatedItems"}),
        *LOGIC,
        "minProperties",
        "maxProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
    )
)
_LONGEST: Final = 2000
_LONGEST_CHOICES: Final = 1500
_DEEPEST: Final = 100
_MOST_UNION_LEVELS: Final = 3
"""How many levels of nested unions are searched for members and notes."""


class Member(NamedTuple):
    """One parameter of a tool, or one member of a record."""

    name: str
    type: str
    is_required: bool
    default: JSONValue
    has_default: bool
    notes: str
    """The other constraints on its value, as text."""
    description: str


class Records:
    """The object schemas that were found, each with a unique name."""

    def __init__(self) -> None:
        self.found: dict[str, list[Member]] = {}
        """The members of each record by its name, in the order of discovery."""
        self._names: dict[str, str] = {}
        self._texts: dict[int, str] = {}
        self._depth = 0

    def members(self, schema: JSONValue, root: JSONObject) -> list[Member]:
        """The members of an object, or of all objects of a union."""
        found: dict[str, Member] = {}
        required = _required(schema, root, 0)
        for name, inside in _properties(schema, root, 0):
            if name not in found:
                found[name] = self._member(name, inside, root, is_required=name in required)
        return sorted(found.values(), key=lambda member: not member.is_required)

    def _member(self, name: str, schema: JSONValue, root: JSONObject, *, is_required: bool) -> Member:
        followed = _followed(schema, root)
        default = followed.get("default")
        description = followed.get("description")
        return Member(
            name,
            self.type(schema, root, name),
            is_required,
            default,
            "default" in followed,
            ", ".join(notes_of(schema, root)),
            " ".join(description.split()) if isinstance(description, str) else "",
        )

    def type(self, schema: JSONValue, root: JSONObject, name: str = "") -> str:
        """The type of a schema; `name` is the base for the name of a record."""
        if not isinstance(schema, dict):
            return "Never" if schema is False else "Any"
        known = self._texts.get(id(schema))
        if known is None and self._depth < _DEEPEST:
            self._texts[id(schema)] = "Any"  # for a recursive schema that is not a record
            self._depth += 1
            text = self._type(schema, root, name)
            self._depth -= 1
            known = self._texts[id(schema)] = text if len(text) <= _LONGEST else "Any"
        return known or "Any"

    def _type(self, schema: JSONObject, root: JSONObject, name: str) -> str:
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return self.type(resolve(root, ref), root, ref.rpartition("/")[2])
        if "const" in schema:
            return _literal([schema["const"]])
        choices = schema.get("enum")
        if isinstance(choices, list):
            return _literal(choices)
        kinds = _type_names(schema)
        if kinds:
            return _union(self._of_kind(kind, schema, root, name) for kind in kinds)
        for keyword in UNIONS:
            branches = schema.get(keyword)
            if isinstance(branches, list):
                return _union(self.type(branch, root, _title(branch) or name) for branch in branches)
        merged = schema.get("allOf")
        if isinstance(merged, list):
            types = dict.fromkeys(self.type(branch, root, name) for branch in merged)
            return " & ".join(text for text in types if text != "Any") or "Any"
        return "Any"

    def _of_kind(self, kind: str, schema: JSONObject, root: JSONObject, name: str) -> str:
        if kind == "array":
            return self._array(schema, root, name)
        if kind != "object":
            return _SCALARS.get(kind, "Any")
        if schema.get("properties"):
            return self._record(schema, root, name)
        patterns = schema.get("patternProperties")
        inside = schema.get("additionalProperties")
        if isinstance(patterns, dict) and patterns and not inside:
            inside = next(iter(patterns.values()))
        return (
            f"dict[str, {self.type(inside, root, name)}]" if isinstance(inside, dict) and inside else "dict"
        )

    def _array(self, schema: JSONObject, root: JSONObject, name: str) -> str:
        first = schema.get("prefixItems")
        inside = schema.get("items")
        if isinstance(inside, list):  # a tuple in Draft 7
            first, inside = inside, schema.get("additionalItems")
        single = name.removesuffix("s") or name
        if isinstance(first, list) and first:
            members = [self.type(member, root, single) for member in first]
            is_closed = inside is False or schema.get("maxItems") == len(first)
            return f"tuple[{', '.join(members)}{'' if is_closed else ', ...'}]"
        return f"list[{self.type(inside, root, single)}]" if isinstance(inside, dict) and inside else "list"

    def _record(self, schema: JSONObject, root: JSONObject, name: str) -> str:
        text = to_json_text(schema)
        if "$ref" in text:  # its meaning depends on its document
            text += to_json_text({home: root.get(home) for home in ("$defs", "definitions", "properties")})
        known = self._names.get(text)
        if known is None:
            known = self._names[text] = self._free_name(_title(schema) or name)
            self._texts[id(schema)] = known  # its members may refer to it
            self.found[known] = []
            self.found[known] = self.members(schema, root)
        return known

    def _free_name(self, wanted: str) -> str:
        text = re.findall(r"[A-Za-z0-9]+", wanted)
        plain = "".join(word[0].upper() + word[1:] for word in text) or "Object"
        name = plain if plain[0].isalpha() else f"_{plain}"
        number = 2
        while name in self.found:
            name, number = f"{plain}{number}", number + 1
        return name


def _title(schema: JSONValue) -> str:
    title = schema.get("title") if isinstance(schema, dict) else None
    return title if isinstance(title, str) else ""


def _type_names(schema: JSONObject) -> list[str]:
    declared = schema.get("type")
    if isinstance(declared, list):
        return [kind for kind in declared if isinstance(kind, str)]
    if isinstance(declared, str):
        return [declared]
    return ["object"] if "properties" in schema else ["array"] if "items" in schema else []


def _literal(values: list[JSONValue]) -> str:
    shown: list[str] = []
    left = _LONGEST_CHOICES
    for text in map(python_text, values):
        left -= len(text)
        if left < 0:
            shown.append("...")
            break
        shown.append(text)
    return "None" if shown == ["None"] else f"Literal[{', '.join(shown)}]"


def _union(types: Iterator[str]) -> str:
    found = list(dict.fromkeys(types))
    if "Any" in found:
        return "Any"
    found.sort(key=lambda text: text == "None")
    return " | ".join(found) or "Any"


def python_text(value: JSONValue) -> str:
    """A JSON value in Python syntax, with JSON's quotes."""
    if isinstance(value, list):
        return f"[{', '.join(python_text(member) for member in value)}]"
    if isinstance(value, dict):
        members = (f"{to_json_text(key)}: {python_text(member)}" for key, member in value.items())
        return f"{{{', '.join(members)}}}"
    return to_json_text(value) if isinstance(value, str) else repr(value)


def _followed(schema: JSONValue, root: JSONObject) -> JSONObject:
    """The target of a reference, with the siblings of the reference added; {} if it is not an object."""
    for _ in range(10):
        ref = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(ref, str) or not isinstance(schema, dict):
            break
        target = resolve(root, ref)
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **siblings} if isinstance(target, dict) else target
    return schema if isinstance(schema, dict) else {}


def _properties(schema: JSONValue, root: JSONObject, depth: int) -> Iterator[tuple[str, JSONValue]]:
    """The members of an object: its own, then those of its branches."""
    followed = _followed(schema, root)
    own = followed.get("properties")
    if isinstance(own, dict):
        yield from own.items()
    if depth < _MOST_UNION_LEVELS:
        for keyword in ("allOf", *UNIONS):
            branches = followed.get(keyword)
            for branch in branches if isinstance(branches, list) else ():
                yield from _properties(branch, root, depth + 1)


def _required(schema: JSONValue, root: JSONObject, depth: int) -> frozenset[str]:
    """The required members."""
    followed = _followed(schema, root)
    own = followed.get("required")
    found = {name for name in own if isinstance(name, str)} if isinstance(own, list) else set[str]()
    merged = followed.get("allOf")
    if isinstance(merged, list) and depth < _MOST_UNION_LEVELS:
        for branch in merged:
            found |= _required(branch, root, depth + 1)
    return frozenset(found)


def notes_of(schema: JSONValue, root: JSONObject, depth: int = 0) -> Iterator[str]:
    """The constraints on a value besides its type, each as a short text."""
    followed = _followed(schema, root)
    keywords = (key for key, value in followed.items() if key in _NOTED and not is_vacuous(key, value))
    yield from (text for key in keywords if (text := constraint_text(key, followed[key])))
    if depth > _MOST_UNION_LEVELS:
        return
    inside = followed.get("items")
    if isinstance(inside, dict):
        yield from (f"each {text}" for text in notes_of(inside, root, depth + 1))
    for keyword in ("allOf", *UNIONS):
        branches = followed.get(keyword)
        if isinstance(branches, list):
            yield from _union_notes(keyword, branches, root, depth + 1, is_typed=bool(_type_names(followed)))


def _union_notes(
    keyword: str, branches: list[JSONValue], root: JSONObject, depth: int, *, is_typed: bool
) -> Iterator[str]:
    real = [branch for branch in branches if not _is_null(branch)]
    if len(real) == 1 or keyword == "allOf":
        yield from (text for branch in real for text in notes_of(branch, root, depth))
    elif is_typed or any(any(notes_of(branch, root, depth)) for branch in real):
        text = constraint_text(keyword, branches)
        if text:
            yield text


def _is_null(schema: JSONValue) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"
