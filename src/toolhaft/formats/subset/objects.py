"""Lowers objects: properties, required, additional keys and renamed keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple, cast

from toolhaft.formats.subset.admitted_types import admitted_types, make_nullable, takes_null
from toolhaft.formats.subset.argument_maps import ArgumentMap, ObjectMap, PairsMap
from toolhaft.formats.subset.merging import conjunction, named
from toolhaft.formats.subset.nested import describe_nested
from toolhaft.formats.subset.to_description import move_to_description
from toolhaft.formats.subset.walk import LoweredNode, LoweringResult, Nothing, Position, Walk
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.patterns import matches

_LONGEST: Final = 64
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_]")


def rename(walk: Walk, node: JSONObject, lows: dict[str, LoweredNode]) -> dict[str, str]:
    """The tool's own name by the name as sent, for the names that the target does not accept."""
    if walk.subset.root_keys is None:
        return {}
    admits = re.compile(walk.subset.root_keys).fullmatch
    bad = [name for name in lows if not admits(name)]
    taken = {name for name in lows if admits(name)}
    found: dict[str, str] = {}
    for name in bad:
        new = fit_property_name(name, taken)
        if not admits(new):
            raise walk.refusal(node, f"no valid name can replace {name!r}", "properties", name)
        taken.add(new)
        found[new] = name
        walk.report(node, "properties", "renamed", new, "properties", name)
    return found


def fit_property_name(name: str, taken: Iterable[str]) -> str:
    """An unused name of at most 64 safe characters."""
    safe = _UNSAFE.sub("_", name).strip("_") or "property"
    if not safe[0].isalpha():
        safe = f"p_{safe}"
    short = safe[:_LONGEST]
    if short not in taken:
        return short
    mark = sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{short[: _LONGEST - 9]}_{mark}"


_COUNTS: Final = (("minProperties", "minItems"), ("maxProperties", "maxItems"))
PAIR_KEYWORDS: Final = frozenset(("minProperties", "maxProperties", "propertyNames"))
"""The keywords that the list of pairs expresses differently."""


class AdditionalKeys(NamedTuple):
    """How the names that an object does not list are lowered."""

    keywords: JSONObject
    low: LoweredNode | None = None
    """The list of key-value pairs that they are sent as, if they do not stay keys of the object."""
    mapping: ArgumentMap | None = None
    """The map of their values, if they stay keys."""


def lower_additional(
    walk: Walk, node: JSONObject, notes: list[str], position: Position
) -> AdditionalKeys | LoweredNode:
    """How other names are lowered; an array for an object that has only such names."""
    patterns = named(node, "patternProperties")
    constraint = node.get("additionalProperties", True)
    is_undeclared = "additionalProperties" not in node
    if constraint is False and not patterns:
        return AdditionalKeys(_closed(walk, node))
    is_bare = not named(node, "properties") and not node.get("required")
    if is_undeclared and not patterns and not (_admits_any_key(walk, node, position) and is_bare):
        if not walk.subset.closed:
            return AdditionalKeys({})
        _report_closing(walk, node, position)
        return AdditionalKeys({"additionalProperties": False})
    if is_undeclared and not patterns and walk.subset.any == "refuse":
        raise walk.refusal(node, "an object with any keys cannot be sent")
    if walk.subset.maps == "pairs":
        return _as_pairs(walk, node, notes, position, is_alone=is_bare and position == "inside")
    return _kept(walk, node, notes, constraint)


def _admits_any_key(walk: Walk, node: JSONObject, position: Position) -> bool:
    """Whether an object without keywords for its keys admits any key, and the target does not."""
    if walk.subset.any == "keep" or (walk.is_closed and "properties" in node):
        return False
    return position == "inside" or walk.is_root_open


def _closed(walk: Walk, node: JSONObject) -> JSONObject:
    if walk.rules.takes("additionalProperties"):
        return {"additionalProperties": False}
    walk.report(node, "additionalProperties", "checked locally", "that there are no other keys")
    return {}


def _report_closing(walk: Walk, node: JSONObject, position: Position) -> None:
    names = named(node, "properties").keys()
    if position == "inside" and walk.is_closed and "properties" in node:
        return
    if position == "inside" or walk.is_root_open or (position == "branch" and walk.root_names - names):
        walk.report(node, "additionalProperties", "narrowed", "only the named properties")


def _kept(walk: Walk, node: JSONObject, notes: list[str], constraint: JSONValue) -> AdditionalKeys:
    """The keywords that the target accepts, unchanged."""
    if walk.subset.closed:
        walk.report(node, _keyword(node), "narrowed", "only the named properties")
        return AdditionalKeys({"additionalProperties": False})
    patterns = named(node, "patternProperties")
    if not patterns or (walk.rules.takes("patternProperties") and not walk.rules.maps_arguments):
        others = _kept_others(walk, node, notes, constraint)
        return AdditionalKeys(
            {**others.keywords, **_kept_patterns(walk, node, patterns)}, None, others.mapping
        )
    move_to_description(walk, node, "patternProperties", notes)
    if "additionalProperties" not in node:
        return AdditionalKeys({})
    # names that match a pattern now belong to the other names
    either: list[JSONValue] = [*patterns.values(), *([] if constraint is False else [constraint])]
    return _kept_others(walk, node, notes, _any_of(walk, node, either))


