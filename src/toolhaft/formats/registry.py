"""The formats by name; a format's file is loaded when it is first asked for.

Does not know what a format does.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from toolhaft.errors import WireError
from toolhaft.formats.wire import Wire
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
_LOADED: Final[dict[str, Wire]] = {}


def wire_of(format: str) -> Wire:
    """The format of that name.

    Raises:
        WireError: where there is none; it lists those that there are.
    """
    known = _LOADED.get(format) if isinstance(format, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
    if known is not None:
        return known
    if format not in FORMATS:
        close = nearest(format, FORMATS) if isinstance(format, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        hint = f"; did you mean {close!r}?" if close else ""
        raise WireError(f"no format {format!r:.80}{hint}", expected=f"one of {', '.join(FORMATS)}")
    return _LOADED.setdefault(format, import_module(f"toolhaft.formats.{format}").WIRE)


def dialect_of(wire: Wire, dialect: str | None) -> str:
    """The dialect by its name, or the format's default.

    Raises:
        WireError: where the format has no such dialect.
    """
    if dialect is None:
        return wire.dialects[0]
    if dialect not in wire.dialects:
        known = ", ".join(repr(name) for name in wire.dialects if name)
        raise WireError(
            f"no dialect {dialect!r:.80}",
            format=wire.name,
            expected=f"one of {known}" if known else "no dialect",
        )
    return dialect
