"""Brings a tool's JSON Schema into a target's subset: what is lost is told, arguments are turned both ways.

Does not know any wire, nor any tool beside its schema.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from toolhaft.formats.subset.copying import apart
from toolhaft.formats.subset.drafts import modern
from toolhaft.formats.subset.limits import Counts, check_limits, has_limits
from toolhaft.formats.subset.root import lower_root
from toolhaft.formats.subset.rules import Rules, rules_of
from toolhaft.formats.subset.scan import Tally, scanner_of
from toolhaft.formats.subset.target import EVERYTHING, Subset
from toolhaft.formats.subset.told import RefusedSchema, SchemaLoss
from toolhaft.formats.subset.turns import Turn, acting
from toolhaft.formats.subset.walker import Walker
from toolhaft.schema.json_value import JSONObject

__all__ = ["Lowered", "RefusedSchema", "SchemaLoss", "Turn", "lower"]


class Lowered(NamedTuple):
    """A schema inside the subset, and what it took to get there."""

    schema: JSONObject
    turn: Turn | None
    """The way of arguments; None where they travel unchanged."""
    losses: tuple[SchemaLoss, ...]
    optional: int
    """How many properties of all objects may be absent."""
    unions: int
    """How many places take one of several shapes."""


def lower(schema: JSONObject, subset: Subset, *, is_closed: bool = False) -> Lowered:
    """The schema as the target takes it; the given one is not changed.

    Args:
        schema: of a tool's arguments: an object.
        subset: what the target takes.
        is_closed: whether objects inside refuse keys that they do not list, as those of typed tools do,
            even where the schema does not say so.

    Raises:
        RefusedSchema: where the target has no form for it.
    """
    rules = rules_of(subset)
    if _root_stands(schema, rules):
        tally = Tally(schema)
        if scanner_of(rules).scan(schema, tally):
            if has_limits(subset):
                check_limits(subset, Counts(schema))
            return Lowered(schema, None, (), tally.optional, tally.unions)
    try:
        return _lowered(schema, rules, is_closed=is_closed)
    except RecursionError:
        raise RefusedSchema("", "too deep: its schemas are nested in too many levels") from None


def _counted(schema: JSONObject, subset: Subset) -> tuple[int, int]:
    """How many optional properties and unions a schema has, which is within the target's limits."""
    if has_limits(subset):
        counts = Counts(schema)
        check_limits(subset, counts)
        return counts.optional, counts.unions
    tally = Tally(schema)
    scanner_of(rules_of(EVERYTHING)).scan(schema, tally)
    return tally.optional, tally.unions


def _lowered(schema: JSONObject, rules: Rules, *, is_closed: bool) -> Lowered:
    walk = Walker(modern(apart(schema)), rules, is_closed=is_closed)
    low = lower_root(walk)
    walk.finish_definitions()
    used = walk.definitions.used_by(low.schema)
    whole: JSONObject = low.schema
    if used:
        walk.documents.wire = {each.name: each.schema for each in used}
        whole = {**whole, "$defs": walk.documents.wire}
    optional, unions = _counted(whole, rules.subset)
    losses = walk.losses((walk.frame, *(each.frame for each in used)))
    return Lowered(whole, acting(low.turn), losses, optional, unions)


def _root_stands(schema: JSONObject, rules: Rules) -> bool:
    if not schema.keys().isdisjoint(rules.root_banned) or rules.subset.nested == "describe":
        return False
    keys, properties = rules.subset.root_keys, schema.get("properties")
    if keys is None or not isinstance(properties, dict):
        return True
    return all(map(re.compile(keys).fullmatch, properties))
