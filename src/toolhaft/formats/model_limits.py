"""Known limits of formats and models; where none is listed, none is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from toolhaft.errors import WireError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may hold; None if no limit is known."""

    tools: int | None = None
    description_chars: int | None = None
    """Longer descriptions are sent, and a loss reports the risk."""
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
    """Reported with every export for this model."""


FORMAT_LIMITS: Final[Mapping[str, Limits]] = {
    "openai_chat": Limits(tools=128, description_chars=1024),
    "openai_responses": Limits(tools=128, description_chars=1024),
    "anthropic": Limits(tools=10_000, strict_tools=20, strict_optional=24, strict_unions=16),
    # only Claude has a strict mode there, with the same limits
    "bedrock": Limits(strict_tools=20, strict_optional=24, strict_unions=16),
    "cohere": Limits(strict_properties=200),
    "gemini": Limits(tools=512),
}

_NO_REASONING: Final = "this model calls tools over Chat Completions only with reasoning effort 'none'"

MODEL_LIMITS: Final[tuple[tuple[str, str, Mapping[str, Any]], ...]] = (
    # format, pattern of model names, changes to the format's limits; every match is applied, in order
    ("anthropic", "*claude-opus-5-5*", {"can_force": False}),
    ("bedrock", "*claude-opus-5-5*", {"can_force": False}),
    ("openai_chat", "gpt-5.[4-9]*", {"note": _NO_REASONING}),
    ("openai_chat", "gpt-5.[1-9][0-9]*", {"note": _NO_REASONING}),
    ("openai_chat", "gpt-[6-9]*", {"note": _NO_REASONING}),
)


def limits_of(format: str, model: str | None) -> Limits:
    """The known limits of a format, and of a model if one is named."""
    limits = FORMAT_LIMITS.get(format, Limits())
    if model is not None:
        if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise WireError(f"got {model!r:.80}", path="model", expected="the name of a model")
        for wanted, pattern, changes in MODEL_LIMITS:
            if wanted == format and fnmatchcase(model.lower(), pattern):
                limits = replace(limits, **changes)
    return limits
