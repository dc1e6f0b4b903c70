"""Ranks listings by how well they match a text: BM25 over weighted fields, in memory."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain, takewhile
from math import log
from typing import Final, NamedTuple, TypeAlias, TypeVar

from toolhaft.catalog.listing import Listing
from toolhaft.catalog.near_words import NearWords

_WEIGHTS: Final = (4.5, 4.0, 4.0, 1.5, 0.7)
"""The weight of a word in the id, the title, the tags, the description, the rest."""
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.6
"""How much a long field lowers the weight of its words: from 0, not at all, to 1."""
_PREFIX_SHARE: Final = 0.6
"""The weight of a word that only starts with the word in the query."""
_NEAR_SHARE: Final = 0.8
"""The weight of a word that is one edit away from an unknown word in the query."""
_MIDDLE_SHARE: Final = 0.7
"""The weight of the middle of a long query: what is asked for is at its start or its end."""
_MAX_PREFIX_MATCHES: Final = 24
_MIN_PREFIX: Final = 2
_MAX_QUERY: Final = 4_000
_MAX_QUERY_WORDS: Final = 128
_MAX_UNKNOWN_WORDS: Final = 32
_MAX_UNDIVIDED: Final = 40
_PART_WORDS: Final = 16
_MIN_COMMON: Final = 100
_MAX_REFINED: Final = 500
"""How many of the listings that rarer words found are ranked by common words too."""
_MAX_WEIGHTS: Final = 20_000
"""How many weights a query adds up before its remaining words count as common."""
_MIN_STEM: Final = 3
"""Shorter words, such as `gas` and `was`, have no ending."""

_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Scripts without spaces between words: pairs of letters are indexed as words.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_STOP_WORDS: Final = frozenset((
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "both", "but", "by", "can", "could", "d", "did", "do", "does",
    "doing", "during", "each", "few", "for", "from", "had", "has", "have", "having", "he", "hello", "help",
    "her", "here", "hi", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let",
    "like", "ll", "m", "may", "me", "more", "most", "much", "my", "need", "no", "not", "now", "of", "on",
    "only", "or", "other", "our", "out", "over", "please", "re", "s", "she", "should", "so", "some", "such",
    "t", "tell", "than", "thank", "thanks", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "up", "us", "use", "used", "using", "ve", "very", "want", "was",
    "we", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "you",
    "your",
))  # fmt: skip


ListingKey: TypeAlias = int | str
"""Identifies a listing in an index; listings with the same score are sorted by it."""
Group: TypeAlias = tuple[str, ...]
"""Listings that the same users may see."""
Weights: TypeAlias = dict[ListingKey, float]
"""The weight of a word in each listing that has it."""
_EVERYBODY: Final[Group] = ()
PartT = TypeVar("PartT")


class _Entry(NamedTuple):
    """A listing in an index."""

    listing: Listing
    group: Group
    words: tuple[str, ...]
    lengths: tuple[int, ...]
    """How many words each field has."""


class IndexedWords:
    """The words of listings by group; listings are added and removed one by one.

    It holds counts, not weights: how much a word weighs depends on the listings that a user may see.
    """

    __slots__ = ("_ids", "_near", "_sorted", "_vocabularies", "entries", "postings", "totals")

    def __init__(self) -> None:
        self.entries: dict[ListingKey, _Entry] = {}
        self.postings: dict[str, dict[Group, dict[ListingKey, int]]] = {}
        """For each word the listings that have it, by group, and how often each field has it (`_decode`)."""
        self.totals: dict[Group, list[int]] = {}
        """How many listings a group has, and how many words each of their fields has in all."""
        self._ids: dict[str, set[ListingKey]] = {}
        self._vocabularies: dict[Group, set[str]] = {}
        self._sorted: dict[Group, list[str]] = {}
        self._near: dict[Group | None, NearWords] = {}
        """The words of each group whose misspelled words were searched; those of all groups under None."""

    def add(self, key: ListingKey, listing: Listing, group: Group = _EVERYBODY) -> None:
        """Add a listing, or replace the one with that key."""
        self.remove(key)
        counts: dict[str, int] = {}
        lengths: list[int] = []
        for words, step in zip(_fields(listing), _STEPS, strict=True):
            lengths.append(len(words))
            for word in words:
                counts[word] = counts.get(word, 0) + step
        postings = self.postings
        for word, count in counts.items():
            groups = postings.get(word)
            if groups is None:
                groups = postings[word] = {}
                if None in self._near:
                    self._near[None].add(word)
            own = groups.get(group)
            if own is None:
                own = groups[group] = {}
                self._vocabularies.setdefault(group, set()).add(word)
                self._sorted.pop(group, None)
                if group in self._near:
                    self._near[group].add(word)
            own[key] = count
        self.entries[key] = _Entry(listing, group, tuple(counts), tuple(lengths))
        totals = self.totals.get(group, [0] * (len(_WEIGHTS) + 1))
        self.totals[group] = [old + new for old, new in zip(totals, (1, *lengths), strict=True)]
        self._ids.setdefault(_spelling(listing.id), set()).add(key)

    def remove(self, key: ListingKey) -> None:
        """Remove a listing, if it is there."""
        entry = self.entries.pop(key, None)
        if entry is None:
            return
        for word in entry.words:
            groups = self.postings[word]
            del groups[entry.group][key]
            if not groups[entry.group]:
                del groups[entry.group]
                self._drop_word(word, entry.group)
            if not groups:
                del self.postings[word]
                if None in self._near:
                    self._near[None].discard(word)
        totals = self.totals[entry.group]
        self.totals[entry.group] = [old - gone for old, gone in zip(totals, (1, *entry.lengths), strict=True)]
        if not self.totals[entry.group][0]:
            del self.totals[entry.group], self._vocabularies[entry.group]
            self._near.pop(entry.group, None)
        spelling = _spelling(entry.listing.id)
        self._ids[spelling].discard(key)
        if not self._ids[spelling]:
            del self._ids[spelling]

    def _drop_word(self, word: str, group: Group) -> None:
        self._vocabularies[group].discard(word)
        self._sorted.pop(group, None)
        if group in self._near:
            self._near[group].discard(word)

    def starting_with(self, prefix: str, groups: Iterable[Group]) -> list[str]:
        """The first words of some groups that start with a prefix.

        Each group has its own sorted words: those of others must not make a search slow.
        """
        found: set[str] = set()
        for group in groups:
            words = self._sorted.get(group)
            if words is None:
                words = self._sorted[group] = sorted(self._vocabularies[group])
            start = bisect_left(words, prefix)
            found.update(
                takewhile(lambda word: word.startswith(prefix), words[start : start + _MAX_PREFIX_MATCHES])
            )
        return sorted(found)[:_MAX_PREFIX_MATCHES]

    def near(self, word: str, groups: AbstractSet[Group]) -> list[str]:
        """The words of some groups that are one edit away from a word; in order.

        Each group has its own table: a table has limits, and the words of others must not use them up.
        """
        tables: Iterable[Group | None] = (None,) if len(groups) == len(self.totals) else groups
        found: set[str] = set()
        for group in tables:
            near = self._near.get(group)
            if near is None:
                words = self.postings if group is None else self._vocabularies[group]
                near = self._near[group] = NearWords(words)
            found |= near.find(word)
        return sorted(found)

    def named(self, text: str) -> Iterable[ListingKey]:
        """The listings whose id is a text, however its words are joined."""
        return self._ids.get(_spelling(text), ())


class _Posting(NamedTuple):
    """A word that was found, and in how many visible listings."""

    word: str
    share: float
    found: int


class SearchView:
    """Searches the listings of some groups, as if there were no others.

    It is valid until the words change. Weights are computed when a word is first searched, and kept.

    Args:
        words: the indexed words.
        groups: the groups to search; None for all.
    """

    __slots__ = ("_count", "_groups", "_length_factors", "_norms", "_partial", "_weights", "_words")

    def __init__(self, words: IndexedWords, groups: AbstractSet[Group] | None = None) -> None:
        self._words = words
        self._groups = frozenset(words.totals if groups is None else words.totals.keys() & groups)
        totals = [words.totals[group] for group in self._groups]
        self._count = sum(own[0] for own in totals)
        means = [
            max(1.0, sum(own[place] for own in totals) / max(1, self._count))
            for place in range(1, len(_WEIGHTS) + 1)
        ]
        self._length_factors = [_LENGTH_SHARE / mean for mean in means]
        self._norms: dict[ListingKey, tuple[float, ...]] = {}
        self._weights: dict[str, Weights] = {}
        self._partial: dict[str, Weights] = {}

    def search(
        self, text: str, *, limit: int = 10, fits: Callable[[Listing], bool] | None = None
    ) -> list[Listing]:
        """At most `limit` listings that match a text, the best first; `fits` filters them.

        Raises:
            TypeError: if the text is not a text, or the limit is not a number.
        """
        check_query(text, limit)
        return self.search_page(text, limit=limit, fits=fits)[0] if limit > 0 else []

    def search_page(
        self, text: str, *, limit: int, offset: int = 0, fits: Callable[[Listing], bool] | None = None
    ) -> tuple[list[Listing], int]:
        """The listings that follow the first `offset` ones, and how many match in all."""
        if len(text) > _MAX_QUERY:
            text = f"{text[: _MAX_QUERY // 2]} {text[-_MAX_QUERY // 2 :]}"
        entries = self._words.entries
        scores = self._score(split_words(text))
        named = self._named(text)
        if named:
            scores[min(named, key=lambda key: (entries[key].listing.id != text, key))] = float("inf")
        end = offset + limit
        if fits is None:
            return [entries[key].listing for key in _ordered(scores, end)[offset:end]], len(scores)
        found = list(filter(fits, (entries[key].listing for key in _ordered(scores, len(scores)))))
        return found[offset:end], len(found)

    def _score(self, words: Sequence[str]) -> Weights:
        searched = {stem(word): word for word in words if word not in _STOP_WORDS}
        searched = searched or {stem(word): word for word in words}
        roots = _both_ends([*searched], _MAX_QUERY_WORDS)
        parts = _divide(self._find_postings(roots))
        scores = self._score_part(parts[0], len(parts))
        for part in parts[1:]:
            share = 1.0 if part is parts[-1] else _MIDDLE_SHARE
            for key, score in self._score_part(part, len(parts)).items():
                if share * score > scores.get(key, 0.0):
                    scores[key] = share * score
        for root in roots:
            for key in self._named(searched[root]):
                if self._words.entries[key].lengths[0] > 1:  # `readfile` for `read_file`
                    scores[key] = scores.get(key, 0.0) + self._rarity(1)
        return scores

    def _score_part(self, part: Sequence[Sequence[_Posting]], parts: int) -> Weights:
        """The scores of the listings for a part of the words; more parts, less work for each."""
        found = sorted(chain.from_iterable(part), key=lambda posting: posting.found)
        # a word in every fourth tool ranks the tools that rarer words found, but finds none
        most = max(_MIN_COMMON, self._count // 4)
        room = _MAX_WEIGHTS // parts
        scores: Weights = {}
        rare = 0
        for word, share, count in found:
            room -= count
            if rare and (room < 0 or found[0].found <= most < count):
                break
            rare += 1
            for key, weight in self._all_weights(word).items():
                scores[key] = scores.get(key, 0.0) + share * weight
        if found[rare:]:
            best = _ordered(scores, _MAX_REFINED // parts)[: _MAX_REFINED // parts]
            for posting in found[rare:]:
                weights = self._some_weights(posting, best)
                for key in best:
                    scores[key] += posting.share * weights[key]
        return scores

    def _named(self, text: str) -> list[ListingKey]:
        entries = self._words.entries
        return [key for key in self._words.named(text) if entries[key].group in self._groups]

    def _find_postings(self, roots: Sequence[str]) -> list[list[_Posting]]:
        """For each word itself, or if no visible listing has it, words that are similar to it."""
        counts = {root: self._visible_count(root) for root in roots}
        found = {root: [_Posting(root, 1.0, count)] if count else [] for root, count in counts.items()}
        for root in _both_ends([root for root in roots if not counts[root]], _MAX_UNKNOWN_WORDS):
            # in `list what came last`, the unknown `last` must not count as a second `list`
            found[root] = [similar for similar in self._similar(root) if not counts.get(similar.word)]
        return [*found.values()]

    def _similar(self, root: str) -> Iterator[_Posting]:
        """The words that start with a word, or else those that are one edit away from it."""
        if len(root) < _MIN_PREFIX:
            return
        longer = self._words.starting_with(root, self._groups)
        share = _PREFIX_SHARE if longer else _NEAR_SHARE
        for word in longer or self._words.near(root, self._groups):
            count = self._visible_count(word)
            if count:
                yield _Posting(word, share, count)

    def _visible_postings(self, word: str) -> Iterator[dict[ListingKey, int]]:
        groups = self._words.postings.get(word, {})
        fewer, more = sorted((groups, self._groups), key=len)
        yield from (groups[group] for group in fewer if group in more)

    def _visible_count(self, word: str) -> int:
        return sum(map(len, self._visible_postings(word)))

    def _all_weights(self, word: str) -> Weights:
        """The weight of a word in each visible listing that has it."""
        weights = self._weights.get(word)
        if weights is None:
            rarity = self._rarity(self._visible_count(word))
            weights = self._weights[word] = {
                key: self._weigh(key, count) * rarity
                for own in self._visible_postings(word)
                for key, count in own.items()
            }
        return weights

    def _some_weights(self, posting: _Posting, keys: Iterable[ListingKey]) -> Weights:
        """The weight of a word in some listings, 0 where it is missing; cheaper if many listings have it."""
        if posting.word in self._weights:
            weights = self._weights[posting.word]
            return {key: weights.get(key, 0.0) for key in keys}
        known = self._partial.setdefault(posting.word, {})
        rarity = self._rarity(posting.found)
        groups, entries = self._words.postings[posting.word], self._words.entries
        for key in keys:
            if key not in known:
                count = groups.get(entries[key].group, {}).get(key)
                known[key] = 0.0 if count is None else self._weigh(key, count) * rarity
        return known

    def _rarity(self, count: int) -> float:
        return log(1 + (self._count - count + 0.5) / (count + 0.5))

    def _weigh(self, key: ListingKey, count: int) -> float:
        """The weight of a word in a listing, before its rarity; `count` is how often each field has it."""
        norms = self._norms.get(key)
        if norms is None:
            norms = self._norms[key] = tuple(
                [
                    weight / (1 - _LENGTH_SHARE + factor * length)
                    for weight, factor, length in zip(
                        _WEIGHTS, self._length_factors, self._words.entries[key].lengths, strict=True
                    )
                ]
            )
        total = 0.0
        for place, times in _decode(count):
            total += times * norms[place]
        return total / (_SATURATION + total)


class SearchIndex(SearchView):
    """A search index of listings that do not change; listings with equal scores keep their order."""

    __slots__ = ()

    def __init__(self, listings: Iterable[Listing]) -> None:
        words = IndexedWords()
        for number, listing in enumerate(listings):
            words.add(number, listing)
        super().__init__(words)


_COUNT_BITS: Final = 20
_STEPS: Final = tuple(1 << (_COUNT_BITS * place) for place in range(len(_WEIGHTS)))


@lru_cache(maxsize=10_000)
def _decode(count: int) -> tuple[tuple[int, int], ...]:
    """The places of the fields that have a word, and how often: five numbers of 20 bits in one integer."""
    times = [count >> (_COUNT_BITS * place) & ((1 << _COUNT_BITS) - 1) for place in range(len(_WEIGHTS))]
    return tuple((place, number) for place, number in enumerate(times) if number)


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


def _ordered(scores: Weights, count: int) -> list[ListingKey]:
    """The listings with the best scores, the best first; those with equal scores by their keys."""
    keys: Iterable[ListingKey] = scores
    if count < len(scores):
        least = sorted(scores.values(), reverse=True)[count - 1]
        keys = [key for key in scores if scores[key] >= least]
    ordered = sorted(keys)
    ordered.sort(key=scores.__getitem__, reverse=True)
    return ordered


def check_query(text: object, limit: object) -> None:
    """Check what a search is given.

    Raises:
        TypeError: if the text is not a text, or the limit is not a number.
    """
    if not isinstance(text, str):
        raise TypeError(f"a search takes a text, not {text!r:.80}; write search('convert currency')")
    if not isinstance(limit, int):
        raise TypeError(f"limit does not take {limit!r:.80}; write a whole number")


def _both_ends(words: list[str], count: int) -> list[str]:
    """At most that many words: the first and the last ones."""
    return words if len(words) <= count else words[: count // 2] + words[-count // 2 :]


def _divide(words: list[PartT]) -> list[list[PartT]]:
    """The parts of a long query: its request, in one of them, must not drown in the rest."""
    size = len(words)
    count = -(-size // _PART_WORDS) if size > _MAX_UNDIVIDED else 1
    return [words[size * part // count : size * (part + 1) // count] for part in range(count)]


def _fields(one: Listing) -> tuple[list[str], ...]:
    title = "" if _spelling(one.title) == _spelling(one.id) else one.title  # else every word counts twice
    texts = (one.id, title, " ".join(one.tags), one.description, one.search_text)
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


def _spelling(id: str) -> str:
    """An id in one spelling, however its words are joined."""
    return "".join(split_words(id))
