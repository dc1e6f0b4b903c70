"""Whether no value can fit two schemas at once, as far as that can be proved by looking.

Does not know any target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple, cast

from toolhaft.formats.subset.kinds import kinds_of
from toolhaft.formats.subset.turns import value_key
from toolhaft.schema.json_schema import resolve
from toolhaft.schema.json_value import JSONObject, JSONValue

_MOST: Final = 100
_OBJECT: Final = frozenset(("object",))


class _Facts(NamedTuple):
    """What is known of every value that fits a schema."""

    types: frozenset[str]
    values: frozenset[str] | None
    tags: dict[str, frozenset[str]]
    """By a name that every object has, the values that it can have."""
    required: frozenset[str]
    names: frozenset[str] | None
    """The only names that an object can have, if they are all known."""


def are_disjoint(root: JSONObject, schemas: Sequence[JSONValue]) -> bool:
    """Whether no value can fit two of the schemas; references lead into the root."""
    if len(schemas) > _MOST:
        return False
    facts = [_facts(root, schema) for schema in schemas]
    return all(_apart(one, other) for one, other in combinations(facts, 2))


def _apart(one: _Facts, other: _Facts) -> bool:
    shared = one.types & other.types
    if not shared:
        return True
    if one.values is not None and other.values is not None and not one.values & other.values:
        return True
    if shared != _OBJECT:
        return False
    if any(not values & other.tags[name] for name, values in one.tags.items() if name in other.tags):
        return True
    return _lacks(one, other) or _lacks(other, one)


def _lacks(one: _Facts, other: _Facts) -> bool:
    return one.names is not None and not other.required <= one.names


def _facts(root: JSONObject, schema: JSONValue) -> _Facts:
    nodes = list(_conjuncts(root, schema))
    required = frozenset(name for node in nodes for name in cast("list[str]", node.get("required", [])))
    tags: dict[str, frozenset[str]] = {}
    values: frozenset[str] | None = None
    names: frozenset[str] | None = None
    for node in nodes:
        own = _values(node)
        if own is not None:
            values = own if values is None else values & own
        properties = node.get("properties")
        known = properties if isinstance(properties, dict) else {}
        if node.get("additionalProperties") is False and not node.get("patternProperties"):
            names = frozenset(known) if names is None else names & known.keys()
        for name, child in known.items():
            if name in required:
                for part in _conjuncts(root, child):
                    found = _values(part)
                    if found is not None:
                        tags[name] = tags.get(name, found) & found
    return _Facts(kinds_of(root, schema), values, tags, required, names)


def _values(node: JSONObject) -> frozenset[str] | None:
    listed = [node["const"]] if "const" in node else node.get("enum")
    return frozenset(map(value_key, listed)) if isinstance(listed, list) else None


def _conjuncts(root: JSONObject, schema: JSONValue) -> Iterator[JSONObject]:
    """A schema and those that every value of it also fits."""
    waiting, seen = [schema], set[int]()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node.get("$ref"), str):
            waiting.append(resolve(root, cast("str", node["$ref"])))
        waiting.extend(cast("list[JSONValue]", node.get("allOf", [])))
