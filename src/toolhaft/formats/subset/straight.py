"""Lowers a plain root straight, parameter by parameter: each stands, is a scalar, or is told in words.

Gives what the walk gives. Does not know references, shapes that change, or anything else that needs it.
"""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import Final, NamedTuple, cast

from toolhaft.formats.subset.nested import described, inside_keyword
from toolhaft.formats.subset.rules import MOST_NODES, Rules
from toolhaft.formats.subset.scalars import Short, scalars_of
from toolhaft.formats.subset.scan import Tally, scanner_of
from toolhaft.formats.subset.told import SchemaLoss, escape
from toolhaft.schema.json_value import JSONObject, JSONValue

_ROOT: Final = frozenset(("type", "properties", "required", "description", "additionalProperties"))
_PATH: Final = itemgetter(0)


class Straight(NamedTuple):
    """A lowered schema whose arguments go as they are."""

    schema: JSONObject
    losses: tuple[SchemaLoss, ...]
    optional: int
    unions: int


class Straightener:
    """The straight way into one subset."""

    __slots__ = ("_describes", "_rules", "_scalars", "_scanner", "_stands")

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._describes = rules.subset.nested == "describe"
        self._scalars = scalars_of(rules)
        self._scanner = scanner_of(rules)
        needed = _ROOT - {"additionalProperties"}
        self._stands = (
            not rules.reshapes
            and rules.subset.root_keys is None
            and all(map(rules.takes, needed))
            and rules.root_banned.isdisjoint(_ROOT)
        )

    def lower(self, schema: JSONObject) -> Straight | None:
        """The schema lowered; None for one that must be walked."""
        properties, others = schema.get("properties"), schema.get("additionalProperties", False)
        if not self._stands or not schema.keys() <= _ROOT or others is not False:
            return None
        if properties.__class__ is not dict or schema.get("type") != "object":
            return None
        tally = Tally()
        losses: list[SchemaLoss] = []
        lows: JSONObject = {}
        for name, child in cast("JSONObject", properties).items():
            low = self._lower_parameter(child, tally)
            if low is None:
                return None
            lows[name] = low.schema
            if low.told:
                path = f"/properties/{escape(name)}"
                losses += [SchemaLoss(path, *each) for each in low.told]
        if tally.nodes + len(lows) > MOST_NODES:
            return None
        losses.sort(key=_PATH)
        return self._assembled(schema, lows, losses, tally)

    def _lower_parameter(self, child: JSONValue, tally: Tally) -> Short | None:
        if child.__class__ is not dict:
            return None
        node = cast("JSONObject", child)
        short = self._scalars.lower(node)
        if short is None and self._describes:
            keyword = inside_keyword(node)
            if keyword is not None:
                short = described(self._rules, node, keyword)
                if short is not None and short.told == []:  # it was a list of types
                    short = self._scalars.lower(short.schema)
        if short is not None:
            tally.unions += short.schema.get("type").__class__ is list
            return short
        return Short(node, []) if self._scanner.scan(node, tally) else None
