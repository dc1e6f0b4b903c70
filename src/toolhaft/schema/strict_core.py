"""Builds pydantic-core schemas that are as strict as JSON; pydantic's own strict mode is not."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from math import isfinite
from typing import Any, Final, LiteralString, TypeAlias, cast

from pydantic_core import (
    PydanticCustomError,
    PydanticKnownError,
    SchemaError,
    SchemaValidator,
    ValidationError,
)
from pydantic_core.core_schema import CoreConfig, CoreSchema

from toolhaft.schema import patterns, string_formats
from toolhaft.schema.json_text import FINITE
from toolhaft.schema.json_value import JSONValue

DECIMAL_PATTERN: Final = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"
_DECIMAL_TEXT = re.compile(DECIMAL_PATTERN.strip("^$"))
INT_KEY_PATTERN: Final = r"^-?(?:0|[1-9][0-9]{0,18})$"
_MAX_SAME_HASH: Final = 100
STRICT: Final = CoreConfig(strict=True, allow_inf_nan=False)
"""The configuration of every record; pydantic-core does not inherit it from the enclosing record."""
CoreNode: TypeAlias = dict[str, Any]
"""A core schema as a plain dictionary, for code that rewrites or walks it."""
_SetKind: TypeAlias = type[set[Any]] | type[frozenset[Any]]
NO_KEYS: Final = {"toolhaft_keys": 0}
"""Metadata of a schema that accepts no JSON object: its values have no keys to count."""
MAKES: Final = "toolhaft_makes"
"""Metadata of a schema whose function only calls this class with the checked fields."""


def core(**parts: object) -> CoreSchema:
    """Make a core schema from its parts, without the cost of pydantic's typed constructors."""
    return cast("CoreSchema", parts)


def branch_label(number: int) -> str:
    """Name a branch of a union in the locations of errors."""
    return f"branch {number}"


def after(function: Callable[..., object], schema: CoreSchema, **more: object) -> CoreSchema:
    """Apply a function to the value that the schema accepts."""
    return core(
        type="function-after", function={"type": "no-info", "function": function}, schema=schema, **more
    )


def plain(function: Callable[..., object], **more: object) -> CoreSchema:
    """Check the raw JSON value with a function."""
    return core(type="function-plain", function={"type": "no-info", "function": function}, **more)


def by_name(make: Callable[..., object]) -> Callable[[dict[str, object]], object]:
    """Call a constructor with the checked fields as keywords, so that its own defaults and checks apply."""
    return lambda given: make(**given)


def by_position(make: Callable[..., object]) -> Callable[[Iterable[object]], object]:
    """Call a constructor with the checked items as positional arguments."""
    return lambda items: make(*items)


def refuse(kind: str, message: str) -> PydanticCustomError:
    """Make the error for one of our own rules; the message never contains the value."""
    return PydanticCustomError(cast("LiteralString", f"toolhaft_{kind}"), cast("LiteralString", message))


def require_finite(value: JSONValue) -> JSONValue:
    """Return the value; raise if it contains NaN or an infinity anywhere."""
    if value.__class__ in FINITE:
        return value
    waiting: list[Any] = [value]
    for part in waiting:  # grows meanwhile; one loop is faster than a call for each part
        if part.__class__ is float:
            if not isfinite(part):
                raise refuse("finite", "not a finite number")
            continue
        for member in part.values() if part.__class__ is dict else part:
            if member.__class__ not in FINITE:
                waiting.append(member)  # noqa: PERF401 -- a comprehension costs more here
    return value


ANY: Final = after(require_finite, core(type="any"))
FLOAT: Final = core(type="float", allow_inf_nan=False)


def literal(values: Iterable[object], made: Iterable[object] | None = None) -> CoreSchema:
    """Accept exactly these JSON values, compared by type too: `true` and `1.0` are not 1.

    `made` are the Python values that they become.
    """
    wanted = list(values)
    results = wanted if made is None else list(made)
    if made is None and all(value.__class__ is str for value in wanted):
        return core(type="literal", expected=wanted)
    table = {(value.__class__, value): result for value, result in zip(wanted, results, strict=True)}

    def pick(value: object) -> object:
        try:
            return table[value.__class__, value]
        except (KeyError, TypeError):
            raise refuse("literal", "not one of the allowed values") from None

    return plain(pick, metadata=NO_KEYS)


def enumeration(cls: type, members: list[Enum]) -> CoreSchema:
    """Accept the values of an Enum: pydantic-core compares strings, `literal` compares other values."""
    values = [cast("object", member.value) for member in members]
    if all(value.__class__ is str for value in values):
        # not strict: a user's validator may have turned the JSON string into a Python value
        return core(type="enum", cls=cls, members=members, strict=False)
    return literal(values, members)


def _text_of_format(schema: CoreSchema, name: str) -> CoreSchema:
    """Accept a string that the schema accepts; all its problems are reported as a wrong format."""
    checked = _one_error(schema, "format", f"not a valid {name}")
    return core(type="chain", steps=[core(type="str", strict=True), checked], metadata=NO_KEYS)


def _one_error(schema: CoreSchema, kind: str, message: str, **more: object) -> CoreSchema:
    """Report all problems of a schema as one of our own."""
    return core(
        type="custom-error",
        schema=schema,
        custom_error_type=f"toolhaft_{kind}",
        custom_error_message=message,
        **more,
    )


def _common(pattern: str, parse: CoreSchema, otherwise: CoreSchema) -> CoreSchema:
    """Parse the strings of a pattern, the most common ones, at pydantic-core's speed.

    `otherwise` checks all other values, and those that `parse` refuses.
    """
    text = core(type="str", strict=True, strip_whitespace=False, pattern=pattern, regex_engine="rust-regex")
    return core(type="union", mode="left_to_right", choices=[chain(text, parse), otherwise])


