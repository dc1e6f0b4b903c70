"""Makes recursive schemas acceptable to a target that takes recursion only inside optional properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias, cast

from toolhaft.formats.losses import SchemaLoss, escape
from toolhaft.formats.subset.references import components, definition_name
from toolhaft.schema.json_schema import map_subschemas, subschemas
from toolhaft.schema.json_value import JSONObject

_Required: TypeAlias = tuple[int, str]
"""An object by its identity, and the name of a required property."""


class _Edge(NamedTuple):
    """A reference from one definition to another that is not inside an optional property."""

    source: str
    target: str
    around: _Required | None
    """The innermost property around it, which is required; None if it is in none."""


def relax_cycles(schema: JSONObject, own: JSONObject) -> tuple[JSONObject, list[SchemaLoss]] | None:
    """A lowered schema with a property of every cycle made optional; None if a cycle has no property.

    The losses point into the tool's own schema.
    """
    definitions = cast("dict[str, JSONObject]", schema.get("$defs", {}))
    edges = [edge for name, node in definitions.items() for edge in _edges(name, node, None)]
    relaxed = {edge.around for edge in _in_cycles(edges) if edge.around is not None}
    if any(_in_cycles([edge for edge in edges if edge.around not in relaxed])):
        return None
    losses: list[SchemaLoss] = []
    made: JSONObject = {
        name: _relaxed(node, relaxed, _place(own, name), losses) for name, node in definitions.items()
    }
    return {**schema, "$defs": made}, losses


def _place(own: JSONObject, name: str) -> str:
    """The pointer to a definition in the tool's own schema; '' if it has none of this name."""
    holders = (key for key in ("$defs", "definitions") if name in cast("JSONObject", own.get(key, {})))
    return next((f"/{key}/{escape(name)}" for key in holders), "")


def _edges(source: str, node: JSONObject, around: _Required | None) -> Iterator[_Edge]:
    """The references of a definition, without those inside optional properties."""
    reference = node.get("$ref")
    if isinstance(reference, str):
        yield _Edge(source, definition_name(reference), around)
    required = cast("list[str]", node.get("required", []))
    for name, child in cast("JSONObject", node.get("properties", {})).items():
        if isinstance(child, dict) and name in required:
            yield from _edges(source, child, (id(node), name))
    for key, child in subschemas(node):
        if key != "properties":
            yield from _edges(source, child, around)


def _in_cycles(edges: list[_Edge]) -> list[_Edge]:
    """The edges that are part of a cycle."""
    numbers: dict[str, int] = {}
    for edge in edges:
        numbers.setdefault(edge.source, len(numbers))
        numbers.setdefault(edge.target, len(numbers))
    leads: dict[int, list[int]] = {number: [] for number in numbers.values()}
    for edge in edges:
        leads[numbers[edge.source]].append(numbers[edge.target])
    part = components(leads)
    return [edge for edge in edges if part[numbers[edge.source]] == part[numbers[edge.target]]]


def _relaxed(node: JSONObject, relaxed: set[_Required], path: str, losses: list[SchemaLoss]) -> JSONObject:
    """A schema without the required names that lead back to it."""
    optional = [name for holder, name in relaxed if holder == id(node)]
    new = map_subschemas(node, lambda child: _relaxed(child, relaxed, path, losses))
    if optional:
        names = [name for name in cast("list[str]", node["required"]) if name not in optional]
        new["required"] = [*names]
        if not names:
            del new["required"]
        why = "leads back to the same schema, which is accepted only in an optional property"
        losses += [SchemaLoss(path, "required", "widened", f"{name!r} {why}") for name in sorted(optional)]
    return new