def _any_of(walk: Walk, node: JSONObject, schemas: list[JSONValue]) -> JSONValue:
    if any(schema is True or schema == {} for schema in schemas):
        return True
    return schemas[0] if len(schemas) == 1 else walk.derive({"anyOf": schemas}, node, "additionalProperties")


def _kept_others(walk: Walk, node: JSONObject, notes: list[str], constraint: JSONValue) -> AdditionalKeys:
    if "additionalProperties" not in node:
        return AdditionalKeys({})
    if not walk.rules.takes("additionalProperties"):
        move_to_description(walk, node, "additionalProperties", notes)
        return AdditionalKeys({})
    if isinstance(constraint, bool):
        return AdditionalKeys({"additionalProperties": constraint})
    low = walk.visit(constraint)
    if isinstance(low, Nothing):
        return AdditionalKeys({"additionalProperties": False})
    return AdditionalKeys({"additionalProperties": low.schema}, None, low.mapping)


def _kept_patterns(walk: Walk, node: JSONObject, patterns: JSONObject) -> JSONObject:
    lows = {name: walk.visit_at(node, each, "patternProperties", name) for name, each in patterns.items()}
    kept: JSONObject = {
        name: low.schema if isinstance(low, LoweredNode) else False for name, low in lows.items()
    }
    return {"patternProperties": kept} if kept else {}


def _keyword(node: JSONObject) -> str:
    return "patternProperties" if "patternProperties" in node else "additionalProperties"


def _as_pairs(
    walk: Walk, node: JSONObject, notes: list[str], position: Position, *, is_alone: bool
) -> AdditionalKeys | LoweredNode:
    patterns = named(node, "patternProperties")
    constraint = node.get("additionalProperties", not patterns)
    if "additionalProperties" not in node and patterns:
        walk.report(node, "patternProperties", "narrowed", "only keys that match a pattern")
    either: list[JSONValue] = [*patterns.values(), *([] if constraint is False else [constraint])]
    steps = ("additionalProperties",) if "additionalProperties" in node else ()
    value = walk.visit_at(node, _any_of(walk, node, either), *steps)
    key = _key(walk, node, patterns, is_exact=constraint is False)
    closed: JSONObject = {"additionalProperties": False} if walk.rules.takes("additionalProperties") else {}
    if isinstance(key, Nothing) or isinstance(value, Nothing):
        return AdditionalKeys(_closed(walk, node))
    pair: JSONObject = {
        "type": "object",
        "properties": {"key": key.schema, "value": value.schema},
        "required": ["key", "value"],
        **closed,
    }
    walk.count_nodes(3)
    walk.report(node, _keyword(node), "reshaped", "a list of key and value, no key twice")
    if not closed and position == "inside" and not is_alone:
        walk.report(node, _keyword(node), "checked locally", "that there are no other keys")
    out: JSONObject = {"type": "array", "items": pair}
    low = LoweredNode(out, PairsMap(value.mapping))
    if not is_alone:
        return AdditionalKeys(closed, low)
    for count, length in _COUNTS:
        if count in node and walk.rules.takes(length):
            out[length] = node[count]
        elif count in node:
            move_to_description(walk, node, count, notes)
    return low


def _key(walk: Walk, node: JSONObject, patterns: JSONObject, *, is_exact: bool) -> LoweredNode | Nothing:
    """The schema of a key, with the constraints on names that one schema can express."""
    text: JSONObject = {"type": "string"}
    parts: list[JSONValue] = [walk.derive(text, node)]
    if is_exact and len(patterns) == 1:
        text["pattern"] = next(iter(patterns))
    elif patterns:
        walk.report(node, "patternProperties", "checked locally", "which keys go with which values")
    if "propertyNames" in node:
        parts.append(node["propertyNames"])
    constraint = conjunction(walk, parts)
    return walk.visit(cast("JSONObject", constraint)) if isinstance(constraint, dict) else Nothing.NEVER


HANDLED: Final = frozenset(("properties", "required", "additionalProperties", "patternProperties"))
"""The keywords that are lowered here."""


def lower_object(walk: Walk, node: JSONObject, notes: list[str], position: Position) -> LoweringResult:
    """Lowers the keywords about an object's members; a map may become an array."""
    rest = lower_additional(walk, node, notes, position)
    if isinstance(rest, LoweredNode):
        return rest
    schemas = _schemas(walk, node)
    required = _required(node)
    lows: dict[str, LoweredNode] = {}
    for name, schema in schemas.items():
        low = _lower_member(walk, node, name, schema, position)
        if isinstance(low, LoweredNode):
            lows[name] = low
        elif name in required:
            walk.mark_impossible(node, "properties", name)
            return low
        elif low is Nothing.NEVER and not _is_closed(walk, node, position):
            walk.report(node, "properties", "checked locally", "it must be absent", "properties", name)
    return _assemble(walk, node, _Members(schemas, lows, rest), position)


