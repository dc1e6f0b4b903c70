"""Ranks listings by how well they match a text: BM25 over weighted fields, in memory."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import log
from typing import Final

from toolhaft.catalog.listing import Listing

_WEIGHTS: Final = (6.0, 5.0, 4.0, 1.5, 0.7)
"""The weight of a word in the id, the title, the tags, the description, the rest."""
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.6
"""How much a long field lowers the weight of its words: from 0, not at all, to 1."""
_PREFIX_SHARE: Final = 0.6
"""The weight of a word that only starts with the word in the query."""
_MAX_PREFIX_MATCHES: Final = 24
_MIN_PREFIX: Final = 2
_MAX_QUERY: Final = 1_000
_MAX_QUERY_WORDS: Final = 32
_MIN_COMMON: Final = 100
_MAX_REFINED: Final = 500
"""How many of the listings that rarer words found are ranked by common words too."""
_MIN_STEM: Final = 3
"""Shorter words, such as `gas` and `was`, have no ending."""

_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Scripts without spaces between words: pairs of letters are indexed as words.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_STOP_WORDS: Final = frozenset((
    "a", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on",
    "or", "our", "so", "some", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "up", "use", "used", "using", "was", "what", "when", "where", "which", "who", "will",
    "with", "you", "your",
))  # fmt: skip


Weights = dict[int, float]
"""The weight of a word in each listing that has it, by the listing's number."""


class SearchIndex:
    """A search index of listings; immutable, so threads may share it."""

    __slots__ = ("_by_id", "_listings", "_postings", "_vocabulary")

    def __init__(self, listings: Iterable[Listing]) -> None:
        self._listings = tuple(listings)
        self._by_id = {_key(one.id): one for one in reversed(self._listings)}
        self._postings = _build_postings(self._listings)
        self._vocabulary = sorted(self._postings)

    def search(
        self, text: str, *, limit: int = 10, fits: Callable[[Listing], bool] | None = None
    ) -> list[Listing]:
        """At most `limit` listings that match a text, the best first; `fits` filters them."""
        if limit <= 0:
            return []
        text = text[:_MAX_QUERY]
        scores = self._score(split_words(text))
        named = self._by_id.get(_key(text))
        if named is not None:
            scores[self._listings.index(named)] = float("inf")
        found = (
            self._listings[number] for number in _ordered(scores, limit if fits is None else len(scores))
        )
        return list(islice(found if fits is None else filter(fits, found), limit))

    def _score(self, words: Sequence[str]) -> dict[int, float]:
        searched = ([word for word in words if word not in _STOP_WORDS] or words)[:_MAX_QUERY_WORDS]
        found = [posting for word in dict.fromkeys(searched) for posting in self._find_postings(word)]
        # a word in every fourth tool ranks the tools that rarer words found, but finds none
        most = max(_MIN_COMMON, len(self._listings) // 4)
        rare = [posting for posting in found if len(posting[1]) <= most] or found
        scores: dict[int, float] = {}
        for share, weights in rare:
            for number, weight in weights.items():
                scores[number] = scores.get(number, 0.0) + share * weight
        common = [] if rare is found else [posting for posting in found if len(posting[1]) > most]
        if common:
            best = sorted(scores, key=scores.__getitem__, reverse=True)[:_MAX_REFINED]
            for share, weights in common:
                for number in best:
                    scores[number] += share * weights.get(number, 0.0)
        return scores

    def _find_postings(self, word: str) -> Iterator[tuple[float, Weights]]:
        """The listings that have a word, or else words that start with it."""
        root = stem(word)
        exact = self._postings.get(root)
        if exact is not None:
            yield 1.0, exact
            return
        if len(root) < _MIN_PREFIX:
            return
        start = bisect_left(self._vocabulary, root)
        for other in islice(self._vocabulary, start, start + _MAX_PREFIX_MATCHES):
            if not other.startswith(root):
                return
            yield _PREFIX_SHARE, self._postings[other]


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, in their order; an id or a camel-case name is split too."""
    if not text.isascii():
        return [part for word in _WORD.findall(_plain(text)) for part in _pairs(word)]
    return _WORD.findall(_HUMP.sub(" ", text).lower())


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, so that `converting` and `converts` are `convert`; English only."""
    if len(word) <= _MIN_STEM or not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= _MIN_STEM and _VOWEL.search(root):  # `bring` has no ending
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    word = word[:-1] if word.endswith("e") and len(word) > _MIN_STEM else word
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > _MIN_STEM else word


_VOWEL: Final = re.compile("[aeiouy]")


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _ordered(scores: Weights, count: int) -> list[int]:
    """The numbers of the listings with the best scores, the best first; ties keep their order."""
    numbers = sorted(scores)
    if count < len(scores):
        least = sorted(scores.values(), reverse=True)[count - 1]
        numbers = [number for number in numbers if scores[number] >= least]
    numbers.sort(key=scores.__getitem__, reverse=True)
    return numbers


def _build_postings(listings: Sequence[Listing]) -> dict[str, Weights]:
    """For each word the listings that have it, with its weight in each."""
    fields = [_fields(one) for one in listings]
    count = len(fields)
    means = [
        max(1.0, sum(len(field[place]) for field in fields) / max(1, count)) for place in range(len(_WEIGHTS))
    ]
    found: dict[str, Weights] = {}
    for number, field in enumerate(fields):
        counts: dict[str, float] = {}
        for words, weight, mean in zip(field, _WEIGHTS, means, strict=True):
            share = weight / (1 - _LENGTH_SHARE + _LENGTH_SHARE * len(words) / mean)
            for word in words:
                counts[word] = counts.get(word, 0.0) + share
        for word, weight in counts.items():
            found.setdefault(word, {})[number] = weight / (_SATURATION + weight)
    for weights in found.values():
        rarity = log(1 + (count - len(weights) + 0.5) / (len(weights) + 0.5))
        for number in weights:
            weights[number] *= rarity
    return found


def _fields(one: Listing) -> tuple[list[str], ...]:
    texts = (one.id, one.title, " ".join(one.tags), one.description, one.search_text)
    return tuple([stem(word) for word in split_words(text)] for text in texts)


def _plain(text: str) -> str:
    """A text without accents and case."""
    from unicodedata import combining, normalize  # noqa: PLC0415 -- few texts need it

    parts = normalize("NFKD", _HUMP.sub(" ", text))
    return normalize("NFC", "".join(part for part in parts if not combining(part))).casefold()


def _pairs(word: str) -> list[str]:
    if not _UNSPACED.search(word) or len(word) <= 2:  # noqa: PLR2004 -- a pair
        return [word]
    return [word[start : start + 2] for start in range(len(word) - 1)]


def _key(id: str) -> str:
    """An id in one spelling, however its words are joined."""
    return "_".join(split_words(id))
