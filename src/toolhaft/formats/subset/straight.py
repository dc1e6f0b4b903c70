"""Lowers a plain root straight, parameter by parameter: each stands, is a scalar, or is told in words.

Gives what the walk gives. Does not know references, shapes that change, or anything else that needs it.
"""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import Final, NamedTuple, cast

from toolhaft.formats.subset.nested import describe_alone, inside_keyword
from toolhaft.formats.subset.rules import Rules
from toolhaft.formats.subset.scalars import Short, scalars_of
from toolhaft.formats.subset.scan import Tally, scanner_of
from toolhaft.formats.subset.told import SchemaLoss, escape
from toolhaft.schema.json_value import JSONObject, JSONValue

_ROOT: Final = frozenset(("type", "properties", "required", "description", "additionalProperties"))
_CLOSED: Final = SchemaLoss("", "additionalProperties", "checked locally", "that there are no other keys")
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
        properties = self._properties(schema)
        if properties is None:
            return None
        tally = Tally()
        losses: list[SchemaLoss] = []
        lows: JSONObject = {}
        lower_scalar = self._scalars.lower
        for name, child in properties.items():
            if not isinstance(child, dict):
                return None
            low = lower_scalar(child) or self._lower_other(child, tally)
            if low is None:
                return None
            made, told = low
            lows[name] = made
            if made is not child and made.get("type").__class__ is list:  # what stands is counted already
                tally.unions += 1
            if told:
                path = f"/properties/{escape(name)}"
                losses += [SchemaLoss(path, key, done, detail) for key, done, detail in told]
        losses.sort(key=_PATH)
        return self._assembled(schema, lows, losses, tally)

    def _properties(self, schema: JSONObject) -> JSONObject | None:
        """The parameters of a root that says no more than what is known here."""
        properties = schema.get("properties")
        if not self._stands or not schema.keys() <= _ROOT or not isinstance(properties, dict):
            return None
        if schema.get("type") != "object" or schema.get("additionalProperties", False) is not False:
            return None
        return properties

    def _lower_other(self, node: JSONObject, tally: Tally) -> Short | None:
        """A parameter that is no scalar: told in words, or as it is."""
        keyword = inside_keyword(node) if self._describes else None
        if keyword is None:
            return (node, []) if self._scanner.scan(node, tally) else None
        low = describe_alone(self._rules.subset, node, keyword)
        return self._scalars.lower(low) if isinstance(low, dict) else low

    def _assembled(
        self, schema: JSONObject, lows: JSONObject, losses: list[SchemaLoss], tally: Tally
    ) -> Straight:
        required = list(dict.fromkeys(cast("list[str]", schema.get("required", ()))))
        out: JSONObject = {**schema, "properties": lows}
        if required:
            out["required"] = cast("list[JSONValue]", required)
        else:
            out.pop("required", None)
        if "additionalProperties" in out and not self._rules.takes("additionalProperties"):
            del out["additionalProperties"]
            losses.insert(0, _CLOSED)
        return Straight(out, tuple(losses), tally.optional + len(lows.keys() - required), tally.unions)


@lru_cache(maxsize=64)
def straightener_of(rules: Rules) -> Straightener:
    """The straight way into a subset, made once for each."""
    return Straightener(rules)
