"""Reads and writes JSON text strictly: bounded in size, no NaN, no repeated keys."""

import json
from collections.abc import Mapping
from copy import deepcopy
from decimal import Decimal
from math import isfinite
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath

LONGEST_TEXT: Final = 4_000_000
"""In characters; a longer text is refused without being parsed."""
SHORT_TEXT: Final = 64_000
"""In characters; a longer text is checked in a way that keeps refusing it cheap."""
MANY_COMMAS: Final = 10_000
"""For a text with more commas, listing every problem of its members would be too expensive."""
FINITE: Final = frozenset((bool, int, str, type(None)))
_MAX_PATHS: Final = 20
_MAX_NUMBER_CHARS: Final = 400
"""In a number that is read exactly; the largest float has 309 digits."""


class NotJSONError(ValueError):
    """A value that has no JSON form."""


def read_json(text: str) -> JSONValue:
    """Parse a JSON text; NaN, Infinity, lone surrogates and nesting over 200 levels are refused.

    Raises:
        ValueError: if the text is not JSON.
    """
    try:
        value: JSONValue = from_json(text, allow_inf_nan=False)
    except TypeError:  # a text that UTF-8 cannot encode
        message = "a lone surrogate"
        raise ValueError(message) from None
    return value


class NumberTexts:
    """The numbers of a JSON text as they are written: parsed, `1e30` is only nearly that number."""

    __slots__ = ("_base", "_parsed", "_text")

    def __init__(self, text: str, base: int = 0) -> None:
        self._text = text
        self._base = base
        """How much of a path leads to the text, which may be a string inside another one."""
        self._parsed: object = None

    def integer_at(self, path: ValuePath) -> int | None:
        """Return the integer that is written at a path with a fraction or an exponent; None if it is none."""
        if self._parsed is None:
            self._parsed = json.loads(self._text, parse_float=_NumberText, parse_int=_NumberText)
        found: Any = self._parsed
        for part in path[self._base :]:
            found = found[part]
        return _exact_integer(found.text)


class _NumberText:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _exact_integer(text: str) -> int | None:
    if len(text) > _MAX_NUMBER_CHARS:
        return None
    if text.endswith(".0"):
        return int(text[:-2])
    number = Decimal(text)
    if not number:
        return 0
    if number.adjusted() > _MAX_NUMBER_CHARS or number != number.to_integral_value():
        return None
    return int(number)


def to_json_text(value: object) -> str:
    """Write any value as compact JSON, for people; a part without a JSON form is written as its `str`."""
    try:
        return to_json(value, fallback=str, inf_nan_mode="strings").decode()
    except Exception:  # noqa: BLE001 -- a value's own methods may raise anything
        return json.dumps(_text_of(value))


