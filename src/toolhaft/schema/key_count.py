"""Counts the object keys of an accepted value, to find repeated keys without a second parse.

A repeated key is lost when JSON is parsed, so the text has more colons than the value has keys.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final, cast

from pydantic_core.core_schema import CoreSchema

from toolhaft.schema.json_schema import types_of
from toolhaft.schema.json_text import count_keys
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.strict_core import CoreNode

KeyCount = int | Callable[[Any], int] | None
"""A fixed number, a function of the checked value, or None if the value does not show it."""
KeyCounter = Callable[[Any], int]
RECHECK: Final = -(10**9)
"""A count that never matches, so that the value gets the full check."""
_NEVER: Final = 10**9
COMPOSED: Final = (
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "dependentSchemas",
)


def core_key_counter(schema: CoreSchema) -> KeyCount:
    """Return how to count the keys of a value that this pydantic-core schema accepted."""
    return _count_of(cast("CoreNode", schema))


def _count_of(node: CoreNode) -> KeyCount:
    kind = node["type"]
    if kind in _SCALARS:
        return 0
    metadata = node.get("metadata")
    if isinstance(metadata, dict) and "toolhaft_keys" in metadata:
        return cast("int", metadata["toolhaft_keys"])
    rule = _RULES.get(kind)
    return None if rule is None else rule(node)


def _number(count: KeyCount) -> int | None:
    return count if isinstance(count, int) else None


def _after(node: CoreNode) -> KeyCount:
    """A function may return anything, so only a count that is always the same can be used."""
    inner: CoreNode = node["schema"]
    is_typed = inner.get("items_schema") or inner.get("values_schema")
    if inner["type"] == "any" or (inner["type"] in ("list", "dict") and not is_typed):
        return count_keys  # our own `require_finite`, which returns its argument
    return _number(_count_of(inner))


def _nullable(node: CoreNode) -> KeyCount:
    inner = _count_of(node["schema"])
    if inner == 0 or inner is None:
        return inner
    if isinstance(inner, int):
        return lambda value: 0 if value is None else inner
    return lambda value: 0 if value is None else inner(value)


def _list(node: CoreNode) -> KeyCount:
    inner = _count_of(node["items_schema"]) if node.get("items_schema") else None
    if inner == 0 or inner is None:
        return inner
    if isinstance(inner, int):
        return lambda values: inner * len(values)
    return lambda values: sum(map(inner, values))


def _dict(node: CoreNode) -> KeyCount:
    inner = _count_of(node["values_schema"]) if node.get("values_schema") else None
    if inner is None:
        return None
    if isinstance(inner, int):
        return lambda values: (1 + inner) * len(values)
    return lambda values: len(values) + sum(map(inner, values.values()))


def _tuple(node: CoreNode) -> KeyCount:
    counts = [_number(_count_of(item)) for item in node["items_schema"]]
    if any(count is None for count in counts):
        return None
    if node.get("variadic_item_index") is not None and any(counts):
        return None
    return sum(cast("list[int]", counts))


def _union(node: CoreNode) -> KeyCount:
    """A value does not show which branch accepted it, so all branches must have the same count."""
    choices = cast("list[CoreNode | tuple[CoreNode, str]]", node["choices"])
    counts = {_number(_count_of(choice[0] if isinstance(choice, tuple) else choice)) for choice in choices}
    return counts.pop() if len(counts) == 1 else None


def _typed_dict(node: CoreNode) -> KeyCount:
    fields = cast("Mapping[str, CoreNode]", node["fields"])
    if node.get("extra_behavior") == "allow":
        return None
    inner = {name: _count_of(field["schema"]) for name, field in fields.items()}
    if any(count is None for count in inner.values()):
        return None
    if all(isinstance(count, int) for count in inner.values()) and all(
        field["required"] for field in fields.values()
    ):
        return len(fields) + sum(cast("list[int]", list(inner.values())))
    deep = [(name, count) for name, count in inner.items() if count != 0]
    if not deep:
        return len
    return _typed_dict_counter(deep)


def _typed_dict_counter(deep: list[tuple[str, KeyCount]]) -> Callable[[Mapping[str, object]], int]:
    counted = [(name, count) for name, count in deep if callable(count)]
    fixed = [(name, count) for name, count in deep if isinstance(count, int)]

    def count_given(given: Mapping[str, object]) -> int:
        total = len(given)
        for name, size in fixed:
            if name in given:
                total += size
        for name, count in counted:
            if name in given:
                total += count(given[name])
        return total

    return count_given


def _model(node: CoreNode) -> KeyCount:
    if node.get("custom_init") or node.get("post_init"):
        return None
    if node.get("root_model"):
        return _number(_count_of(node["schema"]))
    return _model_fields(node["schema"]) if node["schema"]["type"] == "model-fields" else None


def _model_fields(node: CoreNode) -> KeyCount:
    """A model records which fields were sent; a default is not among them."""
    if node.get("extra_behavior") == "allow" or node.get("extras_schema"):
        return None
    inner: dict[str, int] = {}
    all_required = True
    for name, field in cast("Mapping[str, CoreNode]", node["fields"]).items():
        schema = field["schema"]
        if schema["type"] == "default":
            schema, all_required = schema["schema"], False
        count = _number(_count_of(schema))
        if count is None:
            return None
        inner[name] = count
    if all_required:
        return len(inner) + sum(inner.values())
    deep = [(name, count) for name, count in inner.items() if count]

    def count_set(model: Any) -> int:  # noqa: ANN401 -- any model
        given = cast("set[str]", model.__pydantic_fields_set__)
        return len(given) + sum(count for name, count in deep if name in given)

    return count_set


_SCALARS: Final = frozenset(
    (
        "bool",
        "bytes",
        "complex",
        "date",
        "datetime",
        "decimal",
        "enum",
        "float",
        "int",
        "literal",
        "multi-host-url",
        "none",
        "str",
        "time",
        "timedelta",
        "url",
        "uuid",
    )
)
_RULES: Final[Mapping[str, Callable[[CoreNode], KeyCount]]] = {
    "any": lambda _: count_keys,
    "chain": lambda node: _number(_count_of(node["steps"][0])),
    "definitions": lambda node: _count_of(node["schema"]),
    "dict": _dict,
    "function-after": _after,
    "lax-or-strict": lambda node: _count_of(node["strict_schema"]),
    "list": _list,
    "model": _model,
    "nullable": _nullable,
    "tuple": _tuple,
    "typed-dict": _typed_dict,
    "union": _union,
}


def schema_key_counter(root: JSONObject, schema: JSONValue, *, closed: bool = False) -> KeyCounter:
    """Return a function that counts the keys of a value that this JSON Schema accepted.

    It returns RECHECK if the value may contain something that the engine accepts and we do not: a 5.0 for an
    integer, a number that is not finite, an unknown key.

    Args:
        root: the whole schema.
        schema: the part of it that accepted the value.
        closed: True if the engine has refused unknown keys already.
    """
    schema = _without_null(schema)
    if not isinstance(schema, dict) or any(key in schema for key in COMPOSED):
        return _count_any
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        return _object_counter(root, schema, closed=closed or schema.get("additionalProperties") is False)
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, dict) and "prefixItems" not in schema:
        return _array_counter(root, items)
    return _count_any


def _without_null(schema: JSONValue) -> JSONValue:
    """Return the other branch of a nullable schema: null has no keys."""
    branches = schema.get("anyOf") if isinstance(schema, dict) else None
    if not isinstance(branches, list):
        return schema
    others = [branch for branch in branches if branch != {"type": "null"}]
    return others[0] if len(others) == 1 else schema


def _wants_integer(admitted: frozenset[str]) -> bool:
    return "integer" in admitted and "number" not in admitted


def _object_counter(root: JSONObject, schema: JSONObject, *, closed: bool) -> KeyCounter:
    properties = cast("Mapping[str, JSONValue]", schema["properties"])
    known_types: dict[int, frozenset[str]] = {}
    types = {name: types_of(root, schema, known_types) for name, schema in properties.items()}
    integers = [name for name, admitted in types.items() if _wants_integer(admitted)]
    deep = [
        (name, schema_key_counter(root, properties[name]))
        for name, admitted in types.items()
        if "object" in admitted or "array" in admitted
    ]
    deep = [(name, counter) for name, counter in deep if counter is not _count_zero]
    # an accepted value has every required key; only one with more keys can have an unknown one
    fewest = _NEVER if closed else len(cast("list[str]", schema.get("required", [])))
    known = frozenset(properties)
    if not integers and not deep:
        return (
            len
            if closed
            else lambda value: len(value) if len(value) <= fewest or value.keys() <= known else RECHECK
        )

    def count(value: Mapping[str, object]) -> int:
        total = len(value)
        if total > fewest and not value.keys() <= known:
            return RECHECK
        for name in integers:
            if value.get(name).__class__ is float:
                return RECHECK
        for name, counter in deep:
            child = value.get(name)
            if child is not None:
                total += counter(child)
        return total

    return count


def _array_counter(root: JSONObject, items: JSONObject) -> KeyCounter:
    admitted = types_of(root, items)
    if "object" not in admitted and "array" not in admitted:
        return _count_integers if _wants_integer(admitted) else _count_zero
    counter = schema_key_counter(root, items)
    if "null" in admitted:
        return lambda values: sum(counter(value) for value in values if value is not None)
    return lambda values: sum(map(counter, values))


def _count_zero(value: object) -> int:  # noqa: ARG001 -- one signature for every counter
    return 0


def _count_integers(values: list[object]) -> int:
    return RECHECK if float in map(type, values) else 0


def _count_any(value: object) -> int:
    """Count the keys of any value; a float that is integral or not finite needs the thorough check."""
    return RECHECK if _has_odd_float(value) else count_keys(cast("JSONValue", value))


def _has_odd_float(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer() or not isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_odd_float, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return any(map(_has_odd_float, cast("list[object]", value)))
    return False
