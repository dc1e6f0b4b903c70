"""Follows references: which schemas they lead to, whether one leads back to itself.

Does not know what becomes of a reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from toolhaft.formats.subset.keywords import REFERENCES
from toolhaft.schema.json_schema import resolve, subschemas
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


def reaches_itself(root: JSONObject, target: JSONObject) -> bool:
    """Whether references lead from inside a schema back to it, or to one that it is written in."""
    seen: set[int] = set()
    waiting = [target]
    while waiting:
        for part in inside(waiting.pop()):
            reference = reference_of(part)
            led = None if reference is None else resolve(root, reference)
            if isinstance(led, dict) and id(led) not in seen:
                if any(found is target for found in inside(led)):
                    return True
                seen.add(id(led))
                waiting.append(led)
    return False


def used_definitions(root: JSONObject, schema: JSONObject) -> JSONObject:
    """The definitions that a schema leads to, by name; only those kept under `$defs` or `definitions`."""
    found: JSONObject = {}
    waiting = [schema]
    while waiting:
        for part in inside(waiting.pop()):
            reference = reference_of(part)
            name = definition_name(reference)
            led = None if reference is None else resolve(root, reference)
            if name and name not in found and led is not None:
                found[name] = led
                if isinstance(led, dict):
                    waiting.append(led)
    return found


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
