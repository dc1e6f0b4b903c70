"""One look over a schema: does it stand in the subset as it is?

Rewrites nothing; what it counts on the way are the optional parameters and the unions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, cast

from toolhaft.formats.subset.keywords import REFERENCES, SCALARS, VALIDATION
from toolhaft.formats.subset.rules import Rules
from toolhaft.formats.subset.shape import shape_check
from toolhaft.formats.subset.target import Subset
from toolhaft.schema.json_value import JSONObject, JSONValue

_OWN_REF: Final = re.compile(r"#/\$defs/[A-Za-z0-9_.-]+")
_FANCY: Final = re.compile(r"\(\?[^:]|\\[1-9kKbBAZzpP]|[*+?}][+?]")
_NAMED: Final = (
    "properties",
    "$defs",
    "definitions",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
)
_ONE: Final = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "additionalItems",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
)


class Tally:
    """What one look has seen so far."""

    __slots__ = ("clean", "nodes", "optional", "root", "unions")

    def __init__(self, root: JSONObject | None = None) -> None:
        self.optional = 0
        self.unions = 0
        self.nodes = 0
        self.root = root
        """The whole document, if all of it is looked at; None where a reference is not known to stand."""
        self.clean: dict[int, tuple[JSONObject, int]] = {}
        """By the identity of a schema that was looked at, how many schemas it holds; 0 if it must change."""


Check = Callable[[JSONValue, JSONObject, Tally], bool]


class Scanner:
    """The checks that one subset needs, by keyword; a keyword without one stands."""

    __slots__ = ("_any", "_any_reference", "_checks", "_keywords", "_leaves", "_shape", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        subset = rules.subset
        self._keywords = rules.keywords
        self._any = subset.any == "keep"
        self._shape = shape_check(rules)
        self._checks: dict[str, Check] = {
            **dict.fromkeys(_NAMED, self._each_value),
            **dict.fromkeys(_ONE, self._one),
            "additionalProperties": self._one_or_none,
            **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), self._each),
            "anyOf": self._union,
            "oneOf": self._union,
            "properties": self._properties,
            "type": self._type,
            **_value_checks(subset),
        }
        self._checks.update(dict.fromkeys(REFERENCES, self._reference))
        self._any_reference = self._takes_any_reference()
        self._leaves = frozenset(kind for kind in SCALARS if self.scan({"type": kind}, Tally()))
        """The types that a schema may name and say nothing else."""

    def _takes_any_reference(self) -> bool:
        subset = self.rules.subset
        return (
            self._keywords is None
            and subset.refs == "keep"
            and subset.ref_siblings
            and subset.recursion == "keep"
            and not self.rules.reshapes
        )

    def scan(self, schema: JSONValue, tally: Tally) -> bool:
        """Whether a schema and all inside it stand as they are."""
        if schema.__class__ is not dict:
            return self._keywords is None and self._any
        node = cast("JSONObject", schema)
        before = tally.nodes
        tally.nodes += 1
        stands = self._stands(node, tally)
        if tally.root is None:
            tally.clean[id(node)] = (node, tally.nodes - before if stands else 0)
        return stands

    def size_if_clean(self, node: JSONObject, tally: Tally) -> int:
        """How many schemas a schema holds that stands as it is; 0 for one that does not."""
        kind = node.get("type")
        if len(node) == 1 and isinstance(kind, str) and kind in self._leaves:
            return 1
        known = tally.clean.get(id(node))
        if known is None:
            self.scan(node, tally)
            known = tally.clean[id(node)]
        return known[1]

    def _stands(self, node: JSONObject, tally: Tally) -> bool:
        if self._keywords is not None and not node.keys() <= self._keywords:
            return False
        if self._shape is not None and not self._shape(node):
            return False
        checks = self._checks
        for key, value in node.items():
            check = checks.get(key)
            if check is not None and not check(value, node, tally):
                return False
        return True

    def _one(self, value: JSONValue, node: JSONObject, tally: Tally) -> bool:
        if isinstance(value, list):  # the older spelling of prefixItems
            return self._each(value, node, tally)
        return self.scan(value, tally)

    def _one_or_none(self, value: JSONValue, _node: JSONObject, tally: Tally) -> bool:
        return value.__class__ is bool or self.scan(value, tally)

    def _each(self, value: JSONValue, _node: JSONObject, tally: Tally) -> bool:
        return all(self.scan(child, tally) for child in cast("list[JSONValue]", value))

    def _union(self, value: JSONValue, node: JSONObject, tally: Tally) -> bool:
        tally.unions += 1
        return self._each(value, node, tally)

    def _each_value(self, value: JSONValue, _node: JSONObject, tally: Tally) -> bool:
        return all(
            isinstance(child, list) or self.scan(child, tally) for child in cast("JSONObject", value).values()
        )

    def _properties(self, value: JSONValue, node: JSONObject, tally: Tally) -> bool:
        properties = cast("JSONObject", value)
        required = cast("list[str]", node.get("required", ()))
        tally.optional += len(properties.keys() - required)
        for child in properties.values():  # noqa: SIM110 -- `all` takes half again as long
            if not self.scan(child, tally):
                return False
        return True

    def _type(self, value: JSONValue, _node: JSONObject, tally: Tally) -> bool:
        if value.__class__ is str:
            return value != "null" or self.rules.subset.null == "type"
        tally.unions += 1
        return self.rules.subset.type_lists and self.rules.subset.null == "type"

    def _reference(self, value: JSONValue, node: JSONObject, tally: Tally) -> bool:
        root, subset = tally.root, self.rules.subset
        if self._any_reference and root is not None:
            return True
        if root is None or subset.refs != "keep" or subset.recursion != "keep" or "$ref" not in node:
            return False
        if not isinstance(value, str) or not _OWN_REF.fullmatch(value):
            return False
        definitions = root.get("$defs")
        if not isinstance(definitions, dict) or value.removeprefix("#/$defs/") not in definitions:
            return False
        return len(node) == 1 or (subset.ref_siblings and not self._asks_beside(node))

    def _asks_beside(self, node: JSONObject) -> bool:
        """Whether more than the reference is asked of a value, where each place must be one plain shape."""
        return self.rules.reshapes and len(node.keys() & VALIDATION) > 1


def is_plain(pattern: str) -> bool:
    """Whether every engine reads a pattern alike: no lookaround, backreference, boundary or lazy count."""
    return _FANCY.search(pattern) is None


def takes_pattern(subset: Subset, pattern: JSONValue) -> bool:
    """Whether a pattern may stand."""
    if subset.patterns == "any" or not isinstance(pattern, str):
        return True
    if not is_plain(pattern):
        return False
    return subset.patterns == "plain" or not re.search(r"[\^$]", re.sub(r"\\.|\[\^", "", pattern))


def takes_keyword(rules: Rules, key: str, value: JSONValue) -> bool:
    """Whether a keyword may stand with this value."""
    if not rules.takes(key):
        return False
    if key == "format":
        return rules.subset.formats is None or value in rules.subset.formats
    return key != "pattern" or takes_pattern(rules.subset, value)


def _asks_of_objects(subset: Subset) -> bool:
    """Whether every object must say something, which a listed one cannot."""
    return subset.closed or subset.all_required or subset.some_required or subset.any != "keep"


def takes_values(subset: Subset, values: list[JSONValue]) -> bool:
    """Whether these may be the values of an enum."""
    match subset.enums:
        case "any" if not _asks_of_objects(subset):
            return True
        case "any" | "scalar":
            return not any(isinstance(value, dict | list) for value in values)
        case "plain":
            return all(
                isinstance(value, str | int | float) and value.__class__ is not bool for value in values
            )
        case "text":
            return all(isinstance(value, str) and value for value in values)


def _value_checks(subset: Subset) -> dict[str, Check]:
    """Checks of keywords whose value alone decides."""
    checks: dict[str, Check] = {}
    if subset.tuples != "keep":
        checks["prefixItems"] = lambda _value, _node, _tally: False
    if subset.enums != "any" or _asks_of_objects(subset):
        checks["enum"] = lambda value, _node, _tally: takes_values(subset, cast("list[JSONValue]", value))
        checks["const"] = lambda value, _node, _tally: takes_values(subset, [value])
    if subset.formats is not None:
        formats = subset.formats
        checks["format"] = lambda value, _node, _tally: value in formats
    if subset.patterns != "any":
        checks["pattern"] = lambda value, _node, _tally: takes_pattern(subset, value)
    if subset.min_items is not None:
        most = subset.min_items
        checks["minItems"] = lambda value, _node, _tally: cast("int", value) <= most
    if subset.null == "nullable":
        checks["nullable"] = lambda _value, _node, _tally: False  # in a tool's own schema it means nothing
    return checks


@lru_cache(maxsize=64)
def scanner_of(rules: Rules) -> Scanner:
    """The scanner of a subset, made once for each."""
    return Scanner(rules)
