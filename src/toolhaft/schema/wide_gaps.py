"""Finds large objects that lack required names or have unknown ones, before pydantic-core checks them.

Its error for each missing name copies the whole object, so that its time would grow with the product of both.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from toolhaft.schema.expected import known_names
from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_schema import applied_schemas
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import MAX_PROBLEMS, Problem
from toolhaft.schema.work import count_by_depth

MAX_COPIES: Final = 100_000
"""At most about 40 ms: the members of objects that errors may copy."""
_MAX_UNKNOWN: Final = 20
_UNKNOWN_COPIES: Final = 10
"""The time of an error for an unknown name, in copied members."""


def most_required(nodes: Iterable[JSONObject]) -> int:
    """Return how many names an object of these schemas can lack; a few at least, for unknown names."""
    most = _UNKNOWN_COPIES
    for node in nodes:
        names = node.get("required")
        if isinstance(names, list) and len(names) > most:
            most = len(names)
    return most


def wide_gaps(explainer: Explainer, value: JSONValue, required: int) -> list[Problem]:
    """Return the problems of the first object with a gap that would be too expensive to report."""
    for path, found, size in _large_objects(value, MAX_COPIES // required):
        schemas = explainer.schemas_at(path)
        known = {name for schema in schemas for name in known_names(explainer.root, schema)}
        needed = [
            name
            for schema in schemas
            for node in applied_schemas(explainer.root, schema)
            for name in _required(node)
        ]
        missing = [name for name in dict.fromkeys(needed) if name not in found]
        unknown = [name for name in found if name not in known] if known else []
        if len(missing) * size + len(unknown) * _UNKNOWN_COPIES > MAX_COPIES:
            problems = [explainer.problem((*path, name), "missing") for name in missing[:MAX_PROBLEMS]]
            return problems + [explainer.unknown((*path, name)) for name in islice(unknown, _MAX_UNKNOWN)]
    return []


def _required(node: JSONObject) -> list[str]:
    names = node.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _large_objects(value: JSONValue, least: int) -> Iterator[tuple[ValuePath, JSONObject, int]]:
    """Yield each object with more members than this, at any depth, and their number."""
    waiting: list[tuple[ValuePath, JSONValue]] = [((), value)]
    while waiting:
        path, part = waiting.pop()
        size = sum(count_by_depth(part)) - 1
        if size <= least:
            continue
        if isinstance(part, dict):
            yield path, part, size
        members = (
            part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        )
        waiting.extend(((*path, name), child) for name, child in members if isinstance(child, dict | list))
