"""A provider on loopback, and an environment without keys."""

import pytest

from tests.toolbox.searching.provider import provider_on

VARIABLES = (
    "BRAVE_API_KEY",
    "BRAVE_SEARCH_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_CSE_ID",
    "SERPAPI_API_KEY",
    "SERPAPI_KEY",
    "TAVILY_API_KEY",
    "TOOLHAFT_SEARCH_ENGINE",
)


@pytest.fixture
def provider(provider_server):
    with provider_on(provider_server) as found:
        yield found


@pytest.fixture
def waits(monkeypatch):
    """The seconds that a service asked to wait, which nobody waits for."""
    found = []
    monkeypatch.setattr(
        "toolhaft.toolbox.json_service._pause", lambda seconds, context: found.append(seconds)
    )
    return found


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The tests never use a key of the developer who runs them."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch
