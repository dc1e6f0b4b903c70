"""The known name that a misspelled name means."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from toolhaft.schema.nearest import nearest

SEARCH = ["query", "limit", "tags", "max_results"]
TOOLS = [
    "github_create_pull_request_review",
    "github_create_issue",
    "slack_send_message",
    "search_database",
    "weather.forecast",
]

CASES: list[tuple[str, list[str], str | None]] = [
    # letters in another case, other separators
    ("query", SEARCH, "query"),
    ("Query", SEARCH, "query"),
    ("MAX-RESULTS", SEARCH, "max_results"),
    ("maxResults", SEARCH, "max_results"),
    ("max results", SEARCH, "max_results"),
    ("Search-Database", TOOLS, "search_database"),
    ("weather_forecast", TOOLS, "weather.forecast"),
    ("STRASSE", ["straße"], "straße"),
    # typos
    ("qurey", SEARCH, "query"),
    ("qery", SEARCH, "query"),
    ("queery", SEARCH, "query"),
    ("quary", SEARCH, "query"),
    ("uqery", SEARCH, "query"),
    ("quer", SEARCH, "query"),
    ("querys", SEARCH, "query"),
    ("tgas", SEARCH, "tags"),
    ("ulr", ["url"], "url"),
    ("max_rezultz", SEARCH, "max_results"),
    ("Max-Reslts", SEARCH, "max_results"),
    ("serach_databse", TOOLS, "search_database"),
    ("github_craete_pull_reqest_review", TOOLS, "github_create_pull_request_review"),
    ("tool_1001", [f"tool_{number}" for number in range(1000)], "tool_100"),
    # parts
    ("lim", SEARCH, "limit"),
    ("results", SEARCH, "max_results"),
    ("query_text", SEARCH, "query"),
    ("queryText", SEARCH, "query"),
    ("search", TOOLS, "search_database"),
    ("desc", ["id", "description"], "description"),
    ("send_message", TOOLS, "slack_send_message"),
    ("create_pull_request", TOOLS, "github_create_pull_request_review"),
    ("github_create_review", TOOLS, "github_create_pull_request_review"),
    ("database_search", TOOLS, "search_database"),
    ("slack_send_a_message_now", TOOLS, "slack_send_message"),
    # nothing near
    ("context", ["query", "limit"], None),
    ("context", SEARCH, None),
    ("text", SEARCH, None),
    ("q", SEARCH, None),
    ("li", SEARCH, None),
    ("list", SEARCH, None),
    ("listen", ["list"], None),
    ("category", ["cat"], None),
    ("context", ["text"], None),
    ("quxxy", SEARCH, None),
    ("delete_everything", TOOLS, None),
    ("ab", ["cd", "abcdefgh"], None),
    ("", SEARCH, None),
    ("", ["_"], None),
    ("---", ["query", "_"], None),
    ("\t\t\t", SEARCH, None),
    ("query", [], None),
]


@each_case(("name", "candidates", "meant"), CASES, ids=[f"{case[0]!r:.24}" for case in CASES])
def test_nearest_is_what_a_person_would_guess(name: str, candidates: list[str], meant: str | None):
    assert nearest(name, candidates) == meant


@each_case(
    ("name", "candidates", "meant"),
    [
        ("query", ["Query", "QUERY", "query"], "query"),
        ("Query", ["qurey", "q_u_e_r_y"], "q_u_e_r_y"),
        ("search_web", ["search_w", "serch_wb", "search_webs"], "search_webs"),
        ("lim", ["lit", "limit"], "limit"),
        ("users", ["users_list", "user"], "user"),
        ("search_web", ["search_web_pages_by_title", "search_web_pages"], "search_web_pages"),
    ],
)
def test_fewer_typos_win_in_any_order(name: str, candidates: list[str], meant: str):
    assert nearest(name, candidates) == meant
    assert nearest(name, reversed(candidates)) == meant


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("QUERY", ["query", "Query"]),
        ("quary", ["query", "quart"]),
        ("search_wxyb", ["search_wyxbb", "search_wxbb"][::-1]),
        ("get_issue", ["jira_get_issue", "asks_get_issue"]),
    ],
)
def test_of_equals_the_earliest_wins(name: str, candidates: list[str]):
    assert nearest(name, candidates) == candidates[0]


def test_a_short_part_of_many_names_matches_none():
    tools = [f"github_{verb}_{thing}s" for verb, thing in product(["create", "delete"], ["issue", "branch"])]
    assert nearest("github", tools) is None
    assert nearest("github", tools[:1]) == "github_create_issues"


def test_candidates_are_read_once():
    assert nearest("qurey", iter(SEARCH)) == "query"


def test_names_are_whole_even_with_a_line_break_in_one():
    assert nearest("Que\nRy", ["a\nb", "que\nry", "query"]) == "que\nry"
    assert nearest("qurey", ["a\nb", "query"]) == "query"


def test_only_the_first_128_characters_count():
    assert nearest("a" * 128 + "b", ["a" * 128 + "c" * 1000]) == "a" * 128 + "c" * 1000
    assert nearest("a" * 127 + "b", ["a" * 127 + "c" + "d" * 1000]) == "a" * 127 + "c" + "d" * 1000


KEYS = st.text("abc", min_size=1, max_size=9)


def count_typos(left: str, right: str) -> int:
    """Count by the book, with the whole table."""
    rows = [[max(i, j) for j in range(len(right) + 1)] for i in range(len(left) + 1)]
    for i, j in product(range(1, len(left) + 1), range(1, len(right) + 1)):
        changed = rows[i - 1][j - 1] + (left[i - 1] != right[j - 1])
        rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, changed)
        if i > 1 and j > 1 and left[i - 2 : i] == right[j - 2 : j][::-1]:
            rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@given(name=KEYS, candidates=st.lists(KEYS, max_size=8))
@settings(max_examples=40, deadline=None)
def test_the_fast_search_finds_every_typo(name: str, candidates: list[str]):
    def typos_of(candidate: str) -> int:
        return count_typos(name, candidate)

    forgiven = [
        candidate
        for candidate in candidates
        if typos_of(candidate) <= min(2, len(name) // 3, len(candidate) // 3)
    ]
    # a beginning counts as well, but there are no words here that could be parts
    beginnings = [candidate for candidate in candidates if candidate.startswith(name)]
    found = nearest(name, candidates)
    if found is None:
        assert not forgiven
    elif found not in beginnings:
        assert found == min(forgiven, key=typos_of)


@given(name=st.text(), candidates=st.lists(st.text()))
@settings(max_examples=40, deadline=None)
def test_the_answer_is_a_candidate_or_none(name: str, candidates: list[str]):
    assert nearest(name, candidates) in {*candidates, None}
    assert nearest(name, [*candidates, name]) == name
