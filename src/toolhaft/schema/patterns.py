"""Matches the patterns of JSON Schema, regular expressions of ECMAScript, in bounded time."""

import re
from collections.abc import Callable
from functools import lru_cache
from threading import local
from time import perf_counter
from typing import Final, NamedTuple

import jsonschema_rs

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_text import LONGEST_TEXT
from toolhaft.schema.json_value import JSONObject, JSONValue

LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=16_000_000)
"""Matches in linear time, but knows no lookaround and no backreferences."""
BACKTRACKING: Final = jsonschema_rs.FancyRegexOptions(backtrack_limit=1_000, size_limit=16_000_000)
"""Knows both; a match that takes more than 1,000 backtracking steps is a problem of the value."""
MAX_SIZE: Final = 100_000
"""Of all patterns of a schema together: their compilation takes at most about 0.2 s and 40 MB."""
SMALL_SIZE: Final = 200
_MAX_EXPLAINED: Final = 100_000
_MAX_BACKTRACKED: Final = 4_000
"""Characters that are matched with backtracking in this process: at most about 60 ms."""
_MATCHING_S: Final = 0.05
_BACKTRACKING_SIZE: Final = 1_120
"""A backtracking step may read the whole text: 1,000 of them take 14 µs per character."""
_MANY_CHARACTERS: Final = 4
"""The size of a class of many characters, such as `.` or `[^a]`."""
_UNICODE_COMPILED: Final = 400
_UNICODE_MATCHED: Final = 40
"""The size of a class such as `\\p{L}`: compiling it takes much longer than matching it."""
_NOT_CAPTURING: Final = frozenset(("(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"))
_HARD: Final = re.compile(r"\(\?(?:<?[=!]|>|\()|\\[1-9]|\\k|[+*?}]\+")
_MOST_TIMES: Final = 10**6
SET_OPERATION: Final = re.compile(r"\[(?:\\.|[^\]\\])*?(?:\[|&&|--|~~|\|\|)")
"""Some engines read a class such as `[a&&b]` or `[[a]` as an operation on sets; ECMAScript does not."""
_PART: Final = re.compile(
    r"""\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\k<[^>]*>|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\c[A-Za-z]|\\.
    |\[\^\]|\[\^?(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}[?+]?|\((?:\?(?:[:=!>]|<[=!]|P?<[^>]*>))?|[\s\S]""",
    re.VERBOSE,
)


class _Sizes(NamedTuple):
    """Of a pattern with its repeats written out: all its places, and those that can be active together."""

    all: int
    active: int


@lru_cache(maxsize=10_000)
def _sizes(pattern: str) -> _Sizes:
    total, varied = _count_places(pattern, _UNICODE_MATCHED)
    # matching `^.{0,1000}$` is always at one place; with two such parts, it may be at all places
    is_plain = pattern.startswith("^") and "|" not in pattern and len(varied) <= 1
    active = total - sum(varied) + _MANY_CHARACTERS if is_plain else total
    return _Sizes(_count_places(pattern, _UNICODE_COMPILED)[0], active)


def _count_places(pattern: str, unicode_size: int) -> tuple[int, list[int]]:
    """Return all places of a pattern, and those of each part whose number of repeats can vary."""
    groups = [0]
    last = 0
    varied: list[int] = []
    for part in _PART.findall(pattern):
        if part[0] == "(":
            groups.append(0)
            last = 0
        elif part == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        elif part[0] == "{" and len(part) > 1:
            numbers = [int(number) for number in re.findall(r"\d{1,9}", part)]
            times = max(1, min(_MOST_TIMES, max(numbers)))
            groups[-1] += last * (times - 1)
            last *= times
            varied += [last] if "," in part else []
        elif part in "*+?|":
            varied.append(last)
        else:
            last = _class_size(part, unicode_size)
            groups[-1] += last
    return sum(groups), varied


def pattern_size(pattern: str) -> int:
    """Return how many places a pattern has with its repeats written out: compiling takes time for each."""
    return _sizes(pattern).all


def _class_size(part: str, unicode_size: int) -> int:
    if "\\p" in part or "\\P" in part:
        return unicode_size
    is_wide = part == "." or part.startswith("[^") or not part.isascii()
    return _MANY_CHARACTERS if is_wide or re.search(r"\\[DSWu]", part) else 1


