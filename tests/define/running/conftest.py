"""A service on loopback that says what a test wants, and notes what it was asked."""

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
