"""Lowers the keywords that stand by themselves: bounds, lengths, patterns, formats, and logic.

A schema that refuses what another takes (`not`, `if`) is kept whole or not at all. Does not know members.
"""

from __future__ import annotations

from typing import Final

from toolhaft.formats.subset import arrays, objects
from toolhaft.formats.subset.keywords import COMPOSED, CONDITIONS, VALIDATION, VALUES
from toolhaft.formats.subset.moving import move
from toolhaft.formats.subset.scan import takes_keyword
from toolhaft.formats.subset.walk import Walk
from toolhaft.schema.json_value import JSONObject, JSONValue

_ELSEWHERE: Final = frozenset(("type", *COMPOSED, *VALUES, *objects.HANDLED, *arrays.HANDLED))
_HERE: Final = VALIDATION - _ELSEWHERE
_BY_NAME: Final = frozenset(("dependentSchemas",))
_SCHEMAS: Final = frozenset(
    ("not", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", *CONDITIONS)
)
_TOGETHER: Final = (frozenset(CONDITIONS), frozenset(("contains", "minContains", "maxContains")))
_GROUPED: Final = _TOGETHER[0] | _TOGETHER[1]
_PRESENCE: Final = frozenset(("minProperties", "maxProperties", "dependentRequired"))
"""Keywords about which keys are there: on the wire they may be others."""


def lower_keywords(
    walk: Walk, node: JSONObject, out: JSONObject, notes: list[str], *, is_turned: bool
) -> None:
    """Keeps what the target takes and moves the rest to words."""
    left = [key for key in node if key in _HERE]
    if not left:
        return
    for group in () if _GROUPED.isdisjoint(left) else _TOGETHER:
        held = [key for key in left if key in group]
        if held:
            left = [key for key in left if key not in group]
            _lower_group(walk, node, out, notes, held, is_turned=is_turned)
    for key in left:
        if key in _SCHEMAS or key in _BY_NAME:
            _lower_group(walk, node, out, notes, [key], is_turned=is_turned)
        elif not takes_keyword(walk.rules, key, node[key]) or (is_turned and key in _PRESENCE):
            move(walk, node, key, notes)
        else:
            out[key] = node[key]


def _lower_group(
    walk: Walk, node: JSONObject, out: JSONObject, notes: list[str], keys: list[str], *, is_turned: bool
) -> None:
    """Keywords that mean something together: all of them stand exactly as they are meant, or none."""
    kept: JSONObject = {}
    for key in keys:
        value = _exactly(walk, key, node[key]) if walk.rules.takes(key) else None
        if value is None or walk.rules.reshapes or is_turned:
            for moved in keys:
                move(walk, node, moved, notes)
            return
        kept[key] = value
    out.update(kept)


def _exactly(walk: Walk, key: str, value: JSONValue) -> JSONValue:
    """A keyword's schemas lowered without any change of what they take, or None."""
    if key in _BY_NAME and isinstance(value, dict):
        found: JSONObject = {}
        for name, schema in value.items():
            low = _exact_schema(walk, schema)
            if low is None:
                return None
            found[name] = low
        return found
    return _exact_schema(walk, value) if key in _SCHEMAS else value


def _exact_schema(walk: Walk, schema: JSONValue) -> JSONValue:
    return schema if isinstance(schema, bool) else walk.attempt(schema)
