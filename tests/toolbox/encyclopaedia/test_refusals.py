"""Invalid queries, contacts and responses, and their messages."""

import json
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.toolbox.searching.provider import Reply
from toolhaft import Deadline, ToolRegistry
from toolhaft.core.effect import Effect
from toolhaft.errors import DefinitionError
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox import WikipediaConfig, make_wikipedia, wikipedia
from toolhaft.toolbox.encyclopaedia.wiki import best_of, path_of, read_pages, read_summary
from toolhaft.toolbox.untrusted_json import AnswerError

PAGES = {"pages": [{"key": "Metre", "title": "Metre"}]}
PAGE = b"<!doctype html><title>Wikimedia Error</title>"


def test_tool_has_the_schemas_of_the_seed():
    assert wikipedia.name == "wikipedia"
    assert wikipedia.input_schema == {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }
    assert wikipedia.output_schema == {
        "type": "object",
        "properties": {"summary": {"type": "string"}, "url": {"type": "string"}},
    }
    assert (wikipedia.effect, wikipedia.timeout_s, wikipedia.retryable) == (Effect.READ, 10, True)


def test_two_wikipedia_tools_can_be_in_one_executor():
    german = make_wikipedia(WikipediaConfig(language="de", name="wikipedia_de"))
    registry = ToolRegistry([wikipedia, german])
    assert list(registry.registry) == ["wikipedia", "wikipedia_de"]
    assert "Wikipedia (de)" in german.description


@pytest.mark.parametrize("language", ["en", "als", "zh-min-nan", "be-tarask"])
def test_language_is_where_the_address_begins(wiki, language):
    sought = []
    wiki.client = HttpClient(resolver=lambda host, port: sought.append((host, port)) or [])
    result = wiki.look_up("metre", language=language, endpoint=None)
    assert not result.success
    assert sought == [(f"{language}.wikipedia.org", 443)]


@each_case(
    "language", ["", "e", "EN", "en.evil", "en/", "en-", "abcd", "en\n", "a@b", "evil.example#", None, 7]
)
def test_invalid_language_is_refused(language):
    with pytest.raises(DefinitionError, match="is not a language of Wikipedia"):
        WikipediaConfig(language=language)


@each_case(
    "contact",
    [
        "",
        "me",
        "me@host",
        "a b@c.de",
        "me@host.de\r\nX: y",
        "ftp://me.example",
        "(me@host.de)",
        "ü@b.de",
        "x" * 200 + "@b.de",
        5,
        b"me@host.de",
    ],
)
def test_invalid_contact_is_refused(wiki, environment, contact):
    with pytest.raises(DefinitionError, match="is not a contact"):
        WikipediaConfig(contact=contact)
    if isinstance(contact, str) and contact and "\r" not in contact:
        environment.setenv("TOOLHAFT_CONTACT", contact)
        result = wiki.look_up("metre", contact=None)
        assert (
            "TOOLHAFT_CONTACT is neither an e-mail address nor a URL, and nothing was sent: set TOOLHAFT_CONTACT"
        ) in result.message
        assert not wiki.asked


@pytest.mark.parametrize("contact", ["me@host.de", "https://me.example/bot?a=1", "http://me.example"])
def test_contact_may_come_from_the_environment(wiki, environment, contact):
    environment.setenv("TOOLHAFT_CONTACT", f" {contact} ")
    wiki.say(PAGES, {"title": "Metre", "extract": "A length."})
    assert wiki.look_up("metre", contact=None).success
    assert f"({contact}; " in wiki.asked[0].headers["user-agent"]


@pytest.mark.parametrize("contact", [None, ""], ids=["unset", "empty"])
def test_no_contact_is_needed(wiki, environment, contact):
    if contact is not None:
        environment.setenv("TOOLHAFT_CONTACT", contact)
    wiki.say(PAGES, {"title": "Metre", "extract": "A length."})
    assert wiki.look_up("metre", contact=None).success
    assert wiki.asked[-1].headers["user-agent"] == f"toolhaft/{version('toolhaft')} (wikipedia tool)"


@pytest.mark.parametrize(
    "reply",
    [Reply(status=403, body=PAGE), Reply(status=429), Reply(status=429, headers={"Retry-After": "60"})],
    ids=["denied", "busy", "busy for a time"],
)
def test_a_refusal_names_the_contact_to_set(wiki, reply):
    wiki.say(reply)
    result = wiki.look_up("metre", contact=None)
    assert f"HTTP {reply.status}" in result.message
    assert "set TOOLHAFT_CONTACT to your e-mail address or a URL of yours" in result.message
    wiki.say(reply)
    assert "check that the contact in TOOLHAFT_CONTACT" in wiki.look_up("metre").message


def test_wikipedia_is_set_up_by_a_config_alone():
    with pytest.raises(
        DefinitionError, match=r"Fix: write make_wikipedia\(WikipediaConfig\(language='de'\)\)"
    ):
        make_wikipedia("de")


def test_invalid_endpoint_is_refused():
    with pytest.raises(DefinitionError, match="the endpoint is not a plain http or https address"):
        WikipediaConfig(endpoint="wikipedia.example")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (" ", "query is empty: say what to look for"),
        ("a\u202eb", "hidden characters (U+202E)"),
        ("x" * 301, "query has 301 characters, Wikipedia takes 300"),
    ],
)
def test_invalid_query_is_refused_before_the_request(wiki, query, problem):
    result = wiki.look_up(query)
    assert result.failure.kind == "invalid_arguments"
    assert problem in result.message
    assert not wiki.asked


@pytest.mark.parametrize("before", [(), (PAGES,)], ids=["search", "summary"])
@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(body=PAGE), "gave no usable response: the response is not JSON (text/html, 45 bytes)"),
        (Reply(body=[]), "gave no usable response: there is no "),
        (Reply(body={}), "gave no usable response: there is no "),
        (Reply(body={"pages": 7, "title": 7}), "gave no usable response: there is no "),
        (
            Reply(status=403, body=PAGE),
            "refused the request (HTTP 403); check that the contact in TOOLHAFT_CONTACT",
        ),
        (
            Reply(status=500, body={"httpCode": 500, "message": "oops"}),
            "answered with HTTP 500, it said 'oops'",
        ),
        (
            Reply(
                status=400, body={"httpCode": 400, "messageTranslations": {"de": "nein", "en": "too long"}}
            ),
            "answered with HTTP 400, it said 'too long'",
        ),
        (Reply(body={"message": "not now"}), "gave no usable response: there is no "),
        (Reply(status=429, headers={"Retry-After": "60"}), "is busy (HTTP 429) and asks to wait 60 s"),
        (Reply(status=429), "is busy (HTTP 429) and does not say for how long"),
    ],
)
def test_error_for_an_unusable_wikipedia_response_says_why(wiki, before, reply, problem):
    wiki.say(*before, reply)
    result = wiki.look_up("metre")
    assert result.failure.kind == "failed"
    assert f"Wikipedia (en) {problem}" in result.message
    assert len(wiki.asked) == len(before) + 1


def test_busy_wikipedia_is_retried_after_the_requested_time(wiki):
    busy = Reply(status=429, headers={"Retry-After": "0"})
    wiki.say(busy, PAGES, busy, {"title": "Metre", "extract": "A length."})
    assert wiki.look_up("metre").value["summary"] == "A length."
    assert len(wiki.asked) == 4


def test_wikipedia_that_never_responds_times_out(wiki):
    wiki.say(Reply(never=True))
    tool = make_wikipedia(WikipediaConfig(contact="me@host.de", endpoint=wiki.address))
    assert not wiki.run(tool, {"query": "metre"}, deadline=Deadline.after(0.3)).success


NAMES = st.sampled_from(
    [
        "pages",
        "key",
        "title",
        "titles",
        "normalized",
        "extract",
        "description",
        "excerpt",
        "content_urls",
        "desktop",
        "page",
        "type",
    ]
)
ANYTHING = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["..", "disambiguation", "\ud800", "https://m.example/"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(answer=ANYTHING | ANYTHING.map(lambda value: {"pages": [value, {"key": "k", "title": "t"}]}))
def test_any_answer_is_read_or_refused(answer):
    for read in (read_pages, read_summary):
        try:
            found = read(answer)
        except AnswerError as error:
            assert str(error)  # noqa: PT017 -- either is fine
            continue
        assert json.dumps(found)
        if isinstance(found, list) and found:
            assert best_of(found, "t") in found


@given(key=st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_title_is_one_step_of_a_path(key):
    assert set("/?# ").isdisjoint(path_of(key))
