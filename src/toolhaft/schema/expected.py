"""Says in words what a JSON Schema wants.

Knows schemas only, not the values that failed them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from toolhaft.schema.json_schema import in_place, resolve
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import LONGEST_VALUE, show
from toolhaft.schema.text_rules import FORMAT_EXAMPLES

_DEEPEST: Final = 3
_MOST_CHOICES: Final = 12


def expected(root: JSONObject, schema: JSONValue, depth: int = 0) -> str:
    """What a value must be to fit the schema, as one phrase."""
    if schema is False:
        return "nothing here"
    if not isinstance(schema, dict):
        return "any JSON value"
    if isinstance(schema.get("$ref"), str):
        target = resolve(root, cast("str", schema["$ref"]))
        return "any JSON value" if target is None or depth > _DEEPEST else expected(root, target, depth + 1)
    if "const" in schema:
        return show(schema["const"])
    choices = schema.get("enum")
    if isinstance(choices, list):
        return _choices(choices)
    if schema.get("type") == "object" and not schema.get("properties"):
        return _composed(root, schema, depth) or _typed(root, schema, depth)
    return _typed(root, schema, depth) or _composed(root, schema, depth) or "any JSON value"


def _choices(values: list[JSONValue]) -> str:
    shown = [show(value) for value in values[:_MOST_CHOICES]]
    if len(values) == 1:
        return shown[0]
    more = f", or {len(values) - _MOST_CHOICES} others" if len(values) > _MOST_CHOICES else ""
    return f"one of {', '.join(shown)}{more}"


def _composed(root: JSONObject, schema: JSONObject, depth: int) -> str:
    if depth > _DEEPEST:
        return ""
    for key, word in (("anyOf", " or "), ("oneOf", " or "), ("allOf", ", and ")):
        branches = schema.get(key)
        if isinstance(branches, list) and branches:
            phrases = dict.fromkeys(expected(root, branch, depth + 1) for branch in branches)
            return word.join(phrases)
    return ""


def _typed(root: JSONObject, schema: JSONObject, depth: int) -> str:
    declared = schema.get("type")
    names = [declared] if isinstance(declared, str) else declared
    if not isinstance(names, list):
        return ""
    return " or ".join(_PHRASES[cast("str", name)](root, schema, depth) for name in names if name in _PHRASES)


def _string(root: JSONObject, schema: JSONObject, depth: int) -> str:  # noqa: ARG001 -- one signature for every type
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


def _number(word: str) -> Callable[[JSONObject, JSONObject, int], str]:
    def phrase(root: JSONObject, schema: JSONObject, depth: int) -> str:  # noqa: ARG001 -- one signature for every type
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
        phrase = " ".join((word, ", ".join(bounds))).strip()
        return f"{phrase}, a multiple of {show(schema['multipleOf'])}" if "multipleOf" in schema else phrase

    return phrase


def _always(word: str) -> Callable[[JSONObject, JSONObject, int], str]:
    def phrase(root: JSONObject, schema: JSONObject, depth: int) -> str:  # noqa: ARG001 -- one signature for every type
        return word

    return phrase


def _array(root: JSONObject, schema: JSONObject, depth: int) -> str:
    text = "an array" + _range(schema, "minItems", "maxItems", "item")
    items = schema.get("items")
    if isinstance(items, dict) and items and depth < _DEEPEST:
        text += f", each {expected(root, items, depth + 1)}"
    if schema.get("uniqueItems") is True:
        text += ", none twice"
    return text


def _object(root: JSONObject, schema: JSONObject, depth: int) -> str:  # noqa: ARG001 -- one signature for every type
    properties = schema.get("properties")
    if isinstance(properties, dict) and properties:
        return f"an object with {_names(properties)}"
    return "an object" + _range(schema, "minProperties", "maxProperties", "key")


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _MOST_CHOICES} more" if len(listed) > _MOST_CHOICES else ""
    return ", ".join(listed[:_MOST_CHOICES]) + more


def _range(schema: JSONObject, low: str, high: str, unit: str) -> str:
    least, most = schema.get(low), schema.get(high)
    if least is not None and most is not None:
        return f" of {show(least)} {unit}s" if least == most else f" of {show(least)} to {show(most)} {unit}s"
    if least is not None:
        return f" of at least {show(least)} {unit}{'' if least == 1 else 's'}"
    if most is not None:
        return f" of at most {show(most)} {unit}{'' if most == 1 else 's'}"
    return ""


_PHRASES: Final[Mapping[str, Callable[[JSONObject, JSONObject, int], str]]] = {
    "string": _string,
    "integer": _number("an integer"),
    "number": _number("a number"),
    "boolean": _always("true or false"),
    "null": _always("null"),
    "array": _array,
    "object": _object,
}


def known_names(root: JSONObject, schema: JSONValue) -> list[str]:
    """The property names that a schema knows, wherever it keeps them."""
    names: dict[str, None] = {}
    for node in in_place(root, schema):
        properties = node.get("properties")
        if isinstance(properties, dict):
            names.update(dict.fromkeys(properties))
    return list(names)
