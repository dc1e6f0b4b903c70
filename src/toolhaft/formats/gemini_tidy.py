"""Parts as Gemini's server sends them, made of those that its SDK dumps: in snake case, with nulls and bytes.

Knows which members hold anybody's own data; these stay as they are.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final, cast

from toolhaft.schema.json_value import JSONObject, JSONValue

_WORD_START: Final = re.compile("_([a-z])")
_FREE: Final = frozenset(("args", "response", "partMetadata"))
_MOST_KEYS: Final = 3
"""A part from the server has hardly more; one that an SDK dumps has all that there are."""


def camel(key: str) -> str:
    """A name of a member in camel case."""
    return _WORD_START.sub(lambda found: found[1].upper(), key)


def tidy_parts(parts: list[JSONValue]) -> list[JSONValue]:
    """The parts in camel case, without nulls; the same list where nothing need be done."""
    for part in parts:
        if type(part) is dict and (len(part) > _MOST_KEYS or "function_call" in part):
            return [_tidy(part) for part in parts]
    return parts


def _tidy(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        made: JSONObject = {}
        for written, member in value.items():
            key = camel(written)
            if member is not None:
                made[key] = member if key in _FREE else _tidy(member)
        return made
    if isinstance(value, list):
        return [_tidy(member) for member in value]
    given = cast("object", value)  # JSON has no bytes, a dumped object has
    return b64encode(given).decode() if isinstance(given, bytes) else value
