"""The options of SearchConfig, and the tool that is created from it."""

import dataclasses
import pickle
import warnings

import pytest

from tests.cases import each_case
from tests.toolbox.searching.engines_kit import CASES, GOOGLE, KEY
from toolhaft import execute_tool
from toolhaft.core.effect import Effect
from toolhaft.errors import DefinitionError
from toolhaft.toolbox import SearchConfig, web_search
from toolhaft.toolbox.searching.tool import search_from_environment


def input_schema(default):
    return {
        "type": "object",
        "properties": {"query": {"type": "string"}, "num_results": {"type": "integer", "default": default}},
        "required": ["query"],
    }


OUTPUT_SCHEMA = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "snippet": {"type": "string"},
                    "url": {"type": "string"},
                },
            },
        }
    },
}


def test_tool_has_the_schemas_of_the_seed():
    for tool in (search_from_environment, web_search(), web_search(SearchConfig())):
        assert tool.name == "web_search"
        assert tool.input_schema == input_schema(5)
        assert tool.output_schema == OUTPUT_SCHEMA
        assert (tool.effect, tool.timeout_s, tool.retryable) == (Effect.READ, 15, True)


def test_number_of_results_by_default_is_the_most_that_can_be_asked_for():
    tool = web_search(SearchConfig(api_key=KEY, engine="tavily", max_results=17))
    assert tool.input_schema == input_schema(17)


def test_two_search_tools_can_be_in_one_executor():
    names = [web_search(SearchConfig(engine="brave", name=name)).name for name in ("search_a", "search_b")]
    assert names == ["search_a", "search_b"]


def test_repr_of_a_config_has_no_key():
    config = SearchConfig(api_key=KEY)
    assert repr(config) == (
        "SearchConfig(engine='serpapi', max_results=5, engine_id=None, endpoint=None, name='web_search')"
    )
    assert KEY not in str(config)
    assert config.api_key == KEY


def test_config_is_frozen_data():
    config = SearchConfig(api_key=KEY)
    assert config == SearchConfig(api_key=KEY) != SearchConfig(api_key="another")
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 -- its own bytes
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.engine = "brave"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tavilly", "did you mean 'tavily'? There are"),
        *((name, "use one of") for name in ("altavista", "", 7, None)),
    ],
)
def test_unknown_engine_names_the_nearest_and_the_live_ones(name, hint):
    with pytest.raises(DefinitionError) as caught:
        SearchConfig(engine=name)
    text = f"engine: no search engine {name!r}. Fix: {hint} brave, tavily, serpapi, google, ddgs"
    assert str(caught.value) == text


@each_case("number", [0, -1, 21, 5.0, "5", None, True])
@each_case("engine", ["brave", "tavily", "ddgs", "bing"])
def test_number_of_results_is_from_one_to_twenty(engine, number):
    SearchConfig(engine=engine, max_results=20)
    with pytest.raises(DefinitionError, match="not a number of results from 1 to 20"):
        SearchConfig(engine=engine, max_results=number)


@pytest.mark.parametrize("engine", ["serpapi", "google"])
def test_engine_that_gives_fewer_says_so(engine):
    SearchConfig(engine=engine, max_results=10)
    with pytest.raises(DefinitionError, match="returns at most 10 per search"):
        SearchConfig(engine=engine, max_results=11)


@each_case("key", ["two words", "line\nbreak", "schlüssel-geheim", "nul\x00key", b"key-bytes", 123])
def test_invalid_key_is_refused_and_not_shown(key):
    with pytest.raises(DefinitionError, match="the key must be ASCII without spaces") as caught:
        SearchConfig(api_key=key)
    assert str(key) not in str(caught.value)


def test_id_of_an_engine_that_is_no_text_is_refused():
    with pytest.raises(DefinitionError, match="engine_id: the id is not text"):
        SearchConfig(engine="google", engine_id=5)


@pytest.mark.parametrize("config", ["brave", {"engine": "brave"}])
def test_search_is_set_up_by_a_config_alone(config):
    with pytest.raises(DefinitionError, match=r"Fix: write web_search\(SearchConfig\(engine='brave'\)\)"):
        web_search(config)


@each_case(
    "endpoint",
    [
        "",
        "gateway.example",
        "ftp://gateway.example",
        "https://",
        "https://u:p@g.example",
        "https://g.example/?a=1",
        "https://g.example/#a",
        "https://[g",
        "http://h\nost/",
        "https://a b/",
        "https://g.example:99999/",
        "http://127.1/",
        5,
    ],
)
def test_invalid_endpoint_is_refused(endpoint):
    with pytest.raises(DefinitionError, match="the endpoint is not a plain http or https address"):
        SearchConfig(endpoint=endpoint)


def test_key_with_space_around_it_is_taken_without(provider):
    (case,) = (case for case in CASES if case.engine == "brave")
    provider.say(case.answer)
    assert provider.run(case.tool(provider.address, api_key=f" {KEY}\n"), {"query": "length"}).success
    assert provider.asked[0].headers["x-subscription-token"] == KEY


def test_bing_makes_a_tool_whose_call_names_the_live_engines():
    tool = web_search(SearchConfig(api_key=KEY, engine="bing"))
    result = execute_tool(tool, {"query": "length"})
    assert result.failure.kind == "failed"
    assert (
        "the Bing Search API was retired on 2025-08-11 and no longer responds; "
        "use one of brave, tavily, serpapi, google, ddgs: SearchConfig(engine=...)"
    ) in result.message


def test_google_warns_where_the_tool_is_made():
    config = SearchConfig(api_key=KEY, engine="google", engine_id="mine")
    with pytest.warns(FutureWarning, match="ends for all on 2027-01-01") as seen:
        web_search(config)
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize("engine", ["brave", "tavily", "serpapi", "bing", "ddgs"])
def test_others_do_not_warn(engine):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        web_search(SearchConfig(api_key=KEY, engine=engine))
    assert not seen


def test_google_without_the_id_of_an_engine_is_refused():
    with pytest.raises(DefinitionError) as caught:
        web_search(SearchConfig(api_key=KEY, engine="google", engine_id=" "))
    assert caught.value.place == "engine_id"
    assert "give SearchConfig(engine_id=...), or set GOOGLE_CSE_ID in the environment" in str(caught.value)


def test_google_takes_the_id_of_an_engine_from_the_environment(provider, environment):
    environment.setenv("GOOGLE_CSE_ID", "mine-too")
    tool = GOOGLE.tool(provider.address, engine_id=None)
    provider.say(GOOGLE.answer)
    assert provider.run(tool, {"query": "length"}).success
    assert provider.asked[0].query["cx"] == "mine-too"
    environment.delenv("GOOGLE_CSE_ID")
    assert "needs the id of your own engine" in provider.run(tool, {"query": "length"}).message
    assert len(provider.asked) == 1