def _required(node: JSONObject) -> list[str]:
    return cast("list[str]", node.get("required", []))


def _is_closed(walk: Walk, node: JSONObject, position: Position) -> bool:
    """Whether the object refuses unknown names anyway."""
    if walk.subset.closed or node.get("additionalProperties") is False:
        return True
    return position == "root" and not walk.is_root_open


def _schemas(walk: Walk, node: JSONObject) -> JSONObject:
    """The schemas of all known members by name, combined with those of matching patterns."""
    schemas = dict(named(node, "properties"))
    if not (walk.rules.reshapes or walk.subset.declared_required):
        return schemas
    patterns = named(node, "patternProperties")
    unlisted = [name for name in _required(node) if name not in schemas]
    for name in (*schemas, *unlisted) if patterns and walk.rules.reshapes else unlisted:
        constraint = [schema for pattern, schema in patterns.items() if matches(pattern, name)]
        if name in schemas:
            constraint = [schemas[name], *constraint]
        schemas[name] = conjunction(walk, constraint) if constraint else _unlisted(walk, node, name)
    return schemas


def _unlisted(walk: Walk, node: JSONObject, name: str) -> JSONValue:
    """The schema of a name that the object does not list."""
    if "additionalProperties" in node:
        return node["additionalProperties"]
    return walk.derive({}, node, "properties", name)


def _lower_member(
    walk: Walk, node: JSONObject, name: str, schema: JSONValue, position: Position
) -> LoweringResult:
    if position == "root" and walk.subset.nested == "describe":
        described = describe_nested(walk, schema)
        if described is not None:
            return described
    return walk.visit_at(node, schema, "properties", name)


class _Members(NamedTuple):
    """The members of an object, before and after lowering."""

    schemas: JSONObject
    lows: dict[str, LoweredNode]
    rest: AdditionalKeys


def _assemble(walk: Walk, node: JSONObject, members: _Members, position: Position) -> LoweredNode:
    schemas, lows, rest = members
    required = [name for name in dict.fromkeys(_required(node)) if name in lows or not walk.rules.reshapes]
    nulls = _fill_required(walk, node, schemas, lows, required)
    names = rename(walk, node, lows) if position == "root" else {}
    sent_names = {own: lowered for lowered, own in names.items()}
    properties: JSONObject = {sent_names.get(name, name): low.schema for name, low in lows.items()}
    needed = [sent_names.get(name, name) for name in required]
    rest_key = ""
    is_rest_needed = walk.subset.all_required or (walk.subset.some_required and not needed)
    if walk.subset.some_required and not needed and rest.low is None:
        raise walk.refusal(node, "an object without a required property cannot be sent")
    if rest.low is not None:
        rest_key = _free_name(properties, schemas)
        properties[rest_key] = rest.low.schema
        if is_rest_needed:
            needed.append(rest_key)
    out: JSONObject = {}
    if properties or "properties" in node or walk.subset.closed:
        out["properties"] = properties
    if needed or walk.subset.all_required:
        out["required"] = cast("list[JSONValue]", needed)
    out.update(rest.keywords)
    if names and out.pop("patternProperties", None) is not None:  # they match the tool's own names
        out.pop("additionalProperties", None)
        walk.report(node, "patternProperties", "checked locally", "combined with renamed properties")
    inside = {name: low.mapping for name, low in lows.items() if low.mapping is not None}
    if not (inside or nulls or names or rest_key or rest.mapping):
        return LoweredNode(out, None)
    mapping = ObjectMap(
        inside=inside,
        nulls=dict.fromkeys(nulls),
        names=names,
        rest=rest_key,
        rest_mapping=None if rest.low is None else rest.low.mapping,
        rest_always=bool(rest_key) and is_rest_needed,
        others=rest.mapping,
        known=frozenset(schemas) if rest_key or rest.mapping is not None else frozenset(),
    )
    return LoweredNode(out, mapping)


def _free_name(properties: JSONObject, schemas: JSONObject) -> str:
    name, number = "additional", 1
    while name in properties or name in schemas:
        number += 1
        name = f"additional_{number}"
    return name


def _fill_required(
    walk: Walk, node: JSONObject, schemas: JSONObject, lows: dict[str, LoweredNode], required: list[str]
) -> list[str]:
    """Makes properties required where the target needs it; returns those whose null means absent."""
    if walk.subset.all_required:
        optional = [name for name in lows if name not in required]
    elif walk.subset.some_required and lows and not required:
        optional = [next(iter(lows))]
    else:
        return []
    for name in optional:
        schema = schemas[name]
        if "null" in admitted_types(walk.root, schema) and takes_null(walk, lows[name].schema):
            if not _is_null_by_default(schema):
                walk.report(node, "required", "narrowed", "null is read as absent", "properties", name)
        else:
            lows[name] = make_nullable(walk, lows[name])
    if walk.subset.all_required:
        required[:] = list(lows)
    else:
        required.extend(optional)
    return optional


def _is_null_by_default(schema: JSONValue) -> bool:
    return isinstance(schema, dict) and "default" in schema and schema["default"] is None
