"""Lowers a tool's schema: rewrites it to the subset that a target accepts, and checks the target's limits."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final, cast

from toolhaft.formats.losses import RefusedSchema, SchemaLoss
from toolhaft.formats.subset.argument_maps import ArgumentMap, effective
from toolhaft.formats.subset.cycles import relax_cycles
from toolhaft.formats.subset.fast_path import flat_lowerer_of
from toolhaft.formats.subset.keywords import DEFINITIONS, NUMBER, SCALARS, STRING, VALIDATION
from toolhaft.formats.subset.normalize import unshared_copy, upgrade_draft
from toolhaft.formats.subset.root import lower_root
from toolhaft.formats.subset.scan import Tally, scanner_of
from toolhaft.formats.subset.target import EVERYTHING, NEWEST_DRAFT, Subset, TargetRules
from toolhaft.formats.subset.walk import Lowered
from toolhaft.formats.subset.walker import Walker
from toolhaft.schema.json_schema import subschemas
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.older_drafts import NEWEST, draft_of

_MANY_VALUES: Final = 250
_COUNTED: Final = VALIDATION - STRING - NUMBER - {"type"} | DEFINITIONS
"""The keywords that count towards limits; a scalar without them is skipped."""


class Counts:
    """What limits count, over a whole schema with its definitions."""

    __slots__ = ("deepest", "enum_values", "largest_enum", "name_chars", "optional", "properties", "unions")

    def __init__(self, schema: JSONObject) -> None:
        self.properties = self.optional = self.unions = 0
        self.enum_values = self.largest_enum = self.name_chars = 0
        self.deepest = 0
        waiting = [(schema, 0)]
        while waiting:
            node, depth = waiting.pop()
            kind = node.get("type")
            if isinstance(kind, str) and kind in SCALARS and _COUNTED.isdisjoint(node):
                continue
            if _is_container(kind):
                depth += 1
                self.deepest = max(self.deepest, depth)
            self._count(node)
            waiting += [(child, 0 if key == "$defs" else depth) for key, child in subschemas(node)]

    def _count(self, node: JSONObject) -> None:
        properties = node.get("properties")
        if isinstance(properties, dict):
            self.properties += len(properties)
            self.optional += len(properties.keys() - cast("list[str]", node.get("required", [])))
            self.name_chars += sum(map(len, properties))
        definitions = node.get("$defs")
        if isinstance(definitions, dict):
            self.name_chars += sum(map(len, definitions))
        if "anyOf" in node or "oneOf" in node or isinstance(node.get("type"), list):
            self.unions += 1
        values = [node["const"]] if "const" in node else node.get("enum")
        if isinstance(values, list):
            self._count_values(values)

    def _count_values(self, values: list[JSONValue]) -> None:
        chars = sum(len(value) if isinstance(value, str) else len(to_json_text(value)) for value in values)
        self.name_chars += chars
        self.enum_values += len(values)
        if len(values) > _MANY_VALUES:
            self.largest_enum = max(self.largest_enum, chars)


def _is_container(kind: JSONValue) -> bool:
    kinds = kind if isinstance(kind, list) else (kind,)
    return "object" in kinds or "array" in kinds


def check_limits(subset: Subset, counts: Counts) -> None:
    """Checks a schema against the target's limits.

    Raises:
        RefusedSchema: over a limit; it names both numbers.
    """
    limits = (
        (subset.most_properties, counts.properties, "properties"),
        (subset.deepest, counts.deepest, "levels of objects and arrays"),
        (subset.most_enum_values, counts.enum_values, "enum values"),
        (subset.most_enum_chars, counts.largest_enum, "characters in one enum of over 250 values"),
        (subset.most_name_chars, counts.name_chars, "characters of names and enum values"),
    )
    for most, number, words in limits:
        if most is not None and number > most:
            raise RefusedSchema("", f"it has {number} {words}, and the limit is {most}")


__all__ = ["ArgumentMap", "Lowered", "RefusedSchema", "SchemaLoss", "lower", "newest_draft"]


def lower(schema: JSONObject, subset: Subset, *, is_closed: bool = False) -> Lowered:
    """The schema as the target accepts it; the original is not changed.

    Args:
        schema: the input schema of a tool: an object.
        subset: what the target accepts.
        is_closed: whether nested objects without `additionalProperties` refuse other keys, as in typed tools.

    Raises:
        RefusedSchema: if the target cannot express it.
    """
    rules = subset.rules
    try:
        low = _kept(schema, rules)
        if low is None and not rules.reshapes:
            low = flat_lowerer_of(rules).lower(schema)
        if low is None:
            low = _lowered(schema, rules, is_closed=is_closed)
        if subset.optional_cycles and "$defs" in low.schema:
            relaxed = relax_cycles(low.schema, schema)
            if relaxed is None:
                return lower(schema, _without_cycles(subset), is_closed=is_closed)
            low = low._replace(schema=relaxed[0], losses=(*low.losses, *relaxed[1]))
    except RecursionError:
        raise RefusedSchema("", "too deep: its schemas are nested in too many levels") from None
    return _counted(low, rules)


@lru_cache(maxsize=16)
def _without_cycles(subset: Subset) -> Subset:
    return replace(subset, recursion="unroll", optional_cycles=False)


def _kept(schema: JSONObject, rules: TargetRules) -> Lowered | None:
    """The schema itself, or written in the newest draft, if the target accepts that; else None."""
    is_dated = "$schema" in schema and rules.subset.drafts == "newest"
    newest = upgrade_draft(schema) if is_dated else schema
    while _can_keep_root(newest, rules):
        tally = Tally(newest)
        if scanner_of(rules).scan(newest, tally):
            return Lowered(newest, None, (), tally.optional, tally.unions)
        if is_dated or not tally.is_outdated:
            break
        newest, is_dated = upgrade_draft(newest), True
    return None


def newest_draft(schema: JSONObject, *, with_definitions: bool = True) -> JSONObject:
    """The schema in draft 2020-12; most are already, which a scan shows faster than rewriting them."""
    if "$schema" not in schema and scanner_of(NEWEST_DRAFT.rules).scan(schema, Tally(schema)):
        return schema
    return upgrade_draft(schema, with_definitions=with_definitions)


def _counted(low: Lowered, rules: TargetRules) -> Lowered:
    """The same, checked against the target's limits."""
    if not rules.has_limits:
        return low
    counts = Counts(low.schema)
    check_limits(rules.subset, counts)
    properties = 0 if rules.subset.most_properties is None else counts.properties
    return low._replace(optional=counts.optional, unions=counts.unions, properties=properties)


