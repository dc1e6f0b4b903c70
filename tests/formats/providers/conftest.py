"""Tests with the providers' real clients: external, and never with settings of this machine."""

import os

import pytest

from tests.formats.providers.provider import CLIENTS
from tests.formats.providers.server import close_host

_OWNED = ("ANTHROPIC_", "AWS_", "CO_", "COHERE_", "GEMINI_", "GOOGLE_", "MISTRAL_", "OLLAMA_", "OPENAI_")


def pytest_ignore_collect(config):
    """Importing the SDKs takes seconds: not where their tests are deselected anyway."""
    return True if config.getoption("markexpr") == "not external" else None


@pytest.fixture(autouse=True, scope="session")
def _shared_server_and_clients():
    yield
    CLIENTS.close()
    close_host()


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch):
    for name in list(os.environ):
        if name.upper().startswith(_OWNED) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
