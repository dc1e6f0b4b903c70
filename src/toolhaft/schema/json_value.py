"""Type aliases for JSON values and for paths into them."""

from typing import TypeAlias

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
JSONObject: TypeAlias = dict[str, JSONValue]
ValuePath: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root of a value to one of its members."""
