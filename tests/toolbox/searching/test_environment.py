"""Keys and engines are read from the environment at each call."""

import pytest

from tests.cases import each_case
from tests.toolbox.searching.engines_kit import CASES, KEY
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox import web_search
from toolhaft.toolbox.searching.tool import search_from_environment

HOSTS = {
    "brave": "api.search.brave.com",
    "google": "customsearch.googleapis.com",
    "serpapi": "serpapi.com",
    "tavily": "api.tavily.com",
}
KEYS = {
    "brave": {"BRAVE_API_KEY": KEY},
    "google": {"GOOGLE_API_KEY": KEY, "GOOGLE_CSE_ID": "mine"},
    "serpapi": {"SERPAPI_API_KEY": KEY},
    "tavily": {"TAVILY_API_KEY": KEY},
}


class Nowhere:
    """A resolver that finds no host, and keeps what was looked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, host, port):
        self.asked.append((host, port))
        return []


@pytest.fixture
def sought(provider):
    """Which hosts a search would have gone to."""
    nowhere = Nowhere()
    provider.client = HttpClient(resolver=nowhere)
    return nowhere.asked


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.engine)
def test_key_comes_from_each_of_the_variables_of_the_provider(provider, environment, case):
    tool = case.tool(provider.address, api_key=None)
    provider.say(case.answer)
    for variable in case.variables:
        with environment.context() as patch:
            patch.setenv(variable, f" {KEY} ")
            assert provider.run(tool, {"query": "length & time", "num_results": 3}).success
        asked = provider.asked[-1]
        own = {name: value for name, value in asked.headers.items() if name in case.headers}
        assert (asked.query, own) == (case.query, case.headers)


@each_case("case", CASES, ids=lambda case: case.engine)
@each_case("key", [None, "", " "])
def test_missing_key_says_where_to_put_it_and_nothing_is_sent(provider, case, key):
    result = provider.run(case.tool(provider.address, api_key=key), {"query": "length"})
    assert result.failure.kind == "failed"
    assert f"needs a key: set {' or '.join(case.variables)} in the environment" in result.message
    assert not provider.asked


def test_key_of_the_config_goes_before_that_of_the_environment(provider, environment):
    (case,) = (case for case in CASES if case.engine == "serpapi")
    environment.setenv("SERPAPI_API_KEY", "another")
    provider.say(case.answer)
    assert provider.run(case.tool(provider.address), {"query": "length"}).success
    assert provider.asked[0].query["api_key"] == KEY


def test_invalid_key_in_the_environment_is_refused_and_not_shown(provider, environment):
    environment.setenv("TAVILY_API_KEY", "zwei wörter")
    result = provider.run(search_from_environment, {"query": "length"})
    assert "the key for Tavily must be ASCII without spaces: set TAVILY_API_KEY again" in result.message
    assert "wörter" not in result.message


@pytest.mark.parametrize("engine", KEYS)
def test_engine_is_the_one_that_has_a_key(provider, environment, sought, engine):
    for name, value in KEYS[engine].items():
        environment.setenv(name, value)
    for tool in (search_from_environment, web_search()):
        result = provider.run(tool, {"query": "length"})
        assert f"could not be reached: no address was found for '{HOSTS[engine]}'" in result.message
    assert sought == [(HOSTS[engine], 443)] * 2


def test_first_of_several_engines_is_taken(provider, environment, sought):
    for keys in KEYS.values():
        for name, value in keys.items():
            environment.setenv(name, value)
    for name in ("TAVILY_API_KEY", "BRAVE_API_KEY", "SERPAPI_API_KEY", "GOOGLE_API_KEY"):
        provider.run(search_from_environment, {"query": "length"})
        environment.delenv(name)
    assert [host for host, _ in sought] == [HOSTS[name] for name in ("tavily", "brave", "serpapi", "google")]


@pytest.mark.parametrize("keys", [{}, {"GOOGLE_API_KEY": KEY}, {"GOOGLE_CSE_ID": "mine"}])
def test_environment_without_an_engine_says_what_to_set(provider, environment, sought, keys):
    for name, value in keys.items():
        environment.setenv(name, value)
    result = provider.run(search_from_environment, {"query": "length"})
    assert (
        "no search engine is set up: set one of TAVILY_API_KEY, BRAVE_API_KEY, SERPAPI_API_KEY, "
        "GOOGLE_API_KEY with GOOGLE_CSE_ID in the environment, or TOOLHAFT_SEARCH_ENGINE=ddgs"
    ) in result.message
    assert not sought


def test_engine_that_is_named_is_taken_whatever_keys_there_are(provider, environment, sought):
    environment.setenv("TAVILY_API_KEY", KEY)
    environment.setenv("SERPAPI_KEY", KEY)
    environment.setenv("TOOLHAFT_SEARCH_ENGINE", "serpapi")
    provider.run(search_from_environment, {"query": "length"})
    assert sought == [("serpapi.com", 443)]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("tavilly", "TOOLHAFT_SEARCH_ENGINE: no search engine 'tavilly'. Fix: did you mean 'tavily'?"),
        ("bing", "the Bing Search API was retired on 2025-08-11"),
        ("brave", "Brave Search needs a key: set BRAVE_API_KEY or BRAVE_SEARCH_API_KEY in the environment"),
    ],
)
def test_engine_that_is_named_but_cannot_be_asked_says_why(provider, environment, sought, name, problem):
    environment.setenv("TOOLHAFT_SEARCH_ENGINE", name)
    assert problem in provider.run(search_from_environment, {"query": "length"}).message
    assert not sought


def test_google_without_its_id_says_so_when_it_is_named(provider, environment, sought):
    environment.setenv("TOOLHAFT_SEARCH_ENGINE", "google")
    environment.setenv("GOOGLE_API_KEY", KEY)
    result = provider.run(search_from_environment, {"query": "length"})
    assert "Google Custom Search needs the id of your own engine" in result.message
    assert not sought
