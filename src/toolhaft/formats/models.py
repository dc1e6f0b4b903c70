"""What formats and single models are known to limit, as one table of data.

Knows numbers and names of models; what is done about a limit is decided where tools go out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from toolhaft.errors import WireError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may hold; None is no known limit."""

    tools: int | None = None
    description_chars: int | None = None
    """Longer ones go out, and the risk is told."""
    strict_tools: int | None = None
    strict_optional: int | None = None
    """Optional parameters of all strict tools together."""
    strict_unions: int | None = None
    """Parameters that are unions, of all strict tools together."""
    strict_properties: int | None = None
    """Properties of all strict tools together."""
    can_force: bool = True
    """Whether the model can be made to call a tool."""
    note: str = ""
    """What else is known, told with every export for this model."""


FORMATS: Final[Mapping[str, Limits]] = {
    "openai_chat": Limits(tools=128, description_chars=1024),
    "openai_responses": Limits(tools=128, description_chars=1024),
    "anthropic": Limits(tools=10_000, strict_tools=20, strict_optional=24, strict_unions=16),
    # strict is for Claude there, and compiles to the same grammar
    "bedrock": Limits(strict_tools=20, strict_optional=24, strict_unions=16),
    "cohere": Limits(strict_properties=200),
    "gemini": Limits(tools=512),
}

_NO_REASONING: Final = "this model calls tools over Chat Completions only with reasoning effort 'none'"

MODELS: Final[tuple[tuple[str, str, Mapping[str, Any]], ...]] = (
    # format, model, what differs from the format's own limits; all that match are applied in turn
    ("anthropic", "*claude-opus-5-5*", {"can_force": False}),
    ("bedrock", "*claude-opus-5-5*", {"can_force": False}),
    ("openai_chat", "gpt-5.[4-9]*", {"note": _NO_REASONING}),
    ("openai_chat", "gpt-5.[1-9][0-9]*", {"note": _NO_REASONING}),
    ("openai_chat", "gpt-[6-9]*", {"note": _NO_REASONING}),
)


def limits_of(format: str, model: str | None) -> Limits:
    """What is known of a format, and of one model where it is named."""
    limits = FORMATS.get(format, Limits())
    if model is not None:
        if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise WireError(f"got {model!r:.80}", path="model", expected="the name of a model")
        for wanted, pattern, changes in MODELS:
            if wanted == format and fnmatchcase(model.lower(), pattern):
                limits = replace(limits, **changes)
    return limits
