"""The loopback server that the tests of web tools share."""

import pytest

from tests.toolbox.searching.provider import loopback_server


@pytest.fixture(scope="session")
def provider_server():
    with loopback_server() as server:
        yield server


def pytest_collection_modifyitems(items):
    for item in items:
        if "provider_server" in getattr(item, "fixturenames", ()):
            item.add_marker("external")
