"""A provider on loopback, and an environment without keys."""

import pytest

from tests.toolbox.searching.provider import provider_on_loopback

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
def provider():
    with provider_on_loopback() as found:
        yield found


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """No key of whoever runs the tests is ever used."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch
