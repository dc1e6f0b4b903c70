"""Literal secrets in a file are found everywhere, and never quoted."""

import pytest

from tests.cases import each_case
from tests.define.running.kit import parameter, text_of
from toolhaft.define.running.literal_secrets import has_secret_query, has_token, looks_secret
from toolhaft.define.yaml import lint_text

URL = "https://api.example.com/"
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"  # noqa: S105 -- made up
CITY = parameter("city")


def errors(text):
    return [
        f"{remark.line}: {remark.problem}. Fix: {remark.fix}"
        for remark in lint_text(text, "x.yaml")
        if remark.level == "error"
    ]


def of_run(run, parameters=()):
    return [error.partition(": ")[2] for error in errors(text_of(run, parameters))]


def http(**fields):
    return {"http": {"method": "POST", "url": URL, **fields}}


@each_case(
    ("name", "value"),
    [
        ("Cookie", "session=abcdef0123456789; x=${env:Y}"),
        ("Cookie", "session=abcdef; x=${env:Y}"),
        ("Cookie", "theme=dark"),
        ("Authorization", "hunter2hunter2${env:Y}"),
        ("Authorization", "hunter2 ${env:Y}"),
        ("Authorization", "Bearer ${env:Y}hunter2"),
        ("Authorization", "Basic dXNl ${env:Y}"),
        ("Authorization", "Bearer hunter2 ${city}"),
        ("X-Pass", "hunter2"),
        ("X-PW", "hunter2"),
        ("X-Api-Key", "${env:A}-hunter2"),
    ],
)
def test_a_literal_secret_next_to_a_placeholder_is_an_error(name, value):
    (error,) = of_run(http(headers={name: value}, body={"c": "${city}"}), [CITY])
    fix = "put it in the environment or .env and write ${env:NAME}"
    assert error == f"literal secret in the header {name!r}. Fix: {fix}"


@each_case(
    ("name", "value"),
    [
        ("Authorization", "Bearer ${env:KEY}"),
        ("Authorization", "Basic ${env:KEY}"),
        ("Authorization", "token ${env:KEY}"),
        ("Authorization", "Bot ${env:KEY}"),
        ("Authorization", 'Token token="${env:KEY}"'),
        ("Authorization", "${env:USER}:${env:KEY}"),
        ("Authorization", "${env:SCHEME} ${env:KEY}"),
        ("Authorization", "Key=${env:KEY}"),
        ("Cookie", "session=${env:S}; csrf=${env:C}"),
        ("Cookie", "theme=dark; session=${env:S}; lang=en"),
        ("X-Api-Key", "${env:KEY}"),
        ("X-Passenger", "somebody"),
    ],
)
def test_a_scheme_and_names_next_to_a_variable_are_accepted(name, value):
    assert of_run(http(headers={name: value})) == []


@pytest.mark.parametrize(
    "query", [{"api_key": "hunter2hunter2"}, {"access_token": "abc123"}, {"key": "0123456789abcdef"}]
)
def test_a_secret_in_the_query_is_found_by_its_name(query):
    (error,) = of_run(http(query=query))
    assert error.startswith("literal secret in the query, ")
    assert not any(value in error for value in query.values())
    ((name, value),) = query.items()
    (error,) = of_run({"http": {"url": f"{URL}?a=1&{name}={value}&b=2"}})
    assert error.startswith("there is a literal secret in the url. Fix: send it in a header")
    (error,) = errors(text_of(endpoint=f"{URL}?{name}={value}"))
    assert error.endswith("endpoint has a literal secret in it. Fix: take it out of the URL")


@pytest.mark.parametrize(
    "query", [{"sort_key": "created"}, {"token": "${city}"}, {"page_token": "1"}, {"q": "hunter2hunter2"}]
)
def test_other_words_in_the_query_are_fine(query):
    assert of_run(http(query=query, body={"c": "${city}"}), [CITY]) == []


@each_case(
    ("run", "told"),
    [
        (http(body={"a": [{"k": TOKEN}]}), "literal secret in http.body. Fix: send it in a header: "),
        (http(body={TOKEN: 1}), "literal secret in http.body. Fix: send it in a header: "),
        (http(body='{"k": "' + TOKEN + '"}'), "literal secret in http.body. Fix: send it in a header: "),
        ({"argv": ["curl", f"-HX: {TOKEN}"]}, "literal secret in argv.1. Fix: put it in the environment"),
        (
            {"argv": ["curl", "-H", "Authorization: Bearer 0123456789abcdef0123"]},
            "literal secret in argv.2. Fix: put it in the environment",
        ),
        ({"argv": ["cat"], "stdin": TOKEN}, "literal secret in stdin. Fix: put it in the environment"),
    ],
)
def test_a_token_of_a_known_kind_is_found_in_every_text_of_run(run, told):
    (error,) = of_run(run)
    assert error.startswith(told)
    assert TOKEN not in error


def test_prose_in_a_body_is_not_a_secret():
    assert of_run(http(body={"text": "Basic internationalization of the Bearer acknowledgements"})) == []


@each_case("default", [TOKEN, [TOKEN], {"a": TOKEN}, {TOKEN: 1}], ids=["text", "list", "object", "key"])
@each_case("type", ["string", "array", "object"])
def test_a_token_as_a_default_is_reported_with_its_line_and_not_quoted(default, type):
    text = text_of(http(), [parameter("k", type, required=False, default=default)])
    (error,) = errors(text)
    assert error.startswith("6: parameter 'k': literal secret in its default. Fix: take it out; ")
    assert TOKEN not in error


def test_long_adversarial_texts_are_searched_to_the_end():
    """A pattern that backtracks would not come back from these: their length is what makes it hang."""
    for piece in ("?", "&a", "Basic ", "Basic aaaaaaaaaaaaaaaaaaaaaaaa", "sk-", "\0 ", "a=;", "${env:A} "):
        text = piece * (50_000 // len(piece))
        assert looks_secret(text) is (piece in ("sk-", "Basic aaaaaaaaaaaaaaaaaaaaaaaa"))
        assert has_token(text) is (piece == "sk-")
        assert not has_secret_query(text)
        of_run(http(headers={"Authorization": f"{text[:10_000]}x"}))


# --- the text of a body ---


@each_case(
    "body",
    [
        '{"a": 1${city}}',
        '{"a": -${city}}',
        '{"a": 1e${city}}',
        '{"a": "\\u000${city}"}',
        '{"a": "\\${city}"}',
    ],
)
@each_case("type", ["string", "number", "integer", "boolean"])
def test_a_placeholder_in_a_text_body_is_a_whole_value_or_in_quotes(body, type):
    (error,) = of_run(http(body=body), [parameter("city", type)])
    assert error.startswith("the text of the body is not JSON once it is filled: ")


@pytest.mark.parametrize(
    "body", ['{"admin": false, "${city}": true}', '{"a": [{"x ${city}": 1}]}', '{"a": {"b": {"${city}": 1}}}']
)
def test_a_placeholder_in_a_key_of_a_text_body_is_refused(body):
    assert of_run(http(body=body), [CITY]) == [
        "a parameter is in a key of the body. Fix: use parameters in values only"
    ]


def test_a_bare_placeholder_as_a_key_is_refused():
    (error,) = of_run(http(body="{${city}: 1}"), [CITY])
    assert error.startswith("the text of the body is not JSON once it is filled: ")
