"""Every way in which tools go out: format, dialect and strictness, and where each puts a tool's schema.

Knows the wires' shapes; does not know how a schema is brought into one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from toolhaft import Tool
from toolhaft.formats import Export, export_tools

Wired = dict[str, Any]


class Variant(NamedTuple):
    """One way out."""

    format: str
    dialect: str = ""
    strict: bool = False

    def __str__(self) -> str:
        return " ".join([self.format, self.dialect] + ["strict"] * self.strict).replace("  ", " ").strip()

    def export(self, *tools: Tool[Any, Any], **options: Any) -> Export:
        """The tools on this way."""
        return export_tools(
            list(tools), self.format, dialect=self.dialect or None, strict=self.strict, **options
        )

    def schema(self, wired: Wired) -> Wired:
        """The schema of a tool as it stands on the wire."""
        return _PLACES[self.format](wired)

    def description(self, wired: Wired) -> str:
        """What the wire says of the tool."""
        return wired.get("function", wired.get("toolSpec", wired))["description"]


def _function(wired: Wired) -> Wired:
    return wired["function"]["parameters"]


def _declaration(wired: Wired) -> Wired:
    """A tool that takes nothing says nothing of it in one dialect."""
    return wired.get("parametersJsonSchema") or wired.get("parameters", {"type": "object"})


_PLACES: Final[dict[str, Callable[[Wired], Wired]]] = {
    "anthropic": lambda wired: wired["input_schema"],
    "bedrock": lambda wired: wired["toolSpec"]["inputSchema"]["json"],
    "cohere": _function,
    "gemini": _declaration,
    "mcp": lambda wired: wired["inputSchema"],
    "mistral": _function,
    "native": lambda wired: wired["input_schema"],
    "ollama": _function,
    "openai_chat": _function,
    "openai_responses": lambda wired: wired["parameters"],
}

VARIANTS: Final = (
    Variant("openai_chat"),
    Variant("openai_chat", strict=True),
    Variant("openai_responses"),
    Variant("openai_responses", strict=True),
    Variant("anthropic"),
    Variant("anthropic", strict=True),
    Variant("bedrock", "boto3"),
    Variant("bedrock", "boto3", strict=True),
    Variant("bedrock", "http"),
    Variant("bedrock", "http", strict=True),
    Variant("gemini", "parametersJsonSchema"),
    Variant("gemini", "parameters"),
    Variant("mistral"),
    Variant("mistral", strict=True),
    Variant("cohere"),
    Variant("cohere", strict=True),
    Variant("ollama"),
    Variant("mcp", "2026-07-28"),
    Variant("mcp", "2025-11-25"),
    Variant("mcp", "2025-06-18"),
    Variant("native"),
)
