"""Checks quickly whether a schema is already inside a subset, so that it can be kept as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, cast

from toolhaft.formats.subset.keywords import COMPOSED, OUTDATED, REFERENCES, SCALARS, VALIDATION, VALUES
from toolhaft.formats.subset.normalize import has_repeated
from toolhaft.formats.subset.target import Subset, TargetRules
from toolhaft.schema.json_schema import NAMED, SINGLE, type_name
from toolhaft.schema.json_value import JSONObject, JSONValue


def structure_check(rules: TargetRules) -> Callable[[JSONObject], bool] | None:
    """The check for a target's structural rules; None if it has none."""
    if rules.reshapes:
        return _Structure(rules.subset).is_plain
    return _Structure(rules.subset).has_items if rules.subset.items_needed else None


class _Structure:
    """The structural rules of one target."""

    __slots__ = ("_subset",)

    def __init__(self, subset: Subset) -> None:
        self._subset = subset

    def is_plain(self, node: JSONObject) -> bool:
        """Whether a schema has one type or one union, and every keyword that the target requires."""
        kind = node.get("type")
        if kind is None:
            return self._is_untyped(node)
        if not node.keys().isdisjoint(COMPOSED) or not _values_match_type(node, kind):
            return False
        if kind == "object":
            return self._is_object(node)
        if isinstance(kind, list):
            return set(cast("list[str]", kind)) <= SCALARS
        return self.has_items(node)

    def _is_untyped(self, node: JSONObject) -> bool:
        """Whether a schema is a single union or reference, or has no constraints."""
        constraints = node.keys() & VALIDATION
        if not constraints:
            return self._subset.any == "keep"
        return len(constraints) == 1 and not node.keys().isdisjoint(COMPOSED) and "allOf" not in node

    def has_items(self, node: JSONObject) -> bool:
        """Whether an array has `items` if it must."""
        if node.get("type") != "array" or isinstance(node.get("items"), dict):
            return True
        return not (self._subset.items_needed or self._subset.any != "keep")

    def _is_object(self, node: JSONObject) -> bool:
        subset = self._subset
        properties = node.get("properties")
        names = properties.keys() if isinstance(properties, dict) else set[str]()
        required = set(cast("list[str]", node.get("required", ())))
        if not required <= names or (subset.all_required and required != names):
            return False
        if subset.some_required and not required:
            return False
        return self._is_closed(node, has_names=bool(names))

    def _is_closed(self, node: JSONObject, *, has_names: bool) -> bool:
        """Whether an object treats other names as the target requires."""
        subset = self._subset
        others = node.get("additionalProperties")
        if others is False:
            return subset.maps == "keep" or "patternProperties" not in node
        if subset.closed or (subset.any != "keep" and not has_names):
            return False
        return subset.maps == "keep" or (
            "additionalProperties" not in node and "patternProperties" not in node
        )


def _values_match_type(node: JSONObject, kind: JSONValue) -> bool:
    """Whether listed values, if any, all have the named types, without further constraints."""
    if node.keys().isdisjoint(VALUES):
        return True
    values = [node["const"]] if "const" in node else cast("list[JSONValue]", node["enum"])
    kinds = [kind] if isinstance(kind, str) else cast("list[JSONValue]", kind)
    if not all(type_name(v) in kinds or ("number" in kinds and type_name(v) == "integer") for v in values):
        return False
    return node.keys() & VALIDATION <= {"type", "const"} or node.keys() & VALIDATION <= {"type", "enum"}


_OWN_REF: Final = re.compile(r"#/\$defs/[A-Za-z0-9_.-]+")
_ENGINE_SPECIFIC: Final = re.compile(r"\(\?[^:]|\\[1-9kKbBAZzpP]|[*+?}][+?]")


class Tally:
    """Counts of one scan."""

    __slots__ = ("clean", "is_outdated", "nodes", "optional", "root", "unions")

    def __init__(self, root: JSONObject | None = None) -> None:
        self.optional = 0
        self.unions = 0
        self.nodes = 0
        self.is_outdated = False
        """Whether the scan found something that `upgrade_draft` rewrites."""
        self.root = root
        """The whole document; None if only a part is scanned, in which references are not kept."""
        self.clean: dict[int, tuple[JSONObject, int]] = {}
        """Each scanned schema by its identity, with the number of schemas inside; 0 if it must be lowered."""


KeywordCheck = Callable[[JSONValue, JSONObject, Tally], bool]


