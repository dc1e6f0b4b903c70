"""The types of JSON, as Python sees them, and of places inside it.

Knows no schema and no text.
"""

from typing import TypeAlias

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
JSONObject: TypeAlias = dict[str, JSONValue]
Path: TypeAlias = tuple[str | int, ...]
"""A place inside a value: keys and indices from the root."""
