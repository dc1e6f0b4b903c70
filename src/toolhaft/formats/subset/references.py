"""Follows references: which schemas they lead to, whether one leads back to itself.

Does not know what becomes of a reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from toolhaft.formats.subset.keywords import REFERENCES
from toolhaft.schema.json_schema import subschemas
from toolhaft.schema.json_value import JSONObject

_OWN: Final = ("#/$defs/", "#/definitions/")


def reference_of(node: JSONObject) -> str | None:
    """What a schema refers to, in the way of any draft."""
    for key in REFERENCES:
        value = node.get(key)
        if isinstance(value, str):
            return value
    return None


def inside(node: JSONObject) -> Iterator[JSONObject]:
    """A schema and all schemas written inside it, but not its definitions."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(child for key, child in subschemas(part) if key not in ("$defs", "definitions"))


def definition_name(reference: str | None) -> str:
    """The name of the definition that a reference leads to; '' where it leads elsewhere."""
    for start in _OWN:
        if reference is not None and reference.startswith(start):
            name = unquote(reference.removeprefix(start))
            return "" if "/" in name else name.replace("~1", "/").replace("~0", "~")
    return ""


def write_references(schema: JSONObject) -> Iterator[str]:
    """The names of all definitions that a lowered schema refers to."""
    for part in inside(schema):
        reference = part.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix("#/$defs/")
