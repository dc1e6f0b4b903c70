"""Finds the words of an index that a misspelled word may mean: those one edit away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

_SHORTEST: Final = 4
_LONGEST: Final = 20
"""Longer words, such as keys, are not corrected: each letter of a word takes memory."""
_MOST: Final = 64
"""The most words with the same rest: somebody could publish thousands."""


class NearWords:
    """Words by what is left of each when one letter is missing.

    Two words that are one edit apart (a letter missing, added or replaced, or two neighbours swapped) are
    equal, or have the same rest. The first letter counts as right: people rarely mistype it, and names that
    are no words at all would otherwise match too much.
    """

    __slots__ = ("_words",)

    def __init__(self, words: Iterable[str]) -> None:
        self._words: dict[str, str | set[str]] = {}
        for word in words:
            self.add(word)

    def add(self, word: str) -> None:
        """Add a word."""
        for rest in _rests(word):
            known = self._words.setdefault(rest, word)
            if isinstance(known, set):
                if len(known) < _MOST:
                    known.add(word)
            elif known != word:
                self._words[rest] = {known, word}

    def discard(self, word: str) -> None:
        """Remove a word, if it is there."""
        for rest in _rests(word):
            known = self._words.get(rest)
            if isinstance(known, set):
                known.discard(word)
                if not known:
                    del self._words[rest]
            elif known == word:
                del self._words[rest]

    def find(self, word: str) -> set[str]:
        """The words that are one edit away."""
        found: set[str] = set()
        for rest in _rests(word):
            known = self._words.get(rest)
            if known is not None:
                found.update((known,) if isinstance(known, str) else known)
        return {other for other in found if _is_one_edit(word, other)}


def _rests(word: str) -> Iterator[str]:
    """The word, and what is left of it without each of its letters but the first."""
    if _SHORTEST <= len(word) <= _LONGEST and word.isalpha():
        yield word
        for place in range(1, len(word)):
            yield word[:place] + word[place + 1 :]


def _is_one_edit(one: str, other: str) -> bool:
    """True for words with a common rest that are one edit apart."""
    if len(one) != len(other):
        return True  # the rest is the shorter word
    places = [place for place, letter in enumerate(one) if letter != other[place]]
    if len(places) <= 1:
        return True
    first, last = places[0], places[-1]
    return last == first + 1 and one[first] == other[last] and one[last] == other[first]
