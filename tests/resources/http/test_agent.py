"""The User-Agent of a client that was given none: toolhaft and its version, if it is installed."""

import importlib.metadata

import pytest

from tests.resources.http.servers import serve
from toolhaft.resources.http import HttpClient
from toolhaft.resources.http.client import default_user_agent
from toolhaft.toolbox.encyclopaedia.wiki import open_wiki

pytestmark = pytest.mark.external


@pytest.fixture
def not_installed(monkeypatch):
    real = importlib.metadata.version

    def version(name):
        if name == "toolhaft":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)  # the HTTP library needs its own when it is imported

    monkeypatch.setattr(importlib.metadata, "version", version)
    default_user_agent.cache_clear()  # its result is cached
    yield
    default_user_agent.cache_clear()


def test_user_agent_has_the_installed_version():
    assert default_user_agent() == f"toolhaft/{importlib.metadata.version('toolhaft')}"


@pytest.mark.usefixtures("not_installed")
def test_user_agent_has_no_version_if_the_package_is_not_installed():
    with serve({"/": (200, {}, "")}) as web:
        HttpClient(allow=[web.authority]).fetch(web.url)
    assert web.requests[0].headers["user-agent"] == "toolhaft"


@pytest.mark.usefixtures("not_installed")
def test_wikipedia_gets_the_same_user_agent():
    agent = open_wiki("en", "me@host.example", None).headers["User-Agent"]
    assert agent == "toolhaft (me@host.example; wikipedia tool)"
