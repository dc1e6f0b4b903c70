"""The types of JSON, as Python sees them.

Knows no schema and no text.
"""

from typing import TypeAlias

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
JSONObject: TypeAlias = dict[str, JSONValue]
