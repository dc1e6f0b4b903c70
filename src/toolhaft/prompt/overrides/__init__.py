"""Other words for a prompt's texts and tools, kept in files, and guarded by digests of what they replace."""

from toolhaft.prompt.overrides.applying import apply_overrides
from toolhaft.prompt.overrides.digests import section_digest, tool_digest
from toolhaft.prompt.overrides.override import Overrides, SectionOverride, ToolOverride
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
