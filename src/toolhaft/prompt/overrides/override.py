"""What is to be said in place of what the code says.

Holds what a file said; does not know whether any section or tool is there to take it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolhaft.core.example import ToolExample


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOverride:
    """Other texts of one section; None leaves a text as it is."""

    digest: str
    """That of the section that it was written for: see `section_digest`."""
    text: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOverride:
    """Other words of one tool; None, or a parameter that is not named, leaves them as they are."""

    digest: str
    """That of the tool that it was written for: see `tool_digest`."""
    description: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """Descriptions, by the names of the parameters."""
    examples: tuple[ToolExample[object, object], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """All that one file says about one prompt."""

    file: str
    """Where it came from, as the folder was written."""
    sections: Mapping[str, SectionOverride] = field(default_factory=dict[str, SectionOverride])
    """By dotted path."""
    tools: Mapping[str, ToolOverride] = field(default_factory=dict[str, ToolOverride])
    """By name."""
