"""Finds limits of a parameter that no value can meet, such as a minimum above the maximum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolhaft.schema.json_schema import all_schemas
from toolhaft.schema.json_value import JSONObject

_PAIRS: Final = (
    ("minimum", "maximum"),
    ("minimum", "exclusiveMaximum"),
    ("exclusiveMinimum", "maximum"),
    ("exclusiveMinimum", "exclusiveMaximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minContains", "maxContains"),
    ("minProperties", "maxProperties"),
)
_CONDITIONS: Final = ("if", "not")
"""There, a schema that no value fits has a meaning."""
_HIGH: Final = frozenset(high for _, high in _PAIRS)


def impossible_limits(schema: JSONObject) -> Iterator[tuple[str, str, str]]:
    """Yield each pair of limits that excludes every value: its key in the schema, the problem and the fix.

    For limits inside `items`, `properties` and the like, the key is that of the outermost one.
    """
    for low, high in _wrong_pairs(schema):
        yield high, *_explain(schema, low, high)
    for key, value in schema.items():
        if isinstance(value, dict | list) and key not in _CONDITIONS:
            for inner in all_schemas({key: value}):
                for low, high in _wrong_pairs(inner):
                    what, fix = _explain(inner, low, high)
                    yield key, f"in {key}, {what}", fix


def _wrong_pairs(schema: JSONObject) -> list[tuple[str, str]]:
    if schema.keys().isdisjoint(_HIGH):
        return []
    return [(low, high) for low, high in _PAIRS if _excludes_all(schema, low, high)]


def _excludes_all(schema: JSONObject, low: str, high: str) -> bool:
    least, most = schema.get(low), schema.get(high)
    if not isinstance(least, int | float) or not isinstance(most, int | float):
        return False
    is_exclusive = low.startswith("exclusive") or high.startswith("exclusive")
    return least > most or (is_exclusive and least == most)


def _explain(schema: JSONObject, low: str, high: str) -> tuple[str, str]:
    least, most = schema[low], schema[high]
    relation = "is not below" if least == most else "is above"
    what = f"{low} {least} {relation} {high} {most}, so no value fits"
    return what, "swap the two, or correct one of them"
