"""Lowers what an object says of names that it does not list: closes it, keeps its map, or sends it as a list.

Does not know the properties that are listed.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from toolhaft.formats.subset.merging_members import conjunction, named
from toolhaft.formats.subset.moving import move
from toolhaft.formats.subset.turns import Pairs, Turn
from toolhaft.formats.subset.walk import Low, Nothing, Position, Walk
from toolhaft.schema.json_value import JSONObject, JSONValue

_COUNTS: Final = (("minProperties", "minItems"), ("maxProperties", "maxItems"))
SAID: Final = frozenset(("minProperties", "maxProperties", "propertyNames"))
"""What a list of pairs says in its own way: how many there are, and what a key is."""


class Rest(NamedTuple):
    """What becomes of the names that are not listed, beside those that are."""

    keywords: JSONObject
    low: Low | None = None
    """A list of key and value that holds them."""
    turn: Turn | None = None
    """What each of their values goes through, where they stay as they are."""


def lower_rest(walk: Walk, node: JSONObject, notes: list[str], position: Position) -> Rest | Low:
    """What the target says of other names; or the array that stands for an object of such names alone."""
    patterns = named(node, "patternProperties")
    asked = node.get("additionalProperties", True)
    is_silent = "additionalProperties" not in node
    if asked is False and not patterns:
        return Rest(_closed(walk, node))
    is_bare = not named(node, "properties") and not node.get("required")
    if is_silent and not patterns and not (_takes_anything(walk, node, position) and is_bare):
        if not walk.subset.closed:
            return Rest({})
        _tell_closing(walk, node, position)
        return Rest({"additionalProperties": False})
    if is_silent and not patterns and walk.subset.any == "refuse":
        raise walk.refusal(node, "an object with any keys cannot be sent")
    match walk.subset.maps:
        case "refuse":
            raise walk.refusal(node, "an object with keys of the caller's choosing cannot be sent")
        case "pairs":
            return _as_pairs(walk, node, notes, position, is_alone=is_bare and position == "inside")
        case "keep":
            return _kept(walk, node, notes, asked)


def _takes_anything(walk: Walk, node: JSONObject, position: Position) -> bool:
    """Whether an object that says nothing of its keys is one with any keys, which the target minds."""
    if walk.subset.any == "keep" or (walk.is_closed and "properties" in node):
        return False
    return position == "inside" or walk.is_root_open


def _closed(walk: Walk, node: JSONObject) -> JSONObject:
    if walk.rules.takes("additionalProperties"):
        return {"additionalProperties": False}
    walk.tell(node, "additionalProperties", "checked locally", "that there are no other keys")
    return {}


def _tell_closing(walk: Walk, node: JSONObject, position: Position) -> None:
    names = named(node, "properties").keys()
    if position == "inside" and walk.is_closed and "properties" in node:
        return
    if position == "inside" or walk.is_root_open or (position == "branch" and walk.root_names - names):
        walk.tell(node, "additionalProperties", "narrowed", "only the named properties")


def _kept(walk: Walk, node: JSONObject, notes: list[str], asked: JSONValue) -> Rest:
    """The keywords as they are, as far as the target takes them."""
    if walk.subset.closed:
        walk.tell(node, _keyword(node), "narrowed", "only the named properties")
        return Rest({"additionalProperties": False})
    patterns = named(node, "patternProperties")
    if not patterns or (walk.rules.takes("patternProperties") and not walk.rules.turns):
        others = _kept_others(walk, node, notes, asked)
        return Rest({**others.keywords, **_kept_patterns(walk, node, patterns)}, None, others.turn)
    move(walk, node, "patternProperties", notes)
    if "additionalProperties" not in node:
        return Rest({})
    # names that match a pattern now count among the others
    either: list[JSONValue] = [*patterns.values(), *([] if asked is False else [asked])]
    return _kept_others(walk, node, notes, _any_of(walk, node, either))


def _any_of(walk: Walk, node: JSONObject, schemas: list[JSONValue]) -> JSONValue:
    if any(schema is True or schema == {} for schema in schemas):
        return True
    return schemas[0] if len(schemas) == 1 else walk.own({"anyOf": schemas}, node, "additionalProperties")


def _kept_others(walk: Walk, node: JSONObject, notes: list[str], asked: JSONValue) -> Rest:
    if "additionalProperties" not in node:
        return Rest({})
    if not walk.rules.takes("additionalProperties"):
        move(walk, node, "additionalProperties", notes)
        return Rest({})
    if isinstance(asked, bool):
        return Rest({"additionalProperties": asked})
    low = walk.visit(asked)
    if isinstance(low, Nothing):
        return Rest({"additionalProperties": False})
    return Rest({"additionalProperties": low.schema}, None, low.turn)


def _kept_patterns(walk: Walk, node: JSONObject, patterns: JSONObject) -> JSONObject:
    lows = {name: walk.visit_at(node, each, "patternProperties", name) for name, each in patterns.items()}
    kept: JSONObject = {name: low.schema if isinstance(low, Low) else False for name, low in lows.items()}
    return {"patternProperties": kept} if kept else {}


def _keyword(node: JSONObject) -> str:
    return "patternProperties" if "patternProperties" in node else "additionalProperties"


def _as_pairs(
    walk: Walk, node: JSONObject, notes: list[str], position: Position, *, is_alone: bool
) -> Rest | Low:
    patterns = named(node, "patternProperties")
    asked = node.get("additionalProperties", not patterns)
    if "additionalProperties" not in node and patterns:
        walk.tell(node, "patternProperties", "narrowed", "only keys that match a pattern")
    either: list[JSONValue] = [*patterns.values(), *([] if asked is False else [asked])]
    steps = ("additionalProperties",) if "additionalProperties" in node else ()
    value = walk.visit_at(node, _any_of(walk, node, either), *steps)
    key = _key(walk, node, patterns, is_exact=asked is False)
    closed: JSONObject = {"additionalProperties": False} if walk.rules.takes("additionalProperties") else {}
    if isinstance(key, Nothing) or isinstance(value, Nothing):
        return Rest(_closed(walk, node))
    pair: JSONObject = {
        "type": "object",
        "properties": {"key": key.schema, "value": value.schema},
        "required": ["key", "value"],
        **closed,
    }
    walk.spend(3)
    walk.tell(node, _keyword(node), "reshaped", "a list of key and value, no key twice")
    if not closed and position == "inside" and not is_alone:
        walk.tell(node, _keyword(node), "checked locally", "that there are no other keys")
    out: JSONObject = {"type": "array", "items": pair}
    low = Low(out, Pairs(value.turn))
    if not is_alone:
        return Rest(closed, low)
    for count, length in _COUNTS:
        if count in node and walk.rules.takes(length):
            out[length] = node[count]
        elif count in node:
            move(walk, node, count, notes)
    return low


def _key(walk: Walk, node: JSONObject, patterns: JSONObject, *, is_exact: bool) -> Low | Nothing:
    """The schema of a key: what is asked of names, as far as one schema can say it."""
    text: JSONObject = {"type": "string"}
    parts: list[JSONValue] = [walk.own(text, node)]
    if is_exact and len(patterns) == 1:
        text["pattern"] = next(iter(patterns))
    elif patterns:
        walk.tell(node, "patternProperties", "checked locally", "which keys go with which values")
    if "propertyNames" in node:
        parts.append(node["propertyNames"])
    asked = conjunction(walk, parts)
    return walk.visit(cast("JSONObject", asked)) if isinstance(asked, dict) else Nothing.NEVER
