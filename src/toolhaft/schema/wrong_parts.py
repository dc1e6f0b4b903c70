"""Finds the wrong parts of a large value; letting the engine collect all errors would take too long."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

import jsonschema_rs
from pydantic_core import to_json

from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_schema import all_schemas, map_subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import MAX_PROBLEMS, Problem, show
from toolhaft.schema.raw_definition import compile_validator
from toolhaft.schema.raw_problems import to_problems
from toolhaft.schema.work import WorkBound

EXPLAIN_STEPS: Final = 1_500
"""At most about 30 ms: for more steps, the engine is not asked for all errors."""
_MAX_CHECKS: Final = 2_000
"""Parts that are checked alone."""
_STEPS_PER_CHECK: Final = 50
_SLICE: Final = 64
_MOST_SLICES: Final = 256
_ABOUT_OTHER_PARTS: Final = frozenset(
    (
        "contains",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "maxContains",
        "maxItems",
        "maxProperties",
        "minContains",
        "minItems",
        "minProperties",
        "not",
        "required",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
    )
)
"""Keywords that are about several parts together."""


def for_parts(schema: JSONObject) -> JSONObject:
    """Return a weaker schema: what it refuses in a part of a value is wrong whatever the other parts are."""
    weaker = {key: value for key, value in schema.items() if key not in _ABOUT_OTHER_PARTS}
    branches = weaker.pop("oneOf", None)
    if branches is not None:
        weaker.setdefault("anyOf", branches)
    for key, values in (("const", [schema.get("const")]), ("enum", schema.get("enum"))):
        if key in weaker and isinstance(values, list) and any(isinstance(v, dict | list) for v in values):
            del weaker[key]  # a part of an allowed object is not equal to it
    return map_subschemas(weaker, for_parts)


class PartsValidator(NamedTuple):
    """A validator for parts of a value; arrays with a schema per position have no part that stands alone."""

    validator: jsonschema_rs.Validator
    has_tuples: bool

    @staticmethod
    def of(root: JSONObject, place: str) -> "PartsValidator":
        """Compile the validator for the parts of the values of this schema."""
        has_tuples = any(
            "prefixItems" in node or isinstance(node.get("items"), list) for node in all_schemas(root)
        )
        return PartsValidator(compile_validator(for_parts(root), place), has_tuples)


def wrong_parts(
    parts: PartsValidator, bound: WorkBound, explainer: Explainer, value: JSONValue
) -> list[Problem]:
    """Return the problems of the parts of a value that are wrong alone, at most about 100."""
    search = _Search(parts, bound, explainer)
    search.descend(value, ())
    return search.found


class _Search:
    """Descends into the parts that are wrong alone, until they are small enough to explain."""

    __slots__ = ("bound", "checks", "explainer", "found", "parts", "steps")

    def __init__(self, parts: PartsValidator, bound: WorkBound, explainer: Explainer) -> None:
        self.parts = parts
        self.bound = bound
        self.explainer = explainer
        self.found: list[Problem] = []
        self.steps = EXPLAIN_STEPS
        self.checks = _MAX_CHECKS

    def descend(self, value: JSONValue, path: ValuePath) -> None:
        whole = _place(value, path)
        steps = self.bound.error_steps_of(whole, len(to_json(whole)))
        if steps <= self.steps:
            self.steps -= steps
            indices = {depth: part for depth, part in enumerate(path) if isinstance(part, int)}
            self.found += to_problems(self.parts.validator.iter_errors(whole), whole, self.explainer, indices)
            return
        before = len(self.found)
        if self._is_wrong(value, [], path):  # not because of its members
            members: Iterable[tuple[str | int, JSONValue]] = ()
        else:
            members = self._wrong_members(value, path)
        for part, child in members:
            self.descend(child, (*path, part))
            if len(self.found) >= MAX_PROBLEMS:
                return
        if len(self.found) == before and path:
            self.found.append(self.explainer.problem(path, f"got {show(value)}"))

    def _wrong_members(self, value: JSONValue, path: ValuePath) -> Iterator[tuple[str | int, JSONValue]]:
        if isinstance(value, dict):
            members: list[tuple[str | int, JSONValue]] = list(value.items())
        elif isinstance(value, list) and not self.parts.has_tuples:
            members = list(enumerate(value))
        else:
            return
        size = max(_SLICE, len(members) // _MOST_SLICES)
        for start in range(0, len(members), size):
            some = members[start : start + size]
            if self.checks > 0 and self._is_wrong(value, some, path):
                yield from (member for member in some if self._is_wrong(value, [member], path))

    def _is_wrong(
        self, value: JSONValue, members: list[tuple[str | int, JSONValue]], path: ValuePath
    ) -> bool:
        self.checks -= 1 + self.bound.at_depth(len(path)) // _STEPS_PER_CHECK
        children = [child for _, child in members]
        part = dict(cast("list[tuple[str, JSONValue]]", members)) if isinstance(value, dict) else children
        return self.checks >= 0 and not self.parts.validator.is_valid(_place(part, path))


def _place(value: JSONValue, path: ValuePath) -> JSONValue:
    """Put a part at its path in a value that has nothing else; each array has one item."""
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
    return value
