"""Finds a format by name and loads its module on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from toolhaft.errors import WireError
from toolhaft.formats.provider_format import ProviderFormat
from toolhaft.schema.nearest import nearest

FORMATS: Final = (
    "anthropic",
    "bedrock",
    "cohere",
    "gemini",
    "mcp",
    "mistral",
    "native",
    "ollama",
    "openai_chat",
    "openai_responses",
)
_LOADED: Final[dict[str, ProviderFormat]] = {}


def get_format(format: str) -> ProviderFormat:
    """The format with that name.

    Raises:
        WireError: for an unknown name; it lists the known ones.
    """
    known = _LOADED.get(format) if isinstance(format, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
    if known is not None:
        return known
    if format not in FORMATS:
        close = nearest(format, FORMATS) if isinstance(format, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        hint = f"; did you mean {close!r}?" if close else ""
        raise WireError(f"no format {format!r:.80}{hint}", expected=f"one of {', '.join(FORMATS)}")
    return _LOADED.setdefault(format, import_module(f"toolhaft.formats.{format}").FORMAT)


def dialect_of(provider: ProviderFormat, dialect: str | None) -> str:
    """The dialect by its name, or the format's default.

    Raises:
        WireError: if the format has no such dialect.
    """
    if dialect is None:
        return provider.dialects[0]
    if dialect not in provider.dialects:
        known = ", ".join(repr(name) for name in provider.dialects if name)
        raise WireError(
            f"no dialect {dialect!r:.80}",
            format=provider.name,
            expected=f"one of {known}" if known else "no dialect",
        )
    return dialect
