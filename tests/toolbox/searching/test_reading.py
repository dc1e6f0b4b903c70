"""Any JSON of a provider is read, or refused with a message that says what is missing."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from toolhaft.core.masking import mask_secrets
from toolhaft.toolbox.searching.api_engines import BRAVE, GOOGLE, SERPAPI, TAVILY
from toolhaft.toolbox.searching.engine import SearchHit
from toolhaft.toolbox.searching.tool import show_hits
from toolhaft.toolbox.untrusted_json import (
    AnswerError,
    error_text,
    html_at,
    is_web_address,
    objects_at,
    text_at,
)

NAMES = [
    "code",
    "content",
    "description",
    "detail",
    "error",
    "errors",
    "items",
    "kind",
    "link",
    "message",
    "organic_results",
    "query",
    "results",
    "search_metadata",
    "snippet",
    "status",
    "title",
    "type",
    "url",
    "web",
]
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["Error", "https://m.example/", "SUBSCRIPTION_TOKEN_INVALID", "<b>x</b>", "&#x202e;", "\ud800"]
    ),
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
LIKELY = st.one_of(
    ANYTHING,
    ANYTHING.map(lambda value: {"organic_results": [value], "items": [value], "results": [value]}),
    ANYTHING.map(lambda value: {"web": {"results": [value]}}),
)


@pytest.mark.parametrize("engine", [BRAVE, GOOGLE, SERPAPI, TAVILY], ids=lambda engine: engine.name)
@given(answer=LIKELY)
def test_any_answer_is_read_or_refused(engine, answer):
    try:
        hits = engine.read(answer)
    except AnswerError as error:
        assert str(error)  # noqa: PT017 -- either is fine
        return
    shown = show_hits(hits, most=5)
    assert len(shown.results) <= 5
    for row in shown.results:
        assert set(row) == {"title", "snippet", "url"}
        assert all(isinstance(text, str) for text in row.values())
        json.dumps(row).encode()
        row["title"].encode()
        assert is_web_address(row["url"])


@given(answer=ANYTHING)
def test_any_refusal_has_a_reason_or_none(answer):
    assert isinstance(error_text(answer), str)
    assert BRAVE.is_denied(answer) in (True, False)


@given(
    headers=st.dictionaries(
        st.sampled_from(["retry-after", "x-ratelimit-reset", "x-ratelimit-remaining", "x-ratelimit-limit"]),
        st.text(alphabet=string.digits + ", .-x", max_size=12),
    )
)
def test_any_headers_say_how_long_to_wait_or_nothing(headers):
    wait = BRAVE.wait_s(headers)
    assert wait is None or wait >= 0


@given(text=st.text(alphabet=string.ascii_letters + "<>/&;#! ", max_size=60))
def test_html_without_tags_shows_as_itself(text):
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert html_at({"a": f"<p class='x'>{escaped}</p>"}, "a") == text


def test_tags_that_never_end_cost_no_time():
    assert html_at({"a": "<a" * 5_000_000}, "a") == "<a" * 50_000


@each_case(
    ("content", "reason"),
    [
        ("down", "down"),
        ({"error": "a"}, "a"),
        ({"error": {"message": "b", "detail": "c"}}, "b"),
        ({"detail": {"error": "d"}}, "d"),
        ({"errors": [{"detail": "e"}]}, "e"),
        ({"title": "f", "detail": "g"}, "g"),
        ({"error": {"code": 7}, "title": "h"}, "h"),
        ({"error": {"error": {"error": {"error": "too deep"}}}}, ""),
        ({"error": []}, ""),
        ({"messageTranslations": {"de": "i", "en": "j"}}, "j"),
        (None, ""),
    ],
)
def test_reason_is_found_where_services_put_it(content, reason):
    assert error_text(content) == reason


def test_only_the_first_100_rows_are_read():
    assert objects_at({"a": [{"n": number} for number in range(1_000)]}, "a")[-1] == {"n": 99}


def test_rows_are_found_by_their_path():
    assert objects_at({"a": {"b": [{"c": 1}, 2]}}, "a", "b") == [{"c": 1}]
    assert objects_at({"sign": None}, "a", "b", always=("sign",)) == []
    assert objects_at({"a": {}, "sign": 1}, "a", "b", always=("sign",)) == []
    for answer, problem in (
        (7, "there is no object around 'a.b'"),
        ({"a": 7}, "there is no object around 'a.b'"),
        ({"a": {"b": 7}}, "there is no list at 'a.b'"),
        ({"a": {}}, "there is no 'a.b'"),
    ):
        with pytest.raises(AnswerError) as caught:
            objects_at(answer, "a", "b")
        assert str(caught.value) == problem


@each_case(
    "url", ["", "m.example", "ftp://m.example", "https://m.example/a b", "https://m.example/\u202e", "https:///x", "https://m.example/\ufffd", "https://["]
)  # fmt: skip
def test_invalid_web_addresses_are_rejected(url):
    assert is_web_address("https://m.example/ä?a=1")
    assert not is_web_address(url)


def test_text_is_found_by_its_path():
    assert text_at({"a": {"b": "c"}}, "a", "b") == "c"
    assert [text_at(place, "a", "b") for place in (None, [], {"a": "b"}, {"a": {"b": 7}})] == [""] * 4


@given(
    secret=st.text(alphabet=string.ascii_letters + "+/=&%", min_size=4, max_size=12),
    around=st.text(max_size=9),
)
def test_secret_is_hidden_however_it_is_spelled(secret, around):
    assert secret not in mask_secrets(f"{around}{secret}", [secret]).replace("[hidden]", "")


def test_secret_is_hidden_in_either_case_of_its_escapes():
    assert mask_secrets("x=abc%2bdefgh ABC%2BDEFGH", ["abc+defgh"]) == "x=[hidden] [hidden]"


def test_short_secrets_are_not_masked():
    assert mask_secrets("a bc def engine1", ["a", "bc", "def", "engine1"]) == "a bc def [hidden]"


def test_first_results_are_kept_and_changes_are_noted():
    hits = [
        SearchHit("a", "b", "nothing"),
        *[SearchHit("a\nb ", "  c\u202e ", f"https://m.example/{n}") for n in range(3)],
    ]
    shown = show_hits(hits, most=2)
    assert shown.results == [
        {"title": "a b", "snippet": "c<U+202E>", "url": f"https://m.example/{n}"} for n in range(2)
    ]
    assert shown.notes == (
        "left out 1 result without an address that can be opened",
        "2 invisible characters written as <U+XXXX>",
    )
