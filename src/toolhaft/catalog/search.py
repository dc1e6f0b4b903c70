"""Ranks listings by how well they fit a text: BM25 over weighted fields, in memory.

Knows words; does not know tools, stores or who asks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import log
from typing import Final

from toolhaft.catalog.listing import Listing

# How much a word counts by where it stands: an id is chosen with care, a description mentions many things.
_WEIGHTS: Final = (6.0, 5.0, 4.0, 1.5, 0.7)
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.6
"""How much longer fields count for less: 0 is not at all, 1 is in full."""
_PREFIX_SHARE: Final = 0.6
"""What a word counts that only begins as the one that was asked for."""
_MOST_ENDINGS: Final = 24
_SHORTEST_START: Final = 2
_LONGEST_QUERY: Final = 1_000
_MOST_WORDS: Final = 32
_FEW: Final = 100
_REFINED: Final = 500
"""How many of those found by rarer words are told apart by common ones."""

_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Scripts without spaces between words: pairs of letters stand for words.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_EMPTY_WORDS: Final = frozenset((
    "a", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on",
    "or", "our", "so", "some", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "up", "use", "used", "using", "was", "what", "when", "where", "which", "who", "will",
    "with", "you", "your",
))  # fmt: skip


Weights = dict[int, float]
"""What a word counts in each listing that has it, by the listing's number."""


class Index:
    """Listings that can be searched; made once, read by any number of threads."""

    __slots__ = ("_by_id", "_listings", "_postings", "_vocabulary")

    def __init__(self, listings: Iterable[Listing]) -> None:
        self._listings = tuple(listings)
        self._by_id = {_key(one.id): one for one in reversed(self._listings)}
        self._postings = _weigh(self._listings)
        self._vocabulary = sorted(self._postings)

    def search(
        self, text: str, *, limit: int = 10, fits: Callable[[Listing], bool] | None = None
    ) -> list[Listing]:
        """The listings that fit a text best, of those that fit otherwise too; at most so many."""
        if limit <= 0:
            return []
        text = text[:_LONGEST_QUERY]
        scores = self._score(split_words(text))
        named = self._by_id.get(_key(text))
        if named is not None:
            scores[self._listings.index(named)] = float("inf")
        found = (
            self._listings[number] for number in _ordered(scores, limit if fits is None else len(scores))
        )
        return list(islice(found if fits is None else filter(fits, found), limit))

    def _score(self, words: Sequence[str]) -> dict[int, float]:
        telling = [word for word in words if word not in _EMPTY_WORDS] or words
        asked = [found for word in dict.fromkeys(telling[:_MOST_WORDS]) for found in self._postings_of(word)]
        # what every fourth tool says tells those apart that have a rarer word, but finds none by itself
        most = max(_FEW, len(self._listings) // 4)
        rare = [found for found in asked if len(found[1]) <= most] or asked
        scores: dict[int, float] = {}
        for share, weights in rare:
            for number, weight in weights.items():
                scores[number] = scores.get(number, 0.0) + share * weight
        common = [] if rare is asked else [found for found in asked if len(found[1]) > most]
        if common:
            best = sorted(scores, key=scores.__getitem__, reverse=True)[:_REFINED]
            for share, weights in common:
                for number in best:
                    scores[number] += share * weights.get(number, 0.0)
        return scores

    def _postings_of(self, word: str) -> Iterator[tuple[float, Weights]]:
        """Where a word stands, and where others stand that begin with it."""
        root = stem(word)
        exact = self._postings.get(root)
        if exact is not None:
            yield 1.0, exact
            return
        if len(root) < _SHORTEST_START:
            return
        start = bisect_left(self._vocabulary, root)
        for other in islice(self._vocabulary, start, start + _MOST_ENDINGS):
            if not other.startswith(root):
                return
            yield _PREFIX_SHARE, self._postings[other]


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, as they stand; those of an id or a name in camel case too."""
    if not text.isascii():
        return [part for word in _WORD.findall(_plain(text)) for part in _pairs(word)]
    return _WORD.findall(_HUMP.sub(" ", text).lower())


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, so that `converting` and `converts` are `convert`; English only."""
    if len(word) <= 3 or not word.isascii() or not word.isalpha():  # noqa: PLR2004 -- `gas` and `was` end in no plural
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and _VOWEL.search(root):  # noqa: PLR2004 -- `bring` has no ending
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    word = word[:-1] if word.endswith("e") and len(word) > 3 else word  # noqa: PLR2004 -- the same
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > 3 else word  # noqa: PLR2004 -- the same


_VOWEL: Final = re.compile("[aeiouy]")


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _ordered(scores: Weights, count: int) -> list[int]:
    """The numbers with the best scores, the best first; of equals the earliest listing."""
    numbers = sorted(scores)
    if count < len(scores):
        least = sorted(scores.values(), reverse=True)[count - 1]
        numbers = [number for number in numbers if scores[number] >= least]
    numbers.sort(key=scores.__getitem__, reverse=True)
    return numbers


def _weigh(listings: Sequence[Listing]) -> dict[str, Weights]:
    """For each word the listings that have it, and what it counts there."""
    fields = [_fields(one) for one in listings]
    count = len(fields)
    means = [
        max(1.0, sum(len(field[place]) for field in fields) / max(1, count)) for place in range(len(_WEIGHTS))
    ]
    found: dict[str, Weights] = {}
    for number, field in enumerate(fields):
        heard: dict[str, float] = {}
        for words, weight, mean in zip(field, _WEIGHTS, means, strict=True):
            share = weight / (1 - _LENGTH_SHARE + _LENGTH_SHARE * len(words) / mean)
            for word in words:
                heard[word] = heard.get(word, 0.0) + share
        for word, weight in heard.items():
            found.setdefault(word, {})[number] = weight / (_SATURATION + weight)
    for weights in found.values():
        rarity = log(1 + (count - len(weights) + 0.5) / (len(weights) + 0.5))
        for number in weights:
            weights[number] *= rarity
    return found


def _fields(one: Listing) -> tuple[list[str], ...]:
    texts = (one.id, one.title, " ".join(one.tags), one.description, one.words)
    return tuple([stem(word) for word in split_words(text)] for text in texts)


def _plain(text: str) -> str:
    """Without accents and case, whatever the script."""
    from unicodedata import combining, normalize  # noqa: PLC0415 -- few texts need it

    parts = normalize("NFKD", _HUMP.sub(" ", text))
    return normalize("NFC", "".join(part for part in parts if not combining(part))).casefold()


def _pairs(word: str) -> list[str]:
    if not _UNSPACED.search(word) or len(word) <= 2:  # noqa: PLR2004 -- a pair
        return [word]
    return [word[start : start + 2] for start in range(len(word) - 1)]


def _key(id: str) -> str:
    """An id or a text by which one is asked for, however its words are joined."""
    return "_".join(split_words(id))