def _text_of(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 -- as above
        return f"<{type(value).__name__}>"


def object_to_text(value: object) -> str:
    """Write an object as JSON text, so that it is checked by the same rules as a text from a provider.

    Raises:
        NotJSONError: if it has no JSON form.
    """
    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except (PydanticSerializationError, ValueError, RecursionError, UnicodeError) as error:
        raise NotJSONError(str(error)) from error


def copy_json(value: JSONObject) -> JSONObject:
    """Return a copy of a parsed object; several times faster than `deepcopy`."""
    try:
        copied: JSONObject = from_json(to_json(value))
    except ValueError:  # nested deeper than the parser reads
        return deepcopy(value)
    return copied


def read_object(raw: object) -> JSONObject | None:
    """Parse arguments, as text or as an object; None if they are not one JSON object, or repeat a key."""
    try:
        text = raw if isinstance(raw, str) else _as_text(raw)
        if len(text) > LONGEST_TEXT:
            return None
        value = read_json(text)
        return value if isinstance(value, dict) and not has_repeated_key(text, value) else None
    except ValueError:
        return None


def _as_text(raw: object) -> str:
    if isinstance(raw, bytes | bytearray):
        return bytes(raw).decode()
    return object_to_text(dict(cast("Mapping[str, object]", raw)) if isinstance(raw, Mapping) else raw)


def count_keys(value: JSONValue) -> int:
    """Count the keys of all objects inside a value."""
    total = 0
    waiting: list[Any] = [value]
    for part in waiting:  # grows meanwhile; one loop is faster than a call for each part
        if part.__class__ is dict:
            total += len(part)
            for child in part.values():
                if child.__class__ is dict or child.__class__ is list:
                    waiting.append(child)  # noqa: PERF401 -- a comprehension costs more here
        elif part.__class__ is list:
            for child in part:
                if child.__class__ is dict or child.__class__ is list:
                    waiting.append(child)  # noqa: PERF401 -- as above
    return total


def keys_in_text(text: str) -> int:
    """Count the keys in a valid JSON text: its colons outside strings."""
    if "\\" in text:
        text = text.replace("\\\\", "").replace('\\"', "")  # then each quote begins or ends a string
    return "".join(text.split('"')[::2]).count(":")


def most_keys(text: str) -> int:
    """Return a number that the keys in a valid JSON text do not exceed, and mostly equal; quicker to count.

    A key ends with `":` if no space follows it; in a string this is rare.
    """
    if " :" in text or "\n" in text or "\t" in text or "\r" in text:
        return keys_in_text(text)
    return text.count('":')


def count_finite_keys(value: object) -> int:
    """Count the keys of all objects inside a value.

    Raises:
        NotJSONError: if it contains NaN or an infinity.
    """
    total = 0
    waiting: list[Any] = [value if value.__class__ is dict or value.__class__ is list else (value,)]
    for part in waiting:  # as in `count_keys`
        if part.__class__ is dict:
            total += len(part)
            part = part.values()  # noqa: PLW2901 -- its members
        for member in part:
            kind = member.__class__
            if kind in FINITE:
                continue
            if kind is dict or kind is list:
                waiting.append(member)
            elif kind is float and not isfinite(member):
                raise NotJSONError(str(member))
    return total


def has_repeated_key(text: str, value: JSONValue) -> bool:
    """True if an object in the JSON text has a key twice: the text has more keys than the parsed value."""
    # written again, a value has as many colons as its text only if no key was lost, or a colon was escaped
    if "\\u003" not in text and text.count(":") == to_json(value, inf_nan_mode="constants").count(b":"):
        return False
    return keys_in_text(text) != count_keys(value)


def non_finite_paths(value: JSONValue) -> list[ValuePath]:
    """Return the paths of the first numbers that are not finite, such as 1e999."""
    found: list[ValuePath] = []
    written = to_json(value, inf_nan_mode="constants")
    if b"Infinity" not in written and b"NaN" not in written:
        return found

    def walk(part: JSONValue, path: ValuePath) -> None:
        if isinstance(part, float):
            if not isfinite(part):
                found.append(path)
        elif isinstance(part, dict | list) and len(found) < _MAX_PATHS:
            for key, child in part.items() if isinstance(part, dict) else enumerate(part):
                if child.__class__ in (float, dict, list) and len(found) < _MAX_PATHS:
                    walk(child, (*path, key))

    walk(value, ())
    return found


class _Pairs:
    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def repeated_keys(text: str) -> list[ValuePath]:
    """Return the paths of the first repeated keys of a JSON text; slow, for error messages only."""
    found: dict[ValuePath, None] = {}

    def walk(value: object, path: ValuePath) -> None:
        if isinstance(value, _Pairs):
            seen: set[str] = set()
            for key, child in value.pairs:
                if key in seen and len(found) < _MAX_PATHS:
                    found[*path, key] = None
                seen.add(key)
                walk(child, (*path, key))
        elif isinstance(value, list):
            for index, child in enumerate(cast("list[object]", value)):
                walk(child, (*path, index))

    walk(json.loads(text, object_pairs_hook=_Pairs), ())
    return list(found)
