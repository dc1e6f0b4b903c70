"""How much of a section a model is shown.

Knows no sections.
"""

from __future__ import annotations

from enum import StrEnum


class SectionVisibility(StrEnum):
    """All of a section, or its summary alone; what is summarised keeps its children and tools hidden."""

    FULL = "full"
    SUMMARY = "summary"
