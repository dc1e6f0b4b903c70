"""Describes in words what a JSON Schema expects."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, cast

from toolhaft.schema.json_schema import applied_schemas, resolve
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import LONGEST_VALUE, show
from toolhaft.schema.string_formats import FORMAT_EXAMPLES

_MAX_DEPTH: Final = 3
_MAX_CHOICES: Final = 12
_DEPENDENT: Final = ("dependentRequired", "dependencies")


def expected(root: JSONObject, schema: JSONValue, depth: int = 0) -> str:
    """Return what a value must be to match the schema, as one phrase."""
    if schema is False:
        return "nothing here"
    if not isinstance(schema, dict):
        return "any JSON value"
    if isinstance(schema.get("$ref"), str):
        target = resolve(root, cast("str", schema["$ref"]))
        return "any JSON value" if target is None or depth > _MAX_DEPTH else expected(root, target, depth + 1)
    if "const" in schema:
        return show(schema["const"])
    choices = schema.get("enum")
    if isinstance(choices, list):
        return _choices(choices)
    if schema.get("type") == "object" and not schema.get("properties"):
        return _composed(root, schema, depth) or _typed(root, schema, depth)
    return _typed(root, schema, depth) or _composed(root, schema, depth) or "any JSON value"


def _choices(values: list[JSONValue]) -> str:
    shown = [show(value) for value in values[:_MAX_CHOICES]]
    if len(values) == 1:
        return shown[0]
    more = f", or {len(values) - _MAX_CHOICES} others" if len(values) > _MAX_CHOICES else ""
    return f"one of {', '.join(shown)}{more}"


def _composed(root: JSONObject, schema: JSONObject, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return ""
    for key, word in (("anyOf", " or "), ("oneOf", " or "), ("allOf", ", and ")):
        branches = schema.get(key)
        if isinstance(branches, list) and branches:
            phrases = dict.fromkeys(expected(root, branch, depth + 1) for branch in branches[:_MAX_CHOICES])
            more = [f"{len(branches) - _MAX_CHOICES} others"] if len(branches) > _MAX_CHOICES else []
            return word.join((*phrases, *more))
    return ""


def _typed(root: JSONObject, schema: JSONObject, depth: int) -> str:
    declared = schema.get("type")
    names = [declared] if isinstance(declared, str) else declared
    if not isinstance(names, list):
        return ""
    phrases = [
        _array(root, schema, depth) if name == "array" else _PHRASES[name](schema)
        for name in cast("list[str]", names)
        if name == "array" or name in _PHRASES
    ]
    return " or ".join(phrases)


def _string(schema: JSONObject) -> str:
    text = "a string" + _range(schema, "minLength", "maxLength", "character")
    named = schema.get("format")
    if isinstance(named, str) and named in FORMAT_EXAMPLES:
        text += f" in {named} format, such as {FORMAT_EXAMPLES[named]}"
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        text += (
            f" matching {pattern if len(pattern) <= LONGEST_VALUE else pattern[: LONGEST_VALUE - 3] + '...'}"
        )
    return text


def _number(kind: str, schema: JSONObject) -> str:
    bounds: list[str] = []
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        bounds.append(f"from {show(low)} to {show(high)}")
    elif low is not None:
        bounds.append(f"of at least {show(low)}")
    elif high is not None:
        bounds.append(f"of at most {show(high)}")
    if "exclusiveMinimum" in schema:
        bounds.append(f"greater than {show(schema['exclusiveMinimum'])}")
    if "exclusiveMaximum" in schema:
        bounds.append(f"less than {show(schema['exclusiveMaximum'])}")
    phrase = " ".join((kind, ", ".join(bounds))).strip()
    return f"{phrase}, a multiple of {show(schema['multipleOf'])}" if "multipleOf" in schema else phrase


def _array(root: JSONObject, schema: JSONObject, depth: int) -> str:
    text = "an array" + _range(schema, "minItems", "maxItems", "item")
    items = schema.get("items")
    if isinstance(items, dict) and items and depth < _MAX_DEPTH:
        text += f", each {expected(root, items, depth + 1)}"
    if schema.get("uniqueItems") is True:
        text += ", none twice"
    return text


def _object(schema: JSONObject) -> str:
    properties = schema.get("properties")
    if isinstance(properties, dict) and properties:
        more = f" and {len(properties) - _MAX_CHOICES} more" if len(properties) > _MAX_CHOICES else ""
        return f"an object with {', '.join(list(properties)[:_MAX_CHOICES])}{more}"
    return "an object" + _range(schema, "minProperties", "maxProperties", "key")


def _range(schema: JSONObject, low: str, high: str, unit: str) -> str:
    least, most = schema.get(low), schema.get(high)
    if least is not None and most is not None:
        return f" of {show(least)} {unit}s" if least == most else f" of {show(least)} to {show(most)} {unit}s"
    if least is not None:
        return f" of at least {show(least)} {unit}{'' if least == 1 else 's'}"
    if most is not None:
        return f" of at most {show(most)} {unit}{'' if most == 1 else 's'}"
    return ""


_PHRASES: Final[Mapping[str, Callable[[JSONObject], str]]] = {
    "string": _string,
    "integer": partial(_number, "an integer"),
    "number": partial(_number, "a number"),
    "boolean": lambda _: "true or false",
    "null": lambda _: "null",
    "object": _object,
}


def known_names(root: JSONObject, schema: JSONValue) -> list[str]:
    """Return the names that a schema declares anywhere; a required name counts as declared."""
    names: dict[str, None] = {}
    for node in applied_schemas(root, schema):
        for part in (node, *applied_schemas(root, node.get("if"))):
            properties = part.get("properties")
            names.update(dict.fromkeys(properties if isinstance(properties, dict) else ()))
    for node in applied_schemas(root, schema):
        dependent = [held for key in _DEPENDENT if isinstance(held := node.get(key), dict)]
        lists = (node.get("required"), *(names for held in dependent for names in held.values()))
        named = (name for listed in lists if isinstance(listed, list) for name in listed)
        names.update((name, None) for name in named if isinstance(name, str))
    return list(names)
