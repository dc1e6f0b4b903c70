"""Every problem that a `run` block can have, with its fix."""

import pytest

from tests.cases import each_case
from tests.define.running.kit import parameter, text_of
from toolhaft.define.yaml import lint_text, parse_tool
from toolhaft.errors import DefinitionError

CITY = [parameter("city"), parameter("units", required=False)]
TEMPERATURE = [{"name": "temperature", "type": "number", "description": "It."}]
URL = "https://api.example.com/"


def errors(run, returns=TEMPERATURE):
    found = lint_text(text_of(run, CITY, returns), "x.yaml")
    return [f"{remark.problem}. Fix: {remark.fix}" for remark in found if remark.level == "error"]


def http(**fields):
    return {"http": {"method": "GET", "url": URL, **fields}}


# --- which way ---


@each_case(
    ("run", "told"),
    [
        ({}, "run has none of http, argv and python. Fix: write one of http: {...}"),
        ([], "run is not a mapping. Fix: write one of"),
        ("text", "run is not a mapping"),
        ({"python": "a:b", "argv": ["x"]}, "run has both python and argv"),
        ({"argv": ["x"], "cdw": "data"}, "run: unknown key 'cdw'. Fix: did you mean 'cwd'?"),
        (
            {"python": "a:b", "timeout": 5},
            "run: unknown key 'timeout'. Fix: take it out; the keys are python",
        ),
        ({"python": 5}, "python does not name a function. Fix: write python: "),
        ({"python": "module.function"}, "python does not name a function"),
        ({"python": "../x:y"}, "python does not name a function"),
        ({"python": "${city}:y"}, "python does not name a function"),
    ],
)
def test_run_has_exactly_one_of_http_argv_and_python(run, told):
    assert any(error.startswith(told) for error in errors(run)), errors(run)


# --- http ---


