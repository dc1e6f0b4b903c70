"""Checks that a raw JSON Schema can be trusted before it is used: sound, bounded, whole in itself.

Knows JSON Schema and the engine's compiler; checks no values.
"""

from typing import Any, Final, NamedTuple, cast

import jsonschema_rs

from toolhaft.errors import DefinitionError
from toolhaft.schema import text_rules
from toolhaft.schema.json_schema import IN_PLACE, IN_PLACE_LISTS, TYPES, in_place, resolve, subschemas
from toolhaft.schema.json_text import NotJSONError, object_to_text, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import render_path, show

LONGEST_SCHEMA: Final = 2_000_000
MOST_STEPS: Final = 10_000
_LONGEST_CHAIN: Final = 200
_OPENERS: Final = ("additionalProperties", "patternProperties", "unevaluatedProperties")


def copy_schema(schema: object, place: str) -> JSONValue:
    """A private copy of a schema, proven to be JSON.

    Raises:
        DefinitionError: where it is not JSON, too large or nested too deep.
    """
    try:
        text = object_to_text(schema)
        if len(text) > LONGEST_SCHEMA:
            raise DefinitionError(
                f"the schema has {len(text)} characters", place=place, fix="keep it under 2,000,000"
            )
        return read_json(text)
    except (NotJSONError, ValueError) as error:
        if isinstance(error, DefinitionError):
            raise
        raise DefinitionError(
            f"the schema is not JSON: {error!s:.200}",
            place=place,
            fix="use only what JSON has, at most 200 levels deep",
        ) from error


def check_root(schema: JSONValue, place: str) -> JSONObject:
    """The schema of a tool's arguments, which are always an object.

    Raises:
        DefinitionError: where the root is not of type object, or wants a parameter that it does not admit.
    """
    if not isinstance(schema, dict):
        raise DefinitionError(
            "the schema must be an object", place=place, fix='start with {"type": "object", ...}'
        )
    if schema.get("type") != "object":
        raise DefinitionError(
            f"{place} must be of type 'object'"
            + (f", not {show(schema['type'])}" if "type" in schema else ""),
            place=place,
            fix='say "type": "object"',
        )
    return schema


def check_required(schema: JSONObject, known: list[str], place: str) -> None:
    """Every required name can be given."""
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in known:
            raise DefinitionError(
                f"Required parameter {name!r} not found in properties",
                place=f"{place}.required",
                fix="add it to properties, or take it out of required",
            )


def is_open(root: JSONObject) -> bool:
    """True if the author says what other keys are: then the schema alone decides about them."""
    return any(key in node for node in in_place(root, root) for key in _OPENERS)


def check_bounds(root: JSONValue, place: str) -> None:
    """No part of the schema refers to itself without end, or meets one value more than 10,000 times.

    Raises:
        DefinitionError: for a reference bomb, an endless loop or an endless chain.
    """
    if isinstance(root, dict):
        costs: dict[int, _Cost] = {}
        waiting = [root]
        seen: set[int] = set()
        while waiting:
            node = waiting.pop()
            if id(node) not in seen:
                seen.add(id(node))
                _cost(root, node, costs, place, frozenset())
                waiting.extend(child for _, child in subschemas(node))


class _Cost(NamedTuple):
    """What one value meets at a schema, references followed: how many schemas, how many in a row."""

    steps: int
    chain: int


def _cost(
    root: JSONObject, node: JSONObject, known: dict[int, _Cost], place: str, inside: frozenset[int]
) -> _Cost:
    if id(node) in inside:
        raise DefinitionError("a $ref leads back to itself without end", place=place, fix="break the loop")
    if id(node) in known:
        return known[id(node)]
    if len(inside) > _LONGEST_CHAIN:
        raise _too_long(place)
    costs = [_cost(root, child, known, place, inside | {id(node)}) for child in _applied(root, node, place)]
    cost = _Cost(1 + sum(cost.steps for cost in costs), 1 + max((cost.chain for cost in costs), default=0))
    if cost.chain > _LONGEST_CHAIN:
        raise _too_long(place)
    if cost.steps > MOST_STEPS:
        raise DefinitionError(
            f"one value would meet more than {MOST_STEPS} schemas",
            place=place,
            fix="untangle its allOf, anyOf and $ref",
        )
    known[id(node)] = cost
    return cost


def _too_long(place: str) -> DefinitionError:
    return DefinitionError("a chain of references is too long", place=place, fix="refer to the end of it")


def _followed(root: JSONObject, reference: str, place: str) -> JSONValue:
    target = resolve(root, reference)
    if target is None:
        raise DefinitionError(
            f"a reference leads outside the schema, or nowhere: {show(reference)}",
            place=place,
            fix="put the definition under $defs and refer to it as #/$defs/name",
        )
    return target


def _applied(root: JSONObject, node: JSONObject, place: str) -> list[JSONObject]:
    found: list[JSONValue] = []
    for key in ("$ref", "$dynamicRef", "$recursiveRef"):
        reference = node.get(key)
        if isinstance(reference, str):
            found.append(_followed(root, reference, place))
    for key in IN_PLACE_LISTS:
        branches = node.get(key)
        if isinstance(branches, list):
            found.extend(branches)
    found.extend(node.get(key) for key in IN_PLACE)
    dependent = node.get("dependentSchemas")
    found.extend(dependent.values() if isinstance(dependent, dict) else ())
    return [child for child in found if isinstance(child, dict)]


def compile_schema(schema: JSONValue, place: str) -> jsonschema_rs.Validator:
    """The engine's validator: formats asserted, patterns in linear time, no reference ever fetched.

    Raises:
        DefinitionError: where the schema breaks its metaschema, or refers to what is not in it.
    """
    options: dict[str, Any] = {
        "validate_formats": True,
        "offline": True,
        "pattern_options": jsonschema_rs.RegexOptions(size_limit=1_000_000),
        "email_options": text_rules.EMAIL_OPTIONS,
    }
    own = {name: check for name, check in text_rules.OWN_FORMATS.items() if name in _formats(schema)}
    if own:  # even unused they make every check of the engine half again as slow
        options["formats"] = own
    try:
        return jsonschema_rs.validator_for(cast("dict[str, Any]", schema), **options)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise _explain(error, place) from error


def _formats(schema: JSONValue) -> set[str]:
    """The formats that a schema names anywhere."""
    if not isinstance(schema, dict):
        return set()
    own = schema.get("format")
    found = {own} if isinstance(own, str) else set[str]()
    return found.union(*(_formats(child) for _, child in subschemas(schema)))


def _explain(error: Exception, place: str) -> DefinitionError:
    message = str(getattr(error, "message", error)).split("\n", 1)[0]
    path = cast("list[str | int]", getattr(error, "instance_path", []))
    where = f"{place} at {render_path(tuple(path))}" if path else place
    if "Resource" in message or "Unresolvable" in message or "etriev" in message:
        return DefinitionError(
            f"a reference leads outside the schema: {message:.200}",
            place=where,
            fix="put the definition under $defs",
        )
    if '"regex"' in message:
        return DefinitionError(
            f"the pattern cannot be used: {message:.200}", place=where, fix="no lookaround or backreferences"
        )
    if path and path[-1] == "type":
        return DefinitionError(
            f"{show(getattr(error, 'instance', None))} is not a type",
            place=where,
            fix=f"use one of {', '.join(sorted(TYPES))}",
        )
    return DefinitionError(
        f"the schema is not valid: {message:.200}", place=where, fix="see JSON Schema 2020-12"
    )
