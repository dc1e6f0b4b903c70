"""All providers with an HTTP API, by the names of their formats."""

from tests.formats.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    mistral,
    ollama,
    openai_chat,
    openai_responses,
)

PROVIDERS = {
    module.PROVIDER.format: module.PROVIDER
    for module in (openai_chat, openai_responses, anthropic, bedrock, gemini, mistral, cohere, ollama)
}