@each_case(
    ("run", "told"),
    [
        ({"http": URL}, "http is not a mapping"),
        ({"http": {}}, "http has no url"),
        (http(url=5), "the url does not begin with http:// or https://"),
        (http(url="ftp://x.example/"), "the url does not begin with"),
        (http(url="${city}://x.example/"), "the url does not begin with"),
        (http(url="https://${city}.example.com/"), "a parameter is in the host or port of the url"),
        (http(url="https://x.example:${city}/"), "a parameter is in the host or port"),
        (http(url="https://me:pw@x.example/"), "the url has a user or a password in it"),
        (http(url="https://${city}@x.example/"), "the url has a user or a password in it"),
        (http(url="https:///x"), "the URL has no host|a host"),
        (http(url="https://x.example/a b"), "the URL has an invalid character"),
        (http(url="https://x.example/a\\b"), "the URL has an invalid character"),
        (http(url="https://x.example/a#b"), "the url has a fragment, which is never sent"),
        (http(url="https://x.example/a#${city}"), "the url has a fragment"),
        (http(url="https://x.example/../a"), "the path of the url has a '.' or '..' segment"),
        (http(url="https://x.example/%2e%2e/a"), "the path of the url has a '.' or '..' segment"),
        (http(url="https://x.example/" + "a" * 9000), "the url is longer than 8,192 characters"),
        (
            http(url="https://x.example/${units}"),
            "the optional parameter 'units' is used in the url. Fix: make it required, or give it a default",
        ),
        (http(url="https://x.example/?a=${units}"), "the optional parameter 'units' is used in the url"),
        (http(url="https://x.example/${env:KEY}"), "${env:KEY} is outside the headers"),
        (
            http(url="https://x.example/?key=sk-abcdefghijklmnopqrstuv"),
            "there is a literal secret in the url",
        ),
        (http(url="https://x.example/${ciyt}"), "there is no parameter 'ciyt'. Fix: did you mean 'city'?"),
        (
            http(url="https://x.example/${qqqqqq}"),
            "there is no parameter 'qqqqqq'. Fix: name one of the parameters (city, units)",
        ),
        (http(url="https://x.example/${}"), "'${}' names nothing"),
        (http(url="https://x.example/${city"), "a '${' is not closed. Fix: write ${name}, or $${"),
        (http(method="get"), "method 'get' is not one of GET, HEAD"),
        (http(method="TRACE"), "method 'TRACE' is not one of"),
        (http(method=5), "method '5' is not one of"),
        (http(heders={}), "http: unknown key 'heders'. Fix: did you mean 'headers'?"),
        (http(body={"a": 1}), "a GET has no body. Fix: send POST"),
        (http(method="HEAD", body="1"), "a HEAD has no body"),
        (http(method="POST", body="${nope}"), "there is no parameter 'nope'"),
        (http(method="POST", body="{city}"), "the text of the body is not JSON once it is filled"),
        (http(method="POST", body='{"a": "${city}}'), "the text of the body is not JSON"),
        (
            http(method="POST", body='{"a": ${units}}'),
            "the optional parameter 'units' is used inside the text of the body",
        ),
        (
            http(method="POST", body={"a": "x ${units}"}),
            "the optional parameter 'units' is used inside a longer text",
        ),
        (http(method="POST", body={"a": [{"${city}": 1}]}), "body: the key '${city}' cannot be filled"),
        (http(method="POST", body={"a": "${env:KEY}"}), "${env:KEY} is outside the headers"),
        (http(method="POST", body={"a": ["${nope}"]}), "there is no parameter 'nope'"),
        (http(query=[]), "query is not a mapping"),
        (http(query={"a": {}}), "query: 'a' is not text"),
        (http(query={"a": None}), "query: 'a' is not text"),
        (http(query={"a": ["x", None]}), "query: 'a' is not text"),
        (http(query={"${city}": "x"}), "query: the name '${city}' cannot be filled"),
        (http(query={"a": "x${units}"}), "the optional parameter 'units' is used inside a longer text"),
        (http(query={"a": "${env:KEY}"}), "${env:KEY} is outside the headers"),
        (
            http(query={"key": "sk-abcdefghijklmnopqrstuv"}),
            "literal secret in the query, 'key'. Fix: send it in a header",
        ),
        (http(headers="x"), "headers is not a mapping"),
        (http(headers={"a b": "x"}), "'a b' is not a valid header name"),
        (http(headers={"Host": "x"}), "the header 'Host' is set by the client itself"),
        (http(headers={"Toolhaft-Trail": "x"}), "the header 'Toolhaft-Trail' is set by toolhaft itself"),
        (http(headers={"X-A": "é"}), "the value of the header 'X-A' must be one line of ASCII"),
        (http(headers={"X-A": "a\nb"}), "the value of the header 'X-A' must be one line of ASCII"),
        (http(headers={"X-A": []}), "the header 'X-A' is not text"),
        (http(headers={"X-A": "1", "x-a": "2"}), "the header 'x-a' is given twice"),
        (
            http(headers={"X-A": "a ${units}"}),
            "the optional parameter 'units' is used inside a longer header",
        ),
        (http(headers={"X-A": "${env:1X}"}), "the text after 'env:' is not a variable name"),
        (http(result=[]), "result is not a mapping"),
        (
            http(result={"temprature": "/a"}),
            "result: no field 'temprature' is returned. Fix: did you mean 'temperature'?",
        ),
        (http(result={"temperature": 5}), "result: 'temperature' is not a path in the response"),
        (http(result={"temperature": "/${city}"}), "result: 'temperature' is not a path"),
        (http(result={"temperature": "a..b"}), "result: 'temperature' is not a path"),
    ],
)
def test_each_problem_of_an_http_block_is_reported(run, told):
    found = errors(run)
    assert any(part in error for error in found for part in told.split("|")), found


def test_a_result_needs_returns():
    found = errors(http(result={"temperature": "/a"}), returns=())
    assert found == ["result needs returns, and there are none. Fix: add returns, or take result out"]


