"""What a tool asks of one wire beyond the ordinary, held to what the wire can read; the rest is told.

Does not know any one wire: each says what its hints look like. They come with imported tools too, so they are
outside data, and one that is nonsense would make a server refuse the whole request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.schema.json_value import JSONObject, JSONValue


class Hint(NamedTuple):
    """What one hint looks like."""

    expected: str
    take: Callable[[JSONValue], JSONValue]
    """What of a value can go out; None is nothing."""


Hints = Mapping[str, Hint]


def _whole(expected: str, admits: Callable[[JSONValue], bool]) -> Hint:
    def take(value: JSONValue) -> JSONValue:
        return value if admits(value) else None

    return Hint(expected, take)


FLAG: Final = _whole("true or false", lambda value: isinstance(value, bool))
TEXT: Final = _whole("a text", lambda value: isinstance(value, str))
WORDS: Final = _whole(
    "a text that is not blank", lambda value: isinstance(value, str) and bool(value.strip())
)
OBJECT: Final = _whole("an object", lambda value: isinstance(value, dict))


def one_of(*words: str) -> Hint:
    """One word of a few."""
    return _whole(" or ".join(map(repr, words)), lambda value: isinstance(value, str) and value in words)


def words_of(expected: str, is_known: Callable[[str], bool]) -> Hint:
    """A list of words, of which those that are known go out."""

    def take(value: JSONValue) -> JSONValue:
        given = value if isinstance(value, list) else []
        return [word for word in given if isinstance(word, str) and is_known(word)] or None

    return Hint(f"a list of {expected}", take)


def list_of(member: Hint) -> Hint:
    """A list in which every member is as it must be."""
    return _whole(
        f"a list, each {member.expected}",
        lambda value: isinstance(value, list) and all(fits(one, member) for one in value),
    )


def object_of(needed: Hints, more: Hints, *, is_open: bool = False) -> Hint:
    """An object with members that must be there, others that may be, and any more only where it is open."""
    known = {**needed, **more}

    def admits(value: JSONValue) -> bool:
        if not isinstance(value, dict) or not needed.keys() <= value.keys():
            return False
        return all(fits(part, known[key]) if key in known else is_open for key, part in value.items())

    parts = [f"{key!r} ({hint.expected})" for key, hint in needed.items()]
    parts += [f"perhaps {key!r} ({hint.expected})" for key, hint in more.items()]
    return _whole(f"an object with {', '.join(parts)}", admits)


def fits(value: JSONValue, hint: Hint) -> bool:
    """True if the whole value can go out."""
    return value is not None and hint.take(value) == value


def taken(given: JSONObject, hints: Hints) -> JSONObject:
    """The hints as they can go out, in the order of the wire's own list. One that is null says nothing."""
    if not given:  # as most tools of most requests have it
        return {}
    found = {key: hint.take(given[key]) for key, hint in hints.items() if given.get(key) is not None}
    return {key: value for key, value in found.items() if value is not None}


def not_taken(given: JSONObject, hints: Hints) -> list[SchemaLoss]:
    """What of the hints stays behind, with what was expected."""
    return [
        left_out_hint(key, f"expected {hint.expected}")
        for key, hint in hints.items()
        if given.get(key) is not None and not fits(given[key], hint)
    ]


def left_out_hint(key: str, why: str) -> SchemaLoss:
    """A hint that does not go out."""
    return SchemaLoss("", f"metadata.wire.{key}", "left out", why)


MOST_CACHE_POINTS: Final = 4
"""What Claude's servers take in one request, those of its system text and messages included."""
CACHE_CONTROL: Final = object_of({"type": one_of("ephemeral")}, {"ttl": one_of("5m", "1h")})


def surplus_points(wanted: list[int]) -> Mapping[int, SchemaLoss]:
    """Of the places that want a cache point those that get none: the last cover what stands before them."""
    told = left_out_hint("cache_control", f"one request takes at most {MOST_CACHE_POINTS} cache points")
    return dict.fromkeys(wanted[:-MOST_CACHE_POINTS], told)
