"""No test of this folder reads the user's settings or writes to the user's caches."""

import pytest


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    for name in ("TOOLHAFT_PLATFORM_URL", "TOOLHAFT_API_KEY", "TOOLHAFT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