def _lowered(schema: JSONObject, rules: TargetRules, *, is_closed: bool) -> Lowered:
    walk = Walker(newest_draft(unshared_copy(schema), with_definitions=False), rules, is_closed=is_closed)
    low = lower_root(walk)
    walk.finish_definitions()
    used = walk.definitions.used_by(low.schema)
    whole: JSONObject = low.schema
    if draft_of(whole) < NEWEST:
        whole = {key: value for key, value in whole.items() if key != "$schema"}
    if used:
        walk.documents.lowered = {each.name: each.schema for each in used}
        whole = {**whole, "$defs": walk.documents.lowered}
    losses = walk.losses((walk.frame, *(each.frame for each in used)))
    tally = Tally(whole)
    if not rules.has_limits:  # else `_counted` counts
        scanner_of(EVERYTHING.rules).scan(whole, tally)
    return Lowered(whole, effective(low.mapping), losses, tally.optional, tally.unions)


def _can_keep_root(schema: JSONObject, rules: TargetRules) -> bool:
    if rules.subset.nested == "describe" or not schema.keys().isdisjoint(rules.root_banned):
        return False
    keys, properties = rules.subset.root_keys, schema.get("properties")
    if keys is None or not isinstance(properties, dict):
        return True
    return all(map(re.compile(keys).fullmatch, properties))
