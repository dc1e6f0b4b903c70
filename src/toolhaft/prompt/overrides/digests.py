"""A short name for what a section or a tool says now, which changes when that does.

Knows nodes and tools; does not know overrides. The same in every process and for every order of keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolhaft.core.conversion import AnyTool
from toolhaft.prompt.tree import Node
from toolhaft.schema.json_value import JSONValue

DIGITS: Final = 16
"""Hexadecimal ones, shown of each digest."""


def section_digest(node: Node) -> str:
    """The digest of a section's text and summary as they are written."""
    return _digest({"section": {"template": node.template, "summary": node.summary}})


def tool_digest(tool: AnyTool) -> str:
    """The digest of what a tool is called, says, takes, gives and shows as examples."""
    examples = [
        [example.description, _safe(example.input), _safe(example.output)] for example in tool.examples
    ]
    contract = {
        "name": tool.name,
        "description": tool.description,
        "input": _plain(tool.input_schema),
        "output": _plain(tool.output_schema),
        "examples": examples,
    }
    return _digest({"tool": contract})


def _digest(contract: dict[str, object]) -> str:
    return sha256(_text(contract).encode()).hexdigest()[:DIGITS]


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _safe(value: object) -> JSONValue:
    try:
        return _plain(value)
    except RecursionError:  # a value within itself: an output that no schema has checked
        return _kind(value)


def _plain(value: Any) -> JSONValue:  # noqa: ANN401 -- whatever an author gave for an example
    """A value as JSON, sets in one order: their own is another in each process."""
    if isinstance(value, Enum):
        return _plain(value.value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(_plain(key)): _plain(member) for key, member in members.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in cast("list[object]", value)]
    if isinstance(value, set | frozenset):
        return sorted((_plain(member) for member in cast("set[object]", value)), key=_text)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    dump = getattr(value, "model_dump", None)  # of a Pydantic model, sets as sets
    return _written(value) if dump is None else _plain(dump())


def _written(value: object) -> JSONValue:
    """A date, a path, a number of another kind: as JSON would have it."""
    try:
        return cast("JSONValue", to_jsonable_python(value, fallback=_kind))
    except (PydanticSerializationError, ValueError):  # bytes that are no text
        return _kind(value)


def _kind(value: object) -> str:
    # not its text, which may tell where in memory it is
    return f"<{type(value).__module__}.{type(value).__qualname__}>"
