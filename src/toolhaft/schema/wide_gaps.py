"""Finds large objects that lack required names or have unknown ones, before pydantic-core checks them.

Its error for each missing name copies the whole object, so that its time would grow with the product of both.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, cast

from pydantic_core.core_schema import CoreSchema

from toolhaft.schema.core_key_count import key_paths
from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_schema import (
    BranchCheck,
    alternatives,
    contradicts,
    member_schemas,
    required_schemas,
    types_of,
    unique,
)
from toolhaft.schema.json_text import read_json
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import MAX_PROBLEMS, Problem
from toolhaft.schema.strict_core import CoreNode
from toolhaft.schema.work import CHARS_PER_MEMBER

MAX_COPIES: Final = 100_000
"""At most about 40 ms: the members of objects that errors may copy."""
_CONTAINERS: Final = frozenset((dict, list))
_NONE: Final = frozenset[str]()
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


def wide_gaps(explainer: Explainer, text: str, required: int, schema: CoreSchema) -> list[Problem]:
    """Return the problems of the first object with a gap that would be too expensive to report.

    Raises:
        ValueError: if the text is not JSON.
    """
    if required * (text.count(",") + text.count(":") + len(text) // CHARS_PER_MEMBER) <= MAX_COPIES:
        return []
    value = read_json(text)
    if not isinstance(value, dict):
        return []
    root, least = explainer.root, MAX_COPIES // required
    sizes = _sizes(value, counts_text=len(text) // CHARS_PER_MEMBER > least)
    keys = _alternative_keys(schema)
    types: dict[int, frozenset[str]] = {}
    waiting: list[tuple[ValuePath, list[JSONValue], JSONValue]] = [((), [root], value)]
    while waiting:
        path, schemas, part = waiting.pop()
        fits: BranchCheck | None = None
        if isinstance(part, dict):
            fits = partial(_fits, root, part)
            missing, unknown = _gap(_sure_schemas(root, schemas, fits), part, keys)
            if len(missing) * sizes[id(part)] + len(unknown) * _UNKNOWN_COPIES > MAX_COPIES:
                problems = [explainer.problem((*path, name), "missing") for name in missing[:MAX_PROBLEMS]]
                return problems + [explainer.unknown((*path, name)) for name in unknown[:_MAX_UNKNOWN]]
        members = part.items() if isinstance(part, dict) else enumerate(cast("list[JSONValue]", part))
        for name, child in members:
            if sizes.get(id(child), 0) > least:
                inner = (
                    each for one in schemas for each in member_schemas(root, one, name, types, fits=fits)
                )
                waiting.append(((*path, name), unique(inner), child))
    return []


def _fits(root: JSONObject, value: JSONObject, branch: JSONValue) -> bool:
    return "object" in types_of(root, branch) and not contradicts(root, branch, value)


def _sure_schemas(root: JSONObject, schemas: list[JSONValue], fits: BranchCheck) -> list[JSONObject]:
    """Return the schemas that an object must fit; of alternatives, the only one that may be meant."""
    nodes = list(required_schemas(root, schemas[0])) if len(schemas) == 1 else []
    for node in nodes:  # grows meanwhile
        branches = [branch for branch in alternatives(node) if fits(branch)]
        nodes += required_schemas(root, branches[0]) if len(branches) == 1 else ()
    return nodes


def _gap(
    nodes: list[JSONObject], found: JSONObject, keys: Mapping[str, frozenset[str]]
) -> tuple[list[str], list[str]]:
    """Return the names that an object lacks, and those that it may not have."""
    needed = dict.fromkeys(name for node in nodes for name in cast("list[str]", node.get("required", [])))
    known = {name for node in nodes for name in cast("JSONObject", node.get("properties", {}))}
    missing = [name for name in needed if name not in found and keys.get(name, _NONE).isdisjoint(found)]
    is_open = not known or any(node.get("additionalProperties", False) is not False for node in nodes)
    return missing, [] if is_open else [name for name in found if name not in known and name not in keys]


def _alternative_keys(schema: CoreSchema) -> dict[str, frozenset[str]]:
    """Return the keys of each field of a core schema that has an alias, by each of them."""
    found: dict[str, frozenset[str]] = {}
    waiting: list[tuple[str, Any]] = [("", schema)]
    for name, part in waiting:  # grows meanwhile
        if isinstance(part, dict):
            node = cast("CoreNode", part)
            waiting += node.items()
            if node.get("validation_alias"):
                keys = {str(path[0]) for path in key_paths(node.get("name", name), node)}
                for key in keys:
                    found[key] = found.get(key, _NONE) | keys
        elif isinstance(part, list | tuple):
            waiting += [(name, child) for child in cast("list[Any]", part)]
    return found


def _sizes(value: JSONValue, *, counts_text: bool) -> dict[int, int]:
    """Return how many members are inside each object and array, at any depth, by its id."""
    parts: list[Any] = [value]
    parents = [0]
    sizes: list[int] = []
    for index, part in enumerate(parts):  # grows meanwhile
        members = part.values() if part.__class__ is dict else part
        inner = [member for member in members if member and member.__class__ in _CONTAINERS]
        if inner:
            parts += inner
            parents += [index] * len(inner)
        sizes.append(len(part))
        if counts_text:
            sizes[index] += sum([len(text) for text in members if text.__class__ is str]) // CHARS_PER_MEMBER
    for index in range(len(parts) - 1, 0, -1):
        sizes[parents[index]] += sizes[index]
    return dict(zip(map(id, parts), sizes, strict=True))
