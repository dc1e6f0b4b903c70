"""Reads and writes JSON text strictly: bounded in size, no NaN, no key twice.

Knows no schema.
"""

import json
import re
from math import isfinite
from typing import Final, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from toolhaft.schema.json_value import JSONValue, Path

LONGEST_TEXT: Final = 4_000_000
"""Characters; a longer text is refused unread."""
SHORT_TEXT: Final = 64_000
"""Characters; a longer text is looked at more closely first, so that refusing it stays cheap."""
MANY_COMMAS: Final = 10_000
"""A text with fewer has so few members that every problem can be told, however long its strings are."""
_MOST_PLACES: Final = 20

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


class NotJSONError(ValueError):
    """A value that has no JSON form."""


def read_json(text: str) -> JSONValue:
    """The value of a JSON text (NaN, Infinity, lone surrogates and depths over 200 refused).

    Raises:
        ValueError: where the text is not JSON.
    """
    try:
        value: JSONValue = from_json(text, allow_inf_nan=False)
    except TypeError:  # a text that UTF-8 cannot say
        message = "a lone surrogate"
        raise ValueError(message) from None
    return value


def to_json_text(value: object) -> str:
    """Compact JSON for any value, for reading; what has no JSON form is written as its text."""
    try:
        return to_json(value, fallback=str, inf_nan_mode="strings").decode()
    except Exception:  # noqa: BLE001 -- a value's own methods may raise anything; it is told by its kind then
        return json.dumps(_name_of(value))


def _name_of(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 -- as above
        return f"<{type(value).__name__}>"


def object_to_text(value: object) -> str:
    """The JSON text of an object, so that it is checked by the same rules as text from a wire.

    Raises:
        NotJSONError: for what cannot be written as JSON.
    """
    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except (PydanticSerializationError, ValueError, RecursionError, UnicodeError) as error:
        raise NotJSONError(str(error)) from error


def is_over_limit(value: object, most: int = LONGEST_TEXT) -> bool:
    """True if an object's text would be over a limit, found out without writing it: parts may be shared."""
    weight = 0
    waiting = [value]
    while waiting and weight <= most:
        part = waiting.pop()
        if isinstance(part, str | bytes):
            weight += len(part)
        elif isinstance(part, dict):
            members = cast("dict[object, object]", part)
            weight += len(members)
            waiting.extend(members)
            waiting.extend(members.values())
        elif isinstance(part, list | tuple):
            weight += len(cast("list[object]", part))
            waiting.extend(cast("list[object]", part))
        else:
            weight += 1
    return weight > most


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
    if len(text) > SHORT_TEXT and text.count(":") == to_json(value, inf_nan_mode="constants").count(b":"):
        return False  # written anew it has the colons of its strings and of every key: none was lost
    kept = count_keys(value)
    return text.count(":") != kept and keys_in_text(text) != kept


def endless(value: JSONValue) -> list[Path]:
    """The places of the first numbers that have no finite value, such as 1e999."""
    found: list[Path] = []
    written = to_json(value, inf_nan_mode="constants")
    if b"Infinity" not in written and b"NaN" not in written:
        return found

    def walk(part: JSONValue, path: Path) -> None:
        if isinstance(part, float):
            if not isfinite(part):
                found.append(path)
        elif isinstance(part, dict | list) and len(found) < _MOST_PLACES:
            for key, child in part.items() if isinstance(part, dict) else enumerate(part):
                if child.__class__ in (float, dict, list) and len(found) < _MOST_PLACES:
                    walk(child, (*path, key))

    walk(value, ())
    return found


class _Pairs:
    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def repeated_keys(text: str) -> list[Path]:
    """The paths of the first keys that a JSON text repeats (slow: only for telling what is wrong)."""
    found: dict[Path, None] = {}

    def walk(value: object, path: Path) -> None:
        if isinstance(value, _Pairs):
            seen: set[str] = set()
            for key, child in value.pairs:
                if key in seen and len(found) < _MOST_PLACES:
                    found[*path, key] = None
                seen.add(key)
                walk(child, (*path, key))
        elif isinstance(value, list):
            for index, child in enumerate(cast("list[object]", value)):
                walk(child, (*path, index))

    walk(json.loads(text, object_pairs_hook=_Pairs), ())
    return list(found)
