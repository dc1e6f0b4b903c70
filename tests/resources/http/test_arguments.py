"""Arguments of the wrong kind are told at once, in words that say what to write instead."""

import asyncio
from datetime import UTC, datetime

import pytest

from tests.resources.http.servers import Names, Roads
from toolhaft.errors import DefinitionError, HttpRefusedError
from toolhaft.resources.http import HttpClient

PUBLIC = "93.184.216.34"


@pytest.fixture
def roads():
    return Roads()


@pytest.fixture
def client(roads):
    return HttpClient(resolver=Names({"a.example": [PUBLIC]}), connector=roads)


@pytest.mark.parametrize(
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
def test_argument_of_another_kind_is_a_type_error_before_anything_is_sent(client, roads, options, told):
    with pytest.raises(TypeError) as caught:
        client.fetch("http://a.example/", **options)
    assert str(caught.value).startswith(told)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(TypeError) as again:
        asyncio.run(client.afetch("http://a.example/", **options))
    assert str(again.value) == str(caught.value)
    assert roads.taken == []


@pytest.mark.parametrize("timeout_s", [10**400, -(10**400), None])
def test_number_that_no_clock_has_is_told(client, timeout_s):
    with pytest.raises(DefinitionError, match=r"^timeout_s: seconds, more than 0 and at most a day, not "):
        client.fetch("http://a.example/", timeout_s=timeout_s)


@pytest.mark.parametrize("name", [1, None, b"X-Key", ("a",)])
def test_name_of_a_header_that_is_no_text_is_refused(client, roads, name):
    with pytest.raises(HttpRefusedError, match=r" is no name of a header$"):
        client.fetch("http://a.example/", headers={name: "SECRET"})
    assert roads.taken == []


@pytest.mark.parametrize(
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
def test_entry_that_is_no_host_is_told_by_what_it_is(options, told):
    with pytest.raises(DefinitionError) as caught:
        HttpClient(**options)
    assert str(caught.value).startswith(told)
    assert "https://example.com/path" not in str(caught.value)