SECRETS = [
    ("Authorization", "Bearer abc"),
    ("authorization", "Basic dXNlcjpwdw=="),
    ("Cookie", "session=1"),
    ("X-Api-Key", "12345"),
    ("X_API_KEY", "12345"),
    ("apikey", "12345"),
    ("X-Auth-Token", "12345"),
    ("X-Client-Secret", "12345"),
    ("Ocp-Apim-Subscription-Key", "12345"),
    ("Authorization", "Bearer abcdef${city}"),
    ("X-Whatever", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("X-Whatever", "Bearer abcdefghijklmnopqrstuvwxyz"),
    ("X-Whatever", "AKIAABCDEFGHIJKLMNOP"),
    ("Authorization", "Bearer sk-abcdefghijklmnopqrstuv ${env:KEY}"),
    ("X-Whatever", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123"),
]


@each_case(("name", "value"), SECRETS)
def test_a_literal_secret_is_an_error_that_does_not_quote_it(name, value):
    found = errors(http(headers={name: value}))
    assert found == [
        f"literal secret in the header {name!r}. Fix: put it in the environment or .env and write ${{env:NAME}}"
    ]
    with pytest.raises(DefinitionError) as caught:
        parse_tool(text_of(http(headers={name: value}), CITY, TEMPERATURE))
    assert value.split()[-1] not in str(caught.value)


@each_case(
    ("name", "value"),
    [
        ("Authorization", "Bearer ${env:KEY}"),
        ("Authorization", "Bearer ${city}"),
        ("X-Token", "${city}"),
        ("Cookie", "session=${env:SESSION}; theme=dark"),
        ("Accept", "application/json"),
        ("User-Agent", "weather/1.0"),
        ("X-Author", "somebody"),
    ],
)
def test_harmless_literals_are_accepted(name, value):
    assert errors(http(headers={name: value})) == []


# --- argv ---


@each_case(
    ("run", "told"),
    [
        ({"argv": "convert ${city}"}, "argv is not a list"),
        ({"argv": []}, "argv is not a list"),
        ({"argv": [""]}, "argv does not begin with a program"),
        ({"argv": [5]}, "argv does not begin with a program"),
        ({"argv": ["${city}"]}, "the program is chosen by a parameter. Fix: name the program itself"),
        ({"argv": ["bin/${city}"]}, "the program is chosen by a parameter"),
        ({"argv": ["${env:SHELL}"]}, "${env:SHELL} is outside the headers"),
        ({"argv": ["x", None]}, "element 1 of argv is not text"),
        ({"argv": ["x", ["a"]]}, "element 1 of argv is not text"),
        ({"argv": ["x", "a\0b"]}, "element 1 of argv has a NUL in it"),
        ({"argv": ["x", "${ciyt}"]}, "there is no parameter 'ciyt'. Fix: did you mean 'city'?"),
        ({"argv": ["x"], "cwd": "../up"}, "cwd is not a folder below the project's"),
        ({"argv": ["x"], "cwd": "/etc"}, "cwd is not a folder below the project's"),
        ({"argv": ["x"], "cwd": "~"}, "cwd is not a folder below the project's"),
        ({"argv": ["x"], "cwd": 5}, "cwd is not a folder below the project's"),
        ({"argv": ["x"], "cwd": "${city}"}, "cwd cannot be filled by a parameter"),
        ({"argv": ["x"], "env": {"A": "b"}}, "env is not a list of variables' names"),
        ({"argv": ["x"], "env": ["A=b"]}, "env is not a list of variables' names"),
        (
            {"argv": ["x"], "stdin": "x ${units}"},
            "the optional parameter 'units' is used inside a longer text",
        ),
        ({"argv": ["x"], "max_output_bytes": 0}, "max_output_bytes is not a whole number of bytes"),
        ({"argv": ["x"], "max_output_bytes": True}, "max_output_bytes is not a whole number of bytes"),
        ({"argv": ["x"], "max_output_bytes": "1 MB"}, "max_output_bytes is not a whole number of bytes"),
    ],
)
def test_each_problem_of_an_argv_block_is_reported(run, told):
    found = errors(run, returns=())
    assert any(told in error for error in found), found