def formatted(name: str, schema: CoreSchema | None = None) -> CoreSchema:
    """Accept a string of a JSON Schema format."""
    check = string_formats.format_check(name)

    def take(text: str) -> str:
        if not check(text):
            raise refuse("format", f"not a valid {name}")
        return text

    return after(take, schema or core(type="str", strict=True))


def matching(pattern: str, schema: CoreSchema) -> CoreSchema:
    """Accept the strings of a schema that match a pattern, which means the same as in a raw JSON Schema."""
    if patterns.is_native(pattern):
        return cast("CoreSchema", {**schema, "pattern": pattern, "regex_engine": "rust-regex"})
    match = patterns.timed_matcher(pattern)

    def take(text: str) -> str:
        if not match(text):
            raise PydanticKnownError("string_pattern_mismatch", {"pattern": pattern})
        return text

    return after(take, schema)


def chain(*steps: CoreSchema) -> CoreSchema:
    """Apply one schema after the other."""
    return core(type="chain", steps=list(steps))


def _read_decimal(value: object) -> Decimal:
    is_number = value.__class__ is int or value.__class__ is float
    if is_number or (isinstance(value, str) and _DECIMAL_TEXT.fullmatch(value)):
        number = Decimal(str(value))
        if number.is_finite():
            return number
    raise refuse("decimal", "not a decimal number")


DECIMAL: Final = _one_error(
    _common(DECIMAL_PATTERN, plain(Decimal), plain(_read_decimal)),
    "decimal",
    "not a decimal number",
    metadata=NO_KEYS,
)
_COMMON_TIME: Final = (
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
    r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?$"
)

TEXT_TYPES: Final[Mapping[str, CoreSchema]] = {
    "datetime": _text_of_format(
        _common(
            f"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_COMMON_TIME}",
            plain(datetime.fromisoformat),
            plain(string_formats.read_datetime),
        ),
        "date-time",
    ),
    # pydantic-core itself also accepts seconds since 1970 as text
    "date": _text_of_format(
        chain(core(type="str", pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), core(type="date", strict=False)),
        "date",
    ),
    "time": _text_of_format(
        _common(f"^{_COMMON_TIME}", plain(time.fromisoformat), plain(string_formats.read_time)), "time"
    ),
    # only the form with dashes has this length
    "uuid": _text_of_format(
        chain(core(type="str", min_length=36, max_length=36), core(type="uuid", strict=False)), "uuid"
    ),
    "timedelta": _text_of_format(
        chain(
            core(type="str", pattern=f"^{string_formats.DURATION_PATTERN}$"),
            core(type="timedelta", strict=False),
        ),
        "duration",
    ),
    "decimal": DECIMAL,
}
"""The strict schema for each pydantic-core type that JSON writes as text."""


def _collect(kind: _SetKind, values: list[object], what: str) -> Collection[object]:
    """Put values into a set, unless two are equal, or many have the same hash, which can be chosen."""
    try:
        last = {hash(value): value for value in values} if len(values) > _MAX_SAME_HASH else {}
        if last and len(values) - len(last) > _MAX_SAME_HASH:
            if sum(value == last[hash(value)] for value in values) == len(last):
                raise refuse("hashes", "too many values with the same hash")
            raise refuse(f"repeated_{what}", f"the same {what} twice")
        collected = kind(values)
    except TypeError:
        raise refuse("set", "items that a set cannot contain") from None
    if len(collected) != len(values):
        raise refuse(f"repeated_{what}", f"the same {what} twice")
    return collected


def unique(kind: _SetKind, items_schema: CoreSchema, **bounds: object) -> CoreSchema:
    """Accept an array without repeated items and make it a set or frozenset."""

    def collect(values: list[object]) -> object:
        return _collect(kind, values, "item")

    return after(collect, core(type="list", items_schema=items_schema, **bounds))


def multiple_of(step: float) -> Callable[[float], float]:
    """Make a check that uses decimal arithmetic: 19.99 is a multiple of 0.01."""
    exact = Decimal(str(step))

    def check(value: float) -> float:
        try:
            rest = Decimal(str(value)) % exact
        except InvalidOperation:  # the quotient has more than 28 digits: treat the value as a multiple
            return value
        if rest:
            raise refuse("multiple_of", f"not a multiple of {step}")
        return value

    return check


def _take_int(text: str) -> int:
    if not re.fullmatch(INT_KEY_PATTERN, text):
        raise refuse("key", "not an integer")
    return int(text)


INT_KEY: Final = after(_take_int, core(type="str", strict=True))
"""Accepts an object key that is an integer in canonical form; JSON keys are always strings."""
_CHANGES_TEXT: Final = ("strip_whitespace", "to_lower", "to_upper")


def dictionary(keys_schema: CoreSchema, **parts: object) -> CoreSchema:
    """Accept an object, unless two of its keys become the same, or many get the same hash."""
    schema = core(type="dict", keys_schema=keys_schema, **parts)
    kind, node = keys_schema["type"], cast("CoreNode", keys_schema)
    is_text = kind in ("enum", "literal", "str") and not any(map(node.get, _CHANGES_TEXT))
    if is_text or keys_schema == INT_KEY:
        return schema
    try:
        keys = SchemaValidator(core(type="list", items_schema=keys_schema), STRICT)
    except SchemaError:  # it refers to a definition
        return schema

    def take(value: JSONValue) -> JSONValue:
        if isinstance(value, dict):
            with suppress(ValidationError):  # a wrong key is reported with its name
                _collect(frozenset, keys.validate_python(list(value)), "key")
        return value

    return core(type="function-before", function={"type": "no-info", "function": take}, schema=schema)
