"""Walks a JSON Schema as a provider's server would: every subschema with its path, references followed once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

MAPS: Final = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLE: Final = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
)


def children(node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The subschemas of a schema, each with the pointer that leads there."""
    for key in MAPS:
        if isinstance(node.get(key), dict):
            yield from ((f"/{key}/{name}", child) for name, child in node[key].items())
    for key in (*LISTS, "items"):
        if isinstance(node.get(key), list):
            yield from ((f"/{key}/{index}", child) for index, child in enumerate(node[key]))
    yield from ((f"/{key}", node[key]) for key in SINGLE if isinstance(node.get(key), dict | bool))


def nodes(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every subschema, the root first."""
    yield path, schema
    if isinstance(schema, dict):
        for step, child in children(schema):
            yield from nodes(child, path + step)


def target(root: dict[str, Any], reference: str) -> Any:
    """What a local reference points at; None where it leads nowhere."""
    found: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found if reference.startswith("#") else None


def inside(root: dict[str, Any], node: Any) -> Iterator[Any]:
    """The subschemas of a node, a reference counting as what it points at; definitions are no part of it."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield target(root, node["$ref"])
        yield from (
            child for step, child in children(node) if not step.startswith(("/$defs/", "/definitions/"))
        )


def depth(node: Any) -> int:
    """How many objects and arrays are nested in each other as they stand written."""
    if not isinstance(node, dict):
        return 0
    return max((depth(child) for _, child in children(node)), default=0) + (
        "properties" in node or "items" in node
    )


def is_recursive(root: dict[str, Any], *, through_optional: bool = True) -> bool:
    """True if some schema leads back to itself; maybe only by ways on which every property is required."""
    return any(
        _leads_back(root, node, node, set(), through_optional=through_optional)
        for _, node in nodes(root)
        if isinstance(node, dict)
    )


def _leads_back(
    root: dict[str, Any], goal: Any, node: Any, seen: set[int], *, through_optional: bool
) -> bool:
    for child in _steps(root, node, through_optional=through_optional):
        if child is goal:
            return True
        if isinstance(child, dict) and id(child) not in seen:
            seen.add(id(child))
            if _leads_back(root, goal, child, seen, through_optional=through_optional):
                return True
    return False


def _steps(root: dict[str, Any], node: Any, *, through_optional: bool) -> Iterator[Any]:
    if not isinstance(node, dict):
        return
    if through_optional:
        yield from inside(root, node)
        return
    if isinstance(node.get("$ref"), str):
        yield target(root, node["$ref"])
    required = node.get("required", [])
    yield from (child for name, child in node.get("properties", {}).items() if name in required)
    if len(node.get("anyOf", [])) == 1:
        yield node["anyOf"][0]
