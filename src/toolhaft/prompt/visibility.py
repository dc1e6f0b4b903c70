"""How much of a section a model is shown.

Knows no sections.
"""

from __future__ import annotations

from enum import StrEnum


class SectionVisibility(StrEnum):
    """All of a section, or its summary alone; what is summarised keeps its children and tools hidden."""

    FULL = "full"
    SUMMARY = "summary"

    @classmethod
    def _missing_(cls, value: object) -> SectionVisibility | None:
        """The same in capitals."""
        lowered = value.lower() if isinstance(value, str) else None
        return next((one for one in cls if one.value == lowered), None)
