"""Pieces of pydantic-core schema that are as strict as JSON, where strict pydantic is not.

Knows core schemas only: no annotations, no JSON Schema.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from enum import Enum
from math import isfinite
from typing import Final, LiteralString, cast

from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import CoreConfig, CoreSchema

from toolhaft.schema import text_rules
from toolhaft.schema.json_value import JSONValue

DECIMAL_PATTERN: Final = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"
_DECIMAL_TEXT = re.compile(DECIMAL_PATTERN)
STRICT: Final = CoreConfig(strict=True, allow_inf_nan=False)
"""The configuration of every record: pydantic-core hands none down from the record around it."""
NO_KEYS: Final = {"toolhaft_keys": 0}
"""Metadata of a node that accepts no JSON object, so that no key can hide in it."""


def core(**parts: object) -> CoreSchema:
    """A core schema from its parts: the typed constructors cost more than the tiny call that they serve."""
    return cast("CoreSchema", parts)


def after(function: Callable[..., object], schema: CoreSchema, **more: object) -> CoreSchema:
    """The schema, then a function on its value."""
    return core(
        type="function-after", function={"type": "no-info", "function": function}, schema=schema, **more
    )


def plain(function: Callable[..., object], **more: object) -> CoreSchema:
    """A function that sees the value as JSON gave it."""
    return core(type="function-plain", function={"type": "no-info", "function": function}, **more)


def by_name(make: Callable[..., object]) -> Callable[[dict[str, object]], object]:
    """A constructor that takes the checked fields as keywords, so that its own defaults and checks apply."""
    return lambda given: make(**given)


def by_position(make: Callable[..., object]) -> Callable[[Iterable[object]], object]:
    """A constructor that takes the checked items one after the other."""
    return lambda items: make(*items)


def refuse(kind: str, message: str) -> PydanticCustomError:
    """The error of one of our own rules; the message never holds the value."""
    return PydanticCustomError(cast("LiteralString", f"toolhaft_{kind}"), cast("LiteralString", message))


def require_finite(value: JSONValue) -> JSONValue:
    """The value, if no NaN or infinity is anywhere in it."""
    if isinstance(value, float):
        if not isfinite(value):
            raise refuse("finite", "not a finite number")
    elif isinstance(value, dict):
        for child in value.values():
            require_finite(child)
    elif isinstance(value, list):
        for child in value:
            require_finite(child)
    return value


ANY: Final = after(require_finite, core(type="any"))
FLOAT: Final = core(type="float", allow_inf_nan=False)


def literal(values: Iterable[object], made: Iterable[object] | None = None) -> CoreSchema:
    """Exactly these JSON values, by type too: `true` and `1.0` are not 1. `made` is what they become."""
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
    """The members of an Enum by their values: texts by the engine itself, other values by our comparison."""
    values = [cast("object", member.value) for member in members]
    if all(value.__class__ is str for value in values):
        # not strict: a member's text after a user's own validator is no longer JSON
        return core(type="enum", cls=cls, members=members, strict=False)
    return literal(values, members)


def read_text(read: Callable[[str], object], name: str) -> CoreSchema:
    """A string that a rule of `text_rules` turns into a value."""

    def take(text: str) -> object:
        try:
            return read(text)
        except ValueError:
            raise refuse("format", f"not a valid {name}") from None

    return after(take, core(type="str", strict=True))


def formatted(name: str, schema: CoreSchema | None = None) -> CoreSchema:
    """A string of a JSON Schema format."""
    check = text_rules.format_check(name)

    def take(text: str) -> str:
        if not check(text):
            raise refuse("format", f"not a valid {name}")
        return text

    return after(take, schema or core(type="str", strict=True))


def chain(*steps: CoreSchema) -> CoreSchema:
    """One schema after the other."""
    return core(type="chain", steps=list(steps))


def _read_decimal(value: object) -> Decimal:
    is_number = value.__class__ is int or value.__class__ is float
    if is_number or (isinstance(value, str) and _DECIMAL_TEXT.match(value)):
        number = Decimal(str(value))
        if number.is_finite():
            return number
    raise refuse("decimal", "not a decimal number")


DECIMAL: Final = plain(_read_decimal, metadata=NO_KEYS)

TEXT_TYPES: Final[Mapping[str, CoreSchema]] = {
    "datetime": read_text(text_rules.read_datetime, "date-time"),
    "date": read_text(text_rules.read_date, "date"),
    "time": read_text(text_rules.read_time, "time"),
    "uuid": read_text(text_rules.read_uuid, "uuid"),
    "timedelta": chain(formatted("duration"), core(type="timedelta", strict=False)),
    "decimal": DECIMAL,
}
"""By the core type that they stand for."""


def unique(kind: type, items: CoreSchema, **bounds: object) -> CoreSchema:
    """An array without repeats, as a set or frozenset."""

    def collect(values: list[object]) -> object:
        try:
            collected = kind(values)
        except TypeError:
            raise refuse("set", "items that no set can hold") from None
        if len(collected) != len(values):
            raise refuse("unique", "the same item twice")
        return collected

    return after(collect, core(type="list", items_schema=items, **bounds))


def multiple_of(step: float) -> Callable[[float], float]:
    """A check that counts in decimals, as people do: 19.99 is a multiple of 0.01."""
    exact = Decimal(str(step))

    def check(value: float) -> float:
        try:
            rest = Decimal(str(value)) % exact
        except InvalidOperation:  # a quotient of more than 28 digits: a float that large is a multiple
            return value
        if rest:
            raise refuse("multiple_of", f"not a multiple of {step}")
        return value

    return check


def int_key() -> CoreSchema:
    """An object's key that is an integer in canonical form: JSON's keys are always text."""

    def take(text: str) -> int:
        if not re.fullmatch(r"-?(?:0|[1-9][0-9]{0,18})", text):
            raise refuse("key", "not an integer")
        return int(text)

    return after(take, core(type="str", strict=True))


INT_KEY_PATTERN: Final = r"^-?(?:0|[1-9][0-9]{0,18})$"
