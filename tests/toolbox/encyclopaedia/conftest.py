"""A Wikipedia on loopback, and an environment that names no contact."""

import pytest

from tests.toolbox.searching.provider import provider_on
from toolhaft.toolbox import WikipediaConfig, make_wikipedia


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("TOOLHAFT_CONTACT", raising=False)
    return monkeypatch


@pytest.fixture
def wiki(provider_server):
    """A provider with `look_up`, which asks it as the tool does."""
    with provider_on(provider_server) as provider:

        def look_up(query, **changes):
            given = {"contact": "tests@toolhaft.example", "endpoint": f"{provider.address}/", **changes}
            tool = make_wikipedia(WikipediaConfig(**given))
            return provider.run(tool, {"query": query})

        provider.look_up = look_up
        yield provider
