"""How deep a value may go where a schema's alternatives lead back to themselves.

Knows JSON Schema. An engine tries the alternatives of a union one after the other, and where two of them
lead into the same member again it tries twice as many a level: the depth is what must be bounded.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from math import log
from typing import Final

from toolhaft.schema.json_schema import in_place, resolve, subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue

_MOST_TRIES: Final = 5_000
_MEMBERS: Final = ("additionalProperties", "contains", "items")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_BRACKET = re.compile(r"[\[\]{}]")


def deepest(root: JSONObject) -> int | None:
    """The nesting at which checking a value stays bearable; None where it always does."""
    recursive = _recursive(root)
    ways = max((_ways(root, node, recursive) for node in recursive.values()), default=0)
    return int(log(_MOST_TRIES, ways)) if ways > 1 else None


def nesting(text: str) -> int:
    """How deep the arrays and objects of a JSON text are nested."""
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(_STRING.sub("", text)))
    return max(accumulate(steps), default=0)


def _recursive(root: JSONObject) -> dict[int, JSONObject]:
    """The schemas that a value's member can meet again further down: those on a cycle."""
    if not any("$ref" in node for node in _all(root)):
        return {}
    below = {id(node): {id(child): child for child in _next(root, node)} for node in _all(root)}
    nodes = {id(node): node for node in _all(root)}
    return {number: node for number, node in nodes.items() if _returns(number, below)}


def _returns(start: int, below: dict[int, dict[int, JSONObject]]) -> bool:
    waiting, seen = list(below[start]), set[int]()
    while waiting:
        number = waiting.pop()
        if number == start:
            return True
        if number not in seen:
            seen.add(number)
            waiting.extend(below.get(number, ()))
    return False


def _all(root: JSONObject) -> Iterator[JSONObject]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(child for _, child in subschemas(node))


def _next(root: JSONObject, node: JSONObject) -> Iterator[JSONObject]:
    reference = node.get("$ref")
    target = resolve(root, reference) if isinstance(reference, str) else None
    if isinstance(target, dict):
        yield target
    yield from (child for key, child in subschemas(node) if key not in ("$defs", "definitions"))


def _ways(root: JSONObject, node: JSONObject, recursive: dict[int, JSONObject]) -> int:
    """On how many ways one member of a value at this schema leads back into the recursion."""
    ways: dict[str, int] = {}
    for part in in_place(root, node):
        members: list[tuple[str, JSONValue]] = [(key, part[key]) for key in _MEMBERS if key in part]
        properties = part.get("properties")
        members += list(properties.items()) if isinstance(properties, dict) else []
        for name, child in members:
            if isinstance(child, dict) and id(child) in recursive:
                ways[name] = ways.get(name, 0) + 1
    return max(ways.values(), default=0)
