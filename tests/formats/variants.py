"""Every way to export tools: format, dialect and strictness, and where each has a tool's schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from toolhaft import Tool
from toolhaft.formats import Export, export_tools

ExportedTool = dict[str, Any]


class Variant(NamedTuple):
    """One way to export tools."""

    format: str
    dialect: str = ""
    strict: bool = False

    def __str__(self) -> str:
        return " ".join([self.format, self.dialect] + ["strict"] * self.strict).replace("  ", " ").strip()

    def export(self, *tools: Tool[Any, Any], **options: Any) -> Export:
        """The tools, exported."""
        return export_tools(
            list(tools), self.format, dialect=self.dialect or None, strict=self.strict, **options
        )

    def schema(self, exported: ExportedTool) -> ExportedTool:
        """The exported schema of a tool."""
        return _PLACES[self.format](exported)

    def description(self, exported: ExportedTool) -> str:
        """The exported description of a tool."""
        return exported.get("function", exported.get("toolSpec", exported))["description"]


def _function(exported: ExportedTool) -> ExportedTool:
    return exported["function"]["parameters"]


def _declaration(exported: ExportedTool) -> ExportedTool:
    """One dialect omits the schema of a tool without parameters."""
    return exported.get("parametersJsonSchema") or exported.get("parameters", {"type": "object"})


_PLACES: Final[dict[str, Callable[[ExportedTool], ExportedTool]]] = {
    "anthropic": lambda exported: exported["input_schema"],
    "bedrock": lambda exported: exported["toolSpec"]["inputSchema"]["json"],
    "cohere": _function,
    "gemini": _declaration,
    "mcp": lambda exported: exported["inputSchema"],
    "mistral": _function,
    "native": lambda exported: exported["input_schema"],
    "ollama": _function,
    "openai_chat": _function,
    "openai_responses": lambda exported: exported["parameters"],
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
