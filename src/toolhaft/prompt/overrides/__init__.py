"""Override files that replace a prompt's texts and tool descriptions, checked by digests of the originals."""

from toolhaft.prompt.overrides.apply import apply_overrides, section_digest, tool_digest
from toolhaft.prompt.overrides.parse import Overrides, SectionOverride, ToolOverride
from toolhaft.prompt.overrides.store import OverrideStore

__all__ = [
    "OverrideStore",
    "Overrides",
    "SectionOverride",
    "ToolOverride",
    "apply_overrides",
    "section_digest",
    "tool_digest",
]
