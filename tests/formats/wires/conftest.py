"""No client of a provider may take anything from the machine that the tests run on.

Does not know any client.
"""

import os

import pytest

_OWNED = ("ANTHROPIC_", "AWS_", "CO_", "COHERE_", "GEMINI_", "GOOGLE_", "MISTRAL_", "OLLAMA_", "OPENAI_")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch):
    for name in list(os.environ):
        if name.upper().startswith(_OWNED) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
