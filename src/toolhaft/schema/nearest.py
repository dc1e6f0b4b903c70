"""Finds the known name that a misspelled name most likely means."""

from collections.abc import Iterable
from typing import Final, TypeAlias

__all__ = ["nearest"]

_LONGEST_NAME: Final = 128
_SEPARATORS: Final = "_-. "
_DROP_SEPARATORS: Final = str.maketrans("", "", _SEPARATORS)
_TO_SPACES: Final = str.maketrans(_SEPARATORS, " " * len(_SEPARATORS))

# One typo is allowed from three letters on, two from six on, by the length of the shorter name.
_LETTERS_PER_TYPO: Final = 3
_MOST_TYPOS: Final = 2

# A part has at least three letters; below half of a name, it counts only if just one candidate matches.
_SHORTEST_PART: Final = 3
_LEAST_SHARE: Final = 1 / 3
_CLEAR_SHARE: Final = 1 / 2
# Leaving letters out weighs less than mistaking them: `lim` means `limit` rather than `lit`.
_LEFT_OUT_WEIGHT: Final = 0.75

# The distance and the index of a candidate: the smallest is the nearest, then the earliest.
_Score: TypeAlias = tuple[float, int]
# The share of the longer name that the shorter one covers, and the index of the candidate.
_Share: TypeAlias = tuple[float, int]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate nearest to the name, the earliest of equals, or None if none is close.

    Only the first 128 characters of each name count.
    """
    pool = list(candidates)
    if name in pool:
        return name
    name = name[:_LONGEST_NAME]
    names = [candidate[:_LONGEST_NAME] for candidate in pool]
    keys = _fold(names)
    key = _fold([name])[0]
    if not key:
        return None
    if key in keys:
        return pool[keys.index(key)]
    scores = _score_typos(key, keys) + _score_parts(key, keys, _split_words(name), names)
    return pool[min(scores)[1]] if scores else None


def _fold(names: list[str]) -> list[str]:
    """Drop case and separators."""
    # all in one string: name by name would take longer than everything else here
    folded = "\n".join(names).casefold().translate(_DROP_SEPARATORS).split("\n")
    if len(folded) == len(names):
        return folded
    return [name.casefold().translate(_DROP_SEPARATORS) for name in names]


def _split_words(name: str) -> frozenset[str]:
    if not name.islower():
        # a capital after a small letter starts a word
        pairs = zip(" " + name, name, strict=False)
        name = "".join([f" {it}" if last.islower() and it.isupper() else it for last, it in pairs])
    return frozenset(name.casefold().translate(_TO_SPACES).split())


def _score_typos(key: str, keys: list[str]) -> list[_Score]:
    """Score the first candidate with the fewest typos, by the share of wrong letters."""
    size = len(key)
    limit = min(_MOST_TYPOS, size // _LETTERS_PER_TYPO)
    letters = frozenset(key)
    best: list[_Score] = []
    for index in _find_similar(key, keys, limit):
        other = keys[index]
        allowed = min(limit, len(other) // _LETTERS_PER_TYPO)
        # a typo removes one letter at most, and adds one at most
        if len(letters.difference(other)) > allowed or len(frozenset(other) - letters) > allowed:
            continue
        typos = _count_typos(key, other, allowed)
        if typos <= allowed:
            best = [(typos / size, index)]
            # the rest must have fewer typos; none has fewer than one, since equal names were found before
            limit = typos - 1
            if limit == 0:
                break
    return best


def _find_similar(key: str, keys: list[str], limit: int) -> list[int]:
    """Find all candidates that may be within the limit, much faster than counting typos."""
    # Two typos leave at least one of three pieces intact; the letters between the pieces ensure that even
    # a swap affects only one of them.
    size = len(key)
    piece = (size - _MOST_TYPOS) // (_MOST_TYPOS + 1)
    first, second, third = (key[start : start + piece] for start in (0, piece + 1, 2 * piece + 2))
    return [
        index
        for index, other in enumerate(keys)
        if -limit <= len(other) - size <= limit and (first in other or second in other or third in other)
    ]


def _count_typos(left: str, right: str, limit: int) -> int:
    """Count letters added, removed, changed or swapped in names that differ; stop above the limit."""
    same = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        same += 1
    left, right = left[same:], right[same:]
    ways = [(left[1:], right[1:]), (left[1:], right), (left, right[1:])]
    if left[:2] == right[1::-1]:
        ways.append((left[2:], right[2:]))
    fewest = limit + 1
    for rest, other_rest in ways:
        if rest == other_rest:
            return 1
        if limit > 1:
            fewest = min(fewest, 1 + _count_typos(rest, other_rest, limit - 1))
    return fewest


def _score_parts(key: str, keys: list[str], words: frozenset[str], names: list[str]) -> list[_Score]:
    """Score by the share of letters left out, if one name is the start or some words of the other."""
    if len(key) < _SHORTEST_PART or not words:
        return []
    shares = _find_longer(key, keys, words, names) + _find_shorter(key, keys, words, names)
    return [
        ((1 - share) * _LEFT_OUT_WEIGHT, index)
        for share, index in shares
        if share > _CLEAR_SHARE or len(shares) == 1
    ]


def _find_longer(key: str, keys: list[str], words: frozenset[str], names: list[str]) -> list[_Share]:
    size = len(key)
    most = size / _LEAST_SHARE
    # the longest word is the rarest
    rarest, *rest = sorted(words, key=len, reverse=True)
    found = [index for index, other in enumerate(keys) if rarest in other and size <= len(other) <= most]
    for word in rest:
        found = [index for index in found if word in keys[index]]
    return [
        (size / len(keys[index]), index)
        for index in found
        if keys[index].startswith(key) or words <= _split_words(names[index])
    ]


def _find_shorter(key: str, keys: list[str], words: frozenset[str], names: list[str]) -> list[_Share]:
    # only whole words here: `query_text` may mean `query`, but `listen` does not mean `list`
    size = len(key)
    least = max(_SHORTEST_PART, size * _LEAST_SHARE)
    starts = tuple(words)
    letters = frozenset(key)
    return [
        (len(other) / size, index)
        for index, other in enumerate(keys)
        if least <= len(other) < size
        and other.startswith(starts)
        and letters.issuperset(other)
        and words >= _split_words(names[index])
    ]
