"""Makes one small example value from a JSON Schema.

The value may not be valid, so callers check it before they use it.
"""

import re
from importlib import import_module
from typing import Any, Final, cast

from toolhaft.schema.json_schema import COMBINATORS, required_schemas, resolve
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.patterns import SET_OPERATION
from toolhaft.schema.string_formats import FORMAT_EXAMPLES

# the standard library's only parser of patterns; it has no public name and no types
sre: Any = import_module("re._constants")
sre_parser: Any = import_module("re._parser")
_MAX_DEPTH: Final = 12
_APPLIED: Final = ("$ref", "$defs", "allOf", "definitions")
_MAX_SIZE: Final = 40  # characters or items
_MAX_VALUES: Final = 500


class _TooLargeError(ValueError):
    """The smallest value is too large to show."""


def sample(root: JSONObject) -> JSONValue:
    """Make a small value: required members only, the first allowed choice; None if it would be large."""
    try:
        return _sample(root, root, 0, [_MAX_VALUES])
    except (_TooLargeError, RecursionError):
        return None


def _sample(root: JSONObject, schema: JSONValue, depth: int, left: list[int]) -> JSONValue:
    left[0] -= 1  # one count for the whole sample
    if depth > _MAX_DEPTH or left[0] < 0:
        raise _TooLargeError
    if not isinstance(schema, dict):
        return None
    if isinstance(schema.get("$ref"), str):
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        target = resolve(root, cast("str", schema["$ref"]))
        return _sample(root, _merged(siblings, target) if siblings else target, depth + 1, left)
    declared = _declared(schema)
    if declared is not None:
        return declared[0]
    merged = {key: value for key, value in schema.items() if key not in COMBINATORS}
    for branch in required_schemas(root, {"allOf": schema.get("allOf", [])}):
        merged = _merged(merged, {key: value for key, value in branch.items() if key not in _APPLIED})
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list) and branches:
            return _sample(root, _merged(merged, branches[0]), depth + 1, left)
    return _typed(root, merged, depth, left)


def _merged(schema: JSONObject, other: JSONValue) -> JSONObject:
    """Merge two schemas, as far as a sample needs it."""
    if not isinstance(other, dict):
        return schema
    new = {**schema, **other}
    for key in ("properties", "required"):
        ours, theirs = schema.get(key), other.get(key)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            new[key] = {**ours, **theirs}
        elif isinstance(ours, list) and isinstance(theirs, list):
            new[key] = [*ours, *theirs]
    return new


def _declared(schema: JSONObject) -> tuple[JSONValue] | None:
    """Return a value that the schema itself contains, in a tuple."""
    if "const" in schema:
        return (schema["const"],)
    for key in ("enum", "examples"):
        values = schema.get(key)
        if isinstance(values, list) and values:
            return (values[0],)
    return (schema["default"],) if "default" in schema else None


def _typed(root: JSONObject, schema: JSONObject, depth: int, left: list[int]) -> JSONValue:
    declared = schema.get("type")
    kind = declared[0] if isinstance(declared, list) and declared else declared
    match kind:
        case "string":
            return _text(schema)
        case "integer" | "number":
            return _number(schema, whole=kind == "integer")
        case "boolean":
            return True
        case "array":
            return _array(root, schema, depth, left)
        case "null":
            return None
        case _ if kind == "object" or "properties" in schema:
            properties = cast("JSONObject", schema.get("properties", {}))
            required = cast("list[str]", schema.get("required", []))
            return {name: _sample(root, properties.get(name, {}), depth + 1, left) for name in required}
        case _:
            return "text"


def _text(schema: JSONObject) -> str:
    least, most = cast("int", schema.get("minLength", 0)), cast("int", schema.get("maxLength", 10**6))
    if least > _MAX_SIZE:
        raise _TooLargeError
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        return _match(pattern, least)
    known = FORMAT_EXAMPLES.get(cast("str", schema.get("format", "")))
    return known or "text"[:most] + "x" * (least - 4)


def _number(schema: JSONObject, *, whole: bool) -> float:
    low = cast("float", schema.get("minimum", schema.get("exclusiveMinimum", 1)))
    high = cast("float", schema.get("maximum", schema.get("exclusiveMaximum", max(low, 1))))
    step = cast("float", schema.get("multipleOf", 1 if whole else 0))
    value = low if "minimum" in schema or "exclusiveMinimum" in schema else min(high, 1)
    if "exclusiveMinimum" in schema and value <= low:
        value = low + (step or (high - low) / 2 or 1)
    if "exclusiveMaximum" in schema and value >= high:
        value = high - (step or 1)
    if step:
        value = -(-value // step) * step
    return int(value) if float(value).is_integer() else value


def _array(root: JSONObject, schema: JSONObject, depth: int, left: list[int]) -> list[JSONValue]:
    least = cast("int", schema.get("minItems", 0))
    if least > _MAX_SIZE:
        raise _TooLargeError
    listed = schema.get("prefixItems")
    first = listed[:least] if isinstance(listed, list) else []
    rest = schema.get("items")
    return [_sample(root, item, depth + 1, left) for item in (*first, *(rest,) * (least - len(first)))]


def _match(pattern: str, least: int) -> str:
    """Return the shortest text that a simple pattern matches; '' for a pattern that is not simple."""
    if SET_OPERATION.search(pattern):  # Python warns about it
        return ""
    try:
        text = _write(sre_parser.parse(pattern))
    except (re.error, KeyError, RecursionError, OverflowError):
        return ""
    return text + text[-1:] * (least - len(text)) if text else text


def _write(parsed: object) -> str:  # noqa: C901 -- one case per operator
    text = ""
    for operator, argument in cast("list[tuple[object, object]]", parsed):
        if operator is sre.LITERAL:
            text += chr(cast("int", argument))
        elif operator is sre.IN:
            text += _pick(cast("list[tuple[object, object]]", argument))
        elif operator is sre.ANY:
            text += "x"
        elif operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, _, inner = cast("tuple[int, int, object]", argument)
            text += _write(inner) * min(low, 100)
        elif operator is sre.SUBPATTERN:
            text += _write(cast("tuple[object, ...]", argument)[3])
        elif operator is sre.BRANCH:
            text += _write(cast("tuple[object, list[object]]", argument)[1][0])
        elif operator is not sre.AT:
            raise KeyError(operator)
    return text


_CATEGORIES: Final[dict[object, str]] = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_SPACE: " ",
}


def _pick(choices: list[tuple[object, object]]) -> str:
    operator, argument = choices[0]
    if operator is sre.LITERAL:
        return chr(cast("int", argument))
    if operator is sre.RANGE:
        return chr(cast("tuple[int, int]", argument)[0])
    if operator is sre.CATEGORY:
        return _CATEGORIES[argument]
    raise KeyError(operator)
