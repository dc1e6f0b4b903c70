"""What toolhaft calls itself: one name for every request that says nothing else."""

import importlib.metadata

import pytest

from tests.resources.http.servers import serve
from toolhaft.resources.http import HttpClient
from toolhaft.resources.http.client import default_user_agent
from toolhaft.toolbox.encyclopaedia.wiki import open_wiki

pytestmark = pytest.mark.external


@pytest.fixture
def never_installed(monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    default_user_agent.cache_clear()  # it is asked once in a process
    yield
    default_user_agent.cache_clear()  # and may be asked again


def test_name_has_the_version_that_is_installed():
    assert default_user_agent() == f"toolhaft/{importlib.metadata.version('toolhaft')}"


@pytest.mark.usefixtures("never_installed")
def test_client_of_a_package_that_is_not_installed_has_a_name_without_a_version():
    with serve({"/": (200, {}, "")}) as web:
        HttpClient(allow=[web.authority]).fetch(web.url)
    assert web.requests[0].headers["user-agent"] == "toolhaft"


@pytest.mark.usefixtures("never_installed")
def test_wikipedia_is_told_the_same_name():
    agent = open_wiki("en", "me@host.example", None).headers["User-Agent"]
    assert agent == "toolhaft (me@host.example; wikipedia tool)"
