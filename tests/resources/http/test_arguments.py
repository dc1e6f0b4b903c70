"""Arguments of the wrong type are refused before anything is sent; the message says what to write."""

import asyncio
from datetime import UTC, datetime

import pytest

from tests.cases import each_case
from tests.resources.http.servers import LoopbackConnector, Names
from toolhaft.errors import DefinitionError, HttpRefusedError
from toolhaft.resources.http import HttpClient

PUBLIC = "93.184.216.34"


@pytest.fixture
def connector():
    return LoopbackConnector()


@pytest.fixture
def client(connector):
    return HttpClient(resolver=Names({"a.example": [PUBLIC]}), connector=connector)


@each_case(
    ("options", "told"),
    [
        (
            {"deadline": 5},
            r"deadline is a Deadline, not 5; for a number of seconds write timeout_s=5 or deadline=",
        ),
        ({"deadline": 0}, "deadline is a Deadline, not 0"),
        ({"deadline": "5"}, "deadline is a Deadline, not '5'"),
        ({"deadline": datetime(2026, 1, 2, tzinfo=UTC)}, "deadline is a Deadline, not datetime"),
        ({"headers": [("a", "b")]}, "headers is a mapping, such as {'name': 'text'}, not list"),
        ({"headers": []}, "headers is a mapping, such as {'name': 'text'}, not list"),
        ({"headers": "A: b"}, "headers is a mapping, such as {'name': 'text'}, not str"),
        ({"query": "q=1"}, "query is a mapping, such as {'name': 'text'}, not str"),
        ({"query": ""}, "query is a mapping, such as {'name': 'text'}, not str"),
        ({"query": [("q", "1")]}, "query is a mapping, such as {'name': 'text'}, not list"),
        ({"query": {"q": 1}}, "the query parameter 'q' is text, not int; convert it to text, or omit it"),
        ({"query": {"q": None}}, "the query parameter 'q' is text, not NoneType"),
        ({"query": {"q": ["SECRET"]}}, "the query parameter 'q' is text, not list"),
        ({"query": {"q": b"SECRET"}}, "the query parameter 'q' is text, not bytes"),
        ({"query": {1: "q"}}, "the name of a query parameter is text, not 1"),
        ({"vet": "robots"}, "vet is a function that is called with a URL, not 'robots'"),
        ({"vet": False}, "vet is a function that is called with a URL, not False"),
        ({"content": 5}, "content is bytes, not int"),
    ],
    ids=str,
)
def test_argument_of_the_wrong_type_raises_before_anything_is_sent(client, connector, options, told):
    with pytest.raises(TypeError) as caught:
        client.fetch("http://a.example/", **options)
    assert str(caught.value).startswith(told)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(TypeError) as again:
        asyncio.run(client.afetch("http://a.example/", **options))
    assert str(again.value) == str(caught.value)
    assert connector.connected == []


@pytest.mark.parametrize("timeout_s", [10**400, -(10**400), None])
def test_invalid_timeout_raises(client, timeout_s):
    with pytest.raises(DefinitionError, match=r"^timeout_s: seconds, more than 0 and at most a day, not "):
        client.fetch("http://a.example/", timeout_s=timeout_s)


@pytest.mark.parametrize("name", [1, None, b"X-Key", ("a",)])
def test_name_of_a_header_that_is_no_text_is_refused(client, connector, name):
    with pytest.raises(HttpRefusedError, match=r" is not a valid header name$"):
        client.fetch("http://a.example/", headers={name: "SECRET"})
    assert connector.connected == []


@each_case(
    ("options", "told"),
    [
        ({"allow": ["http://a.example"]}, "allow: 'http://a.example' is not a host: it is a URL"),
        ({"only": ["https://a.example/"]}, "only: 'https://a.example/' is not a host: it is a URL"),
        (
            {"allow": ["10.0.0.0/8"]},
            "allow: '10.0.0.0/8' is not a host: it has a slash; networks and paths are not supported",
        ),
        (
            {"allow": ["*.a.example"]},
            "allow: '*.a.example' is not a host: private hosts are allowed one by one",
        ),
        ({"allow": ["*"]}, "allow: '*' is not a host: private hosts are allowed one by one"),
        ({"allow": [""]}, "allow: '' is not a host: it is empty"),
        ({"allow": [5]}, "allow: 5 is not a host: it is not text, but int"),
        (
            {"only": ["*"]},
            "only: '*' is not a host: a star is only allowed before the first dot, such as '*.example.com'",
        ),
        (
            {"only": ["a.*.example"]},
            "only: 'a.*.example' is not a host: a star is only allowed before the first dot",
        ),
        ({"allow": "a.example"}, "allow: a list of hosts is expected, not 'a.example'"),
        ({"only": "a.example"}, "only: a list of hosts is expected, not 'a.example'"),
    ],
    ids=str,
)
def test_error_for_an_invalid_host_entry_says_what_is_wrong(options, told):
    with pytest.raises(DefinitionError) as caught:
        HttpClient(**options)
    assert str(caught.value).startswith(told)
    assert "https://example.com/path" not in str(caught.value)
