"""Brings a tool's JSON Schema into a target's subset: what is lost is told, arguments are turned both ways.

Does not know any wire, nor any tool beside its schema.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from toolhaft.formats.subset.copying import apart
from toolhaft.formats.subset.drafts import modern
from toolhaft.formats.subset.limits import Counts, check_limits
from toolhaft.formats.subset.root import lower_root
from toolhaft.formats.subset.rules import Rules, rules_of
from toolhaft.formats.subset.scan import Tally, scanner_of
from toolhaft.formats.subset.straight import straightener_of
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
    properties: int = 0
    """How many properties all objects have together, where the target counts them."""


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
            if rules.has_limits:
                return _counted(Lowered(schema, None, (), tally.optional, tally.unions), subset)
            return Lowered(schema, None, (), tally.optional, tally.unions)
    try:
        straight = None if rules.reshapes else straightener_of(rules).lower(schema)
        if straight is None:
            return _lowered(schema, rules, is_closed=is_closed)
    except RecursionError:
        raise RefusedSchema("", "too deep: its schemas are nested in too many levels") from None
    low = Lowered(straight.schema, None, straight.losses, straight.optional, straight.unions)
    return _counted(low, subset) if rules.has_limits else low


def _counted(low: Lowered, subset: Subset) -> Lowered:
    """The same, held to the target's limits."""
    counts = Counts(low.schema)
    check_limits(subset, counts)
    properties = 0 if subset.most_properties is None else counts.properties
    return low._replace(optional=counts.optional, unions=counts.unions, properties=properties)


def _lowered(schema: JSONObject, rules: Rules, *, is_closed: bool) -> Lowered:
    walk = Walker(modern(apart(schema)), rules, is_closed=is_closed)
    low = lower_root(walk)
    walk.finish_definitions()
    used = walk.definitions.used_by(low.schema)
    whole: JSONObject = low.schema
    if used:
        walk.documents.wire = {each.name: each.schema for each in used}
        whole = {**whole, "$defs": walk.documents.wire}
    losses = walk.losses((walk.frame, *(each.frame for each in used)))
    turn = acting(low.turn)
    if rules.has_limits:
        return _counted(Lowered(whole, turn, losses, 0, 0), rules.subset)
    tally = Tally(whole)
    scanner_of(rules_of(EVERYTHING)).scan(whole, tally)
    return Lowered(whole, turn, losses, tally.optional, tally.unions)


def _root_stands(schema: JSONObject, rules: Rules) -> bool:
    if rules.subset.nested == "describe" or not schema.keys().isdisjoint(rules.root_banned):
        return False
    keys, properties = rules.subset.root_keys, schema.get("properties")
    if keys is None or not isinstance(properties, dict):
        return True
    return all(map(re.compile(keys).fullmatch, properties))
