"""Checks that references end, that not too many schemas apply to one value, and the size of patterns."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import jsonschema_rs

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import REFERENCES, all_schemas, map_subschemas, resolve
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.patterns import (
    BACKTRACKING,
    LINEAR,
    MAX_SIZE,
    needs_backtracking,
    own_patterns,
    pattern_size,
    rewritten,
    too_large,
)
from toolhaft.schema.problems import show
from toolhaft.schema.work import applied_in_place

MAX_STEPS: Final = 10_000
_MAX_CHAIN: Final = 200
_MAX_SEARCHED: Final = 20_000
"""At most about 0.1 s: the schemas that are searched for anchors."""
_ANCHORED: Final = re.compile("#[^/]")


def check_bounds(root: JSONValue, place: str) -> None:
    """Check that references end, and that at most 10,000 schemas apply to one value.

    `WorkBound` computes how many apply to all values of the arguments.

    Raises:
        DefinitionError: for a reference loop, a chain that is too long, too many schemas, or too many
            references to anchors, each of which is searched for in the whole schema.
    """
    if isinstance(root, dict):
        nodes = list(all_schemas(root))
        anchored = sum(
            _ANCHORED.match(str(node.get(key))) is not None for node in nodes for key in REFERENCES
        )
        if anchored * len(nodes) > _MAX_SEARCHED:
            raise DefinitionError(
                f"{anchored} references to anchors in {len(nodes)} schemas are too many",
                place=place,
                fix='write them as pointers, such as "$ref": "#/$defs/name"',
            )
        costs: dict[int, _Cost] = {}
        for node in nodes:
            _cost_of(root, node, costs, place, frozenset())


class _Cost(NamedTuple):
    """How many schemas apply to one value, references followed, and the longest chain of them."""

    steps: int
    chain: int


_ALONE: Final = _Cost(1, 1)


def _cost_of(
    root: JSONObject, node: JSONObject, known: dict[int, _Cost], place: str, inside: frozenset[int]
) -> _Cost:
    if id(node) in inside:
        raise DefinitionError("a $ref leads back to itself without end", place=place, fix="break the loop")
    if id(node) in known:
        return known[id(node)]
    if len(inside) > _MAX_CHAIN:
        raise _too_long(place)
    children = applied_in_place(root, node)
    if not children:
        return _ALONE
    _check_references(root, node, place)
    costs = [
        _cost_of(root, child, known, place, inside | {id(node)})
        for child in children
        if isinstance(child, dict)
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


def _check_references(root: JSONObject, node: JSONObject, place: str) -> None:
    for key in REFERENCES:
        reference = node.get(key)
        if isinstance(reference, str) and resolve(root, reference) is None:
            raise DefinitionError(
                f"a reference leads outside the schema, or nowhere: {show(reference)}",
                place=place,
                fix="put the definition under $defs and refer to it as #/$defs/name",
            )


def pattern_engine(
    root: JSONValue, place: str
) -> jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions:
    """Check that the patterns of a schema are not too large, and return the engine that they need.

    Raises:
        DefinitionError: if they are too large, or if a match that is given up would accept a value.
    """
    total = 0
    is_hard = False
    for node in all_schemas(root):
        for pattern in own_patterns(node):
            is_hard = is_hard or needs_backtracking(pattern)
            total += pattern_size(pattern)
            if total > MAX_SIZE:
                raise too_large(pattern, place)
    if is_hard:
        _check_negations(root, place)
    return BACKTRACKING if is_hard else LINEAR


def with_known_patterns(schema: JSONValue) -> JSONValue:
    """Return the schema with its patterns in the form that the engine knows."""
    found = [pattern for node in all_schemas(schema) for pattern in own_patterns(node)]
    if not isinstance(schema, dict) or all(rewritten(pattern) == pattern for pattern in found):
        return schema

    def change(node: JSONObject) -> JSONObject:
        new = map_subschemas(node, change)
        pattern, by_pattern = new.get("pattern"), new.get("patternProperties")
        if isinstance(pattern, str):
            new["pattern"] = rewritten(pattern)
        if isinstance(by_pattern, dict):
            new["patternProperties"] = {rewritten(key): value for key, value in by_pattern.items()}
        return new

    return change(schema)


def _check_negations(root: JSONValue, place: str) -> None:
    negated = [(key, node[key]) for node in all_schemas(root) for key in ("if", "not") if key in node]
    for key, schema in negated:
        for inner in _reachable(root, schema):
            hard = [pattern for pattern in own_patterns(inner) if needs_backtracking(pattern)]
            if hard:
                raise DefinitionError(
                    f"the pattern {hard[0]!r:.80} is under {key!r}, where giving up a match would count",
                    place=place,
                    fix="use a pattern without lookaround and backreferences",
                )


def _reachable(root: JSONValue, schema: JSONValue) -> Iterator[JSONObject]:
    """Yield a schema and every schema inside it or behind its references."""
    waiting = [schema]
    seen: set[int] = set()
    while waiting:
        for node in all_schemas(waiting.pop()):
            if id(node) not in seen and isinstance(root, dict):
                seen.add(id(node))
                yield node
                reference = node.get("$ref")
                waiting.extend([resolve(root, reference)] if isinstance(reference, str) else [])
