"""Reads and writes JSON text strictly: bounded in size, no NaN, no key twice.

Knows no schema.
"""

import json
import re
from math import isfinite
from typing import Final, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from toolhaft.schema.json_value import JSONValue, Path

LONGEST_TEXT: Final = 10_000_000
"""Characters; a longer text is refused unread."""

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


class NotJSONError(ValueError):
    """A value that has no JSON form."""


def read_json(text: str) -> JSONValue:
    """The value of a JSON text (NaN, Infinity, lone surrogates and depths over 200 refused).

    Raises:
        ValueError: where the text is not JSON.
    """
    value: JSONValue = from_json(text, allow_inf_nan=False)
    return value


def to_json_text(value: object) -> str:
    """Compact JSON for any value, for reading; what has no JSON form is written as its text."""
    try:
        return to_json(value, fallback=str, inf_nan_mode="strings").decode()
    except (PydanticSerializationError, ValueError, RecursionError, UnicodeError):
        return json.dumps(repr(value))


def object_to_text(value: object) -> str:
    """The JSON text of an object, so that it is checked by the same rules as text from a wire.

    Raises:
        NotJSONError: for what cannot be written as JSON.
    """
    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except (PydanticSerializationError, ValueError, RecursionError, UnicodeError) as error:
        raise NotJSONError(str(error)) from error


def count_keys(value: JSONValue) -> int:
    """How many keys all objects inside a value have together."""
    total = 0
    if isinstance(value, dict):
        total = len(value)
        for child in value.values():
            if child.__class__ is dict or child.__class__ is list:
                total += count_keys(child)
    elif isinstance(value, list):
        for child in value:
            if child.__class__ is dict or child.__class__ is list:
                total += count_keys(child)
    return total


def keys_in_text(text: str) -> int:
    """How many keys a valid JSON text writes: its colons outside strings."""
    if "\\" not in text:
        return "".join(text.split('"')[::2]).count(":")
    return _STRING.sub("", text).count(":")


def has_repeated_key(text: str, value: JSONValue) -> bool:
    """True if the JSON text of a value gives one key of one object twice: more keys than the value kept."""
    kept = count_keys(value)
    return text.count(":") != kept and keys_in_text(text) != kept


def endless(value: JSONValue, path: Path = ()) -> list[Path]:
    """The places of numbers that have no finite value, such as 1e999."""
    if isinstance(value, float) and not isfinite(value):
        return [path]
    if isinstance(value, dict):
        return [found for key, child in value.items() for found in endless(child, (*path, key))]
    if isinstance(value, list):
        return [found for index, child in enumerate(value) for found in endless(child, (*path, index))]
    return []


class _Pairs:
    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def repeated_keys(text: str) -> list[Path]:
    """The path of every key that a JSON text repeats (slow: only for telling what is wrong)."""
    found: list[Path] = []

    def walk(value: object, path: Path) -> None:
        if isinstance(value, _Pairs):
            seen: set[str] = set()
            for key, child in value.pairs:
                if key in seen:
                    found.append((*path, key))
                seen.add(key)
                walk(child, (*path, key))
        elif isinstance(value, list):
            for index, child in enumerate(cast("list[object]", value)):
                walk(child, (*path, index))

    walk(json.loads(text, object_pairs_hook=_Pairs), ())
    return found
