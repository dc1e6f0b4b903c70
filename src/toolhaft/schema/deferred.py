"""Takes functions out of the schema of arguments, to call them after the check, once the keys are counted.

- The constructors of dataclasses: until they are called, a dictionary shows how many keys were given.
- The search for numbers that are not finite in plain JSON: counting the keys visits the same members.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from pydantic_core.core_schema import CoreSchema

from toolhaft.schema.core_key_count import core_key_count
from toolhaft.schema.json_text import count_finite_keys
from toolhaft.schema.key_count import KeyCount
from toolhaft.schema.strict_core import MAKES, CoreNode, require_finite

Make = Callable[[Any], Any]
"""Makes a value from what the check returned."""


class LeanSchema(NamedTuple):
    """A schema without these functions."""

    schema: CoreSchema
    make: Make | None
    """Calls the constructors."""
    key_count: KeyCount
    """Counts the keys; raises an error for a number that is not finite."""


def make_lean(schema: CoreSchema) -> LeanSchema | None:
    """Return the schema without its constructors and searches; None if it has none outside of other types."""
    node = cast("CoreNode", schema)
    root = cast("CoreNode", node["schema"]) if node["type"] == "definitions" else node
    if root["type"] != "typed-dict":
        return None
    lean, make = _defer(root)
    fields = cast("Mapping[str, CoreNode]", lean["fields"])
    plain = {name: _without_search(field["schema"]) for name, field in fields.items()}
    searched = {name: inner for name, inner in plain.items() if inner is not None}
    if make is None and not searched:
        return None
    whole, counted = (
        _with_root(node, {**lean, "fields": _replace(fields, new)})
        for new in (searched, dict.fromkeys(searched, _NONE))
    )
    count = core_key_count(counted)
    if len(searched) == len(fields):  # the arguments themselves are plain JSON
        return LeanSchema(whole, make, KeyCount(count.least, count.is_exact, count_finite_keys))
    return LeanSchema(whole, make, _with_plain(count, tuple(searched)) if searched else count)


_NONE: CoreNode = {"type": "none"}


def _with_root(node: CoreNode, root: CoreNode) -> CoreSchema:
    return cast("CoreSchema", {**node, "schema": root} if node["type"] == "definitions" else root)


def _replace(fields: Mapping[str, CoreNode], schemas: Mapping[str, CoreNode]) -> dict[str, CoreNode]:
    return {
        name: {**field, "schema": schemas[name]} if name in schemas else field
        for name, field in fields.items()
    }


def _without_search(node: CoreNode) -> CoreNode | None:
    """Return the schema of plain JSON without the search; None for any other schema."""
    name, _ = _PARTS.get(node["type"], ("", None))
    if name:
        inner = _without_search(node[name]) if name in node else None
        return None if inner is None else {**node, name: inner}
    is_plain = node["type"] == "function-after" and node["function"]["function"] is require_finite
    return cast("CoreNode", node["schema"]) if is_plain else None


def _with_plain(count: KeyCount, names: tuple[str, ...]) -> KeyCount:
    """Return the count, with the keys inside of fields that are plain JSON."""
    others, least = count.one, count.least

    def one(given: dict[str, Any]) -> int:
        plain = count_finite_keys(list(map(given.get, names)))
        return plain + (least if others is None else others(given))

    return KeyCount(count.least, count.is_exact, one)


_PARTS: Final[Mapping[str, tuple[str, Callable[[Make], Make]]]] = {
    "dict": (
        "values_schema",
        lambda make: lambda items: {key: make(value) for key, value in items.items()},
    ),
    "list": ("items_schema", lambda make: lambda items: list(map(make, items))),
    "nullable": ("schema", lambda make: lambda given: None if given is None else make(given)),
}
"""Where the schema of a part is, and how the whole is made if each part is."""


def _defer(node: CoreNode) -> tuple[CoreNode, Make | None]:
    kind = node["type"]
    if kind in ("function-after", "typed-dict"):
        return (_after if kind == "function-after" else _typed_dict)(node)
    name, make_whole = _PARTS.get(kind, ("", None))
    lean, make = _defer(node[name]) if make_whole is not None and node.get(name) else (node, None)
    if make_whole is None or make is None:
        return node, None
    return {**node, name: lean}, make_whole(make)


def _after(node: CoreNode) -> tuple[CoreNode, Make | None]:
    cls: Any = cast("CoreNode", node.get("metadata") or {}).get(MAKES)
    if cls is None:  # the author's function, which needs the object
        return node, None
    lean, make = _defer(node["schema"])
    if make is None:
        return lean, lambda given: cls(**given)
    return lean, lambda given: cls(**make(given))


def _typed_dict(node: CoreNode) -> tuple[CoreNode, Make | None]:
    fields = cast("Mapping[str, CoreNode]", node["fields"])
    made = {name: _defer(field["schema"]) for name, field in fields.items()}
    parts = [(name, make) for name, (_, make) in made.items() if make is not None]
    if not parts:
        return node, None

    def make(given: dict[str, Any]) -> dict[str, Any]:
        for name, make_part in parts:
            if name in given:
                given[name] = make_part(given[name])
        return given

    return {**node, "fields": _replace(fields, {name: lean for name, (lean, _) in made.items()})}, make
