"""Bounds the work of checking a value: how many schemas apply to it, and how deep it may nest."""

import re
from collections.abc import Iterator
from itertools import accumulate
from math import log
from typing import Final, NamedTuple

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import (
    COMBINATORS,
    CONDITIONALS,
    all_schemas,
    applied_schemas,
    resolve,
    subschemas,
)
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import show

MAX_STEPS: Final = 10_000
_MAX_CHAIN: Final = 200
_MAX_TRIES: Final = 5_000
_MEMBERS: Final = ("additionalProperties", "contains", "items")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_BRACKET = re.compile(r"[\[\]{}]")


def check_bounds(root: JSONValue, place: str) -> None:
    """Check that references end, and that at most 10,000 schemas apply to one value.

    Raises:
        DefinitionError: for a reference loop, a chain that is too long, or too many schemas.
    """
    if isinstance(root, dict):
        costs: dict[int, _Cost] = {}
        for node in all_schemas(root):
            _cost_of(root, node, costs, place, frozenset())


class _Cost(NamedTuple):
    """How many schemas apply to one value, references followed, and the longest chain of them."""

    steps: int
    chain: int


def _cost_of(
    root: JSONObject, node: JSONObject, known: dict[int, _Cost], place: str, inside: frozenset[int]
) -> _Cost:
    if id(node) in inside:
        raise DefinitionError("a $ref leads back to itself without end", place=place, fix="break the loop")
    if id(node) in known:
        return known[id(node)]
    if len(inside) > _MAX_CHAIN:
        raise _too_long(place)
    costs = [
        _cost_of(root, child, known, place, inside | {id(node)}) for child in _applied_here(root, node, place)
    ]
    cost = _Cost(1 + sum(cost.steps for cost in costs), 1 + max((cost.chain for cost in costs), default=0))
    if cost.chain > _MAX_CHAIN:
        raise _too_long(place)
    if cost.steps > MAX_STEPS:
        raise DefinitionError(
            f"one value would be checked by more than {MAX_STEPS} schemas",
            place=place,
            fix="untangle its allOf, anyOf and $ref",
        )
    known[id(node)] = cost
    return cost


def _too_long(place: str) -> DefinitionError:
    return DefinitionError("a chain of references is too long", place=place, fix="refer to the end of it")


def _applied_here(root: JSONObject, node: JSONObject, place: str) -> list[JSONObject]:
    found: list[JSONValue] = []
    for key in ("$ref", "$dynamicRef", "$recursiveRef"):
        reference = node.get(key)
        if isinstance(reference, str):
            found.append(resolve(root, reference))
            if found[-1] is None:
                raise DefinitionError(
                    f"a reference leads outside the schema, or nowhere: {show(reference)}",
                    place=place,
                    fix="put the definition under $defs and refer to it as #/$defs/name",
                )
    for key in COMBINATORS:
        branches = node.get(key)
        if isinstance(branches, list):
            found.extend(branches)
    found.extend(node.get(key) for key in CONDITIONALS)
    dependent = node.get("dependentSchemas")
    found.extend(dependent.values() if isinstance(dependent, dict) else ())
    return [child for child in found if isinstance(child, dict)]


def max_nesting(root: JSONObject) -> int | None:
    """Return the nesting up to which a recursive schema can be checked in bounded time; None for no limit.

    An engine tries the branches of a union one after the other. If several of them lead back to the same
    schema, the number of tries multiplies with each level of the value.
    """
    recursive = _recursive_schemas(root)
    branching = max((_branching(root, node, recursive) for node in recursive.values()), default=0)
    return int(log(_MAX_TRIES, branching)) if branching > 1 else None


def nesting_of(text: str) -> int:
    """Return how deep the arrays and objects of a JSON text are nested."""
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(_STRING.sub("", text)))
    return max(accumulate(steps), default=0)


def _recursive_schemas(root: JSONObject) -> dict[int, JSONObject]:
    """Return the schemas that lead back to themselves."""
    nodes = {id(node): node for node in all_schemas(root)}
    if not any("$ref" in node for node in nodes.values()):
        return {}
    below = {number: [id(child) for child in _successors(root, node)] for number, node in nodes.items()}
    return {number: node for number, node in nodes.items() if _is_on_cycle(number, below)}


def _is_on_cycle(start: int, below: dict[int, list[int]]) -> bool:
    waiting, seen = list(below[start]), set[int]()
    while waiting:
        number = waiting.pop()
        if number == start:
            return True
        if number not in seen:
            seen.add(number)
            waiting.extend(below.get(number, ()))
    return False


def _successors(root: JSONObject, node: JSONObject) -> Iterator[JSONObject]:
    reference = node.get("$ref")
    target = resolve(root, reference) if isinstance(reference, str) else None
    if isinstance(target, dict):
        yield target
    yield from (child for key, child in subschemas(node) if key not in ("$defs", "definitions"))


def _branching(root: JSONObject, node: JSONObject, recursive: dict[int, JSONObject]) -> int:
    """Return how many branches lead from one member of a value back to a recursive schema."""
    counts: dict[str, int] = {}
    for part in applied_schemas(root, node):
        members: list[tuple[str, JSONValue]] = [(key, part[key]) for key in _MEMBERS if key in part]
        properties = part.get("properties")
        members += list(properties.items()) if isinstance(properties, dict) else []
        for name, child in members:
            if isinstance(child, dict) and id(child) in recursive:
                counts[name] = counts.get(name, 0) + 1
    return max(counts.values(), default=0)
