"""All wires that go over HTTP, by the names of their formats.

Does not know any of them.
"""

from tests.formats.wires import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    mistral,
    ollama,
    openai_chat,
    openai_responses,
)

WIRES = {
    module.WIRE.format: module.WIRE
    for module in (openai_chat, openai_responses, anthropic, bedrock, gemini, mistral, cohere, ollama)
}
