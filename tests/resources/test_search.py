"""Searching in bounded time, whatever the pattern."""

import pytest

from tests.cases import each_case
from toolhaft.errors import FilesystemError
from toolhaft.resources import MemoryFilesystem
from toolhaft.resources.search import MAX_LINE_LENGTH, MAX_PATTERN_WEIGHT, pattern_weight


@each_case(
    ("pattern", "expected"),
    [
        ("", 0),
        ("abc", 3),
        ("a{3}", 3),
        ("a{2,5}", 5),
        ("a{2,}", 2),
        ("a{,7}", 7),
        ("a{ 3 , 4 }", 4),
        ("(ab){10}", 20),
        ("((ab){10}c){10}", 210),
        ("(?:a|b){10}", 20),
        ("(?P<x>a){10}(?i)b(?i:c)", 12),
        (r"\d{4}-\d{2}-\d{2}", 10),
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", 36),
        (r"\p{Greek}{5}\x{41}", 6),
        (r"\({900}\)", 901),
        ("[(]{9}[])]{9}[[:alpha:]]{9}", 27),
        ("a{10}{10}{10}", 1000),
        ("a*b+c?", 3),
        ("a{99999999999999999999}", 999999999),
        ("))", 0),
    ],
)
def test_weight_of_a_pattern_is_the_characters_it_can_match_in_a_row(pattern, expected):
    assert pattern_weight(pattern) == expected


def test_a_search_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr("toolhaft.resources.search.MAX_SEARCH_S", -1.0)
    fs = MemoryFilesystem({"a": "x\ny\n"})
    with pytest.raises(FilesystemError, match="the search took over -1 s; narrow it"):
        fs.grep("z")


def test_the_heaviest_line_is_searched_in_bounded_time():
    """Exponential matching of these would not end; the work is at most weight times length."""
    fs = MemoryFilesystem({"a": "a" * 100_000})
    for pattern in ("(?:.{0,30}){33}y", r"(?:\w{0,4}){4}!", "(?:(?:a|.){0,9}){50}z", r"(\S+\s?){0,300}\d"):
        assert fs.grep(pattern) == [], pattern
    assert MAX_PATTERN_WEIGHT * MAX_LINE_LENGTH <= 10_000_000
    with pytest.raises(FilesystemError, match="repetitions add up to more than 1,000"):
        fs.grep("(?:.{0,30}){34}y")


def test_long_pattern_without_weight_is_refused():
    with pytest.raises(FilesystemError, match="it is too long"):
        MemoryFilesystem({"a": "x"}).grep("|" * 1001)
