"""The engine ddgs, a package with its own HTTP client; a fake package replaces it here."""

import inspect
import sys
import types

import pytest
from ddgs import exceptions
from ddgs.results import TextResult

from toolhaft import Deadline, execute_tool
from toolhaft.errors import DefinitionError, ToolExecutionError
from toolhaft.toolbox import SearchConfig, web_search
from toolhaft.toolbox.searching import ddgs as engine_file
from toolhaft.toolbox.searching.tool import search_from_environment

ROWS = [
    {"title": "The metre", "href": "https://measures.example/metre", "body": "A length."},
    {"title": "No address", "href": "", "body": ""},
    {"title": 7, "href": "https://measures.example/second"},
]


@pytest.fixture
def package(monkeypatch):
    """A stand-in for the package; `said` is what its search gives or raises."""
    stand_in = types.ModuleType("ddgs")
    stand_in.exceptions = exceptions
    stand_in.made = []
    stand_in.said = ROWS

    class DDGS:
        def __init__(self, **options):
            self.options = options

        def text(self, query, **options):
            stand_in.made.append((self.options, query, options))
            if isinstance(stand_in.said, Exception):
                raise stand_in.said
            return stand_in.said

    stand_in.DDGS = DDGS
    monkeypatch.setitem(sys.modules, "ddgs", stand_in)
    monkeypatch.setitem(sys.modules, "ddgs.exceptions", exceptions)
    return stand_in


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ddgs", None)


def test_ddgs_results_have_the_same_form_and_mention_the_missing_guard(package):
    tool = web_search(SearchConfig(engine="ddgs", max_results=4))
    result = execute_tool(tool, {"query": "length", "num_results": 3})
    assert result.value == {
        "results": [
            {"title": "The metre", "snippet": "A length.", "url": "https://measures.example/metre"},
            {"title": "", "snippet": "", "url": "https://measures.example/second"},
        ]
    }
    assert result.untrusted
    assert (
        "Ddgs uses its own HTTP client, so this search did not go through the guarded one." in result.message
    )
    assert package.made == [({"timeout": 4}, "length", {"max_results": 3})]


def test_ddgs_timeout_fits_into_the_deadline(package):
    tool = web_search(SearchConfig(engine="ddgs"))
    for seconds in (11.5, 2.5):
        execute_tool(tool, {"query": "length"}, deadline=Deadline.after(seconds))
    assert [options for options, _, _ in package.made] == [{"timeout": 3}, {"timeout": 1}]


def test_default_timeout_applies_without_a_deadline(package):
    context = types.SimpleNamespace(time_limit=None)
    assert web_search(SearchConfig(engine="ddgs")).handler({"query": "length"}, context).success
    assert package.made[0][0] == {"timeout": 5}


def test_nothing_found_is_a_success(package):
    package.said = package.exceptions.DDGSException("No results found.")
    result = execute_tool(web_search(SearchConfig(engine="ddgs")), {"query": "length"})
    assert result.value == {"results": []}


@pytest.mark.parametrize(
    ("name", "words", "problem"),
    [
        ("RatelimitException", "202", "the services behind ddgs are busy"),
        ("TimeoutException", "timed out", "the services behind ddgs did not answer in time"),
        (
            "DDGSException",
            "all\x1b broke",
            "no service behind ddgs answered, the last one failed with 'all<U+001B> broke'",
        ),
    ],
)
def test_its_errors_are_told_in_ours(package, name, words, problem):
    package.said = getattr(package.exceptions, name)(words)
    result = execute_tool(web_search(SearchConfig(engine="ddgs")), {"query": "length"})
    assert result.failure.kind == "failed"
    assert isinstance(result.failure.error, ToolExecutionError)
    assert problem in result.message


def test_missing_package_is_told_with_the_command_when_the_tool_is_made(no_package):
    with pytest.raises(DefinitionError, match="needs a package that is missing") as caught:
        web_search(SearchConfig(engine="ddgs"))
    assert caught.value.fix == "pip install 'toolhaft[ddgs]'"


def test_missing_package_is_told_with_the_command_when_the_environment_names_it(no_package, environment):
    environment.setenv("TOOLHAFT_SEARCH_ENGINE", "ddgs")
    result = execute_tool(search_from_environment, {"query": "length"})
    assert "the engine 'ddgs' needs a package that is missing: pip install 'toolhaft[ddgs]'" in result.message


def test_environment_can_name_it(package, environment):
    environment.setenv("TOOLHAFT_SEARCH_ENGINE", "ddgs")
    assert len(execute_tool(search_from_environment, {"query": "length"}).value["results"]) == 2


def test_environment_without_keys_does_not_choose_it(package):
    assert not execute_tool(search_from_environment, {"query": "length"}).success
    assert not package.made


def test_real_package_takes_what_is_given_and_has_the_errors_and_fields():
    package = engine_file.load()
    client = package.DDGS(timeout=1)  # asks nobody
    assert isinstance(inspect.signature(type(client).__init__).parameters["timeout"].default, int)
    inspect.signature(client.text).bind("length", max_results=3)
    search = inspect.signature(type(client)._search_sync)  # noqa: SLF001 -- where `text` hands its options on
    assert "max_results" in search.parameters
    assert issubclass(exceptions.RatelimitException, exceptions.DDGSException)
    assert issubclass(exceptions.TimeoutException, exceptions.DDGSException)
    assert {"title", "href", "body"} <= set(TextResult.__dataclass_fields__)
    assert engine_file._NOTHING in inspect.getsource(inspect.getmodule(type(client)))  # noqa: SLF001 -- the words of the package


def test_package_without_its_dependency_is_reported_as_missing(package):
    class Broken:
        def __init__(self, **options):
            raise ImportError("import of primp halted")

    package.DDGS = Broken
    result = execute_tool(web_search(SearchConfig(engine="ddgs")), {"query": "length"})
    assert "the engine 'ddgs' needs a package that is missing: pip install 'toolhaft[ddgs]'" in result.message
