"""Says in a few words what a keyword asks, for descriptions of targets that have no place for it.

Does not know which keywords those are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from toolhaft.formats.subset.keywords import VALIDATION
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONValue

_LONGEST: Final = 200


def _counted(least: str, unit: str) -> Callable[[JSONValue], str]:
    return lambda number: f"{least} {_text(number)} {unit}{'' if number == 1 else 's'}"


def _shown(words: str) -> Callable[[JSONValue], str]:
    return lambda value: words + _text(value)


def _text(value: JSONValue) -> str:
    return str(value) if value.__class__ is int else to_json_text(value)


def _dependent(names: JSONValue) -> str:
    pairs = cast("Mapping[str, Sequence[str]]", names).items()
    return ", ".join(
        f"if {name} is given, so must be {' and '.join(others)}" for name, others in pairs if others
    )


_PHRASES: Final[Mapping[str, Callable[[JSONValue], str]]] = {
    "minimum": _shown("at least "),
    "maximum": _shown("at most "),
    "exclusiveMinimum": _shown("more than "),
    "exclusiveMaximum": _shown("less than "),
    "multipleOf": _shown("a multiple of "),
    "minLength": _counted("at least", "character"),
    "maxLength": _counted("at most", "character"),
    "minItems": _counted("at least", "item"),
    "maxItems": _counted("at most", "item"),
    "minProperties": _counted("at least", "key"),
    "maxProperties": _counted("at most", "key"),
    "uniqueItems": lambda _value: "no item twice",
    "pattern": lambda value: f"pattern: {value}",
    "format": lambda value: f"format: {value}",
    "default": _shown("default: "),
    "const": _shown("always "),
    "enum": _shown("one of "),
    "dependentRequired": _dependent,
}
_NO_ASK: Final[Mapping[str, JSONValue]] = {
    "minLength": 0,
    "minItems": 0,
    "minProperties": 0,
    "uniqueItems": False,
}
_NO_ASK_MEMBERS: Final = frozenset(
    ("required", "dependentRequired", "dependentSchemas", "patternProperties", "properties", "prefixItems")
)
_NO_ASK_SCHEMA: Final = frozenset(
    (
        "items",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
        "then",
        "else",
    )
)


def phrase(keyword: str, value: JSONValue) -> str:
    """What the keyword asks, in a few words; '' where it would take too many."""
    say = _PHRASES.get(keyword)
    text = f"{keyword}: {to_json_text(value)}" if say is None else say(value)
    return text if len(text) <= _LONGEST else ""


def asks_nothing(keyword: str, value: JSONValue) -> bool:
    """Whether the keyword, with this value, refuses no value."""
    if keyword in _NO_ASK:
        return value == _NO_ASK[keyword]
    if keyword in _NO_ASK_MEMBERS:
        return not value
    return keyword in _NO_ASK_SCHEMA and (value is True or value == {})


def describe(description: JSONValue, notes: Sequence[str]) -> str:
    """A description with notes behind it."""
    said = description if isinstance(description, str) else ""
    if not notes:
        return said
    listed = notes[0] if len(notes) == 1 else ", ".join(filter(None, dict.fromkeys(notes)))
    if not listed:
        return said
    if said:
        return f"{said} ({listed})"
    return listed if listed.split(":", 1)[0] in VALIDATION else f"{listed[0].upper()}{listed[1:]}"