def match_size(pattern: str) -> int:
    """Return how many places can be active together: matching takes time for each, and for backtracking."""
    size = _sizes(pattern).active
    return _BACKTRACKING_SIZE * max(1, size // 50) if needs_backtracking(pattern) else size


def needs_backtracking(pattern: str) -> bool:
    """True for a pattern with lookaround, backreferences or the like."""
    return _HARD.search(pattern) is not None


def plain_pattern(pattern: str | re.Pattern[str]) -> str:
    """Return the text of a pattern.

    Raises:
        DefinitionError: if it is compiled with flags.
    """
    if isinstance(pattern, str):
        return pattern
    if pattern.flags & ~re.UNICODE:
        raise DefinitionError(
            f"the pattern {pattern.pattern!r:.80} has flags, which JSON Schema does not support",
            fix="write the pattern so that it needs no flags",
        )
    return pattern.pattern


def rewritten(pattern: str) -> str:
    """Return the pattern without the two forms of ECMAScript that the engine does not know."""
    if "[^]" not in pattern and "\\k<" not in pattern:
        return pattern
    names: list[str] = []
    parts: list[str] = []
    for part in _PART.findall(pattern):
        if part.startswith("(") and part not in _NOT_CAPTURING:
            names.append(part[3:-1] if part.startswith("(?<") else "")
        if part.startswith("\\k<") and part[3:-1] in names:
            parts.append(f"(?:\\{names.index(part[3:-1]) + 1})")
        else:
            parts.append(r"[\s\S]" if part == "[^]" else part)
    return "".join(parts)


def own_patterns(schema: JSONObject) -> list[str]:
    """Return the patterns of a schema itself."""
    if "pattern" not in schema and "patternProperties" not in schema:
        return []
    found: list[JSONValue] = [schema.get("pattern")]
    by_pattern = schema.get("patternProperties")
    found.extend(by_pattern if isinstance(by_pattern, dict) else ())
    return [pattern for pattern in found if isinstance(pattern, str)]


def too_large(pattern: str, place: str = "") -> DefinitionError:
    """Make the error for a pattern that is too large."""
    return DefinitionError(
        f"the pattern {pattern!r:.80} is too large with its repeats written out",
        place=place,
        fix="use minLength and maxLength instead of a long repeat such as .{0,10000}",
    )


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that is True for a text that matches, by the engine that raw JSON Schemas use.

    Raises:
        DefinitionError: if the pattern is too large or not valid.
    """
    if pattern_size(pattern) > MAX_SIZE:
        raise too_large(pattern)
    options = BACKTRACKING if needs_backtracking(pattern) else LINEAR
    try:
        return jsonschema_rs.validator_for({"pattern": rewritten(pattern)}, pattern_options=options).is_valid
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise DefinitionError(
            f"the pattern {pattern!r:.80} is not valid",
            fix="write a regular expression of ECMAScript, as JSON Schema says",
        ) from error


class _MatchingTime(local):
    """What is left for the patterns of one check that may take long."""

    left_s = _MATCHING_S


_TIME: Final = _MatchingTime()


def timed(check: Callable[[object], object]) -> Callable[[object], object]:
    """Give each check a new share of time for patterns that may take long."""

    def check_timed(raw: object) -> object:
        _TIME.left_s = _MATCHING_S
        return check(raw)

    return check_timed


def is_costly(pattern: str) -> bool:
    """True for a pattern that may take long to match."""
    return match_size(pattern) > SMALL_SIZE


def timed_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a matcher for checks in this process: a text that could take too long does not match."""
    match = matcher(pattern)
    if not is_costly(pattern):
        return match
    longest = _MAX_BACKTRACKED if needs_backtracking(pattern) else LONGEST_TEXT

    def match_timed(text: str) -> bool:
        if len(text) > longest or _TIME.left_s <= 0:
            return False
        start = perf_counter()
        is_match = match(text)
        _TIME.left_s -= perf_counter() - start
        return is_match

    return match_timed


_small_matcher: Final = lru_cache(maxsize=100)(matcher)


def matches(pattern: str, text: str) -> bool:
    """True if a text matches a pattern; False if that cannot be found out quickly. Not for checks."""
    try:
        return match_size(pattern) * len(text) <= _MAX_EXPLAINED and _small_matcher(pattern)(text)
    except DefinitionError:
        return False


def is_native(pattern: str) -> bool:
    """True for a simple pattern that means the same to pydantic-core's engine, which is faster for it."""
    return (
        not re.search(r"\\[^\\/.\-+*?()\[\]{}^$|nrt]|\(\?|\.|\[\]|\[\^\]", re.sub(r"\\\.", "", pattern))
        and not SET_OPERATION.search(pattern)
        and pattern_size(pattern) <= SMALL_SIZE
    )
