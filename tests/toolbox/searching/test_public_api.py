"""Searches and lookups as users make them: by name, over TLS, to the provider's own address."""

import pytest

from tests.resources.http.servers import LoopbackConnector, Names, client_tls, serve, server_tls
from tests.toolbox.searching.engines_kit import CASES, FOUND
from toolhaft import execute_tool
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox import WikipediaConfig, make_wikipedia

PUBLIC = "93.184.216.34"
PLACES = {
    "brave": ("api.search.brave.com", "/res/v1/web/search"),
    "google": ("customsearch.googleapis.com", "/customsearch/v1"),
    "serpapi": ("serpapi.com", "/search.json"),
    "tavily": ("api.tavily.com", "/search"),
}

pytestmark = pytest.mark.external


def road_to(web, host):
    """A client for which a public name leads to a server on loopback."""
    connector = LoopbackConnector({PUBLIC: web})
    return HttpClient(resolver=Names({host: [PUBLIC]}), connector=connector, tls=client_tls()), connector


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.engine)
def test_provider_is_asked_at_its_own_address(case):
    host, path = PLACES[case.engine]
    with serve({path: (200, {}, case.answer)}, tls=server_tls(host)) as web:
        client, connector = road_to(web, host)
        tool = case.tool("", endpoint=None)
        result = execute_tool(
            tool, {"query": "length & time", "num_results": 3}, resources={HttpClient: client}
        )
    assert result.value == {"results": FOUND}
    assert connector.connected == [(PUBLIC, 443)]
    (asked,) = web.requests
    assert (asked.method, asked.query, asked.headers["host"]) == (case.method, case.query, host)


def test_provider_with_the_certificate_of_another_gets_no_key():
    with serve({None: (200, {}, {})}, tls=server_tls("evil.example")) as web:
        client, _ = road_to(web, "api.search.brave.com")
        (case,) = (case for case in CASES if case.engine == "brave")
        result = execute_tool(
            case.tool("", endpoint=None), {"query": "length"}, resources={HttpClient: client}
        )
    assert "Brave Search could not be reached: " in result.message
    assert not web.requests


def test_redirect_of_a_provider_is_not_followed():
    for case in CASES:
        host, path = PLACES[case.engine]
        pages = {path: (302, {"Location": "https://evil.example/"}, "")}
        with serve(pages, tls=server_tls(host)) as web:
            client, connector = road_to(web, host)
            tool = case.tool("", endpoint=None)
            result = execute_tool(tool, {"query": "length"}, resources={HttpClient: client})
        assert "answered with HTTP 302, a redirect that is not followed: check the address" in result.message
        assert connector.connected == [(PUBLIC, 443)]


def test_wikipedia_is_asked_at_the_address_of_its_language():
    pages = {
        "/w/rest.php/v1/search/page": (200, {}, {"pages": [{"key": "Meter", "title": "Meter"}]}),
        "/api/rest_v1/page/summary/Meter": (200, {}, {"title": "Meter", "extract": "Eine Länge."}),
    }
    with serve(pages, tls=server_tls("de.wikipedia.org")) as web:
        client, connector = road_to(web, "de.wikipedia.org")
        tool = make_wikipedia(WikipediaConfig(language="de", contact="me@host.de"))
        result = execute_tool(tool, {"query": "Meter"}, resources={HttpClient: client})
    assert result.value == {"summary": "Eine Länge.", "url": "https://de.wikipedia.org/wiki/Meter"}
    assert connector.connected == [(PUBLIC, 443)] * 2


def test_private_addresses_behind_the_name_of_a_provider_are_not_asked():
    (case,) = (case for case in CASES if case.engine == "serpapi")
    connector = LoopbackConnector()
    client = HttpClient(resolver=Names({"serpapi.com": ["10.0.0.8"]}), connector=connector)
    result = execute_tool(case.tool("", endpoint=None), {"query": "length"}, resources={HttpClient: client})
    assert "SerpApi could not be reached: " in result.message
    assert "10.0.0.8" not in result.message
    assert not connector.connected