class Scanner:
    """The checks of one subset by keyword; a keyword without a check is kept."""

    __slots__ = ("_any", "_any_reference", "_checks", "_keywords", "_leaves", "_structure", "rules")

    def __init__(self, rules: TargetRules) -> None:
        self.rules = rules
        subset = rules.subset
        self._keywords = rules.keywords
        self._any = subset.any == "keep"
        self._structure = structure_check(rules)
        self._checks: dict[str, KeywordCheck] = {
            **dict.fromkeys(NAMED, self._each_value),
            **dict.fromkeys(SINGLE, self._one),
            "additionalProperties": self._one_or_none,
            **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), self._each),
            "anyOf": self._union,
            "oneOf": self._union,
            "properties": self._properties,
            "type": self._type,
            **_value_checks(subset),
        }
        if subset.drafts == "newest":
            self._checks |= _draft_checks(self._checks.get("enum"))
        self._checks.update(dict.fromkeys(REFERENCES, self._reference))
        self._any_reference = (
            self._keywords is None
            and subset.refs == "keep"
            and subset.ref_siblings
            and subset.recursion == "keep"
            and not rules.reshapes
        )
        self._leaves = frozenset(kind for kind in SCALARS if self.scan({"type": kind}, Tally()))
        """The types that are accepted without other keywords."""

    def scan(self, schema: JSONValue, tally: Tally) -> bool:
        """Whether a schema and everything inside it can be kept."""
        if schema.__class__ is not dict:
            return self._keywords is None and self._any
        node = cast("JSONObject", schema)
        before = tally.nodes
        tally.nodes += 1
        is_kept = self._can_keep(node, tally)
        if tally.root is None:
            tally.clean[id(node)] = (node, tally.nodes - before if is_kept else 0)
        return is_kept

    def size_if_clean(self, node: JSONObject, tally: Tally) -> int:
        """The number of schemas inside a schema that can be kept; 0 if it must be lowered."""
        kind = node.get("type")
        if len(node) == 1 and isinstance(kind, str) and kind in self._leaves:
            return 1
        known = tally.clean.get(id(node))
        if known is None:
            self.scan(node, tally)
            known = tally.clean[id(node)]
        return known[1]

    def _can_keep(self, node: JSONObject, tally: Tally) -> bool:
        if self._keywords is not None and not node.keys() <= self._keywords:
            return False
        if self._structure is not None and not self._structure(node):
            return False
        checks = self._checks
        for key, value in node.items():
            check = checks.get(key)
            if check is not None and not check(value, node, tally):
                return False
        return True

    def _one(self, value: JSONValue, node: JSONObject, tally: Tally) -> bool:
        if isinstance(value, list):  # prefixItems in older drafts
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
        for child in properties.values():  # noqa: SIM110 -- `all` is 50 % slower
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
        if len(node) == 1 or not subset.ref_siblings:
            return len(node) == 1
        return not self.rules.reshapes or len(node.keys() & VALIDATION) == 1


def is_plain(pattern: str) -> bool:
    """Whether all regex engines agree on a pattern: no lookaround, backreference, boundary or lazy count."""
    return _ENGINE_SPECIFIC.search(pattern) is None


def takes_pattern(subset: Subset, pattern: JSONValue) -> bool:
    """Whether the target accepts a pattern."""
    if subset.patterns == "any" or not isinstance(pattern, str):
        return True
    if not is_plain(pattern):
        return False
    return subset.patterns == "plain" or not re.search(r"[\^$]", re.sub(r"\\.|\[\^", "", pattern))


def takes_keyword(rules: TargetRules, key: str, value: JSONValue) -> bool:
    """Whether the target accepts a keyword with this value."""
    if not rules.takes(key):
        return False
    if key == "format":
        return rules.subset.formats is None or value in rules.subset.formats
    return key != "pattern" or takes_pattern(rules.subset, value)


def _requires_object_keywords(subset: Subset) -> bool:
    """Whether every object needs keywords, which an object in an enum cannot have."""
    return subset.closed or subset.all_required or subset.some_required or subset.any != "keep"


def takes_values(subset: Subset, values: list[JSONValue]) -> bool:
    """Whether the target accepts these values in an enum."""
    match subset.enums:
        case "any" if not _requires_object_keywords(subset):
            return True
        case "any" | "scalar":
            return not any(isinstance(value, dict | list) for value in values)
        case "plain":
            return all(
                isinstance(value, str | int | float) and value.__class__ is not bool for value in values
            )
        case "text":
            return all(isinstance(value, str) and value for value in values)


def _value_checks(subset: Subset) -> dict[str, KeywordCheck]:
    """The checks that depend only on a keyword's value."""
    checks: dict[str, KeywordCheck] = {}
    if subset.tuples != "keep":
        checks["prefixItems"] = lambda _value, _node, _tally: False
    if subset.enums != "any" or _requires_object_keywords(subset):
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
    if subset.declared_required:
        checks["required"] = lambda value, node, _tally: has_declared(node, cast("list[str]", value))
    if subset.null == "nullable":
        checks["nullable"] = lambda _value, _node, _tally: False  # JSON Schema does not define it
    return checks


def has_declared(node: JSONObject, names: list[str]) -> bool:
    """Whether an object lists these names among its properties."""
    properties = node.get("properties")
    return isinstance(properties, dict) and properties.keys() >= set(names)


def _draft_checks(takes_enum: KeywordCheck | None) -> dict[str, KeywordCheck]:
    """The checks for what `upgrade_draft` rewrites."""

    def enum(value: JSONValue, node: JSONObject, tally: Tally) -> bool:
        if has_repeated(cast("list[JSONValue]", value)):
            return outdated(value, node, tally)
        return takes_enum is None or takes_enum(value, node, tally)

    def outdated(_value: JSONValue, _node: JSONObject, tally: Tally) -> bool:
        tally.is_outdated = True
        return False

    return {**dict.fromkeys(OUTDATED, outdated), "enum": enum}


@lru_cache(maxsize=64)
def scanner_of(rules: TargetRules) -> Scanner:
    """The scanner of a subset, cached."""
    return Scanner(rules)
