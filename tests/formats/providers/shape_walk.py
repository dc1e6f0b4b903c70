"""Checks a request against botocore's service model, with rules that its own validator omits.

The validator knows required members and types, but not patterns, maximum lengths, enums or unions.
"""

import re
from collections.abc import Callable
from typing import Any

from tests.formats.providers.type_walk import json_problems


def shape_problems(value: object, shape: Any, at: str = "") -> list[str]:
    """Where a value does not fit the shape, each with its path."""
    if getattr(shape, "is_document_type", False):
        return json_problems(value, at)
    return _WALKS.get(shape.type_name, _other_problems)(value, shape, at)


def _structure_problems(value: object, shape: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: expected an object"]
    found = [f"{at}: {name!r} is missing" for name in shape.required_members if name not in value]
    found += [f"{at}: {name!r} is unknown" for name in value if name not in shape.members]
    if getattr(shape, "is_tagged_union", False) and len(value) != 1:
        found.append(f"{at}: expected exactly one member, got {sorted(value)}")
    for name in value:
        if name in shape.members:
            found += shape_problems(value[name], shape.members[name], f"{at}/{name}")
    return found


def _list_problems(value: object, shape: Any, at: str) -> list[str]:
    if not isinstance(value, list):
        return [f"{at}: expected a list"]
    found = _size_problems(len(value), shape, at)
    for index, member in enumerate(value):
        found += shape_problems(member, shape.member, f"{at}/{index}")
    return found


def _string_problems(value: object, shape: Any, at: str) -> list[str]:
    if not isinstance(value, str):
        return [f"{at}: expected a string, got {value!r:.60}"]
    found = _size_problems(len(value), shape, at)
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, value):
        found.append(f"{at}: {value!r:.60} does not match {pattern}")
    if shape.enum and value not in shape.enum:
        found.append(f"{at}: {value!r:.60} is not one of {shape.enum}")
    return found


def _blob_problems(value: object, shape: Any, at: str) -> list[str]:
    if not isinstance(value, bytes | bytearray):
        return [f"{at}: expected bytes"]
    return _size_problems(len(value), shape, at)


def _number_problems(value: object, shape: Any, at: str) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, int):
        return [f"{at}: expected an integer"]
    return _size_problems(value, shape, at)


def _size_problems(size: int, shape: Any, at: str) -> list[str]:
    least, most = shape.metadata.get("min", size), shape.metadata.get("max", size)
    return [] if least <= size <= most else [f"{at}: {size} is not between {least} and {most}"]


def _other_problems(value: object, shape: Any, at: str) -> list[str]:
    if shape.type_name == "boolean":
        return [] if isinstance(value, bool) else [f"{at}: expected true or false"]
    return [f"{at}: no rule for {shape.type_name}"]


_WALKS: dict[str, Callable[[object, Any, str], list[str]]] = {
    "structure": _structure_problems,
    "list": _list_problems,
    "string": _string_problems,
    "blob": _blob_problems,
    "integer": _number_problems,
    "long": _number_problems,
}
