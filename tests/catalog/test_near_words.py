"""A misspelled word is found by the words that are one edit away from it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import in_case
from tests.catalog.kit import LONG
from toolhaft.catalog.near_words import NearWords

WORDS = NearWords(["weather", "leather", "feather", "capital", "letter", "mail", "map", "x" * 21, "h264"])


def test_words_one_edit_away_are_found():
    cases = [
        ("wether", {"weather"}),
        ("weaather", {"weather"}),
        ("weathor", {"weather"}),
        ("waether", {"weather"}),
        ("weather", {"weather"}),
        ("capitl", {"capital"}),
        ("leter", {"letter"}),
        ("mial", {"mail"}),
        ("eather", set()),  # the first letter is missing
        ("wtheaer", set()),
        ("wethr", set()),
        ("mpa", set()),  # too short
        ("x" * 20, set()),
        ("h256", set()),  # no word
        ("", set()),
    ]
    for word, near in cases:
        with in_case(word):
            assert WORDS.find(word) == near


def test_removed_words_are_not_found():
    words = NearWords(["mail", "main"])
    words.discard("main")
    words.discard("never")
    assert words.find("maix") == {"mail"}
    words.discard("mail")
    assert words.find("maix") == set()
    words.add("mail")
    assert words.find("mai") == set()
    assert words.find("maill") == {"mail"}


def test_the_number_of_words_with_the_same_rest_is_limited():
    letters = [chr(code) for code in range(0x430, 0x430 + 200) if chr(code).isalpha()]
    assert 60 < len(NearWords([f"weat{letter}er" for letter in letters]).find("weater")) <= 64


LETTERS = st.text("abc", min_size=4, max_size=6)


def distance_is_one(one, other):
    inserted = {one[:place] + letter + one[place:] for place in range(1, len(one) + 1) for letter in "abc"}
    deleted = {one[:place] + one[place + 1 :] for place in range(1, len(one))}
    replaced = {one[:place] + letter + one[place + 1 :] for place in range(1, len(one)) for letter in "abc"}
    swapped = {
        one[:place] + one[place + 1] + one[place] + one[place + 2 :] for place in range(1, len(one) - 1)
    }
    return other in inserted | deleted | replaced | swapped | {one}


@settings(max_examples=1_000 if LONG else 60)
@given(st.sets(LETTERS, max_size=12), st.sets(LETTERS, max_size=4), LETTERS)
def test_generated_words_are_found_exactly_if_they_are_one_edit_away(known, removed, word):
    words = NearWords(known | removed)
    for one in removed:
        words.discard(one)
    assert words.find(word) == {one for one in known - removed if distance_is_one(word, one)}
