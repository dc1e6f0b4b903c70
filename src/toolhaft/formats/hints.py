"""Checks the provider-specific hints of a tool (`metadata["wire"]`) against what each format accepts.

Hints can come from imported tools: an invalid one would make a server refuse the whole request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from toolhaft.formats.losses import SchemaLoss
from toolhaft.schema.json_value import JSONObject, JSONValue


class HintRule(NamedTuple):
    """Which values of one hint are valid."""

    expected: str
    accept: Callable[[JSONValue], JSONValue]
    """The part of a value that can be sent; None if no part can."""


HintRules = Mapping[str, HintRule]


def _whole(expected: str, admits: Callable[[JSONValue], bool]) -> HintRule:
    def accept(value: JSONValue) -> JSONValue:
        return value if admits(value) else None

    return HintRule(expected, accept)


FLAG: Final = _whole("true or false", lambda value: isinstance(value, bool))
TEXT: Final = _whole("a text", lambda value: isinstance(value, str))
NON_BLANK_TEXT: Final = _whole(
    "text that is not blank", lambda value: isinstance(value, str) and bool(value.strip())
)
OBJECT: Final = _whole("an object", lambda value: isinstance(value, dict))


def one_of(*words: str) -> HintRule:
    """One word of a few."""
    return _whole(" or ".join(map(repr, words)), lambda value: isinstance(value, str) and value in words)


def known_words(expected: str, is_known: Callable[[str], bool]) -> HintRule:
    """A list of words; unknown words are left out."""

    def accept(value: JSONValue) -> JSONValue:
        declared = value if isinstance(value, list) else []
        return [word for word in declared if isinstance(word, str) and is_known(word)] or None

    return HintRule(f"a list of {expected}", accept)


def list_of(member: HintRule) -> HintRule:
    """A list whose members are all valid."""
    return _whole(
        f"a list, each {member.expected}",
        lambda value: isinstance(value, list) and all(fits(one, member) for one in value),
    )


def object_of(needed: HintRules, more: HintRules, *, is_open: bool = False) -> HintRule:
    """An object with required members, optional members, and other members only if `is_open`."""
    known = {**needed, **more}

    def admits(value: JSONValue) -> bool:
        if not isinstance(value, dict) or not needed.keys() <= value.keys():
            return False
        return all(fits(part, known[key]) if key in known else is_open for key, part in value.items())

    parts = [f"{key!r} ({hint.expected})" for key, hint in needed.items()]
    parts += [f"perhaps {key!r} ({hint.expected})" for key, hint in more.items()]
    return _whole(f"an object with {', '.join(parts)}", admits)


def fits(value: JSONValue, hint: HintRule) -> bool:
    """True if the whole value can be sent."""
    return value is not None and hint.accept(value) == value


def read_hints(declared: JSONObject, hints: HintRules) -> JSONObject:
    """The hints of an imported declaration; a value that no rule accepts is not read as a hint."""
    return {
        key: declared[key] for key, hint in hints.items() if key in declared and fits(declared[key], hint)
    }


def accepted_hints(declared: JSONObject, hints: HintRules) -> JSONObject:
    """The hints that can be sent, in the order of the rules; null counts as absent."""
    if not declared:  # the common case
        return {}
    found = {key: hint.accept(declared[key]) for key, hint in hints.items() if declared.get(key) is not None}
    return {key: value for key, value in found.items() if value is not None}


def rejected_hints(declared: JSONObject, hints: HintRules) -> list[SchemaLoss]:
    """The losses for hints that are invalid, with what was expected."""
    return [
        dropped_hint(key, f"expected {hint.expected}")
        for key, hint in hints.items()
        if declared.get(key) is not None and not fits(declared[key], hint)
    ]


def dropped_hint(key: str, why: str) -> SchemaLoss:
    """The loss of a hint that is not sent."""
    return SchemaLoss("", f"metadata.wire.{key}", "left out", why)


MOST_CACHE_POINTS: Final = 4
"""The limit of Claude's servers per request, including the system text and messages."""
CACHE_CONTROL: Final = object_of({"type": one_of("ephemeral")}, {"ttl": one_of("5m", "1h")})


def surplus_cache_points(accepted: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:
    """Losses for the cache points over the limit; the last ones are kept, since they cover those before."""
    wanted = [number for number, hints in enumerate(accepted) if "cache_control" in hints]
    loss = dropped_hint("cache_control", f"one request takes at most {MOST_CACHE_POINTS} cache points")
    return dict.fromkeys(wanted[:-MOST_CACHE_POINTS], loss)
