"""A web server on loopback that answers as a test configures it, and records the requests."""

import pytest

from tests.define.running.kit import serving


@pytest.fixture(scope="module")
def server():
    with serving() as site:
        yield site


@pytest.fixture
def site(server):
    server.asked.clear()
    server.says({"ok": True})
    return server
